/* sizes.c - a governor under a lock, with the budget's figures before it and a book behind it. */
#include "pipeline/sizes.h"

#include <inttypes.h>

#include "base/fail.h"
#include "base/sync.h"

enum {
    TENSOR_SHARE = 4, /* of what is usable, that one batch may take at most: three are alive */
    N_SHAPES = 16,    /* of which the most used one is looked for */
};

/* Of open batches while the model is idle. Shorter, and a few slow decoders would never fill any.
 */
static const double LEAST_PATIENCE_S = 0.5, MOST_PATIENCE_S = 2.0, PATIENCE_RUNS = 2.0;

typedef struct shape_use {
    brim_shape shape;
    uint64_t n_items;
} shape_use;

struct brim_sizes {
    brim_sizes_options options;
    uint32_t max_batch; /* of the options */

    brim_monitor monitor; /* guards all below */
    size_t device_bytes;  /* free on a device with memory of its own; SIZE_MAX = it has none */
    double tensor_bytes;  /* what batches took lately, at the most */
    size_t offered, offered_of_bytes; /* last */
    bool is_over;                     /* nothing is to be learned any more */
    double last_s;
    shape_use shapes[N_SHAPES];
    brim_work work;
    brim_governor governor;
};

/* ---- The bytes that a run may take ---- */

static size_t live_bytes(const brim_sizes *self, brim_account account)
{
    return brim_budget_usage(self->options.budget, account).live_bytes;
}

static size_t beyond(size_t all, size_t taken)
{
    return all > taken ? all - taken : 0;
}

/* What activations can have when this much goes into tensors and scratch. */
static size_t left_beside(const brim_sizes *self, size_t tensor_bytes, size_t scratch_bytes)
{
    static const brim_account SMALL[] = {BRIM_ACCOUNT_QUEUES, BRIM_ACCOUNT_SPOOL,
                                         BRIM_ACCOUNT_RESULTS, BRIM_ACCOUNT_OTHER};
    size_t left = brim_budget_usable_bytes(self->options.budget);

    for (size_t i = 0; i < sizeof(SMALL) / sizeof(SMALL[0]); i++)
        left = beyond(left, live_bytes(self, SMALL[i]));
    return beyond(beyond(left, tensor_bytes), scratch_bytes);
}

/*
 * A batch that is opened now runs later: beside it will be about as many tensors as there lately
 * were, and the scratch that decoders are sure to get. Both move slowly, so that the governor does
 * not take the tide of full and empty batches for memory that others took or gave back.
 */
static size_t bytes_ahead(brim_sizes *self)
{
    brim_account_usage scratch = brim_budget_usage(self->options.budget, BRIM_ACCOUNT_DECODERS);
    double tensors = (double)live_bytes(self, BRIM_ACCOUNT_TENSORS);

    self->tensor_bytes *= 0.98;
    if (self->tensor_bytes < tensors) self->tensor_bytes = tensors;
    if (self->device_bytes != SIZE_MAX) return self->device_bytes;
    return left_beside(self, (size_t)self->tensor_bytes,
                       scratch.live_bytes > scratch.floor_bytes ? scratch.live_bytes
                                                                : scratch.floor_bytes);
}

static size_t bytes_now(const brim_sizes *self)
{
    if (self->device_bytes != SIZE_MAX) return self->device_bytes;
    return left_beside(self, live_bytes(self, BRIM_ACCOUNT_TENSORS),
                       live_bytes(self, BRIM_ACCOUNT_DECODERS));
}

/* ---- Asking ---- */

static brim_shape most_used(const brim_sizes *self)
{
    const shape_use *found = &self->shapes[0];

    for (size_t i = 1; i < N_SHAPES; i++)
        if (self->shapes[i].n_items > found->n_items) found = &self->shapes[i];
    return found->shape;
}

size_t brim_sizes_most_slots(const brim_budget *budget, size_t slot_bytes)
{
    size_t most = brim_budget_usable_bytes(budget) / TENSOR_SHARE / slot_bytes;

    return most > 0 ? most : 1;
}

