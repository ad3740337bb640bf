/*
 * batcher.c - batches in one of three lists (open, ready, set aside) under one lock.
 *
 * What will be given back, and so is worth waiting for: what decoders at work hold, batches that
 * are ready or with the model, and open batches once they are closed. One set aside holds nothing.
 */
#include "pipeline/batcher.h"

#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/size.h"
#include "base/sync.h"
#include "brimful/arena.h"
#include "pipeline/stopwatch.h"

enum {
    AHEAD = 3,      /* batches of one shape: one with the model, one ready, one being filled */
    MAX_ALIVE = 24, /* over all shapes, beside those that the decoders need */
    DECODER_FLOOR_SHARE = 8, /* of what is usable, at most */
};

static const size_t SCRATCH_PER_DECODER = 64u << 20; /* a progressive picture of 21 megapixels */

struct brim_batcher {
    brim_batcher_options options;
    brim_budget *budget;

    brim_monitor monitor; /* guards all below */
    brim_batch *open, *ready;
    brim_batch *aside; /* of one picture each, without tensors */
    size_t n_alive;    /* open, ready and with the model */
    size_t n_running;  /* ready and with the model */
    size_t n_working;  /* slots that are leased */
    size_t batch;      /* slots in the batch that was opened last */
    size_t n_large;    /* files beyond their room, and what is held over many slots: not to wait */
    size_t held_bytes; /* by the decoder that keeps memory over many slots, or waits for that */
    bool holds;
    bool alone; /* a picture that was set aside is with the model */
    bool closed;
    uint64_t touched_ns;            /* when a slot was leased or filled last */
    brim_stopwatch model, decoders; /* that wait */
};

/* Until something changes, on a decoder's account. */
static void wait_as_decoder(brim_batcher *self)
{
    uint64_t began_ns = brim_stopwatch_begin(&self->decoders);

    brim_monitor_wait(&self->monitor);
    brim_stopwatch_end(&self->decoders, began_ns);
}

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

/* Its pages stay in the arena's pool, warm for whoever comes next. */
static void retire(brim_batcher *self, brim_batch *batch)
{
    self->n_alive--;
    brim_batch_destroy(batch);
    brim_monitor_wake(&self->monitor);
}

/* Moves an open batch on if it is complete: full, or closed with no slot in a decoder's hands. */
static void move_on(brim_batcher *self, brim_batch *batch)
{
    bool complete =
        batch->n_filled == batch->capacity || (batch->sealed && brim_batch_n_leased(batch) == 0);

    if (!complete) return;
    unlink_from(&self->open, batch);
    if (batch->n_filled == 0) {
        retire(self, batch);
        return;
    }
    brim_batch_close_holes(batch);
    append(&self->ready, batch);
    self->n_running++;
    brim_monitor_wake(&self->monitor);
}

static void seal(brim_batcher *self, brim_batch *batch)
{
    batch->sealed = true;
    move_on(self, batch);
}

/* Closes the oldest batch that is open for leasing; false where there is none. */
static bool seal_oldest(brim_batcher *self)
{
    for (brim_batch *batch = self->open; batch; batch = batch->next) {
        if (batch->sealed) continue;
        seal(self, batch);
        return true;
    }
    return false;
}

/* While pictures wait to run alone, nothing new is begun; but a large file must come to its end. */
static bool is_draining(const brim_batcher *self)
{
    return self->alone || (self->aside && self->n_large == 0);
}

static bool is_drained(const brim_batcher *self)
{
    return self->n_running == 0 && self->n_working == 0 && !self->open;
}

typedef enum outlook { TRY_AGAIN, ALL_DRAINED } outlook;

/* Something did not fit: waits until there is reason to try again. */
static outlook wait_for_memory(brim_batcher *self)
{
    if (self->n_running == 0 && seal_oldest(self)) return TRY_AGAIN;
    if (is_drained(self) && !self->alone) return ALL_DRAINED;
    wait_as_decoder(self);
    return TRY_AGAIN;
}

static brim_status too_large(const brim_batcher *self, const char *what, size_t bytes,
                             brim_error *err)
{
    size_t limit = brim_budget_limit_bytes(self->budget);
    size_t live = brim_budget_live_bytes(self->budget);
    size_t left = live < limit ? limit - live : 0;

    return brim_fail(err, BRIM_E_BUDGET,
                     "%s needs %zu MiB, limit %zu MiB, %zu of it free (--memory)", what,
                     brim_mib_up(bytes), limit >> 20, left >> 20);
}

