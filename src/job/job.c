/*
 * job.c - the facade: options in, a wired pipeline out.
 *
 * Opening goes from what fails fastest to what costs most (inputs, model files, processor, the
 * model itself), so that a misspelt name is told before a model is loaded. What all that takes is
 * measured before the first picture.
 */
#include "brimful/job.h"

#include <jansson.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/size.h"
#include "base/system.h"
#include "base/text.h"
#include "image/processor.h"
#include "job/count.h"
#include "job/identity.h"
#include "job/room.h"
#include "pipeline/pipeline.h"
#include "session/model_files.h"
#include "session/onnx.h"
#include "source/source.h"
#include "store/store.h"
#include "task/task.h"

enum {
    AUTO_BATCH = 8, /* until a governor finds a better one */
    MAX_BATCH = 65536,
    MAX_THREADS = 1024,
    MAX_TILE = 65535,
    MAX_BAND = 99999,
    DEFAULT_TIMEOUT_S = 30,
    DEFAULT_PROGRESS_MS = 500,
    LOOK_MS = 250, /* at the system's memory */
};

/* Where Pillow refuses a picture as a decompression bomb: twice its own warning. */
static const uint64_t DEFAULT_MAX_PX = 178956970;

struct brim_job {
    brim_embed_options options;
    brim_budget *budget;
    brim_source_options source_options;
    brim_source *source;
    brim_store *store;
    brim_model_files files;
    brim_processor *processor;
    brim_session *session;
    brim_task task;
    brim_counters counters;
    brim_row_count count;
    atomic_bool stop;
    bool ran;
    size_t batch;
    uint64_t n_known;
    double load_s;
    char spool_folder[PATH_MAX]; /* the store's: a disk, as a rule, not memory */
    uint64_t next_progress_ns;
};

static brim_status check_pixels(const brim_embed_options *options, brim_error *err)
{
    const uint32_t *bands = options->bands;
    int n_bands = (bands[0] > 0) + (bands[1] > 0) + (bands[2] > 0);

    if ((unsigned)options->depth > BRIM_DEPTH_CLAMP ||
        (unsigned)options->decode > BRIM_DECODE_FAST ||
        (unsigned)options->resample_order > BRIM_ORDER_CLASSIC)
        return brim_fail(err, BRIM_E_ARG, "depth %d, decode %d, resample order %d: out of range",
                         (int)options->depth, (int)options->decode, (int)options->resample_order);
    for (int i = 0; i < 3; i++)
        if (bands[i] > MAX_BAND)
            return brim_fail(err, BRIM_E_ARG, "band %u is beyond %d", bands[i], MAX_BAND);
    if (n_bands != 0 && n_bands != 3)
        return brim_fail(err, BRIM_E_ARG, "bands: three are needed, each counted from 1");
    if (options->tile > MAX_TILE)
        return brim_fail(err, BRIM_E_ARG, "tile %u is beyond %d pixels", options->tile, MAX_TILE);
    if (options->overlap > 0 && options->overlap >= options->tile)
        return brim_fail(err, BRIM_E_ARG, "an overlap of %u pixels needs a larger tile than %u",
                         options->overlap, options->tile);
    return BRIM_OK;
}

