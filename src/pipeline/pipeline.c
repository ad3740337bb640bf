/*
 * pipeline.c - starts the stages, watches over them, and takes them down in the order of the walk.
 *
 * The calling thread is the watch: it looks for reads that hang, ticks for whoever shows progress,
 * and sees the stop that a signal handler has set.
 */
#include "pipeline/pipeline.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/size.h"
#include "pipeline/fetch.h"
#include "pipeline/stages.h"

enum {
    MAX_ROWS = 256, /* names waiting to be read */
    ROWS_BYTES = 1 << 20,
    N_READERS = 3,
    ITEMS_PER_DECODER = 3, /* files read ahead */
    MAX_RESULTS = 1024,
    RESULTS_BYTES = 4 << 20,
    ITEM_BYTES = 16 << 10, /* of a row with its names, and what goes with it, at the most */
    WATCH_MS = 25,
    FIRST_FLOOR_SHARE = 4, /* of what is usable, for the model */
};

/* Room for files, of which a decoder holds one and finds the next; at most 1/8 of what is usable.
 */
static const size_t POOL_BYTES_PER_DECODER = 16u << 20;

static void fetch_failed(void *ctx, brim_item *item)
{
    brim_stages_fail(ctx, item);
}

static void fetch_gave_up(void *ctx, const brim_error *err)
{
    brim_stages_give_up(ctx, err);
}

static size_t pool_bytes(const brim_pipeline_options *options)
{
    size_t share = brim_budget_usable_bytes(options->budget) / 8;
    size_t wanted = options->n_decoders * POOL_BYTES_PER_DECODER;

    return share < wanted ? share : wanted;
}

/*
 * Rows, items and vectors come from the heap, over room that is reserved once: they are small and
 * their number is bounded, and none of them may ever wait for what decoders or batches hold.
 */
static size_t small_bytes(const brim_pipeline_options *options)
{
    return ROWS_BYTES + RESULTS_BYTES + ITEMS_PER_DECODER * options->n_decoders * ITEM_BYTES;
}

/* Whatever was opened is closed by close_stages(), also after a failure. */
static brim_status open_stages(brim_stages *stages, const brim_pipeline_options *options,
                               brim_error *err)
{
    const brim_alloc *heap = brim_heap();
    size_t n_items = ITEMS_PER_DECODER * options->n_decoders;
    size_t pool = pool_bytes(options);
    brim_sizes_options sizing = {.budget = options->budget,
                                 .session = options->session,
                                 .governor = options->governor,
                                 .batch = options->batch,
                                 .log = options->log};
    brim_batcher_options batching = {.budget = options->budget,
                                     .dtype = options->session->image.dtype,
                                     .fixed_batch = brim_session_fixed_batch(options->session),
                                     .stub_bytes = options->session->stub_bytes,
                                     .n_decoders = options->n_decoders};

    if (brim_budget_reserve(options->budget, BRIM_ACCOUNT_RESULTS, small_bytes(options)) != BRIM_OK)
        return brim_fail(err, BRIM_E_BUDGET, "the queues need %zu MiB, limit %zu MiB (--memory)",
                         brim_mib_up(small_bytes(options)),
                         brim_budget_limit_bytes(options->budget) >> 20);
    stages->small_bytes = small_bytes(options);
    brim_status status = brim_queue_create(heap, MAX_ROWS, ROWS_BYTES, &stages->rows);
    if (status == BRIM_OK) status = brim_queue_create(heap, n_items, pool, &stages->items);
    if (status == BRIM_OK)
        status = brim_queue_create(heap, MAX_RESULTS, RESULTS_BYTES, &stages->results);
    if (status != BRIM_OK) return brim_fail(err, status, "no memory for the queues");
    status = brim_sizes_create(&sizing, &stages->sizes, err);
    batching.sizes = stages->sizes;
    if (status == BRIM_OK) status = brim_batcher_create(&batching, &stages->batcher, err);
    if (status != BRIM_OK) return status;
    status = brim_file_pool_init(&stages->pool, options->budget, stages->batcher, pool, err);
    stages->has_pool = status == BRIM_OK;
    if (status != BRIM_OK) return status;
    status = brim_workers_init(&stages->workers, options->n_decoders);
    if (status != BRIM_OK) return brim_fail(err, status, "no memory for decode workers");
    stages->has_workers = true;
    /* Until a run has shown what it needs. */
    brim_budget_set_floor(options->budget, BRIM_ACCOUNT_ACTIVATIONS,
                          brim_budget_usable_bytes(options->budget) / FIRST_FLOOR_SHARE);
    return BRIM_OK;
}

