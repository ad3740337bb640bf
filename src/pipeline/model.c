/*
 * model.c - the stage of the model: batches in, results or failures out, whatever memory does.
 *
 * A batch is run in pieces of what the governor lets run at once now, which may be less than when
 * the batch was opened. What is refused is run again in halves, down to single pictures. A picture
 * that is refused even by itself is set aside, its pixels on disk, and comes again when everything
 * else is drained; only then is a refusal its failure.
 */
#include "base/fail.h"
#include "base/size.h"
#include "memory/pressure.h"
#include "pipeline/stages.h"

static void fail_range(brim_stages *stages, brim_batch *batch, size_t first, size_t n,
                       const brim_error *err)
{
    for (size_t i = first; i < first + n; i++) {
        brim_item *item = batch->items[i];
        batch->items[i] = NULL;
        item->record.step = BRIM_STEP_MODEL;
        item->record.error = *err;
        brim_stages_fail(stages, item);
    }
}

static void drop_range(brim_batch *batch, size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++) {
        brim_item_destroy(batch->items[i]);
        batch->items[i] = NULL;
    }
}

static void take_results(brim_stages *stages, brim_batch *batch, size_t first, size_t n,
                         const brim_output *output)
{
    for (size_t i = 0; i < n; i++) {
        brim_item *item = batch->items[first + i];
        brim_error err = {0};
        brim_status status =
            brim_task_read(stages->options->task, output, i, brim_heap(), &item->record, &err);
        if (status == BRIM_E_NOMEM) brim_stages_give_up(stages, &err);
        if (status != BRIM_OK) {
            fail_range(stages, batch, first + i, 1, &err);
            continue;
        }
        batch->items[first + i] = NULL;
        if (brim_queue_push(stages->results, item, item->record.dim * sizeof(float)) != BRIM_OK)
            brim_item_destroy(item);
    }
}

/*
 * What a run has needed is kept for the next one: decoders that read ahead can then not starve the
 * model. Half of what is usable suffices for batches, since they can be made smaller.
 */
static void raise_floor(const brim_stages *stages, size_t n, size_t peak_bytes)
{
    brim_budget *budget = stages->options->budget;
    size_t most = brim_budget_usable_bytes(budget);

    if (n > 1) most /= 2;
    if (peak_bytes > most) peak_bytes = most;
    if (peak_bytes > brim_budget_usage(budget, BRIM_ACCOUNT_ACTIVATIONS).floor_bytes)
        brim_budget_set_floor(budget, BRIM_ACCOUNT_ACTIVATIONS, peak_bytes);
}

/*
 * What the run told. The refusal of one picture teaches nothing: no batch could be smaller, and one
 * that is alone in all of memory has no neighbours to take as its measure. One that went well has
 * cost what it would have cost among others.
 */
static void note_run(brim_stages *stages, const brim_batch *batch, size_t n, brim_status status,
                     bool has_pressure)
{
    const brim_session *session = stages->options->session;
    atomic_size_t *best = stages->options->best_batch;
    brim_observation seen = {.n_items = n,
                             .shape = brim_batch_item_shape(&batch->shape),
                             .seconds = session->run_seconds,
                             .peak_bytes = status == BRIM_OK ? session->run_peak_bytes : 0,
                             .refused = status == BRIM_E_BUDGET,
                             .has_pressure = has_pressure};

    brim_count(&stages->options->counters->n_batches, 1);
    if (seen.refused) brim_count(&stages->options->counters->n_refusals, 1);
    if (brim_stages_stopping(stages)) brim_sizes_stop_learning(stages->sizes);
    if (brim_sizes_note_run(stages->sizes, &seen, status)) brim_batcher_reconsider(stages->batcher);
    if (best) atomic_store(best, brim_sizes_best(stages->sizes));
}

/* The session's run, and whether the system was short of memory in it. What is simulated takes none
 * of this machine's. */
static brim_status run_session(brim_session *session, const void *pixels, size_t n,
                               const brim_batch_shape *shape, brim_output *output,
                               bool *has_pressure, brim_error *err)
{
    bool is_real = session->stub_bytes == 0;
    brim_pressure before = is_real ? brim_pressure_now("") : (brim_pressure){0};

    brim_status status =
        brim_session_run(session, pixels, n, shape->height, shape->width, output, err);
    brim_pressure after = is_real ? brim_pressure_now("") : (brim_pressure){0};
    *has_pressure = brim_pressure_rose(&before, &after, session->run_seconds);
    return status;
}

