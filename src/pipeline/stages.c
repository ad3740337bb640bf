/* stages.c - what the threads of a run do: source, decode, write; model.c has the model's. */
#include "pipeline/stages.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/size.h"
#include "pipeline/tiled.h"

enum {
    MAX_COMMIT = 256, /* records in one transaction */
    GREY = 128,       /* of pictures without files */
};

void brim_stages_thread_ends(brim_stages *stages)
{
    brim_monitor_enter(&stages->monitor);
    stages->n_running--;
    brim_monitor_wake(&stages->monitor);
    brim_monitor_leave(&stages->monitor);
}

void brim_stages_give_up(brim_stages *stages, const brim_error *err)
{
    brim_monitor_enter(&stages->monitor);
    if (stages->error.status == BRIM_OK) stages->error = *err;
    brim_monitor_leave(&stages->monitor);
    atomic_store(&stages->broken, true);
    atomic_store(stages->options->stop, true);
}

bool brim_stages_stopping(const brim_stages *stages)
{
    return atomic_load(stages->options->stop);
}

void brim_stages_fail(brim_stages *stages, brim_item *item)
{
    brim_item_drop_data(item);
    if (brim_queue_push(stages->results, item, 0) != BRIM_OK) brim_item_destroy(item);
}

/* ---- source ---- */

brim_claim brim_stages_claim(brim_stages *stages, const brim_row *row)
{
    brim_counters *counters = stages->options->counters;
    brim_claim claim;
    brim_error err = {0};

    if (brim_store_claim(stages->options->store, row, &claim, &err) != BRIM_OK) {
        brim_stages_give_up(stages, &err);
        return BRIM_CLAIM_REPEAT;
    }
    if (claim == BRIM_CLAIM_DONE) brim_count(&counters->n_already, 1);
    if (claim == BRIM_CLAIM_FAILED) brim_count(&counters->n_failed_earlier, 1);
    if (claim == BRIM_CLAIM_REPEAT) brim_count(&counters->n_repeats, 1);
    return claim;
}

void *brim_stage_source(void *arg)
{
    brim_stages *stages = arg;
    const brim_pipeline_options *options = stages->options;
    uint64_t n_begun = 0;

    while (!brim_stages_stopping(stages) && (options->limit == 0 || n_begun < options->limit)) {
        brim_row *row;
        brim_error err = {0};
        brim_status status = brim_source_next(options->source, &row, &err);
        if (status == BRIM_END) break;
        if (status != BRIM_OK) {
            brim_stages_give_up(stages, &err);
            break;
        }
        if (brim_stages_claim(stages, row) == BRIM_CLAIM_TODO &&
            brim_queue_push(stages->rows, row, row->block_bytes) == BRIM_OK)
            n_begun++;
        else
            brim_row_destroy(row);
    }
    brim_queue_close(stages->rows);
    brim_stages_thread_ends(stages);
    return NULL;
}

/* ---- decode ---- */

static void note_size(brim_record *record, const brim_image_info *info)
{
    bool turned = brim_orientation_is_transposed(info->orientation);

    record->width = turned ? info->height : info->width;
    record->height = turned ? info->width : info->height;
}

void brim_stages_note_picture(brim_stages *stages, brim_item *item, const brim_image_info *info)
{
    const brim_log *log = stages->options->log;
    const char *key = item->record.row->key;
    bool clamped = stages->options->reading.depth == BRIM_DEPTH_CLAMP;

    note_size(&item->record, info);
    if (info->depth > 8 && !atomic_exchange(&stages->said_depth, true))
        brim_log_write(
            log, BRIM_LOG_NOTE, "%s: %u bits a sample are %s to 8, here and in all such pictures",
            key, info->depth, clamped ? "clamped, or where it has colours scaled," : "scaled");
    if (info->ignored_bands > 0 && !atomic_exchange(&stages->said_bands, true))
        brim_log_write(log, BRIM_LOG_NOTE,
                       "%s: %u of its bands are left out, here and in all such pictures (--bands)",
                       key, info->ignored_bands);
}

/* One thread does it, the others wait. */
static bool claim_library(brim_stages *stages, const brim_item *item, size_t *bytes)
{
    brim_monitor_enter(&stages->monitor);
    while (stages->starts_library)
        brim_monitor_wait(&stages->monitor);
    *bytes = brim_reader_start_bytes(item->data, item->data_bytes);
    stages->starts_library = *bytes > 0;
    brim_monitor_leave(&stages->monitor);
    return *bytes > 0;
}

static brim_status start_library(brim_stages *stages, size_t bytes, brim_error *err)
{
    brim_status status = brim_batcher_reserve_for_good(stages->batcher, BRIM_ACCOUNT_OTHER, bytes,
                                                       "libvips, for this format,", err);
    bool started = status == BRIM_OK && brim_reader_start_library();

    if (status == BRIM_OK && !started)
        brim_budget_give_back(stages->options->budget, BRIM_ACCOUNT_OTHER, bytes);
    brim_monitor_enter(&stages->monitor);
    if (started) stages->library_bytes = bytes;
    stages->starts_library = false;
    brim_monitor_wake(&stages->monitor);
    brim_monitor_leave(&stages->monitor);
    return status;
}

