/*
 * batcher.c - batches in one of three lists (open, ready, kept for reuse) under one lock.
 *
 * What will be given back, and so is worth waiting for: scratch of decoders at work, batches that
 * are ready or with the model, and open batches once they are closed. Decoders hold scratch before
 * they ask for a slot, so whoever holds a leased slot can finish without asking for anything.
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

    brim_monitor monitor; /* guards all below */
    brim_batch *open, *ready, *kept;
    size_t n_alive;   /* open, ready and with the model */
    size_t n_running; /* ready and with the model */
    size_t n_scratch; /* decoders that hold some */
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

/* Closes the oldest open batch that holds something; false where there is none. */
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

/*
 * Called when something did not fit. True: try again (after waiting, if need be). False: nothing
 * will be given back any more. n_own: scratch that the caller itself holds does not count.
 */
static bool wait_for_memory(brim_batcher *self, size_t n_own)
{
    if (free_kept(self)) return true;
    if (self->n_running == 0 && seal_oldest(self)) return true;
    if (self->n_running == 0 && self->n_scratch <= n_own && !self->open) return false;
    brim_monitor_wait(&self->monitor);
    return true;
}

/*
 * Decoders share their scratch: a few progressive pictures of 24 megapixels at once would take more
 * than all the rest of a run. One that is larger than the share goes alone.
 */
static brim_status reserve_scratch(brim_batcher *self, size_t bytes)
{
    size_t share = self->n_decoders * SCRATCH_PER_DECODER;
    size_t live = brim_budget_usage(self->budget, BRIM_ACCOUNT_DECODERS).live_bytes;

    if (live > 0 && (live > share || bytes > share - live)) return BRIM_E_BUDGET;
    return brim_budget_reserve(self->budget, BRIM_ACCOUNT_DECODERS, bytes);
}

static brim_status too_large(const brim_batcher *self, const char *what, size_t bytes,
                             brim_error *err)
{
    return brim_fail(err, BRIM_E_BUDGET, "%s needs %zu MiB, limit %zu MiB (--memory)", what,
                     (bytes + (1u << 20) - 1) >> 20, brim_budget_limit_bytes(self->budget) >> 20);
}

brim_status brim_batcher_take_scratch(brim_batcher *batcher, size_t bytes, brim_error *err)
{
    brim_status status;

    brim_monitor_enter(&batcher->monitor);
    do
        status = reserve_scratch(batcher, bytes);
    while (status == BRIM_E_BUDGET && bytes <= brim_budget_limit_bytes(batcher->budget) &&
           wait_for_memory(batcher, 0));
    if (status == BRIM_OK) batcher->n_scratch++;
    brim_monitor_leave(&batcher->monitor);
    return status == BRIM_OK ? BRIM_OK : too_large(batcher, "decoding", bytes, err);
}

void brim_batcher_return_scratch(brim_batcher *batcher, size_t bytes)
{
    brim_monitor_enter(&batcher->monitor);
    brim_budget_give_back(batcher->budget, BRIM_ACCOUNT_DECODERS, bytes);
    batcher->n_scratch--;
    brim_monitor_wake(&batcher->monitor);
    brim_monitor_leave(&batcher->monitor);
}

static brim_status make_batch(brim_batcher *self, uint32_t height, uint32_t width, brim_batch **out)
{
    size_t slot_floats, tensor_bytes, items_bytes, block_bytes;
    void *tensor = NULL;
    brim_status status;

    *out = NULL;
    if (brim_mul_bytes((size_t)height * 3, width, &slot_floats) != BRIM_OK ||
        brim_mul_bytes(slot_floats * sizeof(float), self->batch, &tensor_bytes) != BRIM_OK ||
        brim_mul_bytes(self->batch, sizeof(brim_item *) + sizeof(uint32_t), &items_bytes) !=
            BRIM_OK ||
        brim_add_bytes(items_bytes, sizeof(brim_batch), &block_bytes) != BRIM_OK)
        return BRIM_E_ARG;

    brim_batch *batch = brim_alloc_zeroed(self->tensors, block_bytes, &status);
    if (!batch) return status;
    batch->block_bytes = block_bytes;
    status = self->tensors->alloc(self->tensors->ctx, tensor_bytes, 0, &tensor);
    if (status != BRIM_OK) {
        brim_alloc_release(self->tensors, batch, block_bytes);
        return status;
    }
    batch->tensor = tensor;
    batch->tensor_bytes = tensor_bytes;
    batch->items = (brim_item **)(batch + 1);
    batch->free_slots = (uint32_t *)(batch->items + self->batch);
    batch->capacity = self->batch;
    batch->height = height;
    batch->width = width;
    batch->slot_floats = slot_floats;
    *out = batch;
    return BRIM_OK;
}

/* An empty batch of this shape: a kept one, or a new one. */
static brim_status take_batch(brim_batcher *self, uint32_t height, uint32_t width, brim_batch **out)
{
    for (brim_batch *batch = self->kept; batch; batch = batch->next) {
        if (batch->height != height || batch->width != width) continue;
        unlink_from(&self->kept, batch);
        *out = batch;
        return BRIM_OK;
    }
    return make_batch(self, height, width, out);
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

brim_status brim_batcher_lease(brim_batcher *batcher, uint32_t height, uint32_t width,
                               brim_slot *out, brim_error *err)
{
    brim_status status = BRIM_OK;
    brim_batch *batch;

    brim_monitor_enter(&batcher->monitor);
    while (!(batch = find_open(batcher, height, width))) {
        if (!may_open_another(batcher)) {
            if (batcher->n_running > 0 || !seal_oldest(batcher))
                brim_monitor_wait(&batcher->monitor);
            continue;
        }
        status = take_batch(batcher, height, width, &batch);
        if (status == BRIM_OK) {
            reset_batch(batch);
            append(&batcher->open, batch);
            batcher->n_alive++;
            break;
        }
        if (status != BRIM_E_BUDGET || !wait_for_memory(batcher, 1)) break;
    }
    if (batch) {
        uint32_t index = batch->free_slots[--batch->n_free];
        *out = (brim_slot){batch, index, batch->tensor + index * batch->slot_floats};
        status = BRIM_OK;
    }
    brim_monitor_leave(&batcher->monitor);
    if (batch) return BRIM_OK;
    if (status == BRIM_E_BUDGET)
        return too_large(batcher, "the batch",
                         batcher->batch * (size_t)height * width * 3 * sizeof(float), err);
    return brim_fail(err, status, "no memory for a batch of %zu pictures of %ux%u", batcher->batch,
                     width, height);
}

void brim_batcher_fill(brim_batcher *batcher, const brim_slot *slot, brim_item *item)
{
    brim_monitor_enter(&batcher->monitor);
    slot->batch->items[slot->index] = item;
    slot->batch->n_filled++;
    move_on(batcher, slot->batch);
    brim_monitor_leave(&batcher->monitor);
}

void brim_batcher_drop(brim_batcher *batcher, const brim_slot *slot)
{
    brim_monitor_enter(&batcher->monitor);
    slot->batch->free_slots[slot->batch->n_free++] = slot->index;
    move_on(batcher, slot->batch);
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