/* Of an older caller's options the missing tail is zero; a newer one's tail is not looked at. */
static brim_status copy_options(brim_embed_options *to, const brim_embed_options *from,
                                brim_error *err)
{
    size_t bytes = from->struct_bytes < sizeof(*to) ? from->struct_bytes : sizeof(*to);

    if (from->struct_bytes == 0)
        return brim_fail(err, BRIM_E_ARG, "options must start from BRIM_OPTIONS()");
    memcpy(to, from, bytes);
    if (!to->model) return brim_fail(err, BRIM_E_ARG, "no model: give a folder (-m MODEL)");
    if (!to->store) return brim_fail(err, BRIM_E_ARG, "no store: give a file (-o photos.db)");
    if (to->batch > MAX_BATCH)
        return brim_fail(err, BRIM_E_ARG, "batch %u is beyond %d", to->batch, MAX_BATCH);
    if (to->n_threads > MAX_THREADS)
        return brim_fail(err, BRIM_E_ARG, "threads %u is beyond %d", to->n_threads, MAX_THREADS);
    if (to->memory_bytes > 0 && to->memory_bytes < BRIM_LEAST_MEMORY_BYTES)
        return brim_fail(err, BRIM_E_ARG, "--memory: at least %d MiB are needed",
                         BRIM_LEAST_MEMORY_BYTES >> 20);
    brim_status status = check_pixels(to, err);
    if (status != BRIM_OK) return status;
    if (to->n_threads == 0) to->n_threads = brim_system_n_cpus("");
    if (to->max_px == 0) to->max_px = DEFAULT_MAX_PX;
    if (to->file_timeout_s == 0) to->file_timeout_s = DEFAULT_TIMEOUT_S;
    if (to->progress_ms == 0) to->progress_ms = DEFAULT_PROGRESS_MS;
    return BRIM_OK;
}

/* True where every picture becomes a tensor of one shape, which is told then. */
static bool has_one_shape(const brim_processor *processor, uint32_t *height, uint32_t *width)
{
    brim_image_info wide = brim_image_info_of(1600, 1200, 1);
    brim_image_info tall = brim_image_info_of(1200, 1600, 1);
    uint32_t tall_height, tall_width;

    return brim_processor_shape(processor, &wide, height, width, NULL) == BRIM_OK &&
           brim_processor_shape(processor, &tall, &tall_height, &tall_width, NULL) == BRIM_OK &&
           tall_height == *height && tall_width == *width;
}

/* What the model insists on must be what the processor makes. */
static brim_status check_sizes(const brim_job *job, brim_error *err)
{
    const int64_t *dims = job->session->image.dims;
    uint32_t height = 0, width = 0;

    if (brim_processor_slot_layout(job->processor) != BRIM_LAYOUT_PLANES)
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "%s makes patches, and models that take them are not supported yet:"
                         " use a checkpoint of fixed size",
                         job->files.processor);
    if (dims[2] <= 0 && dims[3] <= 0) return BRIM_OK;
    bool one_shape = has_one_shape(job->processor, &height, &width);
    if (one_shape && (dims[2] <= 0 || height == dims[2]) && (dims[3] <= 0 || width == dims[3]))
        return BRIM_OK;
    return brim_fail(
        err, BRIM_E_ARG,
        "%s gives pictures of %ux%u%s, %s takes only %lldx%lld (width x height, -1 any):"
        " check size and crop_size",
        job->files.processor, width, height, one_shape ? "" : " and other sizes", job->files.onnx,
        (long long)dims[3], (long long)dims[2]);
}

/* Half of that may go into batches of one shape: one with the model, one that is filled. */
static size_t largest_batch(const brim_job *job)
{
    uint32_t height, width;

    if (!has_one_shape(job->processor, &height, &width)) return MAX_BATCH;
    size_t slot_bytes = (size_t)height * width * 3 * brim_dtype_bytes(job->session->image.dtype);
    size_t usable = brim_budget_usable_bytes(job->budget);
    size_t most = slot_bytes > 0 ? usable / 4 / slot_bytes : MAX_BATCH;
    return most > 0 ? most : 1;
}

