/*
 * job.c - the facade: options in, a wired pipeline out.
 *
 * What a plan opens too is setup.c's; here are the store, its set, and the run itself. What all
 * that takes is measured before the first picture.
 */
#include "brimful/job.h"

#include <jansson.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/system.h"
#include "base/text.h"
#include "job/count.h"
#include "job/setup.h"
#include "store/store.h"

struct brim_job {
    brim_setup setup;
    brim_store *store;
    brim_counters counters;
    brim_row_count count;
    bool ran;
    uint64_t n_known;
    double load_s;
    char spool_folder[PATH_MAX]; /* the store's: a disk, as a rule, not memory */
    uint64_t next_progress_ns;
};

/* How pictures become pixels: only what is not the default, so that sets made before an option
 * existed stay what they are. False where memory is short. */
static bool describe_pixels(const brim_embed_options *o, json_t *settings)
{
    bool has_bands = o->bands[0] > 0;
    bool ok = true;

    if (o->depth == BRIM_DEPTH_CLAMP)
        ok &= json_object_set_new(settings, "depth", json_string("clamp")) == 0;
    if (o->decode == BRIM_DECODE_FAST)
        ok &= json_object_set_new(settings, "decode", json_string("fast")) == 0;
    if (o->apply_icc) ok &= json_object_set_new(settings, "icc", json_true()) == 0;
    if (has_bands)
        ok &= json_object_set_new(
                  settings, "bands",
                  json_pack("[i,i,i]", (int)o->bands[0], (int)o->bands[1], (int)o->bands[2])) == 0;
    if (o->tile > 0)
        ok &= json_object_set_new(settings, "tiles",
                                  json_pack("[i,i]", (int)o->tile, (int)o->overlap)) == 0;
    return ok;
}

