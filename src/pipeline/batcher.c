/*
 * batcher.c - batches in one of three lists (open, ready, kept for reuse) under one lock.
 *
 * What will be given back, and so is worth waiting for: what decoders at work hold, batches that
 * are ready or with the model, and open batches once they are closed.
 */
#include "pipeline/batcher.h"

#include <string.h>

#include "base/fail.h"
#include "base/size.h"
#include "base/sync.h"

enum {
    AHEAD = 3,      /* batches of one shape: one with the model, one ready, one being filled */
    MAX_ALIVE = 24, /* over all shapes, beside those that the decoders need */
    MAX_KEPT = 4,   /* empty tensors kept for reuse */
};

static const size_t SCRATCH_PER_DECODER = 64u << 20; /* a progressive picture of 21 megapixels */

struct brim_batcher {
    brim_budget *budget;
    const brim_alloc *tensors;
    size_t batch, n_decoders;
    bool batch_is_fixed;

    brim_monitor monitor; /* guards all below */
    brim_batch *open, *ready, *kept;
    size_t n_alive;   /* open, ready and with the model */
    size_t n_running; /* ready and with the model */
    size_t n_working; /* slots that are leased */
    bool closed;
};

static void append(brim_batch **list, brim_batch *batch)
{
    while (*list)
        list = &(*list)->next;
    batch->next = NULL;
    *list = batch;
}

static void unlink_from(brim_batch **list, const brim_batch *batch)
{
    while (*list != batch)
        list = &(*list)->next;
    *list = batch->next;
}

static size_t n_leased(const brim_batch *batch)
{
    return batch->capacity - batch->n_free - batch->n_filled;
}

static void free_batch(brim_batcher *self, brim_batch *batch)
{
    brim_alloc_release(self->tensors, batch->tensor, batch->tensor_bytes);
    brim_alloc_release(self->tensors, batch, batch->block_bytes);
}

static bool free_kept(brim_batcher *self)
{
    brim_batch *batch = self->kept;

    if (!batch) return false;
    self->kept = batch->next;
    free_batch(self, batch);
    return true;
}

static void reset_batch(brim_batch *batch)
{
    batch->n_filled = 0;
    batch->sealed = false;
    batch->n_free = batch->capacity;
    for (size_t i = 0; i < batch->capacity; i++) {
        batch->items[i] = NULL;
        batch->free_slots[i] = (uint32_t)(batch->capacity - 1 - i); /* slot 0 on top */
    }
}

static void retire(brim_batcher *self, brim_batch *batch)
{
    size_t n_kept = 0;

    self->n_alive--;
    for (const brim_batch *b = self->kept; b; b = b->next)
        n_kept++;
    if (n_kept == MAX_KEPT) free_kept(self);
    append(&self->kept, batch);
    brim_monitor_wake(&self->monitor);
}

/* Holes are filled with the last pictures, so that the first n_filled slots are all there is. */
static void close_holes(brim_batch *batch)
{
    size_t last = batch->capacity;

    for (size_t hole = 0; hole < batch->n_filled; hole++) {
        if (batch->items[hole]) continue;
        do
            last--;
        while (!batch->items[last]);
        memcpy(batch->tensor + hole * batch->slot_floats, batch->tensor + last * batch->slot_floats,
               batch->slot_floats * sizeof(float));
        batch->items[hole] = batch->items[last];
        batch->items[last] = NULL;
    }
}

/* Moves an open batch on if it is complete: full, or closed with no slot in a decoder's hands. */
static void move_on(brim_batcher *self, brim_batch *batch)
{
    bool complete = batch->n_filled == batch->capacity || (batch->sealed && n_leased(batch) == 0);

    if (!complete) return;
    unlink_from(&self->open, batch);
    if (batch->n_filled == 0) {
        retire(self, batch);
        return;
    }
    close_holes(batch);
    append(&self->ready, batch);
    self->n_running++;
    brim_monitor_wake(&self->monitor);
}

