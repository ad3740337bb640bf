/*
 * tile.c - the decode stage for pictures that are cut into tiles.
 *
 * Stored rows pass by in a buffer that holds one strip of tiles. Each tile of the strip that the
 * store does not know yet becomes an item of its own, with a slot of its own. The strip is held
 * while slots are waited for, so only one decoder cuts at a time: see batcher.h. Nothing grows with
 * the number of tiles: the store is asked strip by strip.
 */
#include "base/fail.h"
#include "base/size.h"
#include "image/tiles.h"
#include "pipeline/stages.h"
#include "pipeline/tiled.h"

/* One picture being cut. */
typedef struct cutter {
    brim_stages *stages;
    brim_reader *reader;
    const brim_image_info *info;
    brim_tiling tiling;
    brim_tiled *tiled;
    const brim_record *whole; /* of the picture */

    size_t n_todo, n_left; /* tiles to be done; those that failed earlier and are left */

    size_t held_bytes; /* reserved for todo, strip and reader */
    uint8_t *todo;     /* of the strip at hand, 1 where the tile is to be done */
    uint8_t *strip;
    size_t strip_bytes, row_bytes;
    uint32_t first_row, n_rows; /* that are in the strip */
} cutter;

/* A tile's own row: the picture's key with the tile behind it, and its path. */
static brim_status make_row(const cutter *self, const brim_tile *tile, brim_row **out)
{
    char suffix[BRIM_TILE_SUFFIX_BYTES];

    brim_tile_suffix(tile, suffix);
    return brim_row_create_part(self->whole->row, suffix, out);
}

/* Asks the store about each tile of a strip; *n_todo tells how many are to be done. */
static brim_status claim_tiles(cutter *self, uint32_t strip, size_t *n_todo, brim_error *err)
{
    *n_todo = 0;
    for (uint32_t i = 0; i < self->tiling.n_tiles; i++) {
        brim_tile tile = brim_tiling_get(&self->tiling, strip, i);
        brim_row *row;

        self->todo[i] = 0;
        if (brim_stages_stopping(self->stages)) continue;
        brim_status status = make_row(self, &tile, &row);
        if (status != BRIM_OK) return brim_fail(err, status, "no memory for the row of a tile");
        brim_claim claim = brim_stages_claim(self->stages, row);
        brim_row_destroy(row);
        if (claim == BRIM_CLAIM_DONE) continue;
        brim_tiled_expect(self->tiled);
        self->todo[i] = claim == BRIM_CLAIM_TODO;
        *n_todo += self->todo[i];
        self->n_left += !self->todo[i];
    }
    self->n_todo += *n_todo;
    return BRIM_OK;
}

/* Rows that are read one after the other fill the strip; what no tile wants is passed over. */
static brim_status read_strip(cutter *self, uint32_t row, uint32_t n_rows, brim_error *err)
{
    brim_status status = BRIM_OK;
    uint32_t n_old = row - self->first_row < self->n_rows ? row - self->first_row : self->n_rows;

    self->n_rows -= n_old;
    self->first_row += n_old;
    memmove(self->strip, self->strip + n_old * self->row_bytes, self->n_rows * self->row_bytes);
    while (status == BRIM_OK && self->first_row + self->n_rows < row + n_rows) {
        status =
            brim_reader_next_row(self->reader, self->strip + self->n_rows * self->row_bytes, err);
        if (self->first_row < row)
            self->first_row++;
        else
            self->n_rows++;
    }
    if (status == BRIM_END)
        status = brim_fail(err, BRIM_E_FORMAT, "fewer rows than its header says");
    return status;
}

/* The tile's pixels, out of the strip, into the slot. */
static brim_status process_tile(const cutter *self, const brim_tile *tile, const brim_slot *slot,
                                brim_error *err)
{
    brim_image_info info = brim_tile_info(&self->tiling, tile);
    const uint8_t *pixels = self->strip + 3 * (size_t)tile->first_pixel;
    brim_processing *processing;

    brim_status status =
        brim_processing_start(self->stages->options->processor, brim_heap(), &info,
                              slot->batch->shape.dtype, slot->pixels, &processing, err);
    if (status != BRIM_OK) return status;
    for (uint32_t y = 0; y < tile->n_rows; y++) {
        memcpy(brim_processing_row(processing),
               pixels + (tile->row - self->first_row + y) * self->row_bytes,
               3 * (size_t)tile->n_pixels);
        brim_processing_push(processing);
    }
    brim_processing_end(processing);
    return BRIM_OK;
}