/*
 * Decoders share their scratch: a few progressive pictures of 24 megapixels at once would take more
 * than all the rest of a run. One that is larger than the share goes alone.
 */
static bool share_has_room(const brim_batcher *self, size_t bytes)
{
    size_t share = self->options.n_decoders * SCRATCH_PER_DECODER;
    size_t live = brim_budget_usage(self->budget, BRIM_ACCOUNT_DECODERS).live_bytes;

    if (self->holds) live -= self->held_bytes;
    return live == 0 || (live <= share && bytes <= share - live);
}

static brim_batch_shape shape_of(const brim_batcher *self, uint32_t height, uint32_t width)
{
    return (brim_batch_shape){height, width, self->options.dtype, self->options.stub_bytes};
}

/* Slots of the smallest batch that can be. */
static size_t least_size(const brim_batcher *self)
{
    return self->options.fixed_batch > 0 ? self->options.fixed_batch : 1;
}

static brim_batch *find_open(const brim_batcher *self, uint32_t height, uint32_t width)
{
    for (brim_batch *batch = self->open; batch; batch = batch->next)
        if (batch->shape.height == height && batch->shape.width == width && batch->n_free > 0 &&
            !batch->sealed)
            return batch;
    return NULL;
}

/* How far the decoders may run ahead of the model. */
static bool may_open_another(const brim_batcher *self)
{
    size_t for_decoders = (self->options.n_decoders + self->batch - 1) / self->batch;

    if (self->n_running >= AHEAD - 1 + for_decoders) return false;
    return self->n_alive < MAX_ALIVE + for_decoders;
}

/* Slots of a new batch. */
static size_t choose_size(const brim_batcher *self, const brim_batch_shape *shape)
{
    size_t slot_bytes;

    if (self->options.fixed_batch > 0) return self->options.fixed_batch;
    if (brim_batch_bytes(shape, 1, &slot_bytes) != BRIM_OK || slot_bytes == 0) return 1;
    return brim_sizes_offer(self->options.sizes, brim_batch_item_shape(shape), slot_bytes);
}

/* An open batch of this shape with a free slot, made if need be (of *n slots; 0 = to be chosen);
 * NULL with the reason in *why. */
static brim_batch *get_open(brim_batcher *self, uint32_t height, uint32_t width, size_t *n,
                            brim_status *why)
{
    const brim_alloc *mem = brim_budget_alloc(self->budget, BRIM_ACCOUNT_OTHER);
    brim_batch_shape shape = shape_of(self, height, width);
    brim_batch *batch = find_open(self, height, width);

    if (batch) return batch;
    if (*n == 0) *n = choose_size(self, &shape);
    batch = brim_batch_create(mem, &shape, *n, why);
    if (!batch) return NULL;
    *why = brim_batch_take_tensor(batch, self->budget);
    if (*why != BRIM_OK) {
        brim_batch_destroy(batch);
        return NULL;
    }
    batch->opened_ns = brim_now_ns();
    append(&self->open, batch);
    self->n_alive++;
    self->batch = *n;
    return batch;
}

/* Closes a batch that has as many pictures as may run, with those that decoders work on. */
static void seal_if_enough(brim_batch *batch)
{
    bool is_short = batch->n_enough < batch->capacity;

    if (is_short && batch->capacity - batch->n_free >= batch->n_enough) batch->sealed = true;
}

/* The frame is a block of the arena, whose pages the next picture finds warm. */
static brim_status take_scratch(const brim_batcher *self, brim_slot *slot)
{
    const brim_alloc *mem = brim_budget_alloc(self->budget, BRIM_ACCOUNT_DECODERS);
    size_t rest = slot->scratch.bytes - slot->scratch.frame_bytes;

    slot->frame = NULL;
    brim_status status = brim_budget_reserve(self->budget, BRIM_ACCOUNT_DECODERS, rest);
    if (status != BRIM_OK || slot->scratch.frame_bytes == 0) return status;
    status = mem->alloc(mem->ctx, slot->scratch.frame_bytes, 0, &slot->frame);
    if (status != BRIM_OK) brim_budget_give_back(self->budget, BRIM_ACCOUNT_DECODERS, rest);
    return status;
}

static void give_back_scratch(const brim_batcher *self, const brim_slot *slot)
{
    const brim_alloc *mem = brim_budget_alloc(self->budget, BRIM_ACCOUNT_DECODERS);
    const brim_scratch *scratch = &slot->scratch;

    brim_alloc_release(mem, slot->frame, scratch->frame_bytes);
    brim_budget_give_back(self->budget, BRIM_ACCOUNT_DECODERS,
                          scratch->bytes - scratch->frame_bytes);
}

