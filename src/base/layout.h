/*
 * layout.h - several arrays in one allocation: the same walk measures it and hands its parts out.
 *
 * Threads: a layout belongs to one thread at a time.
 */
#ifndef BRIM_BASE_LAYOUT_H
#define BRIM_BASE_LAYOUT_H

#include <stdbool.h>

#include "base/size.h"

enum { BRIM_LAYOUT_ALIGN = 64 };

/* Measures when base is NULL, hands out when it is not. Begins with zeros. */
typedef struct brim_layout {
    unsigned char *base; /* aligned to BRIM_LAYOUT_ALIGN */
    size_t used;
    bool overflow;
} brim_layout;

/* The next n elements of `each` bytes, aligned; NULL while measuring, or where sizes overflow. */
static inline void *brim_layout_take(brim_layout *at, size_t n, size_t each)
{
    size_t bytes, end;

    if (brim_mul_bytes(n, each, &bytes) != BRIM_OK ||
        brim_add_bytes(at->used, bytes, &end) != BRIM_OK ||
        brim_add_bytes(end, BRIM_LAYOUT_ALIGN - 1, &end) != BRIM_OK) {
        at->overflow = true;
        return NULL;
    }
    void *p = at->base ? at->base + at->used : NULL;
    at->used = end / BRIM_LAYOUT_ALIGN * BRIM_LAYOUT_ALIGN;
    return p;
}

#endif /* BRIM_BASE_LAYOUT_H */