/* Pictures in a run of the model; a batch that can never be is told before the first picture. */
static brim_status choose_batch(brim_job *job, brim_error *err)
{
    size_t fixed = brim_session_fixed_batch(job->session);
    size_t most = largest_batch(job);

    job->batch = fixed ? fixed : job->options.batch ? job->options.batch : AUTO_BATCH;
    if (fixed && job->options.batch && job->options.batch != fixed)
        brim_log_write(job->options.log, BRIM_LOG_NOTE,
                       "the model's own batch of %zu is used, not %u", fixed, job->options.batch);
    if (job->batch <= most) return BRIM_OK;
    if (fixed || job->options.batch)
        return brim_fail(err, BRIM_E_ARG,
                         "a batch of %zu is too much for the %zu MiB that the model leaves: take up"
                         " to %zu, or more --memory",
                         job->batch, brim_budget_usable_bytes(job->budget) >> 20, most);
    job->batch = most;
    return BRIM_OK;
}

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
    json_t *processor = json_loads(brim_processor_identity(job->processor), 0, NULL);
    json_t *settings =
        json_pack("{s:s, s:b, s:s, s:O}", "layer", job->session->layers[job->session->layer].name,
                  "normalize", (int)job->task.normalize, "precision",
                  job->options.precision ? job->options.precision : "fp32", "processor", processor);
    bool complete = settings && describe_pixels(&job->options, settings);

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

    brim_status status = brim_identify_model(job->store, job->files.onnx, model_hash, err);
    if (status == BRIM_OK) status = describe_settings(job, &settings, err);
    if (status != BRIM_OK) return status;
    brim_set_spec spec = {
        .task = job->task.name,
        .model = job->files.name,
        .model_hash = model_hash,
        .settings = settings,
        .retry_failed = job->options.retry_failed,
        .may_repeat = job->source->may_repeat,
    };
    status = brim_store_begin(job->store, &spec, err);
    free_json_text(settings);
    if (status == BRIM_OK) status = brim_store_count_done(job->store, &job->n_known, err);
    return status;
}

static brim_status open_source(brim_job *job, const brim_alloc *mem, brim_error *err)
{
    job->source_options = (brim_source_options){
        .inputs = job->options.inputs,
        .n_inputs = job->options.n_inputs,
        .root = job->options.root,
        .nul_lists = job->options.nul_lists,
        .log = job->options.log,
        .stop = &job->stop,
    };
    return brim_source_open(mem, &job->source_options, &job->source, err);
}

static brim_status open_model(brim_job *job, const brim_alloc *mem, brim_error *err)
{
    const brim_embed_options *options = &job->options;
    brim_processor_options processing = {.order = options->resample_order, .log = options->log};

    brim_status status = brim_model_files_find(mem, options->model, options->precision,
                                               options->processor, options->log, &job->files, err);
    if (status == BRIM_OK)
        status = brim_processor_open(mem, job->files.processor, &processing, &job->processor, err);
    if (status != BRIM_OK) return status;
    brim_onnx_options onnx = {.path = job->files.onnx,
                              .n_threads = options->n_threads,
                              .layer = options->layer,
                              .budget = job->budget,
                              .log = options->log};
    status = brim_room_check_load(job->budget, job->files.onnx, err);
    if (status == BRIM_OK) status = brim_session_open_onnx(mem, &onnx, &job->session, err);
    if (status == BRIM_OK) status = check_sizes(job, err);
    if (status == BRIM_OK)
        status = brim_task_embed_check(&job->session->layers[job->session->layer], err);
    return status;
}

brim_status brim_embed_create(const brim_embed_options *options, brim_job **out, brim_error *err)
{
    uint64_t started_ns = brim_now_ns();
    brim_status status;

    *out = NULL;
    brim_job *job = brim_alloc_zeroed(brim_heap(), sizeof(*job), &status);
    if (!job) return brim_fail(err, status, "no memory for a job");
    status = copy_options(&job->options, options, err);
    if (status != BRIM_OK) goto fail;
    status = brim_room_open(job->options.memory_bytes, job->options.log, &job->budget, err);
    if (status != BRIM_OK) goto fail;

    const brim_alloc *mem = brim_heap(); /* of what there is one of */
    job->task = brim_task_embed(!job->options.raw);
    status = open_source(job, mem, err);
    if (status == BRIM_OK) status = open_model(job, mem, err);
    if (status == BRIM_OK) status = brim_store_open(mem, job->options.store, &job->store, err);
    if (status == BRIM_OK && !brim_folder_of(job->options.store, job->spool_folder, PATH_MAX))
        status = brim_fail(err, BRIM_E_ARG, "%s: the path is too long", job->options.store);
    if (status == BRIM_OK) status = brim_room_check_left(job->budget, err);
    if (status == BRIM_OK) status = choose_batch(job, err);
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

    progress.n_skipped = atomic_load(&job->source->counts.n_skipped);
    progress.n_incomplete = atomic_load(&job->source->counts.n_incomplete);
    return progress;
}

