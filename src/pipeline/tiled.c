/* tiled.c - counts owners and what is left, without a lock. */
#include "pipeline/tiled.h"

#include <stdatomic.h>

struct brim_tiled {
    const brim_alloc *mem;
    brim_item *whole; /* the decoder's until it has finished, then the last finisher's */
    atomic_size_t n_owners;
    atomic_size_t n_left; /* tiles, and one for the decoder */
};

brim_status brim_tiled_create(const brim_alloc *mem, brim_item *whole, brim_tiled **out)
{
    brim_status status;

    *out = NULL;
    brim_tiled *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return status;
    self->mem = mem;
    self->whole = whole;
    atomic_init(&self->n_owners, 1);
    atomic_init(&self->n_left, 1);
    *out = self;
    return BRIM_OK;
}

void brim_tiled_expect(brim_tiled *self)
{
    atomic_fetch_add(&self->n_left, 1);
}

brim_tiled *brim_tiled_hold(brim_tiled *self)
{
    atomic_fetch_add(&self->n_owners, 1);
    return self;
}

void brim_tiled_let_go(brim_tiled *self)
{
    if (!self || atomic_fetch_sub(&self->n_owners, 1) > 1) return;
    brim_item_destroy(self->whole);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

brim_item *brim_tiled_take_whole(brim_tiled *self)
{
    brim_item *whole = self->whole;

    self->whole = NULL;
    return whole;
}

brim_item *brim_tiled_finish_one(brim_tiled *self)
{
    return atomic_fetch_sub(&self->n_left, 1) == 1 ? brim_tiled_take_whole(self) : NULL;
}
