/* row.c - a row in one block of memory. */
#include "base/row.h"

#include "base/size.h"
#include "base/text.h"

brim_status brim_row_create(const brim_alloc *mem, const char *name, const char *path,
                            brim_row **out)
{
    size_t path_bytes = strlen(path) + 1;
    size_t bytes;
    brim_status status;

    *out = NULL;
    if (brim_add_bytes(sizeof(brim_row) + 1, brim_key_bytes(name), &bytes) != BRIM_OK ||
        brim_add_bytes(bytes, path_bytes, &bytes) != BRIM_OK)
        return BRIM_E_ARG;
    brim_row *row = brim_alloc_zeroed(mem, bytes, &status);
    if (!row) return status;

    char *key = (char *)(row + 1);
    char *path_copy = brim_key_write(name, key) + 1;
    memcpy(path_copy, path, path_bytes);
    row->mem = mem;
    row->block_bytes = bytes;
    row->key = key;
    row->path = path_copy;
    *out = row;
    return BRIM_OK;
}

void brim_row_destroy(brim_row *row)
{
    if (row) brim_alloc_release(row->mem, row, row->block_bytes);
}