static void show_progress(void *ctx)
{
    brim_job *job = ctx;
    uint64_t now_ns = brim_now_ns();

    if (!job->options.progress || now_ns < job->next_progress_ns) return;
    job->next_progress_ns = now_ns + job->options.progress_ms * 1000000ull;
    brim_progress progress = snapshot(job);
    job->options.progress(job->options.progress_ctx, &progress);
}

static brim_report make_report(const brim_job *job, bool stopped)
{
    brim_arena *arena = brim_budget_arena(job->budget);
    brim_report report = {
        .struct_bytes = sizeof(report),
        .counts = snapshot(job),
        .stopped = stopped,
        .n_known = job->n_known,
        .limit_bytes = brim_budget_limit_bytes(job->budget),
        .peak_bytes = brim_budget_peak_bytes(job->budget),
        .peak_live_bytes = brim_budget_peak_live_bytes(job->budget),
        .peak_resident_bytes = brim_system_peak_resident_bytes(),
        .arena = brim_arena_usage_now(arena),
        .huge_frac = brim_arena_huge_frac(arena),
        .load_s = job->load_s,
    };

    for (size_t i = 0; i < BRIM_N_ACCOUNTS; i++)
        report.accounts[i] = brim_budget_usage(job->budget, (brim_account)i);
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

static brim_reader_options reading_options(const brim_embed_options *options)
{
    brim_reader_options reading = {.max_px = options->max_px,
                                   .depth = options->depth,
                                   .apply_icc = options->apply_icc,
                                   .accept_truncated = options->accept_truncated};

    memcpy(reading.bands, options->bands, sizeof(reading.bands));
    return reading;
}

brim_status brim_job_run(brim_job *job, brim_report *out, brim_error *err)
{
    brim_report report;

    if (job->ran) {
        report = make_report(job, false);
        if (out) hand_out(&report, out);
        return brim_fail(err, BRIM_E_ARG, "a job runs once");
    }
    job->ran = true;

    brim_pipeline_options options = {
        .source = job->source,
        .store = job->store,
        .session = job->session,
        .processor = job->processor,
        .task = &job->task,
        .budget = job->budget,
        .counters = &job->counters,
        .batch = job->batch,
        .n_decoders = job->options.n_threads,
        .limit = job->options.limit,
        .tile = job->options.tile,
        .overlap = job->options.overlap,
        .decode_fast = job->options.decode == BRIM_DECODE_FAST,
        .reading = reading_options(&job->options),
        .timeout_ns = job->options.file_timeout_s * 1000000000ull,
        .trim_every = job->options.trim_every,
        .spool_folder = job->spool_folder,
        .look_ns = LOOK_MS * 1000000ull,
        .log = job->options.log,
        .stop = &job->stop,
        .tick = show_progress,
        .tick_ctx = job,
    };
    if (job->options.limit == 0 && job->options.tile == 0) /* nobody knows how many tiles */
        brim_row_count_start(&job->count, &job->source_options, &job->counters);
    brim_status status = brim_pipeline_run(&options, err);
    brim_row_count_stop(&job->count);
    report = make_report(job, status == BRIM_OK && atomic_load(&job->stop));
    status = finish_run(job, status, &report, err);
    if (out) hand_out(&report, out);
    return status;
}

brim_budget *brim_job_budget(brim_job *job)
{
    return job->budget;
}

void brim_job_stop(brim_job *job)
{
    atomic_store(&job->stop, true);
}

void brim_job_destroy(brim_job *job)
{
    if (!job) return;
    brim_store_close(job->store);
    brim_session_close(job->session);
    brim_processor_close(job->processor);
    brim_model_files_fini(&job->files);
    brim_source_close(job->source);
    brim_budget_destroy(job->budget);
    brim_alloc_release(brim_heap(), job, sizeof(*job));
}