/* Scratch and slot, or neither. */
static brim_status try_lease(brim_batcher *self, uint32_t height, uint32_t width, size_t *n,
                             brim_slot *slot)
{
    brim_status status = take_scratch(self, slot);
    if (status != BRIM_OK) return status;
    brim_batch *batch = get_open(self, height, width, n, &status);
    if (!batch) {
        give_back_scratch(self, slot);
        return status;
    }
    slot->batch = batch;
    slot->index = batch->free_slots[--batch->n_free];
    slot->pixels = brim_batch_slot(batch, slot->index);
    seal_if_enough(batch);
    self->n_working++;
    self->touched_ns = brim_now_ns();
    return BRIM_OK;
}

/* Until the decoders are no longer too far ahead of the model, nor of each other. */
static void wait_for_turn(brim_batcher *self, uint32_t height, uint32_t width, size_t scratch_bytes)
{
    for (;;) {
        bool has_batch =
            !is_draining(self) && (find_open(self, height, width) || may_open_another(self));
        if (has_batch && share_has_room(self, scratch_bytes)) return;
        if (has_batch || self->n_running > 0 || !seal_oldest(self)) wait_as_decoder(self);
    }
}

/* Everything else is drained: a picture by itself, with all memory, is the last thing to try. */
static brim_status try_alone(brim_batcher *self, uint32_t height, uint32_t width, brim_slot *slot)
{
    size_t n = least_size(self);

    brim_budget_lift_floors(self->budget);
    brim_budget_trim(self->budget);
    brim_status status = try_lease(self, height, width, &n, slot);
    brim_budget_restore_floors(self->budget);
    return status;
}

/* The floor of decoders is what the largest picture so far has needed, within reason. */
static void raise_floor(brim_batcher *self, size_t scratch_bytes)
{
    size_t most = brim_budget_usable_bytes(self->budget) / DECODER_FLOOR_SHARE;

    if (scratch_bytes > most) scratch_bytes = most;
    if (scratch_bytes > brim_budget_usage(self->budget, BRIM_ACCOUNT_DECODERS).floor_bytes)
        brim_budget_set_floor(self->budget, BRIM_ACCOUNT_DECODERS, scratch_bytes);
}

brim_status brim_batcher_lease(brim_batcher *batcher, uint32_t height, uint32_t width,
                               brim_scratch scratch, brim_slot *out, brim_error *err)
{
    brim_batch_shape shape = shape_of(batcher, height, width);
    size_t tensor_bytes, n = 0;
    brim_status status;

    *out = (brim_slot){.scratch = scratch};
    brim_monitor_enter(&batcher->monitor);
    raise_floor(batcher, scratch.bytes);
    do {
        wait_for_turn(batcher, height, width, scratch.bytes);
        status = try_lease(batcher, height, width, &n, out);
    } while (status == BRIM_E_BUDGET && wait_for_memory(batcher) == TRY_AGAIN);
    if (status == BRIM_E_BUDGET) status = try_alone(batcher, height, width, out);
    if (status == BRIM_E_BUDGET &&
        brim_batch_bytes(&shape, least_size(batcher), &tensor_bytes) == BRIM_OK)
        too_large(batcher, "the picture", scratch.bytes + tensor_bytes, err);
    else if (status != BRIM_OK)
        brim_fail(err, status, "a batch of pictures of %ux%u cannot be made", width, height);
    brim_monitor_leave(&batcher->monitor);
    return status;
}

