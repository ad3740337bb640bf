/* heap.c - the C heap as an allocator; the one place that calls it. */
#include "brimful/memory.h"

#include <stdlib.h>

static const size_t DEFAULT_ALIGN = 64;

static brim_status heap_alloc(void *ctx, size_t bytes, size_t align, void **out)
{
    size_t boundary = align ? align : DEFAULT_ALIGN;

    (void)ctx;
    *out = NULL;
    if (boundary < sizeof(void *)) boundary = sizeof(void *);
    return posix_memalign(out, boundary, bytes) == 0 ? BRIM_OK : BRIM_E_NOMEM;
}

static void heap_release(void *ctx, void *p, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    free(p);
}

const brim_alloc *brim_heap(void)
{
    static const brim_alloc HEAP = {heap_alloc, heap_release, NULL};
    return &HEAP;
}