/* The settings that change results, sorted; threads, memory and the batch size do not. */
static brim_status describe_settings(const brim_job *job, char **out, brim_error *err)
{
    json_t *processor = json_loads(brim_processor_identity(job->setup.model.processor), 0, NULL);
    const brim_session *session = job->setup.model.session;
    json_t *settings =
        json_pack("{s:s, s:b, s:s, s:O}", "layer", session->layers[session->layer].name,
                  "normalize", (int)job->setup.model.task.normalize, "precision",
                  job->setup.options.precision ? job->setup.options.precision : "fp32", "processor",
                  processor);
    bool complete = settings && describe_pixels(&job->setup.options, settings);

    *out = complete ? json_dumps(settings, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    json_decref(settings);
    json_decref(processor);
    return *out ? BRIM_OK : brim_fail(err, BRIM_E_NOMEM, "no memory to describe the settings");
}

/* Gives back what jansson allocated, by jansson's own means. */
static void free_json_text(char *text)
{
    json_malloc_t take;
    json_free_t give_back;

    json_get_alloc_funcs(&take, &give_back);
    give_back(text);
}

static brim_status begin_set(brim_job *job, brim_error *err)
{
    char model_hash[BRIM_HASH_BYTES];
    char *settings = NULL;

    brim_status status = brim_model_identify(&job->setup.model, job->store, model_hash, err);
    if (status == BRIM_OK) status = describe_settings(job, &settings, err);
    if (status != BRIM_OK) return status;
    brim_set_spec spec = {
        .task = job->setup.model.task.name,
        .model = brim_model_name(&job->setup.model),
        .model_hash = model_hash,
        .settings = settings,
        .retry_failed = job->setup.options.retry_failed,
        .may_repeat = job->setup.source->may_repeat,
    };
    status = brim_store_begin(job->store, &spec, err);
    free_json_text(settings);
    if (status == BRIM_OK) status = brim_store_count_done(job->store, &job->n_known, err);
    return status;
}

static brim_status open_store(brim_job *job, brim_error *err)
{
    const char *name = job->setup.options.store;

    brim_status status = brim_store_open(brim_heap(), name, &job->store, err);
    if (status != BRIM_OK || brim_folder_of(name, job->spool_folder, PATH_MAX)) return status;
    return brim_fail(err, BRIM_E_ARG, "%s: the path is too long", name);
}

brim_status brim_embed_create(const brim_embed_options *options, brim_job **out, brim_error *err)
{
    uint64_t started_ns = brim_now_ns();
    brim_status status;

    *out = NULL;
    brim_job *job = brim_alloc_zeroed(brim_heap(), sizeof(*job), &status);
    if (!job) return brim_fail(err, status, "no memory for a job");
    status = options->struct_bytes > 0 && !options->store
                 ? brim_fail(err, BRIM_E_ARG, "no store: give a file (-o photos.db)")
                 : brim_setup_open(&job->setup, options, err);
    if (status == BRIM_OK) status = open_store(job, err);
    if (status == BRIM_OK) status = brim_setup_settle(&job->setup, err);
    if (status == BRIM_OK) status = begin_set(job, err);
    if (status != BRIM_OK) goto fail;
    job->load_s = (double)(brim_now_ns() - started_ns) / 1e9;
    *out = job;
    return BRIM_OK;

fail:
    brim_job_destroy(job);
    return status;
}

static brim_progress snapshot(const brim_job *job)
{
    brim_progress progress = brim_counters_snapshot(&job->counters, brim_now_ns());

    progress.n_skipped = atomic_load(&job->setup.source->counts.n_skipped);
    progress.n_incomplete = atomic_load(&job->setup.source->counts.n_incomplete);
    return progress;
}

static void show_progress(void *ctx)
{
    brim_job *job = ctx;
    const brim_embed_options *options = &job->setup.options;
    uint64_t now_ns = brim_now_ns();

    if (!options->progress || now_ns < job->next_progress_ns) return;
    job->next_progress_ns = now_ns + options->progress_ms * 1000000ull;
    brim_progress progress = snapshot(job);
    options->progress(options->progress_ctx, &progress);
}

static brim_report make_report(const brim_job *job, const brim_work *work, bool stopped)
{
    brim_arena *arena = brim_budget_arena(job->setup.budget);
    const brim_session *session = job->setup.model.session;
    brim_report report = {
        .struct_bytes = sizeof(report),
        .counts = snapshot(job),
        .stopped = stopped,
        .n_known = job->n_known,
        .limit_bytes = brim_budget_limit_bytes(job->setup.budget),
        .peak_bytes = brim_budget_peak_bytes(job->setup.budget),
        .peak_live_bytes = brim_budget_peak_live_bytes(job->setup.budget),
        .peak_resident_bytes = brim_system_peak_resident_bytes(),
        .arena = brim_arena_usage_now(arena),
        .huge_frac = brim_arena_huge_frac(arena),
        .load_s = job->load_s,
        .work = *work,
    };

    for (size_t i = 0; i < BRIM_N_ACCOUNTS; i++)
        report.accounts[i] = brim_budget_usage(job->setup.budget, (brim_account)i);
    if (session->own_limit_bytes > 0) { /* its memory is the one that matters */
        report.limit_bytes = session->own_limit_bytes;
        report.peak_bytes = report.peak_live_bytes =
            session->own_weights_bytes + work->run_peak_bytes;
    }
    report.unrouted_bytes = report.accounts[BRIM_ACCOUNT_UNROUTED].live_bytes;
    return report;
}

/* As much as an older caller has room for. */
static void hand_out(const brim_report *report, brim_report *out)
{
    size_t bytes = out->struct_bytes, known = sizeof(*report);

    memcpy(out, report, bytes < known ? bytes : known);
    out->struct_bytes = bytes;
}

/* The store's own word of how the run ended; on a broken run the first failure is the one to tell.
 */
static brim_status finish_run(brim_job *job, brim_status status, const brim_report *report,
                              brim_error *err)
{
    char summary[BRIM_REPORT_JSON_BYTES];
    brim_error later;

    if (brim_report_json(report, summary, sizeof(summary)) != BRIM_OK)
        snprintf(summary, sizeof(summary), "{}");
    const char *outcome = status != BRIM_OK ? "failed" : report->stopped ? "stopped" : "done";
    brim_status finished = brim_store_finish(job->store, outcome, summary, &later);
    if (status != BRIM_OK || finished == BRIM_OK) return status;
    if (err) *err = later;
    return finished;
}

brim_status brim_job_run(brim_job *job, brim_report *out, brim_error *err)
{
    brim_work work = {0};
    brim_report report;

    if (job->ran) {
        report = make_report(job, &work, false);
        if (out) hand_out(&report, out);
        return brim_fail(err, BRIM_E_ARG, "a job runs once");
    }
    job->ran = true;

    brim_pipeline_options options = brim_setup_pipeline(&job->setup);
    options.store = job->store;
    options.counters = &job->counters;
    options.limit = job->setup.options.limit;
    options.spool_folder = job->spool_folder;
    options.tick = show_progress;
    options.tick_ctx = job;
    options.work = &work;
    if (options.limit == 0 && options.tile == 0) /* nobody knows how many tiles */
        brim_row_count_start(&job->count, &job->setup.source_options, &job->counters);
    brim_status status = brim_pipeline_run(&options, err);
    brim_row_count_stop(&job->count);
    report = make_report(job, &work, status == BRIM_OK && atomic_load(&job->setup.stop));
    status = finish_run(job, status, &report, err);
    if (out) hand_out(&report, out);
    return status;
}

brim_budget *brim_job_budget(brim_job *job)
{
    return job->setup.budget;
}

void brim_job_stop(brim_job *job)
{
    atomic_store(&job->setup.stop, true);
}

void brim_job_destroy(brim_job *job)
{
    if (!job) return;
    brim_store_close(job->store);
    brim_setup_close(&job->setup);
    brim_alloc_release(brim_heap(), job, sizeof(*job));
}