/* Where pictures are only counted, slots are next to nothing. */
static uint32_t most_slots(const brim_sizes *self, size_t slot_bytes)
{
    size_t most = brim_sizes_most_slots(self->options.budget, slot_bytes);

    if (self->options.session->stub_bytes > 0 || most > UINT32_MAX) return UINT32_MAX;
    return (uint32_t)most;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void log_offer(const brim_sizes *self, const brim_offer *offer)
{
    char line[BRIM_OBSERVATION_LINE_BYTES];

    brim_offer_write(offer, line, sizeof(line));
    brim_log_write(self->options.log, BRIM_LOG_DETAIL, "%s", line);
}

size_t brim_sizes_offer(brim_sizes *sizes, brim_shape shape, size_t slot_bytes)
{
    uint32_t most = most_slots(sizes, slot_bytes);

    brim_monitor_enter(&sizes->monitor);
    size_t budget_bytes = bytes_ahead(sizes);
    sizes->governor.options.max_batch = lesser(sizes->max_batch, most);
    size_t n = brim_governor_offer(&sizes->governor, shape, budget_bytes);
    if (n > most) n = most;
    sizes->offered = n;
    sizes->offered_of_bytes = budget_bytes;
    log_offer(sizes, &(brim_offer){shape, budget_bytes, sizes->governor.options.max_batch, n});
    brim_monitor_leave(&sizes->monitor);
    return n;
}

size_t brim_sizes_limit(brim_sizes *sizes, brim_shape shape)
{
    brim_monitor_enter(&sizes->monitor);
    sizes->governor.options.max_batch = sizes->max_batch; /* the tensor is there already */
    size_t n = brim_governor_limit(&sizes->governor, shape, bytes_now(sizes));
    brim_monitor_leave(&sizes->monitor);
    return n > 0 ? n : 1;
}

size_t brim_sizes_best(brim_sizes *sizes)
{
    const brim_governor *governor = &sizes->governor;
    size_t best = 0;

    brim_monitor_enter(&sizes->monitor);
    brim_shape shape = most_used(sizes);
    if (governor->options.policy != BRIM_POLICY_KNEE)
        best = sizes->offered;
    else if (shape.pixels > 0)
        best = brim_knee_best(&governor->knee, &governor->options, &governor->memory, shape,
                              sizes->offered_of_bytes);
    brim_monitor_leave(&sizes->monitor);
    return best;
}

uint64_t brim_sizes_patience_ns(brim_sizes *sizes)
{
    brim_monitor_enter(&sizes->monitor);
    double seconds = sizes->last_s * PATIENCE_RUNS;
    brim_monitor_leave(&sizes->monitor);
    if (seconds < LEAST_PATIENCE_S) seconds = LEAST_PATIENCE_S;
    if (seconds > MOST_PATIENCE_S) seconds = MOST_PATIENCE_S;
    return (uint64_t)(seconds * 1e9);
}

/* ---- The book ---- */

/* A size beyond what the book has room for takes the place of the rarest, which is then one of the
 * others. */
static void count_size(brim_work *work, size_t n_items)
{
    size_t i = 0, rarest = 0;

    for (; i < work->n_sizes && work->sizes[i].n_items != n_items; i++)
        if (work->sizes[i].n_runs < work->sizes[rarest].n_runs) rarest = i;
    if (i == BRIM_WORK_SIZES) {
        i = rarest;
        work->n_other_runs += work->sizes[i].n_runs;
        work->sizes[i] = (brim_size_count){.n_items = n_items};
    } else if (i == work->n_sizes) {
        work->sizes[work->n_sizes++] = (brim_size_count){.n_items = n_items};
    }
    work->sizes[i].n_runs++;
}

static void count_shape(brim_sizes *self, brim_shape shape, size_t n_items)
{
    shape_use *rarest = &self->shapes[0];

    for (size_t i = 0; i < N_SHAPES; i++) {
        shape_use *use = &self->shapes[i];
        if (brim_shape_is_same(use->shape, shape)) {
            use->n_items += n_items;
            return;
        }
        if (use->n_items < rarest->n_items) rarest = use;
    }
    *rarest = (shape_use){shape, n_items};
}

static void book_run(brim_sizes *self, const brim_observation *seen, bool done)
{
    brim_work *work = &self->work;

    work->device_s += seen->seconds;
    if (!done) return;
    self->last_s = seen->seconds;
    if (seen->peak_bytes > work->run_peak_bytes) work->run_peak_bytes = seen->peak_bytes;
    count_size(work, seen->n_items);
    count_shape(self, seen->shape, seen->n_items);
}

/* Is told whether a wall was met. */
static bool observe(brim_sizes *self, const brim_observation *seen)
{
    char line[BRIM_OBSERVATION_LINE_BYTES];
    uint64_t n_spills = brim_governor_count(&self->governor).n_spills;

    brim_governor_observe(&self->governor, seen);
    brim_observation_write(seen, line, sizeof(line));
    brim_log_write(self->options.log, BRIM_LOG_DETAIL, "%s", line);
    const char *word = brim_governor_take_word(&self->governor);
    if (word) brim_log_write(self->options.log, BRIM_LOG_NOTE, "%s", word);
    return seen->refused || brim_governor_count(&self->governor).n_spills > n_spills;
}

void brim_sizes_stop_learning(brim_sizes *sizes)
{
    brim_monitor_enter(&sizes->monitor);
    sizes->is_over = true;
    brim_monitor_leave(&sizes->monitor);
}

bool brim_sizes_note_run(brim_sizes *sizes, const brim_observation *seen, brim_status status)
{
    bool learns = status == BRIM_OK || (seen->refused && seen->n_items > 1);
    bool met = false;

    brim_monitor_enter(&sizes->monitor);
    sizes->device_bytes = brim_session_free_bytes(sizes->options.session);
    book_run(sizes, seen, status == BRIM_OK);
    if (sizes->is_over && brim_governor_count(&sizes->governor).n_observed > 0) learns = false;
    if (learns) met = observe(sizes, seen);
    brim_monitor_leave(&sizes->monitor);
    return met;
}

/* ---- Telling ---- */

static void sort_sizes(brim_work *work)
{
    for (size_t i = 1; i < work->n_sizes; i++)
        for (size_t k = i; k > 0 && work->sizes[k].n_items < work->sizes[k - 1].n_items; k--) {
            brim_size_count smaller = work->sizes[k];
            work->sizes[k] = work->sizes[k - 1];
            work->sizes[k - 1] = smaller;
        }
}

static void tell_memory(const brim_sizes *self, brim_shape shape, size_t budget_bytes,
                        brim_work *out)
{
    const brim_governor *governor = &self->governor;
    size_t n = 1;

    for (size_t i = 0; i < out->n_rungs; i++)
        if (out->ladder[i].is_chosen) n = out->ladder[i].n_items;
    brim_bytes_forecast forecast = brim_governor_forecast(governor, shape, n);
    brim_memory_shares shares = brim_memory_model_shares(&governor->memory, shape, n);
    out->memory = (brim_work_memory){
        .fixed_bytes = shares.fixed_bytes,
        .item_bytes = shares.item_bytes,
        .token_bytes = shares.token_bytes,
        .room_bytes = budget_bytes,
        .most_items = brim_knee_cap(&governor->knee, &governor->options, &governor->memory, shape,
                                    budget_bytes),
    };
    if (forecast.bytes > 0)
        out->memory.error_frac = (double)forecast.upper_bytes / (double)forecast.bytes - 1.0;
}

static void tell_ladder(brim_sizes *self, brim_work *out)
{
    brim_shape shape = most_used(self);
    size_t budget_bytes = bytes_ahead(self);

    if (shape.pixels == 0) return;
    out->ladder_px = shape.pixels;
    out->n_rungs =
        brim_governor_ladder(&self->governor, shape, budget_bytes, out->ladder, BRIM_WORK_RUNGS);
    if (out->n_rungs > 0) tell_memory(self, shape, budget_bytes, out);
}

void brim_sizes_tell(brim_sizes *sizes, brim_work *out)
{
    brim_monitor_enter(&sizes->monitor);
    *out = sizes->work;
    out->n_spills = brim_governor_count(&sizes->governor).n_spills;
    sort_sizes(out);
    tell_ladder(sizes, out);
    brim_monitor_leave(&sizes->monitor);
}

/* ---- Making and ending ---- */

static brim_governor_options policy_of(const brim_sizes_options *options)
{
    brim_governor_options fixed = BRIM_OPTIONS(brim_governor_options);

    if (options->batch == 0) return options->governor;
    fixed.policy = BRIM_POLICY_FIXED;
    fixed.start_batch = options->batch < UINT32_MAX ? (uint32_t)options->batch : UINT32_MAX;
    fixed.max_batch = fixed.start_batch;
    return fixed;
}

brim_status brim_sizes_create(const brim_sizes_options *options, brim_sizes **out, brim_error *err)
{
    brim_governor_options policy = policy_of(options);
    brim_status status;

    *out = NULL;
    brim_sizes *self = brim_alloc_zeroed(brim_heap(), sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "no memory for the sizes of batches");
    self->options = *options;
    brim_governor_init(&self->governor, &policy);
    self->max_batch = self->governor.options.max_batch;
    self->device_bytes = brim_session_free_bytes(options->session);
    status = brim_monitor_init(&self->monitor);
    if (status != BRIM_OK) {
        brim_alloc_release(brim_heap(), self, sizeof(*self));
        return brim_fail(err, status, "no memory for the sizes of batches");
    }
    *out = self;
    return BRIM_OK;
}

void brim_sizes_destroy(brim_sizes *sizes)
{
    if (!sizes) return;
    brim_monitor_fini(&sizes->monitor);
    brim_alloc_release(brim_heap(), sizes, sizeof(*sizes));
}
