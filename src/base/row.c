/* row.c - a row in one block of memory. */
#include "base/row.h"

#include "base/size.h"
#include "base/text.h"

/* A row with room for a key of key_bytes, to be filled in by the caller, and its path. */
static brim_status create(const brim_alloc *mem, size_t key_bytes, const char *path, brim_row **out)
{
    size_t path_bytes = strlen(path) + 1;
    size_t bytes;
    brim_status status;

    *out = NULL;
    if (brim_add_bytes(sizeof(brim_row), key_bytes, &bytes) != BRIM_OK ||
        brim_add_bytes(bytes, path_bytes, &bytes) != BRIM_OK)
        return BRIM_E_ARG;
    brim_row *row = brim_alloc_zeroed(mem, bytes, &status);
    if (!row) return status;

    char *key = (char *)(row + 1);
    memcpy(key + key_bytes, path, path_bytes);
    row->mem = mem;
    row->block_bytes = bytes;
    row->key = key;
    row->path = key + key_bytes;
    *out = row;
    return BRIM_OK;
}

brim_status brim_row_create(const brim_alloc *mem, const char *name, const char *path,
                            brim_row **out)
{
    brim_status status = create(mem, brim_key_bytes(name) + 1, path, out);

    if (status == BRIM_OK) brim_key_write(name, (char *)(*out + 1));
    return status;
}

brim_status brim_row_create_part(const brim_row *whole, const char *suffix, brim_row **out)
{
    size_t n_key = strlen(whole->key), n_suffix = strlen(suffix);

    brim_status status = create(whole->mem, n_key + n_suffix + 1, whole->path, out);
    if (status != BRIM_OK) return status;
    char *key = (char *)(*out + 1);
    memcpy(key, whole->key, n_key);
    memcpy(key + n_key, suffix, n_suffix + 1);
    return BRIM_OK;
}

void brim_row_destroy(brim_row *row)
{
    if (row) brim_alloc_release(row->mem, row, row->block_bytes);
}