/* The slot that a tile takes, and its scratch. All tiles of a picture are of one size. */
static brim_status slot_of(const cutter *self, const brim_tile *tile, uint32_t *height,
                           uint32_t *width, size_t *scratch_bytes, brim_error *err)
{
    const brim_processor *processor = self->stages->options->processor;
    brim_image_info info = brim_tile_info(&self->tiling, tile);

    brim_status status = brim_processor_scratch_bytes(processor, &info, scratch_bytes, err);
    return status == BRIM_OK ? brim_stages_shape(self->stages, &info, height, width, err) : status;
}

static brim_status fill_slot(cutter *self, const brim_tile *tile, brim_item *item, brim_error *err)
{
    uint32_t height, width;
    size_t scratch_bytes;
    brim_slot slot;

    brim_status status = slot_of(self, tile, &height, &width, &scratch_bytes, err);
    if (status == BRIM_OK)
        status = brim_batcher_lease(self->stages->batcher, height, width,
                                    (brim_scratch){.bytes = scratch_bytes}, &slot, err);
    if (status != BRIM_OK) return status;
    status = process_tile(self, tile, &slot, err);
    if (status == BRIM_OK)
        brim_batcher_fill(self->stages->batcher, &slot, item);
    else
        brim_batcher_drop(self->stages->batcher, &slot);
    return status;
}

/* One tile goes its way, to the model or as a failure. Only what ends the run is returned. */
static brim_status send_tile(cutter *self, const brim_tile *tile, brim_error *err)
{
    brim_item *item;
    brim_row *row;

    brim_status status = make_row(self, tile, &row);
    if (status == BRIM_OK) {
        status = brim_item_create(self->whole->row->mem, row, &item);
        if (status != BRIM_OK) brim_row_destroy(row);
    }
    if (status != BRIM_OK) return brim_fail(err, status, "no memory for a tile");
    item->record.file_bytes = self->whole->file_bytes;
    item->record.mtime_ns = self->whole->mtime_ns;
    item->record.width = tile->width;
    item->record.height = tile->height;
    item->tiled = brim_tiled_hold(self->tiled);

    status = fill_slot(self, tile, item, err);
    if (status == BRIM_OK) return BRIM_OK;
    if (status == BRIM_E_NOMEM) {
        brim_item_destroy(item);
        return status;
    }
    item->record.step = BRIM_STEP_DECODE;
    item->record.error = *err;
    brim_stages_fail(self->stages, item);
    return BRIM_OK;
}

static brim_status cut_strip(cutter *self, uint32_t strip, brim_error *err)
{
    brim_tile tile = brim_tiling_get(&self->tiling, strip, 0);
    size_t n_todo;

    brim_status status = claim_tiles(self, strip, &n_todo, err);
    if (status != BRIM_OK || n_todo == 0) return status;
    status = read_strip(self, tile.row, tile.n_rows, err);
    for (uint32_t i = 0; status == BRIM_OK && i < self->tiling.n_tiles; i++) {
        if (!self->todo[i] || brim_stages_stopping(self->stages)) continue;
        tile = brim_tiling_get(&self->tiling, strip, i);
        status = send_tile(self, &tile, err);
    }
    return status;
}

/*
 * That a file ends early may show behind its last row only, also where all its tiles are done:
 * nothing is said to be over before. What failed tiles keep from being over is not read for that.
 */
static brim_status read_to_the_end(cutter *self, brim_error *err)
{
    brim_status status = BRIM_OK;

    if (self->n_todo == 0 && self->n_left > 0) return BRIM_OK;
    while (status == BRIM_OK)
        status = brim_reader_next_row(self->reader, self->strip, err);
    return status == BRIM_END ? BRIM_OK : status;
}

static brim_status cut(cutter *self, brim_error *err)
{
    brim_status status = BRIM_OK;

    self->strip = brim_alloc_zeroed(brim_heap(), self->strip_bytes, &status);
    if (self->strip) self->todo = brim_alloc_zeroed(brim_heap(), self->tiling.n_tiles, &status);
    if (!self->todo) return brim_fail(err, status, "no memory for a row of tiles");
    for (uint32_t i = 0; status == BRIM_OK && i < self->tiling.n_strips; i++) {
        if (brim_stages_stopping(self->stages)) return BRIM_END;
        status = cut_strip(self, i, err);
    }
    return status == BRIM_OK ? read_to_the_end(self, err) : status;
}

