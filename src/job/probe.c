/* probe.c - the pipeline with a store that drops, and a watch that ends it. */
#include "job/probe.h"

#include <stdio.h>

#include "base/clock.h"
#include "brimful/text.h"

enum {
    CALM_RUNS = 8,
    MANY_CALM_RUNS = 256,
    SAME_SHARE = 8,  /* batches that differ by less than this part are about the same */
    AGAIN_SHARE = 3, /* of the time, for a sample that was gone through */
    STEPS_AHEAD = 3, /* of the model, that may be begun when the time is over */
};

static const double CALM_S = 2.0, CALM_SHARE = 1.0 / 3.0;
static const double MOST_AHEAD_SHARE = 1.0 / 3.0; /* of the time */

/* ---- Pace ---- */

void brim_pace_note(brim_pace *pace, double at_s, uint64_t n)
{
    size_t last = pace->n_points;

    if (n == 0 || (last > 0 && pace->points[last - 1].n == n)) return;
    if (last > 0 && at_s < pace->points[last - 1].at_s + pace->least_step_s) return;
    if (last == BRIM_PACE_POINTS) {
        for (size_t i = 0; i < BRIM_PACE_POINTS / 2; i++)
            pace->points[i] = pace->points[2 * i + 1];
        last = BRIM_PACE_POINTS / 2;
        pace->least_step_s = at_s / (double)last;
    }
    pace->points[last] = (brim_pace_point){at_s, n};
    pace->n_points = last + 1;
}

double brim_pace_per_s(const brim_pace *pace)
{
    if (pace->n_points == 0) return 0.0;
    const brim_pace_point *last = &pace->points[pace->n_points - 1];
    brim_pace_point from = {0};

    for (size_t i = 0; i < pace->n_points && pace->points[i].at_s <= last->at_s / 2; i++)
        from = pace->points[i];
    return last->at_s > from.at_s ? (double)(last->n - from.n) / (last->at_s - from.at_s) : 0.0;
}

double brim_pace_last_step_s(const brim_pace *pace)
{
    size_t n = pace->n_points;

    return n < 2 ? 0.0 : pace->points[n - 1].at_s - pace->points[n - 2].at_s;
}

/* ---- Calm ---- */

static bool is_about(size_t a, size_t b)
{
    return (a > b ? a - b : b - a) <= b / SAME_SHARE;
}

bool brim_calm_look(brim_calm *calm, size_t batch, uint64_t n_runs, double at_s)
{
    if (batch == 0) return false;
    if (!is_about(batch, calm->batch)) *calm = (brim_calm){batch, at_s, n_runs};
    uint64_t runs = n_runs - calm->since_runs;
    double seconds = at_s - calm->since_s;

    return runs >= MANY_CALM_RUNS ||
           (runs >= CALM_RUNS && seconds >= CALM_S && seconds >= at_s * CALM_SHARE);
}

/* ---- The store that drops ---- */

typedef struct probe_store {
    brim_store base;  /* first: a brim_store pointer is a pointer to us */
    brim_probe *told; /* the writer's, until it has ended */
    bool cuts_tiles;
    atomic_bool has_result;
    atomic_uint_fast64_t n_sampled; /* pictures that came to their ends for the first time, */
    atomic_uint_fast64_t n_images;  /* and also those that came again */
} probe_store;

static brim_status probe_store_claim(brim_store *base, const brim_row *row, brim_claim *out,
                                     brim_error *err)
{
    (void)base;
    (void)row;
    (void)err;
    *out = BRIM_CLAIM_TODO;
    return BRIM_OK;
}

static void tell_unreadable(brim_probe *told, const brim_record *record)
{
    char words[BRIM_PROBE_WORDS_BYTES];

    if (told->n_unreadable++ > 0) return;
    snprintf(words, sizeof(words), "%s: %s", record->row->key, record->error.message);
    brim_escape_line(words, told->unreadable, sizeof(told->unreadable));
}

/* A picture of the sample has come to its end for the first time. */
static void tell_sampled(brim_probe *told, const brim_record *record)
{
    if (record->vector || record->is_tiled) return;
    if (record->step == BRIM_STEP_MODEL)
        told->n_failed++;
    else
        tell_unreadable(told, record);
}

/* Where pictures are cut, what becomes of their tiles is not yet what becomes of them. */
static bool is_tile(const probe_store *self, const brim_record *record)
{
    return self->cuts_tiles && (record->vector || record->step == BRIM_STEP_MODEL);
}

static brim_status probe_store_commit(brim_store *base, const brim_record *const *records, size_t n,
                                      brim_error *err)
{
    probe_store *self = (probe_store *)base;

    (void)err;
    for (size_t i = 0; i < n; i++) {
        if (records[i]->vector) atomic_store(&self->has_result, true);
        if (!records[i]->is_tiled && is_tile(self, records[i])) continue;
        atomic_fetch_add(&self->n_images, 1);
        if (records[i]->row->key[0] == '\0') continue;
        tell_sampled(self->told, records[i]);
        atomic_fetch_add(&self->n_sampled, 1);
    }
    return BRIM_OK;
}