/* One run of pictures first..first+n; on success their results have gone on. */
static brim_status run_once(brim_stages *stages, brim_batch *batch, size_t first, size_t n,
                            brim_error *err)
{
    brim_session *session = stages->options->session;
    size_t fixed = brim_session_fixed_batch(session);
    unsigned char *pixels = brim_batch_slot(batch, first);
    brim_output output;
    bool has_pressure;

    /* A fixed batch is filled up with zeros; what comes out for them is never looked at. */
    if (fixed > n) memset(pixels + n * batch->slot_bytes, 0, (fixed - n) * batch->slot_bytes);
    brim_status status =
        run_session(session, pixels, fixed ? fixed : n, &batch->shape, &output, &has_pressure, err);
    note_run(stages, batch, fixed ? fixed : n, status, has_pressure);
    if (status == BRIM_OK && (output.n_dims == 0 || output.dims[0] < n))
        status = brim_fail(err, BRIM_E_RUNTIME, "the model gave fewer results than pictures");
    if (status == BRIM_OK) take_results(stages, batch, first, n, &output);
    brim_session_give_back(session);
    if (status == BRIM_OK && session->own_limit_bytes == 0)
        raise_floor(stages, n, session->run_peak_bytes);
    return status;
}

/* The picture gives up its memory and will run alone. Where it cannot wait, it fails with why. */
static void set_aside(brim_stages *stages, brim_batch *batch, size_t i)
{
    const void *pixels = brim_batch_slot(batch, i);
    int64_t at = 0;
    brim_error err = {0};

    brim_status status = brim_spool_put(&stages->spool, pixels, batch->slot_bytes, &at, &err);
    if (status == BRIM_OK) {
        status = brim_batcher_set_aside(stages->batcher, batch, batch->items[i], at);
        if (status != BRIM_OK) brim_fail(&err, status, "no memory to set the picture aside");
    }
    if (status != BRIM_OK)
        fail_range(stages, batch, i, 1, &err);
    else
        batch->items[i] = NULL;
}

static void run_range(brim_stages *stages, brim_batch *batch, size_t first, size_t n);

static void run_piece(brim_stages *stages, brim_batch *batch, size_t first, size_t n)
{
    bool can_split = n > 1 && brim_session_fixed_batch(stages->options->session) == 0;
    brim_error err = {0};

    brim_status status = run_once(stages, batch, first, n, &err);
    if (status == BRIM_OK) return;
    if (status == BRIM_E_NOMEM) {
        brim_stages_give_up(stages, &err);
        drop_range(batch, first, n);
    } else if (can_split) {
        if (status == BRIM_E_BUDGET) brim_count(&stages->options->counters->n_splits, 1);
        run_range(stages, batch, first, n / 2);
        run_range(stages, batch, first + n / 2, n - n / 2);
    } else if (status == BRIM_E_BUDGET && !batch->is_alone) {
        for (size_t i = first; i < first + n; i++)
            set_aside(stages, batch, i);
    } else {
        fail_range(stages, batch, first, n, &err);
    }
}

static void run_range(brim_stages *stages, brim_batch *batch, size_t first, size_t n)
{
    bool is_fixed = brim_session_fixed_batch(stages->options->session) > 0;

    for (size_t end = first + n; first < end; first += n) {
        n = end - first;
        size_t most = n > 1 && !is_fixed
                          ? brim_sizes_limit(stages->sizes, brim_batch_item_shape(&batch->shape))
                          : n;
        if (n > most) n = most;
        run_piece(stages, batch, first, n);
    }
}

/* With all memory there is: nothing else is at work, no floor holds, no page lies idle. */
static void run_alone(brim_stages *stages, brim_batch *batch)
{
    size_t limit = brim_budget_limit_bytes(stages->options->budget);
    size_t bytes = batch->slot_bytes;
    brim_status status;
    brim_error err = {0};

    brim_count(&stages->options->counters->n_set_aside, 1);
    if (!batch->tensor) {
        brim_fail(&err, BRIM_E_BUDGET, "the picture needs %zu MiB, limit %zu MiB (--memory)",
                  brim_mib_up(bytes), limit >> 20);
        fail_range(stages, batch, 0, 1, &err);
        return;
    }
    status = brim_spool_take(&stages->spool, batch->spool_at, batch->tensor, bytes, &err);
    if (status == BRIM_OK)
        run_range(stages, batch, 0, 1);
    else
        fail_range(stages, batch, 0, 1, &err);
}

static void trim_now_and_then(brim_stages *stages, uint64_t n_batches)
{
    uint64_t every = stages->options->trim_every;

    if (every == 0 || n_batches % every != 0) return;
    brim_budget_trim(stages->options->budget);
    brim_count(&stages->options->counters->n_trims, 1);
}

void *brim_stage_model(void *arg)
{
    brim_stages *stages = arg;
    uint64_t n_batches = 0;
    brim_batch *batch;

    while (brim_batcher_next(stages->batcher, &batch) == BRIM_OK) {
        if (atomic_load(&stages->broken))
            drop_range(batch, 0, batch->n_filled);
        else if (batch->is_alone)
            run_alone(stages, batch);
        else
            run_range(stages, batch, 0, batch->n_filled);
        brim_batcher_give_back(stages->batcher, batch);
        trim_now_and_then(stages, ++n_batches);
    }
    brim_stages_thread_ends(stages);
    return NULL;
}
