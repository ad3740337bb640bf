/* setup.c - opens what a run needs, whoever runs it. */
#include "job/setup.h"

#include "base/fail.h"
#include "job/options.h"
#include "job/room.h"
#include "pipeline/sizes.h"

enum {
    LOOK_MS = 250, /* at the system's memory */
};

size_t brim_setup_most_items(const brim_setup *setup)
{
    size_t slot_bytes = brim_model_slot_bytes(&setup->model);

    return slot_bytes > 0 ? brim_sizes_most_slots(setup->budget, slot_bytes) : BRIM_MAX_BATCH;
}

/* A batch that the user or the model insists on; where it can never be, that is told before the
 * first picture. 0 = the governor's choice. */
static brim_status choose_batch(brim_setup *setup, brim_error *err)
{
    const brim_embed_options *options = &setup->options;
    size_t fixed = brim_session_fixed_batch(setup->model.session);
    size_t most = brim_setup_most_items(setup);

    setup->batch = fixed ? fixed : options->batch;
    if (fixed && options->batch && options->batch != fixed)
        brim_log_write(options->log, BRIM_LOG_NOTE, "the model's own batch of %zu is used, not %u",
                       fixed, options->batch);
    if (setup->batch <= most) return BRIM_OK;
    return brim_fail(err, BRIM_E_ARG,
                     "a batch of %zu is too much for the %zu MiB that the model leaves: take up"
                     " to %zu, or more --memory",
                     setup->batch, brim_budget_usable_bytes(setup->budget) >> 20, most);
}

brim_status brim_setup_settle(brim_setup *setup, brim_error *err)
{
    brim_status status = brim_room_check_left(setup->budget, err);

    return status == BRIM_OK ? choose_batch(setup, err) : status;
}

static brim_status open_source(brim_setup *setup, const brim_alloc *mem, brim_error *err)
{
    setup->source_options = (brim_source_options){
        .inputs = setup->options.inputs,
        .n_inputs = setup->options.n_inputs,
        .root = setup->options.root,
        .nul_lists = setup->options.nul_lists,
        .log = setup->options.log,
        .stop = &setup->stop,
    };
    return brim_source_open(mem, &setup->source_options, &setup->source, err);
}

/* The --memory of a simulated device is the device's: the process takes what it may anyway. */
static brim_status open_budget(brim_setup *setup, brim_error *err)
{
    bool is_simulated = brim_device_is_simulated(setup->options.device);

    brim_memory_free_bytes_by("", &setup->bound);
    return brim_room_open(is_simulated ? 0 : setup->options.memory_bytes, setup->options.log,
                          &setup->budget, err);
}

brim_status brim_setup_open(brim_setup *setup, const brim_embed_options *options, brim_error *err)
{
    const brim_alloc *mem = brim_heap(); /* of what there is one of */

    brim_status status = brim_options_take(&setup->options, options, err);
    if (status == BRIM_OK) status = open_budget(setup, err);
    if (status == BRIM_OK) status = open_source(setup, mem, err);
    if (status != BRIM_OK) return status;
    return brim_model_open(mem, &setup->options, setup->budget, &setup->model, err);
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

brim_pipeline_options brim_setup_pipeline(brim_setup *setup)
{
    const brim_embed_options *options = &setup->options;

    return (brim_pipeline_options){
        .source = setup->source,
        .session = setup->model.session,
        .processor = setup->model.processor,
        .task = &setup->model.task,
        .budget = setup->budget,
        .batch = setup->batch,
        .governor = options->governor,
        .n_decoders = options->n_threads,
        .tile = options->tile,
        .overlap = options->overlap,
        .decode_fast = options->decode == BRIM_DECODE_FAST,
        .reading = reading_options(options),
        .timeout_ns = options->file_timeout_s * 1000000000ull,
        .trim_every = options->trim_every,
        .look_ns = LOOK_MS * 1000000ull,
        .log = options->log,
        .stop = &setup->stop,
    };
}

void brim_setup_close(brim_setup *setup)
{
    brim_model_close(&setup->model);
    brim_source_close(setup->source);
    brim_budget_destroy(setup->budget);
    setup->source = NULL;
    setup->budget = NULL;
}