/* Nothing else is asked of a store by the pipeline. */
static const struct brim_store_ops PROBE_STORE_OPS = {
    .claim = probe_store_claim,
    .commit = probe_store_commit,
};

/* ---- The watch ---- */

typedef struct probe_watch {
    brim_setup *setup;
    size_t n_rows; /* of the sample */
    probe_store store;
    brim_counters counters;
    atomic_size_t best_batch;
    brim_pace pace;
    brim_calm calm;
    uint64_t started_ns, until_ns, next_progress_ns;
} probe_watch;

/* Going through a sample again is for the batch to settle, and no reason to be slower than the run.
 */
static uint64_t end_ns(const probe_watch *self)
{
    uint64_t time_ns = self->until_ns - self->started_ns;
    bool again = atomic_load(&self->store.n_sampled) == self->n_rows;

    return self->started_ns + (again ? time_ns / AGAIN_SHARE : time_ns);
}

/* What of the model's work is begun when the run is stopped is waited for: it is stopped before. */
static double ahead_s(const probe_watch *self)
{
    double most = (double)(self->until_ns - self->started_ns) / 1e9 * MOST_AHEAD_SHARE;
    double ahead = brim_pace_last_step_s(&self->pace) * STEPS_AHEAD;

    return ahead < most ? ahead : most;
}

static void show_progress(probe_watch *self, uint64_t now_ns)
{
    const brim_embed_options *options = &self->setup->options;

    if (!options->progress || now_ns < self->next_progress_ns) return;
    self->next_progress_ns = now_ns + options->progress_ms * 1000000ull;
    brim_progress progress = brim_counters_snapshot(&self->counters, now_ns);
    options->progress(options->progress_ctx, &progress);
}

/* The sample was gone through, and nothing of it could be run: another time is of no use. */
static bool is_hopeless(const probe_watch *self)
{
    return atomic_load(&self->store.n_sampled) == self->n_rows &&
           !atomic_load(&self->store.has_result);
}

/* A batch that the user or the model insists on is never asked for. */
static size_t best_batch(const probe_watch *self)
{
    return self->setup->batch > 0 ? self->setup->batch : atomic_load(&self->best_batch);
}

static void look(void *ctx)
{
    probe_watch *self = ctx;
    uint64_t now_ns = brim_now_ns(), n_runs = atomic_load(&self->counters.n_batches);
    double at_s = (double)(now_ns - self->started_ns) / 1e9;

    show_progress(self, now_ns);
    if (atomic_load(&self->setup->stop)) return; /* what still comes is no measure */
    brim_pace_note(&self->pace, at_s, atomic_load(&self->store.n_images));
    bool calm = brim_calm_look(&self->calm, best_batch(self), n_runs, at_s);
    if (calm) self->store.told->has_settled = true;
    if (calm || is_hopeless(self) || now_ns + (uint64_t)(ahead_s(self) * 1e9) >= end_ns(self))
        atomic_store(&self->setup->stop, true);
}

/* Of a time so short that nothing came before its end, what came after. */
static double images_per_s(const probe_watch *self, double seconds)
{
    double per_s = brim_pace_per_s(&self->pace);

    if (per_s > 0 || !(seconds > 0)) return per_s;
    return (double)atomic_load(&self->store.n_images) / seconds;
}

brim_status brim_probe_run(brim_setup *setup, const brim_sample *sample, uint64_t until_ns,
                           brim_probe *out, brim_error *err)
{
    probe_watch watch = {
        .setup = setup,
        .n_rows = sample->n_rows,
        .store = {.base = {&PROBE_STORE_OPS}, .told = out, .cuts_tiles = setup->options.tile > 0},
        .started_ns = brim_now_ns(),
        .until_ns = until_ns,
    };
    brim_pipeline_options options = brim_setup_pipeline(setup);
    brim_source *source;

    *out = (brim_probe){0};
    if (until_ns < watch.started_ns) watch.until_ns = watch.started_ns;
    brim_status status = brim_sample_open_source(brim_heap(), sample, &source, err);
    if (status != BRIM_OK) return status;
    options.source = source;
    options.store = &watch.store.base;
    options.counters = &watch.counters;
    options.best_batch = &watch.best_batch;
    options.tick = look;
    options.tick_ctx = &watch;
    options.work = &out->work;
    status = brim_pipeline_run(&options, err);
    brim_source_close(source);
    out->n_sampled = atomic_load(&watch.store.n_sampled);
    out->batch = best_batch(&watch);
    out->seconds = (double)(brim_now_ns() - watch.started_ns) / 1e9;
    out->images_per_s = images_per_s(&watch, out->seconds);
    return status;
}