/* Closes the oldest batch that is open for leasing; false where there is none. */
static bool seal_oldest(brim_batcher *self)
{
    for (brim_batch *batch = self->open; batch; batch = batch->next) {
        if (batch->sealed) continue;
        batch->sealed = true;
        move_on(self, batch);
        return true;
    }
    return false;
}

typedef enum outlook { TRY_AGAIN, ALL_DRAINED } outlook;

/* Something did not fit: waits until there is reason to try again. */
static outlook wait_for_memory(brim_batcher *self)
{
    if (free_kept(self)) return TRY_AGAIN;
    if (self->n_running == 0 && seal_oldest(self)) return TRY_AGAIN;
    if (self->n_running == 0 && self->n_working == 0 && !self->open) return ALL_DRAINED;
    brim_monitor_wait(&self->monitor);
    return TRY_AGAIN;
}

static brim_status too_large(const brim_batcher *self, const char *what, size_t bytes,
                             brim_error *err)
{
    size_t limit = brim_budget_limit_bytes(self->budget);
    size_t left = limit - brim_budget_live_bytes(self->budget);

    return brim_fail(err, BRIM_E_BUDGET,
                     "%s needs %zu MiB, limit %zu MiB, %zu of it free (--memory)", what,
                     (bytes + (1u << 20) - 1) >> 20, limit >> 20, left >> 20);
}

/*
 * Decoders share their scratch: a few progressive pictures of 24 megapixels at once would take more
 * than all the rest of a run. One that is larger than the share goes alone.
 */
static bool share_has_room(const brim_batcher *self, size_t bytes)
{
    size_t share = self->n_decoders * SCRATCH_PER_DECODER;
    size_t live = brim_budget_usage(self->budget, BRIM_ACCOUNT_DECODERS).live_bytes;

    return live == 0 || (live <= share && bytes <= share - live);
}

/* Bytes of a batch of n pictures, checked; BRIM_E_ARG where they are beyond all measure. */
static brim_status tensor_size(uint32_t height, uint32_t width, size_t n, size_t *slot_floats,
                               size_t *tensor_bytes)
{
    size_t slot_bytes;

    *tensor_bytes = 0;
    brim_status status = brim_mul_bytes((size_t)height * 3, width, slot_floats);
    if (status == BRIM_OK) status = brim_mul_bytes(*slot_floats, sizeof(float), &slot_bytes);
    return status == BRIM_OK ? brim_mul_bytes(slot_bytes, n, tensor_bytes) : status;
}

/* NULL with the reason in *why. */
static brim_batch *make_batch(brim_batcher *self, uint32_t height, uint32_t width, size_t n,
                              brim_status *why)
{
    size_t slot_floats, tensor_bytes, items_bytes, block_bytes;
    void *tensor = NULL;

    *why = BRIM_E_ARG;
    if (tensor_size(height, width, n, &slot_floats, &tensor_bytes) != BRIM_OK ||
        brim_mul_bytes(n, sizeof(brim_item *) + sizeof(uint32_t), &items_bytes) != BRIM_OK ||
        brim_add_bytes(items_bytes, sizeof(brim_batch), &block_bytes) != BRIM_OK)
        return NULL;

    brim_batch *batch = brim_alloc_zeroed(self->tensors, block_bytes, why);
    if (!batch) return NULL;
    batch->block_bytes = block_bytes;
    *why = self->tensors->alloc(self->tensors->ctx, tensor_bytes, 0, &tensor);
    if (*why != BRIM_OK) {
        brim_alloc_release(self->tensors, batch, block_bytes);
        return NULL;
    }
    batch->tensor = tensor;
    batch->tensor_bytes = tensor_bytes;
    batch->items = (brim_item **)(batch + 1);
    batch->free_slots = (uint32_t *)(batch->items + n);
    batch->capacity = n;
    batch->height = height;
    batch->width = width;
    batch->slot_floats = slot_floats;
    return batch;
}

