/*
 * batcher.h - where decoders and the model meet: slots of batch tensors on one side, finished
 * batches on the other.
 *
 * A decoder takes its scratch, leases a slot of the shape its picture will have, writes into it,
 * and fills or drops it. Pictures of unlike shapes never share a batch. A batch goes to the model
 * when it is full, when memory is short (the oldest open one first), when the model has been idle
 * for a while, and at the end. A slot that was dropped is leased again; holes that are left when a
 * batch is closed are filled from its end.
 *
 * Waiting for memory happens here too, because only here is it known whether anything will be given
 * back. Slot and scratch are had as one or not at all, so whoever waits holds nothing, whoever
 * holds something can finish, and a request is refused only when everything else is drained, all
 * floors are lifted and the arena is trimmed. Pictures that the model had no room for, even one at
 * a time, are set aside with their pixels on disk, so that they hold nothing either: no other is
 * begun until all else is drained and they have run, each alone.
 *
 * How many pictures go into a batch is asked for each when it is opened (sizes.h). One that is
 * open when a wall is met, and too large for it, goes with as many as may run now.
 *
 * Threads: any number of decoders, one model.
 */
#ifndef BRIM_PIPELINE_BATCHER_H
#define BRIM_PIPELINE_BATCHER_H

#include "pipeline/batch.h"
#include "pipeline/sizes.h"

typedef struct brim_batcher brim_batcher;

/* What decoding one picture takes, as it is known from the header. */
typedef struct brim_scratch {
    size_t bytes;       /* in all */
    size_t frame_bytes; /* of them, what comes as one block */
} brim_scratch;

typedef struct brim_slot {
    brim_batch *batch;
    uint32_t index;
    void *pixels;         /* (3, height, width) of the batcher's dtype */
    brim_scratch scratch; /* reserved with it, given back with it */
    void *frame;          /* scratch.frame_bytes, given back too; NULL where there are none */
} brim_slot;

typedef struct brim_batcher_options {
    brim_budget *budget;
    brim_sizes *sizes;
    brim_dtype dtype;   /* of the pixels: BRIM_F32 or BRIM_F16 */
    size_t fixed_batch; /* what the model insists on; 0 = it takes any */
    size_t stub_bytes;  /* as in brim_batch_shape */
    size_t n_decoders;  /* that may hold a slot at once */
} brim_batcher_options;

/* On failure *out is NULL. */
brim_status brim_batcher_create(const brim_batcher_options *options, brim_batcher **out,
                                brim_error *err);

/* All batches must have been given back, all slots filled or dropped. Accepts NULL. */
void brim_batcher_destroy(brim_batcher *batcher);

/*
 * Waits for a slot and its scratch. BRIM_E_BUDGET: they do not fit even alone; the words
 * tell the numbers. BRIM_E_NOMEM: the system refused.
 */
brim_status brim_batcher_lease(brim_batcher *batcher, uint32_t height, uint32_t width,
                               brim_scratch scratch, brim_slot *out, brim_error *err);

/* The slot holds the item's picture: the item goes with the batch. */
void brim_batcher_fill(brim_batcher *batcher, const brim_slot *slot, brim_item *item);

/* The slot holds nothing. */
void brim_batcher_drop(brim_batcher *batcher, const brim_slot *slot);

/*
 * Waits for bytes of a file too large for the room that files have; one such file at a time.
 * As with slots, whoever waits must hold nothing that others wait for.
 */
brim_status brim_batcher_reserve(brim_batcher *batcher, brim_account account, size_t bytes,
                                 brim_error *err);
void brim_batcher_give_back_bytes(brim_batcher *batcher, brim_account account, size_t bytes);

/* The same for what stays for the rest of the run, named by `what` in the message. */
brim_status brim_batcher_reserve_for_good(brim_batcher *batcher, brim_account account, size_t bytes,
                                          const char *what, brim_error *err);

/*
 * For a decoder that keeps memory over many slots, each of this shape and with this scratch: waits
 * for bytes of it, and until one such slot would fit beside. One at a time: since it waits for
 * slots while it holds something, another one must never do the same.
 */
brim_status brim_batcher_hold(brim_batcher *batcher, size_t bytes, uint32_t height, uint32_t width,
                              size_t scratch_bytes, brim_error *err);
void brim_batcher_let_go(brim_batcher *batcher, size_t bytes);

/* No decoder will lease any more: what is open is closed. */
void brim_batcher_close(brim_batcher *batcher);

/*
 * Waits for the next batch; BRIM_END after the last. A picture set aside comes when all else is
 * drained: is_alone, its tensor still to be filled from spool_at; or no tensor, where not even that
 * fits. Floors are lifted until it is given back.
 */
brim_status brim_batcher_next(brim_batcher *batcher, brim_batch **out);

/* The model is through with it; its items have gone on. */
void brim_batcher_give_back(brim_batcher *batcher, brim_batch *batch);

/* An item of a batch was refused by itself: it comes again, alone. BRIM_E_NOMEM: it stays where it
 * is. */
brim_status brim_batcher_set_aside(brim_batcher *batcher, const brim_batch *batch, brim_item *item,
                                   int64_t spool_at);

/* A wall was met: open batches may be larger than what may run now. By the model's thread. */
void brim_batcher_reconsider(brim_batcher *batcher);

/* How long was waited so far, in seconds, what still waits included. */
typedef struct brim_batcher_waits {
    double model_s;    /* by the model, for a batch */
    double decoders_s; /* by decoders, for slots and memory, in all */
} brim_batcher_waits;

brim_batcher_waits brim_batcher_waited(brim_batcher *batcher);

#endif /* BRIM_PIPELINE_BATCHER_H */