static void close_stages(brim_stages *stages)
{
    brim_budget_set_floor(stages->options->budget, BRIM_ACCOUNT_ACTIVATIONS, 0);
    brim_budget_set_floor(stages->options->budget, BRIM_ACCOUNT_DECODERS, 0);
    brim_budget_give_back(stages->options->budget, BRIM_ACCOUNT_OTHER, stages->library_bytes);
    brim_spool_fini(&stages->spool);
    if (stages->has_workers) brim_workers_fini(&stages->workers);
    if (stages->has_pool) brim_file_pool_fini(&stages->pool);
    brim_batcher_destroy(stages->batcher);
    brim_sizes_destroy(stages->sizes);
    brim_queue_destroy(stages->results);
    brim_queue_destroy(stages->items);
    brim_queue_destroy(stages->rows);
    brim_budget_give_back(stages->options->budget, BRIM_ACCOUNT_RESULTS, stages->small_bytes);
}

typedef struct crew {
    brim_stages *stages;
    pthread_t *threads;
    size_t n_threads;
} crew;

static brim_status start(crew *all, const char *name, void *(*body)(void *))
{
    brim_stages *stages = all->stages;

    brim_monitor_enter(&stages->monitor);
    stages->n_running++;
    brim_monitor_leave(&stages->monitor);
    brim_status status = brim_thread_start(&all->threads[all->n_threads], name, body, stages);
    if (status == BRIM_OK) {
        all->n_threads++;
        return BRIM_OK;
    }
    brim_monitor_enter(&stages->monitor);
    stages->n_running--;
    brim_monitor_leave(&stages->monitor);
    return status;
}

/* The stages from the end of the walk to its beginning, so that nobody waits for a missing one. */
static brim_status start_stages(crew *all, brim_error *err)
{
    brim_stages *stages = all->stages;
    size_t n_decoders = stages->options->n_decoders;

    brim_status status = start(all, "brim-write", brim_stage_write);
    if (status == BRIM_OK) status = start(all, "brim-model", brim_stage_model);
    for (size_t i = 0; status == BRIM_OK && i < n_decoders; i++) {
        brim_monitor_enter(&stages->monitor);
        stages->n_decoding++;
        brim_monitor_leave(&stages->monitor);
        status = start(all, "brim-decode", brim_stage_decode);
        if (status == BRIM_OK) continue;
        brim_monitor_enter(&stages->monitor);
        stages->n_decoding--;
        brim_monitor_leave(&stages->monitor);
    }
    if (status == BRIM_OK) status = start(all, "brim-source", brim_stage_source);
    return status == BRIM_OK ? BRIM_OK : brim_fail(err, status, "no memory for threads");
}

/* What others take of the machine's memory, and what libraries take of ours. */
static void look_at_memory(brim_stages *stages, uint64_t *next_ns)
{
    brim_budget *budget = stages->options->budget;
    brim_error err;
    uint64_t every_ns = stages->options->look_ns, now_ns = brim_now_ns();

    if (every_ns == 0 || now_ns < *next_ns) return;
    *next_ns = now_ns + every_ns;
    /* Room for files that holds none is reserved, but not resident. */
    if (brim_budget_measure(budget, brim_file_pool_unused_bytes(&stages->pool)) != BRIM_OK &&
        brim_budget_usable_bytes(budget) == 0) {
        brim_fail(&err, BRIM_E_BUDGET, "libraries have come to take all of the %zu MiB (--memory)",
                  brim_budget_limit_bytes(budget) >> 20);
        brim_stages_give_up(stages, &err);
    }
    if (brim_memory_is_short("") && brim_budget_trim(budget) > 0)
        brim_count(&stages->options->counters->n_trims, 1);
}

/* Are there too many decoders at work, or too few? */
static void review_workers(brim_stages *stages)
{
    brim_batcher_waits waits = brim_batcher_waited(stages->batcher);

    brim_workers_review(&stages->workers, brim_now_ns(), waits.model_s, waits.decoders_s);
}

/* Until the last row has been read, hanging reads looked after. */
static void watch(brim_stages *stages, brim_fetch *fetch)
{
    const brim_pipeline_options *options = stages->options;
    uint64_t next_look_ns = 0;
    bool reading = true;

    for (;;) {
        look_at_memory(stages, &next_look_ns);
        review_workers(stages);
        if (reading) reading = brim_fetch_watch(fetch, brim_now_ns());
        if (options->tick) options->tick(options->tick_ctx);

        brim_monitor_enter(&stages->monitor);
        /* The writer is the last one and waits for its queue to be closed. */
        bool only_writer = stages->n_running == 1;
        if (!only_writer || reading)
            brim_monitor_wait_until(&stages->monitor, brim_now_ns() + WATCH_MS * 1000000ull);
        only_writer = stages->n_running == 1;
        brim_monitor_leave(&stages->monitor);
        if (!reading && only_writer) return;
    }
}