brim_status brim_stages_open_reader(brim_stages *stages, const brim_item *item,
                                    const brim_reader_options *options, brim_reader **out,
                                    brim_error *err)
{
    size_t bytes;

    *out = NULL;
    if (brim_reader_start_bytes(item->data, item->data_bytes) > 0 &&
        claim_library(stages, item, &bytes)) {
        brim_status status = start_library(stages, bytes, err);
        if (status != BRIM_OK) return status;
    }
    return brim_item_open_reader(item, options, out, err);
}

/* Reads all of the picture into the slot; fills or drops it. */
static brim_status decode_into_slot(brim_stages *stages, brim_item *item, brim_reader *reader,
                                    const brim_slot *slot, brim_error *err)
{
    brim_reader_lend_frame(reader, slot->frame);
    brim_status status = brim_processor_apply(stages->options->processor, brim_heap(), reader,
                                              slot->batch->shape.dtype, slot->pixels, err);
    brim_reader_close(reader); /* before its scratch is given back */
    if (status != BRIM_OK) {
        brim_batcher_drop(stages->batcher, slot);
        return status;
    }
    brim_item_drop_data(item);
    brim_batcher_fill(stages->batcher, slot, item);
    return BRIM_OK;
}

/* The scratch that the header predicts, libraries' and ours; their allocations need no account
 * then. */
static brim_status scratch_of(const brim_processor *processor, const brim_image_info *info,
                              brim_scratch *out, brim_error *err)
{
    brim_status status = brim_processor_scratch_bytes(processor, info, &out->bytes, err);

    out->frame_bytes = info->frame_bytes;
    if (status == BRIM_OK &&
        brim_add_bytes(out->bytes, info->scratch_bytes, &out->bytes) != BRIM_OK)
        status = brim_fail(err, BRIM_E_ARG, "the picture is too large to decode");
    return status;
}

brim_status brim_stages_shape(const brim_stages *stages, const brim_image_info *info,
                              uint32_t *height, uint32_t *width, brim_error *err)
{
    const brim_session *session = stages->options->session;

    if (session->stub_bytes == 0)
        return brim_processor_shape(stages->options->processor, info, height, width, err);
    *height = session->stub_height;
    *width = session->stub_width;
    return BRIM_OK;
}

/* Decodes one item; on success it has gone with its batch. */
static brim_status decode_item(brim_stages *stages, brim_item *item, brim_error *err)
{
    const brim_pipeline_options *options = stages->options;
    brim_reader *reader = NULL;
    brim_scratch scratch = {0};
    uint32_t height = 0, width = 0;
    brim_slot slot;

    brim_status status = brim_stages_open_reader(stages, item, &options->reading, &reader, err);
    if (status != BRIM_OK) return status;
    const brim_image_info *info = brim_reader_info(reader);
    brim_stages_note_picture(stages, item, info);
    if (options->decode_fast)
        brim_reader_shrink(reader, brim_processor_shrink_factor(options->processor, info));
    status = scratch_of(options->processor, info, &scratch, err);
    if (status == BRIM_OK) status = brim_stages_shape(stages, info, &height, &width, err);
    if (status == BRIM_OK)
        status = brim_batcher_lease(stages->batcher, height, width, scratch, &slot, err);
    if (status == BRIM_OK) return decode_into_slot(stages, item, reader, &slot, err);
    brim_reader_close(reader);
    return status;
}

/* ---- pictures without files ---- */

/* What the model sees of a row without a file: all of it grey. */
static brim_status paint_grey(const brim_stages *stages, const brim_image_info *info,
                              const brim_slot *slot, brim_error *err)
{
    brim_processing *processing;

    brim_status status =
        brim_processing_start(stages->options->processor, brim_heap(), info,
                              slot->batch->shape.dtype, slot->pixels, &processing, err);
    if (status != BRIM_OK) return status;
    for (uint32_t y = 0; y < info->n_rows; y++) {
        memset(brim_processing_row(processing), GREY, 3 * (size_t)info->row_width);
        brim_processing_push(processing);
    }
    brim_processing_end(processing);
    return BRIM_OK;
}

static brim_status fill_null_slot(brim_stages *stages, const brim_image_info *info,
                                  const brim_slot *slot, brim_item *item, brim_error *err)
{
    brim_status status = BRIM_OK;

    if (stages->options->session->stub_bytes > 0)
        memset(slot->pixels, 0, slot->batch->slot_bytes);
    else
        status = paint_grey(stages, info, slot, err);
    if (status == BRIM_OK)
        brim_batcher_fill(stages->batcher, slot, item);
    else
        brim_batcher_drop(stages->batcher, slot);
    return status;
}