/* An empty batch of this shape: a kept one, or a new one; NULL with the reason in *why. */
static brim_batch *take_batch(brim_batcher *self, uint32_t height, uint32_t width, size_t n,
                              brim_status *why)
{
    for (brim_batch *batch = self->kept; batch; batch = batch->next) {
        if (batch->height != height || batch->width != width || batch->capacity != n) continue;
        unlink_from(&self->kept, batch);
        return batch;
    }
    return make_batch(self, height, width, n, why);
}

static brim_batch *find_open(const brim_batcher *self, uint32_t height, uint32_t width)
{
    for (brim_batch *batch = self->open; batch; batch = batch->next)
        if (batch->height == height && batch->width == width && batch->n_free > 0 && !batch->sealed)
            return batch;
    return NULL;
}

/* How far the decoders may run ahead of the model. */
static bool may_open_another(const brim_batcher *self)
{
    size_t for_decoders = (self->n_decoders + self->batch - 1) / self->batch;

    if (self->n_running >= AHEAD - 1 + for_decoders) return false;
    return self->n_alive < MAX_ALIVE + for_decoders;
}

/* An open batch of this shape with a free slot, made if need be (of n slots); NULL as above. */
static brim_batch *get_open(brim_batcher *self, uint32_t height, uint32_t width, size_t n,
                            brim_status *why)
{
    brim_batch *batch = find_open(self, height, width);

    if (batch) return batch;
    batch = take_batch(self, height, width, n, why);
    if (!batch) return NULL;
    reset_batch(batch);
    append(&self->open, batch);
    self->n_alive++;
    return batch;
}

/* Scratch and slot, or neither. */
static brim_status try_lease(brim_batcher *self, uint32_t height, uint32_t width, size_t n,
                             brim_slot *slot)
{
    size_t scratch = slot->scratch_bytes;

    brim_status status = brim_budget_reserve(self->budget, BRIM_ACCOUNT_DECODERS, scratch);
    if (status != BRIM_OK) return status;
    brim_batch *batch = get_open(self, height, width, n, &status);
    if (!batch) {
        brim_budget_give_back(self->budget, BRIM_ACCOUNT_DECODERS, scratch);
        return status;
    }
    slot->batch = batch;
    slot->index = batch->free_slots[--batch->n_free];
    slot->pixels = batch->tensor + slot->index * batch->slot_floats;
    self->n_working++;
    return BRIM_OK;
}

/* Until the decoders are no longer too far ahead of the model, nor of each other. */
static void wait_for_turn(brim_batcher *self, uint32_t height, uint32_t width, size_t scratch_bytes)
{
    for (;;) {
        bool has_batch = find_open(self, height, width) || may_open_another(self);
        if (has_batch && share_has_room(self, scratch_bytes)) return;
        if (has_batch || self->n_running > 0 || !seal_oldest(self))
            brim_monitor_wait(&self->monitor);
    }
}

brim_status brim_batcher_lease(brim_batcher *batcher, uint32_t height, uint32_t width,
                               size_t scratch_bytes, brim_slot *out, brim_error *err)
{
    size_t slot_floats, tensor_bytes, n = batcher->batch;
    brim_status status;

    *out = (brim_slot){.scratch_bytes = scratch_bytes};
    brim_monitor_enter(&batcher->monitor);
    for (;;) {
        wait_for_turn(batcher, height, width, scratch_bytes);
        status = try_lease(batcher, height, width, n, out);
        if (status != BRIM_E_BUDGET || wait_for_memory(batcher) == TRY_AGAIN) {
            if (status == BRIM_E_BUDGET) continue;
            break;
        }
        /* Everything else is drained: a picture by itself is the last thing to try. */
        if (n == 1 || batcher->batch_is_fixed) break;
        n = 1;
    }
    brim_monitor_leave(&batcher->monitor);
    if (status == BRIM_OK) return BRIM_OK;
    if (status == BRIM_E_BUDGET &&
        tensor_size(height, width, n, &slot_floats, &tensor_bytes) == BRIM_OK)
        return too_large(batcher, "the picture", scratch_bytes + tensor_bytes, err);
    return brim_fail(err, status, "no memory for a batch of %zu pictures of %ux%u", n, width,
                     height);
}