static brim_status run_stages(brim_stages *stages, brim_error *err)
{
    const brim_pipeline_options *options = stages->options;
    brim_fetch_options fetching = {
        .mem = brim_heap(),
        .pool = &stages->pool,
        .rows = stages->rows,
        .items = stages->items,
        .n_threads = N_READERS,
        .timeout_ns = options->timeout_ns,
        .stop = options->stop,
        .busy_ns = &options->counters->reading_ns,
        .fail = fetch_failed,
        .give_up = fetch_gave_up,
        .ctx = stages,
    };
    brim_fetch *fetch = NULL;
    brim_status status;
    size_t threads_bytes = (options->n_decoders + 3) * sizeof(pthread_t);
    crew all = {.stages = stages};

    all.threads = brim_alloc_zeroed(brim_heap(), threads_bytes, &status);
    if (!all.threads) return brim_fail(err, status, "no memory for threads");
    status = brim_fetch_start(&fetching, &fetch, err);
    if (status == BRIM_OK) status = start_stages(&all, err);
    if (status != BRIM_OK) {
        /* Those that run are led to their ends by closing what feeds them. */
        atomic_store(&stages->broken, true);
        brim_queue_close(stages->rows);
        while (fetch && brim_fetch_watch(fetch, brim_now_ns()))
            ;
        brim_queue_close(stages->items);
        brim_monitor_enter(&stages->monitor);
        bool no_decoder = stages->n_decoding == 0;
        brim_monitor_leave(&stages->monitor);
        if (no_decoder) brim_batcher_close(stages->batcher);
    } else {
        watch(stages, fetch);
    }
    brim_queue_close(stages->results);
    for (size_t i = 0; i < all.n_threads; i++)
        pthread_join(all.threads[i], NULL);
    if (options->tick) options->tick(options->tick_ctx);
    brim_fetch_destroy(fetch);
    brim_alloc_release(brim_heap(), all.threads, threads_bytes);
    return status;
}

static brim_stage_use use_of(double busy_s, double available_s)
{
    double frac = available_s > 0 ? busy_s / available_s : 0.0;

    return (brim_stage_use){busy_s > 0 ? busy_s : 0.0, frac < 0 ? 0.0 : frac > 1 ? 1.0 : frac};
}

/* What each stage did in the time that it had, and so which of them the others wait for. */
static void tell_work(brim_stages *stages, brim_work *work)
{
    const brim_counters *counters = stages->options->counters;
    double elapsed_s = (double)(brim_now_ns() - atomic_load(&counters->started_ns)) / 1e9;
    double reading_s = (double)atomic_load(&counters->reading_ns) / 1e9;
    double storing_s = (double)atomic_load(&counters->storing_ns) / 1e9;
    brim_batcher_waits waits = brim_batcher_waited(stages->batcher);
    brim_workers_use decoders = brim_workers_used(&stages->workers);

    brim_sizes_tell(stages->sizes, work);
    work->n_decoders = (uint32_t)decoders.n_active;
    work->stages[BRIM_STAGE_READING] = use_of(reading_s, elapsed_s * N_READERS);
    work->stages[BRIM_STAGE_DECODING] =
        use_of(decoders.work_s - waits.decoders_s, decoders.seats_s);
    work->stages[BRIM_STAGE_MODEL] = use_of(elapsed_s - waits.model_s, elapsed_s);
    work->stages[BRIM_STAGE_STORING] = use_of(storing_s, elapsed_s);
    work->idle_frac = 1.0 - work->stages[BRIM_STAGE_MODEL].busy_frac;
    for (int i = 0; i < BRIM_N_STAGES; i++)
        if (work->stages[i].busy_frac > work->stages[work->limit].busy_frac)
            work->limit = (brim_stage)i;
}

brim_status brim_pipeline_run(const brim_pipeline_options *options, brim_error *err)
{
    brim_stages stages = {.options = options};

    brim_status status = brim_monitor_init(&stages.monitor);
    if (status != BRIM_OK) return brim_fail(err, status, "no memory for the pipeline");
    brim_spool_init(&stages.spool, options->spool_folder);
    status = open_stages(&stages, options, err);
    if (status == BRIM_OK) {
        atomic_store(&options->counters->started_ns, brim_now_ns());
        status = run_stages(&stages, err);
        if (options->work) tell_work(&stages, options->work);
    }
    if (status == BRIM_OK && stages.error.status != BRIM_OK) {
        if (err) *err = stages.error;
        status = stages.error.status;
    }
    close_stages(&stages);
    brim_monitor_fini(&stages.monitor);
    return status;
}
