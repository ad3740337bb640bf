/*
 * failing_alloc.h - an allocator that gives out memory a set number of times and then refuses.
 * Counting live bytes, it shows leaks and frees of the wrong size too. Safe from any thread.
 */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "brimful/memory.h"

typedef struct failing_alloc {
    brim_alloc base;
    atomic_long calls_left;
    atomic_size_t live_bytes;
    brim_status refusal; /* BRIM_E_NOMEM unless a test wants BRIM_E_BUDGET */
} failing_alloc;

static brim_status failing_alloc_take(void *ctx, size_t bytes, size_t align, void **out)
{
    failing_alloc *self = ctx;
    size_t boundary = align ? align : 64;

    *out = NULL;
    if (atomic_fetch_sub(&self->calls_left, 1) <= 0) return self->refusal;
    *out = aligned_alloc(boundary, (bytes + boundary - 1) / boundary * boundary);
    if (!*out) return BRIM_E_NOMEM;
    atomic_fetch_add(&self->live_bytes, bytes);
    return BRIM_OK;
}

static void failing_alloc_release(void *ctx, void *p, size_t bytes)
{
    failing_alloc *self = ctx;

    if (p) atomic_fetch_sub(&self->live_bytes, bytes);
    free(p);
}

static inline void failing_alloc_init(failing_alloc *self, long calls)
{
    self->base = (brim_alloc){failing_alloc_take, failing_alloc_release, self};
    atomic_init(&self->calls_left, calls);
    atomic_init(&self->live_bytes, 0);
    self->refusal = BRIM_E_NOMEM;
}

#endif /* FAILING_ALLOC_H */