/* A decoder has ended its work on a slot. */
static void end_work(brim_batcher *self, const brim_slot *slot)
{
    give_back_scratch(self, slot);
    self->n_working--;
    self->touched_ns = brim_now_ns();
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

/* While pictures wait to run alone no large file is begun; who has one already may go on. */
static bool must_wait(const brim_batcher *self, brim_account account)
{
    return account == BRIM_ACCOUNT_QUEUES ? self->aside || self->alone : is_draining(self);
}

/* Waits until there is room beside all that decoders hold; what names it in the message. */
static brim_status reserve(brim_batcher *batcher, brim_account account, size_t bytes,
                           const char *what, brim_error *err)
{
    brim_status status;

    do {
        while (must_wait(batcher, account))
            wait_as_decoder(batcher);
        status = brim_budget_reserve(batcher->budget, account, bytes);
    } while (status == BRIM_E_BUDGET && bytes <= brim_budget_limit_bytes(batcher->budget) &&
             wait_for_memory(batcher) == TRY_AGAIN);
    if (status == BRIM_E_BUDGET) {
        brim_budget_lift_floors(batcher->budget);
        status = brim_budget_reserve(batcher->budget, account, bytes);
        brim_budget_restore_floors(batcher->budget);
    }
    if (status == BRIM_OK)
        batcher->n_large++;
    else
        too_large(batcher, what, bytes, err);
    return status;
}

static void give_back_large(brim_batcher *self, brim_account account, size_t bytes)
{
    brim_budget_give_back(self->budget, account, bytes);
    self->n_large--;
    brim_monitor_wake(&self->monitor);
}

brim_status brim_batcher_reserve(brim_batcher *batcher, brim_account account, size_t bytes,
                                 brim_error *err)
{
    brim_monitor_enter(&batcher->monitor);
    brim_status status = reserve(batcher, account, bytes, "the file", err);
    brim_monitor_leave(&batcher->monitor);
    return status;
}

brim_status brim_batcher_reserve_for_good(brim_batcher *batcher, brim_account account, size_t bytes,
                                          const char *what, brim_error *err)
{
    brim_monitor_enter(&batcher->monitor);
    brim_status status = reserve(batcher, account, bytes, what, err);
    if (status == BRIM_OK) batcher->n_large--; /* nobody has to wait until it is given back */
    brim_monitor_wake(&batcher->monitor);
    brim_monitor_leave(&batcher->monitor);
    return status;
}

/* What a slot takes by itself: scratch and tensor, which may be given a page more than it is. */
static brim_status slot_room(const brim_batcher *self, uint32_t height, uint32_t width,
                             size_t scratch_bytes, size_t *bytes)
{
    brim_batch_shape shape = shape_of(self, height, width);
    brim_arena *arena = brim_budget_arena(self->budget);
    size_t page_bytes = arena ? brim_arena_usage_now(arena).page_bytes : 0;

    brim_status status = brim_batch_bytes(&shape, least_size(self), bytes);
    if (status == BRIM_OK) status = brim_add_bytes(*bytes, page_bytes, bytes);
    return status == BRIM_OK ? brim_add_bytes(*bytes, scratch_bytes, bytes) : status;
}

brim_status brim_batcher_hold(brim_batcher *batcher, size_t bytes, uint32_t height, uint32_t width,
                              size_t scratch_bytes, brim_error *err)
{
    size_t beside, both;

    brim_status status = slot_room(batcher, height, width, scratch_bytes, &beside);
    if (status == BRIM_OK) status = brim_add_bytes(bytes, beside, &both);
    if (status != BRIM_OK) return brim_fail(err, status, "the tiles are too large");
    brim_monitor_enter(&batcher->monitor);
    while (batcher->held_bytes > 0)
        wait_as_decoder(batcher);
    batcher->held_bytes = bytes; /* a turn that others see while this one waits for the memory */
    status = reserve(batcher, BRIM_ACCOUNT_DECODERS, both, "a row of its tiles", err);
    batcher->holds = status == BRIM_OK;
    if (status == BRIM_OK)
        brim_budget_give_back(batcher->budget, BRIM_ACCOUNT_DECODERS, beside);
    else
        batcher->held_bytes = 0;
    brim_monitor_wake(&batcher->monitor);
    brim_monitor_leave(&batcher->monitor);
    return status;
}

void brim_batcher_let_go(brim_batcher *batcher, size_t bytes)
{
    brim_monitor_enter(&batcher->monitor);
    batcher->held_bytes = 0;
    batcher->holds = false;
    give_back_large(batcher, BRIM_ACCOUNT_DECODERS, bytes);
    brim_monitor_leave(&batcher->monitor);
}

void brim_batcher_give_back_bytes(brim_batcher *batcher, brim_account account, size_t bytes)
{
    brim_monitor_enter(&batcher->monitor);
    give_back_large(batcher, account, bytes);
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

/* The picture that was set aside first, once all else is drained; NULL before. */
static brim_batch *take_aside(brim_batcher *self)
{
    brim_batch *batch = self->aside;

    if (!batch) return NULL;
    while (seal_oldest(self))
        ;
    if (!is_drained(self) || self->n_large > 0) return NULL;
    self->aside = batch->next;
    self->alone = true;
    self->n_alive++;
    self->n_running++;
    brim_budget_lift_floors(self->budget);
    brim_budget_trim(self->budget);
    brim_batch_take_tensor(batch, self->budget); /* or it is told so to the model */
    return batch;
}

/*
 * When the oldest batch with a picture in it will have waited for too long; 0 = none waits. Where
 * pictures are not looked at the clock must not change what goes into batches: only where nothing
 * comes any more are they closed.
 */
static uint64_t overdue_ns(const brim_batcher *self, brim_batch **oldest)
{
    uint64_t since_ns = 0;

    *oldest = self->options.fixed_batch > 0 ? NULL : self->open;
    while (*oldest && ((*oldest)->sealed || (*oldest)->n_filled == 0))
        *oldest = (*oldest)->next;
    if (!*oldest) return 0;
    if (self->options.stub_bytes == 0)
        since_ns = (*oldest)->opened_ns;
    else if (self->n_working > 0)
        return 0;
    else
        since_ns = self->touched_ns;
    return since_ns + brim_sizes_patience_ns(self->options.sizes);
}

/* The model has nothing to do: waits for news, but no longer than a batch may wait. */
static void wait_as_model(brim_batcher *self)
{
    brim_batch *oldest;
    uint64_t until_ns = overdue_ns(self, &oldest);

    if (until_ns > 0 && until_ns <= brim_now_ns()) {
        seal(self, oldest);
        if (self->ready) return;
        until_ns = 0; /* decoders are at work in it, and will wake us */
    }
    uint64_t began_ns = brim_stopwatch_begin(&self->model);
    if (until_ns > 0)
        brim_monitor_wait_until(&self->monitor, until_ns);
    else
        brim_monitor_wait(&self->monitor);
    brim_stopwatch_end(&self->model, began_ns);
}

brim_status brim_batcher_next(brim_batcher *batcher, brim_batch **out)
{
    brim_monitor_enter(&batcher->monitor);
    for (;;) {
        *out = batcher->ready;
        if (*out) batcher->ready = (*out)->next;
        if (!*out) *out = take_aside(batcher);
        if (*out || (batcher->closed && !batcher->open && !batcher->ready && !batcher->aside))
            break;
        if (!batcher->ready) wait_as_model(batcher);
    }
    brim_monitor_leave(&batcher->monitor);
    return *out ? BRIM_OK : BRIM_END;
}

void brim_batcher_give_back(brim_batcher *batcher, brim_batch *batch)
{
    brim_monitor_enter(&batcher->monitor);
    batcher->n_running--;
    if (batch->is_alone) {
        batcher->alone = false;
        brim_budget_restore_floors(batcher->budget);
    }
    retire(batcher, batch);
    brim_monitor_leave(&batcher->monitor);
}

brim_status brim_batcher_set_aside(brim_batcher *batcher, const brim_batch *batch, brim_item *item,
                                   int64_t spool_at)
{
    brim_status status;

    /* From the heap itself: a few bytes that must be there when they are wanted. */
    brim_batch *alone = brim_batch_create(brim_heap(), &batch->shape, least_size(batcher), &status);
    if (!alone) return status;
    alone->is_alone = true;
    alone->spool_at = spool_at;
    alone->items[0] = item;
    alone->n_filled = 1;
    brim_monitor_enter(&batcher->monitor);
    append(&batcher->aside, alone);
    brim_monitor_leave(&batcher->monitor);
    return BRIM_OK;
}

void brim_batcher_reconsider(brim_batcher *batcher)
{
    brim_batch *next;

    if (batcher->options.fixed_batch > 0) return;
    brim_monitor_enter(&batcher->monitor);
    for (brim_batch *batch = batcher->open; batch; batch = next) {
        size_t most =
            brim_sizes_limit(batcher->options.sizes, brim_batch_item_shape(&batch->shape));
        next = batch->next;
        if (batch->sealed || most >= batch->n_enough) continue;
        batch->n_enough = most;
        seal_if_enough(batch);
        move_on(batcher, batch);
    }
    brim_monitor_leave(&batcher->monitor);
}

brim_batcher_waits brim_batcher_waited(brim_batcher *batcher)
{
    brim_monitor_enter(&batcher->monitor);
    uint64_t now_ns = brim_now_ns();
    brim_batcher_waits waits = {brim_stopwatch_seconds(&batcher->model, now_ns),
                                brim_stopwatch_seconds(&batcher->decoders, now_ns)};
    brim_monitor_leave(&batcher->monitor);
    return waits;
}

brim_status brim_batcher_create(const brim_batcher_options *options, brim_batcher **out,
                                brim_error *err)
{
    brim_status status;

    *out = NULL;
    brim_batcher *self = brim_alloc_zeroed(brim_heap(), sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "no memory for batches");
    self->options = *options;
    self->budget = options->budget;
    self->batch = least_size(self);
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
    brim_monitor_fini(&batcher->monitor);
    brim_alloc_release(brim_heap(), batcher, sizeof(*batcher));
}