/* Sizes of a strip, against --max-pixels and against overflow. */
static brim_status plan_strip(cutter *self, brim_error *err)
{
    const brim_pipeline_options *options = self->stages->options;
    brim_tile tile = brim_tiling_get(&self->tiling, 0, 0);
    uint64_t max_px = options->reading.max_px;
    uint64_t n_rows = self->info->whole_frame ? self->info->height : tile.n_rows;
    uint64_t n_px = n_rows * self->info->width;

    if (max_px > 0 && n_px > max_px)
        return brim_fail(
            err, BRIM_E_FORMAT, "image too large: %llu pixels %s, limit %llu (--max-pixels)",
            (unsigned long long)n_px, self->info->whole_frame ? "at once" : "in one row of tiles",
            (unsigned long long)max_px);
    self->row_bytes = 3 * (size_t)self->info->width;
    if (brim_mul_bytes(self->row_bytes, tile.n_rows, &self->strip_bytes) != BRIM_OK ||
        brim_add_bytes(self->strip_bytes, self->tiling.n_tiles, &self->held_bytes) != BRIM_OK ||
        brim_add_bytes(self->held_bytes, self->info->scratch_bytes, &self->held_bytes) != BRIM_OK)
        return brim_fail(err, BRIM_E_ARG, "the picture is too large to decode");
    return BRIM_OK;
}

/* Holds memory for a strip, cuts, and gives it back. BRIM_END: the run is to end before. */
static brim_status cut_holding_memory(cutter *self, brim_error *err)
{
    brim_batcher *batcher = self->stages->batcher;

    brim_tile tile = brim_tiling_get(&self->tiling, 0, 0);
    uint32_t height, width;
    size_t scratch_bytes;

    brim_status status = slot_of(self, &tile, &height, &width, &scratch_bytes, err);
    if (status == BRIM_OK)
        status = brim_batcher_hold(batcher, self->held_bytes, height, width, scratch_bytes, err);
    if (status != BRIM_OK) return status;
    status = cut(self, err);
    brim_alloc_release(brim_heap(), self->strip, self->strip_bytes);
    brim_alloc_release(brim_heap(), self->todo, self->tiling.n_tiles);
    brim_reader_close(self->reader);
    self->reader = NULL;
    brim_batcher_let_go(batcher, self->held_bytes);
    return status;
}

/* Everything from the header on; item is the picture's, taken over once `tiled` is there. */
static brim_status tile_item(cutter *self, brim_item *item, brim_error *err)
{
    const brim_pipeline_options *options = self->stages->options;
    brim_reader_options reading = options->reading;

    reading.max_px = 0; /* counted by rows of tiles instead */
    brim_status status = brim_stages_open_reader(self->stages, item, &reading, &self->reader, err);
    if (status != BRIM_OK) return status;
    self->info = brim_reader_info(self->reader);
    brim_stages_note_picture(self->stages, item, self->info);
    self->tiling = brim_tiling_of(self->info, options->tile, options->overlap);
    self->whole = &item->record;
    status = plan_strip(self, err);
    if (status != BRIM_OK || brim_stages_stopping(self->stages)) return status;
    status = brim_tiled_create(brim_heap(), item, &self->tiled);
    if (status != BRIM_OK) return brim_fail(err, status, "no memory for tiles");
    return cut_holding_memory(self, err);
}

/* The picture is cut: it is over when its tiles are. */
static void finish(cutter *self)
{
    brim_item *whole = brim_tiled_finish_one(self->tiled);

    if (!whole) return;
    whole->record.is_tiled = true;
    if (brim_queue_push(self->stages->results, whole, 0) != BRIM_OK) brim_item_destroy(whole);
}

void brim_stage_tile_item(brim_stages *stages, brim_item *item)
{
    cutter self = {.stages = stages};
    brim_error err = {0};

    brim_status status = tile_item(&self, item, &err);
    brim_reader_close(self.reader);
    brim_item_drop_data(item); /* at once: its tiles may be waiting for the room, to run alone */
    if (status == BRIM_OK && self.tiled && !brim_stages_stopping(stages)) {
        finish(&self);
    } else if (status == BRIM_E_NOMEM) {
        brim_stages_give_up(stages, &err);
    } else if (status != BRIM_OK && status != BRIM_END) {
        if (self.tiled) brim_tiled_take_whole(self.tiled);
        item->record.step = BRIM_STEP_DECODE;
        item->record.error = err;
        brim_stages_fail(stages, item);
        item = NULL;
    }
    if (self.tiled)
        brim_tiled_let_go(self.tiled); /* and with it the item, unless that has gone on */
    else
        brim_item_destroy(item);
}