/* A decoder has ended its work on a slot. */
static void end_work(brim_batcher *self, const brim_slot *slot)
{
    brim_budget_give_back(self->budget, BRIM_ACCOUNT_DECODERS, slot->scratch_bytes);
    self->n_working--;
    move_on(self, slot->batch);
    brim_monitor_wake(&self->monitor);
}

void brim_batcher_fill(brim_batcher *batcher, const brim_slot *slot, brim_item *item)
{
    brim_monitor_enter(&batcher->monitor);
    slot->batch->items[slot->index] = item;
    slot->batch->n_filled++;
    end_work(batcher, slot);
    brim_monitor_leave(&batcher->monitor);
}

void brim_batcher_drop(brim_batcher *batcher, const brim_slot *slot)
{
    brim_monitor_enter(&batcher->monitor);
    slot->batch->free_slots[slot->batch->n_free++] = slot->index;
    end_work(batcher, slot);
    brim_monitor_leave(&batcher->monitor);
}

brim_status brim_batcher_reserve(brim_batcher *batcher, brim_account account, size_t bytes,
                                 brim_error *err)
{
    brim_status status;

    brim_monitor_enter(&batcher->monitor);
    do
        status = brim_budget_reserve(batcher->budget, account, bytes);
    while (status == BRIM_E_BUDGET && bytes <= brim_budget_limit_bytes(batcher->budget) &&
           wait_for_memory(batcher) == TRY_AGAIN);
    brim_monitor_leave(&batcher->monitor);
    return status == BRIM_OK ? BRIM_OK : too_large(batcher, "the file", bytes, err);
}

void brim_batcher_give_back_bytes(brim_batcher *batcher, brim_account account, size_t bytes)
{
    brim_monitor_enter(&batcher->monitor);
    brim_budget_give_back(batcher->budget, account, bytes);
    brim_monitor_wake(&batcher->monitor);
    brim_monitor_leave(&batcher->monitor);
}

void brim_batcher_close(brim_batcher *batcher)
{
    brim_monitor_enter(&batcher->monitor);
    batcher->closed = true;
    while (seal_oldest(batcher))
        ;
    brim_monitor_wake(&batcher->monitor);
    brim_monitor_leave(&batcher->monitor);
}

brim_status brim_batcher_next(brim_batcher *batcher, brim_batch **out)
{
    brim_monitor_enter(&batcher->monitor);
    while (!batcher->ready && !(batcher->closed && !batcher->open))
        brim_monitor_wait(&batcher->monitor);
    *out = batcher->ready;
    if (*out) batcher->ready = (*out)->next;
    brim_monitor_leave(&batcher->monitor);
    return *out ? BRIM_OK : BRIM_END;
}

void brim_batcher_give_back(brim_batcher *batcher, brim_batch *batch)
{
    brim_monitor_enter(&batcher->monitor);
    batcher->n_running--;
    retire(batcher, batch);
    brim_monitor_leave(&batcher->monitor);
}

brim_status brim_batcher_create(const brim_batcher_options *options, brim_batcher **out,
                                brim_error *err)
{
    brim_status status;

    *out = NULL;
    brim_batcher *self = brim_alloc_zeroed(brim_heap(), sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "no memory for batches");
    self->budget = options->budget;
    self->tensors = brim_budget_alloc(options->budget, BRIM_ACCOUNT_TENSORS);
    self->batch = options->batch;
    self->batch_is_fixed = options->batch_is_fixed;
    self->n_decoders = options->n_decoders;
    status = brim_monitor_init(&self->monitor);
    if (status != BRIM_OK) {
        brim_alloc_release(brim_heap(), self, sizeof(*self));
        return brim_fail(err, status, "no memory for batches");
    }
    *out = self;
    return BRIM_OK;
}

void brim_batcher_destroy(brim_batcher *batcher)
{
    if (!batcher) return;
    while (free_kept(batcher))
        ;
    brim_monitor_fini(&batcher->monitor);
    brim_alloc_release(brim_heap(), batcher, sizeof(*batcher));
}
