/*
 * batch.h - one batch tensor with its slots: what is free, what is filled, and with whose picture.
 *
 * Threads: none of its own; the batcher's lock guards it until the model has it.
 */
#ifndef BRIM_PIPELINE_BATCH_H
#define BRIM_PIPELINE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "governor/observation.h"
#include "pipeline/item.h"

/* The shape of the pictures in a batch, (3, height, width) of dtype. */
typedef struct brim_batch_shape {
    uint32_t height, width;
    brim_dtype dtype;
    size_t stub_bytes; /* not 0: nobody looks at the pixels, and this is what a picture takes */
} brim_batch_shape;

/* The same for the governor. */
static inline brim_shape brim_batch_item_shape(const brim_batch_shape *shape)
{
    return (brim_shape){.pixels = (uint64_t)shape->height * shape->width};
}

typedef struct brim_batch {
    struct brim_batch *next; /* the batcher's */
    void *tensor;      /* (capacity, 3, height, width); the first n_filled slots hold pictures */
    brim_item **items; /* of the filled slots; the model stage takes them over */
    size_t n_filled;
    size_t capacity;
    brim_batch_shape shape;
    size_t slot_bytes;
    bool is_alone;    /* nothing else holds memory while it runs */
    int64_t spool_at; /* where the pixels of one that runs alone are */

    /* the batcher's */
    const brim_alloc *mem;     /* of the batch itself */
    const brim_alloc *tensors; /* of the tensor; NULL: there is none */
    size_t tensor_bytes, block_bytes;
    size_t n_free;
    uint32_t *free_slots; /* a stack */
    size_t n_enough;      /* pictures with which it is closed: capacity, or fewer after a wall */
    uint64_t opened_ns;
    bool sealed;
} brim_batch;

/* Bytes of a tensor of n pictures; BRIM_E_ARG where they are beyond all measure. */
brim_status brim_batch_bytes(const brim_batch_shape *shape, size_t n, size_t *bytes);

/* An empty batch of n slots, without a tensor yet; NULL with the reason in *why. */
brim_batch *brim_batch_create(const brim_alloc *mem, const brim_batch_shape *shape, size_t n,
                              brim_status *why);

/* Where picture i lies. */
static inline void *brim_batch_slot(const brim_batch *batch, size_t i)
{
    return (unsigned char *)batch->tensor + i * batch->slot_bytes;
}

/* Gives it a tensor, on the budget's account of tensors. */
brim_status brim_batch_take_tensor(brim_batch *batch, brim_budget *budget);

void brim_batch_destroy(brim_batch *batch);

/* Slots in a decoder's hands. */
static inline size_t brim_batch_n_leased(const brim_batch *batch)
{
    return batch->capacity - batch->n_free - batch->n_filled;
}

/*
 * Pictures move from the end into the slots without an item, so that the first n_filled slots are
 * all there is.
 */
void brim_batch_close_holes(brim_batch *batch);

#endif /* BRIM_PIPELINE_BATCH_H */