/* Where slots are stubs the picture counts as what the row says, and is not made. */
static brim_status make_null_item(brim_stages *stages, brim_item *item, brim_error *err)
{
    const brim_pipeline_options *options = stages->options;
    uint32_t width = item->record.row->null_width, height = item->record.row->null_height;
    brim_image_info info = brim_image_info_of(width, height, 1);
    uint64_t n_px = (uint64_t)width * height;
    brim_scratch scratch = {0};
    brim_slot slot;

    if (options->reading.max_px > 0 && n_px > options->reading.max_px)
        return brim_fail(err, BRIM_E_FORMAT,
                         "image too large: %llu pixels, limit %llu (--max-pixels)",
                         (unsigned long long)n_px, (unsigned long long)options->reading.max_px);
    note_size(&item->record, &info);
    brim_status status = BRIM_OK;
    if (options->session->stub_bytes == 0) {
        status = brim_processor_shape(options->processor, &info, &height, &width, err);
        if (status == BRIM_OK)
            status = brim_processor_scratch_bytes(options->processor, &info, &scratch.bytes, err);
    }
    if (status == BRIM_OK)
        status = brim_batcher_lease(stages->batcher, height, width, scratch, &slot, err);
    return status == BRIM_OK ? fill_null_slot(stages, &info, &slot, item, err) : status;
}

static brim_status make_item(brim_stages *stages, brim_item *item, brim_error *err)
{
    return item->record.row->null_width > 0 ? make_null_item(stages, item, err)
                                            : decode_item(stages, item, err);
}

void *brim_stage_decode(void *arg)
{
    brim_stages *stages = arg;
    uint64_t began_ns = 0;
    void *popped;

    while (brim_workers_next(&stages->workers, stages->items, &popped, &began_ns) == BRIM_OK) {
        brim_item *item = popped;
        if (brim_stages_stopping(stages)) {
            brim_item_destroy(item);
            continue;
        }
        if (stages->options->tile > 0 && item->record.row->null_width == 0) {
            brim_stage_tile_item(stages, item);
            continue;
        }
        brim_error err = {0};
        brim_status status = make_item(stages, item, &err);
        if (status == BRIM_E_NOMEM) {
            brim_stages_give_up(stages, &err);
            brim_item_destroy(item);
        } else if (status != BRIM_OK) {
            item->record.step = BRIM_STEP_DECODE;
            item->record.error = err;
            brim_stages_fail(stages, item);
        }
    }
    brim_monitor_enter(&stages->monitor);
    bool last = --stages->n_decoding == 0;
    brim_monitor_leave(&stages->monitor);
    if (last) brim_batcher_close(stages->batcher);
    brim_stages_thread_ends(stages);
    return NULL;
}

/* ---- write ---- */

/* Takes what is there, at least one; 0 at the end. */
static size_t collect(brim_queue *results, brim_item *items[MAX_COMMIT])
{
    size_t n = 0;
    void *item;

    if (brim_queue_pop(results, &item) != BRIM_OK) return 0;
    do
        items[n++] = item;
    while (n < MAX_COMMIT && brim_queue_try_pop(results, &item) == BRIM_OK);
    return n;
}

/* Pictures whose last tile is now stored, to be recorded as over. Their number. */
static size_t finish_tiles(brim_item *const items[], size_t n, brim_item *wholes[MAX_COMMIT])
{
    size_t n_wholes = 0;

    for (size_t i = 0; i < n; i++) {
        if (!items[i]->tiled || !items[i]->record.vector) continue;
        brim_item *whole = brim_tiled_finish_one(items[i]->tiled);
        if (!whole) continue;
        whole->record.is_tiled = true;
        wholes[n_wholes++] = whole;
    }
    return n_wholes;
}

static bool commit(brim_stages *stages, brim_item *const items[], size_t n)
{
    const brim_record *records[MAX_COMMIT];
    brim_counters *counters = stages->options->counters;
    brim_error err = {0};
    uint64_t n_failed = 0, n_done = 0;

    for (size_t i = 0; i < n; i++) {
        records[i] = &items[i]->record;
        if (records[i]->vector)
            n_done++;
        else if (!records[i]->is_tiled)
            n_failed++;
    }
    if (brim_store_commit(stages->options->store, records, n, &err) != BRIM_OK) {
        brim_stages_give_up(stages, &err);
        return false;
    }
    brim_count(&counters->n_failed, n_failed);
    brim_count(&counters->n_done, n_done);
    return true;
}

static void commit_with_wholes(brim_stages *stages, brim_item *const items[], size_t n)
{
    brim_item *wholes[MAX_COMMIT];

    if (!commit(stages, items, n)) return;
    size_t n_wholes = finish_tiles(items, n, wholes);
    if (n_wholes > 0) commit(stages, wholes, n_wholes);
    for (size_t i = 0; i < n_wholes; i++)
        brim_item_destroy(wholes[i]);
}

void *brim_stage_write(void *arg)
{
    brim_stages *stages = arg;
    brim_item *items[MAX_COMMIT];
    size_t n;

    while ((n = collect(stages->results, items)) > 0) {
        uint64_t began_ns = brim_now_ns();
        if (!atomic_load(&stages->broken)) commit_with_wholes(stages, items, n);
        brim_count(&stages->options->counters->storing_ns, brim_now_ns() - began_ns);
        for (size_t i = 0; i < n; i++)
            brim_item_destroy(items[i]);
    }
    brim_stages_thread_ends(stages);
    return NULL;
}
