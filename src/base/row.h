/*
 * row.h - one picture to be done: a key that names it for ever, and a path that leads to its bytes.
 * Sources make rows, stores keep what became of them.
 *
 * Threads: a row is immutable; it belongs to whoever holds the pointer.
 */
#ifndef BRIM_BASE_ROW_H
#define BRIM_BASE_ROW_H

#include <stdint.h>

#include "brimful/memory.h"

/* One block with its texts behind it; moves through the pipeline by pointer. */
typedef struct brim_row {
    const brim_alloc *mem;
    size_t block_bytes;
    const char *key;                  /* UTF-8 */
    const char *path;                 /* absolute; raw bytes */
    uint32_t null_width, null_height; /* not 0: there is no file, but a grey picture of this size;
                                         path is the key */
} brim_row;

/* key is escaped as base/text.h says from the raw bytes of name. On failure *out is NULL. */
brim_status brim_row_create(const brim_alloc *mem, const char *name, const char *path,
                            brim_row **out);

/* A part of a picture: the same path, the same memory, the key with suffix behind it. */
brim_status brim_row_create_part(const brim_row *whole, const char *suffix, brim_row **out);

/* Accepts NULL. */
void brim_row_destroy(brim_row *row);

#endif /* BRIM_BASE_ROW_H */
