/*
 * resample.c - two passes over a stream of stored rows.
 *
 * "Along" is the direction of a stored row, "across" the other one; which of them is the upright
 * horizontal depends on the orientation. Two orders are possible:
 *
 *   along first:   a row is reduced to the few outputs along it, and these are added to the sums of
 *                  every output line across that it has a part in;
 *   across first:  rows are added to the sums at full width, and a line whose sums are complete is
 *                  reduced along.
 *
 * Both round to 8 bits between the passes, so the order shows in the result and is Pillow's. Rows
 * are collected in batches of four before they are added up, which reads and writes the sums a
 * quarter as often. Sums exist for the lines that are open at the moment, in a ring.
 *
 * Where neither direction is blended, a line is picked out of one row and none of this is needed.
 */
#include "image/resample.h"

#include <assert.h>
#include <string.h>

#include "base/fail.h"
#include "image/kernels.h"
#include "image/resample_plan.h"

brim_status brim_resampler_bytes(const brim_resample_spec *spec, size_t *out_bytes, brim_error *err)
{
    brim_resampler planned;

    *out_bytes = 0;
    brim_status status = brim_resampler_plan(&planned, spec, err);
    if (status == BRIM_OK) *out_bytes = planned.total_bytes;
    return status;
}

/* --- making it ------------------------------------------------------------------------------- */

static void fill_along_picks(brim_resampler *self)
{
    uint32_t n_taps;

    for (uint32_t i = 0; i < self->along.n_wanted; i++)
        brim_axis_bounds(&self->along, i, &self->along_start[i], &n_taps);
}

static void fill_along_taps(brim_resampler *self)
{
    for (uint32_t i = 0; i < self->along.n_wanted; i++) {
        int16_t *high = self->along_taps + 2 * i * self->along_stride;
        int16_t *low = high + self->along_stride;
        uint32_t start, n_taps;

        brim_axis_bounds(&self->along, i, &start, &n_taps);
        brim_axis_taps(&self->along, i, self->scratch_taps);
        self->along_start[i] = start - self->along.in_first;
        self->along_outputs[i] = brim_split_taps_of(self->scratch_taps, n_taps, high, low);
    }
}

brim_status brim_resampler_create(const brim_alloc *mem, const brim_resample_spec *spec,
                                  brim_line_sink sink, void *sink_ctx, brim_resampler **out,
                                  brim_error *err)
{
    brim_resampler planned;

    *out = NULL;
    brim_status status = brim_resampler_plan(&planned, spec, err);
    if (status != BRIM_OK) return status;
    brim_resampler *self = brim_alloc_zeroed(mem, planned.total_bytes, &status);
    if (!self)
        return brim_fail(err, status, "resampler: no memory for %zu bytes", planned.total_bytes);

    *self = planned;
    self->mem = mem;
    self->kernels = brim_kernels_best();
    self->sink = sink;
    self->sink_ctx = sink_ctx;
    self->batch_row = self->across.in_first;
    brim_resampler_lay_out(self, spec->width);
    if (self->picks)
        fill_along_picks(self);
    else if (!brim_axis_is_identity(&self->along))
        fill_along_taps(self);
    *out = self;
    return BRIM_OK;
}

void brim_resampler_destroy(brim_resampler *self)
{
    if (self) brim_alloc_release(self->mem, self, self->total_bytes);
}

/* --- the walk -------------------------------------------------------------------------------- */

/* n pixels in reverse. */
static void copy_flipped(uint8_t *out, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(out + 3 * i, in + 3 * (n - 1 - i), 3);
}

/* A few outputs at a time, so that pixels split are still at hand when they are needed. */
static void blend_along(brim_resampler *self, const uint8_t *in, uint8_t *out)
{
    size_t n_in = self->along.in_end - self->along.in_first, n_wanted = self->along.n_wanted;

    for (size_t i = 0, n; i < n_wanted; i += n) {
        n = n_wanted - i < self->n_at_once ? n_wanted - i : self->n_at_once;
        const uint32_t *start = self->along_start + i;
        uint32_t first = self->along.flipped ? start[n - 1] : start[0];
        uint32_t last = self->along.flipped ? start[0] : start[n - 1];
        size_t end = last + self->along_stride < n_in ? last + self->along_stride : n_in;
        brim_tap_table table = {.start = start,
                                .outputs = self->along_outputs + i,
                                .taps = self->along_taps + 2 * i * self->along_stride,
                                .stride = self->along_stride,
                                .origin = first};

        assert(last - first + self->along_stride <= self->plane_stride);
        self->kernels->split(self->planes, self->plane_stride, in + 3 * (size_t)first, end - first);
        self->kernels->reduce(out + 3 * i, n, self->planes, self->plane_stride, &table);
    }
}

/* in: the pixels along.in_first .. along.in_end of a line; out: the wanted outputs, upright. */
static void reduce_along(brim_resampler *self, const uint8_t *in, uint8_t *out)
{
    const brim_axis *along = &self->along;
    size_t n_in = along->in_end - along->in_first;

    if (!brim_axis_is_identity(along)) {
        blend_along(self, in, out);
    } else if (along->flipped) {
        copy_flipped(out, in, n_in);
    } else {
        memcpy(out, in, 3 * n_in);
    }
}

/* Begins every line that has a part in rows before `end`. */
static void open_lines(brim_resampler *self, uint32_t end)
{
    while (self->n_opened < self->across.n_wanted) {
        uint32_t i = brim_resampler_line(self, self->n_opened);
        uint32_t start, n_taps;

        brim_axis_bounds(&self->across, i, &start, &n_taps);
        if (start >= end) return;
        assert(self->n_opened - self->n_closed < self->n_slots);
        open_line *line = &self->slots[self->n_opened % self->n_slots];
        line->start = start;
        line->end = start + n_taps;
        brim_axis_taps(&self->across, i, line->taps);
        for (size_t x = 0; x < self->line_bytes; x++)
            line->sums[x] = BRIM_ROUNDING;
        self->n_opened++;
    }
}

/* Adds the batch to one line's sums; rows it has no part in weigh 0. */
static void add_batch(brim_resampler *self, open_line *line)
{
    size_t skipped = self->along_first ? 0 : 3 * (size_t)self->along.in_first;
    int32_t taps[BRIM_BATCH_ROWS] = {0};

    for (uint32_t r = 0; r < self->n_batched; r++) {
        uint32_t row = self->batch_row + r;
        if (row >= line->start && row < line->end) taps[r] = line->taps[row - line->start];
    }
    self->kernels->accumulate(line->sums, self->batch + skipped, self->row_stride, taps,
                              self->line_bytes);
}

static void close_line(brim_resampler *self, const open_line *line)
{
    const uint8_t *finished = self->line;

    self->kernels->finish(self->line, line->sums, self->line_bytes);
    if (!self->along_first) {
        reduce_along(self, self->line, self->reduced);
        finished = self->reduced;
    }
    self->sink(self->sink_ctx, brim_resampler_line(self, self->n_closed), finished);
    self->n_closed++;
}

static void flush(brim_resampler *self)
{
    uint32_t end = self->batch_row + self->n_batched;

    open_lines(self, end);
    for (uint32_t p = self->n_closed; p < self->n_opened; p++)
        add_batch(self, &self->slots[p % self->n_slots]);
    while (self->n_closed < self->n_opened) {
        open_line *line = &self->slots[self->n_closed % self->n_slots];
        if (line->end > end) break;
        close_line(self, line);
    }
    self->batch_row = end;
    self->n_batched = 0;
}

/* Hands out every line that stored row `row` is. */
static void pick(brim_resampler *self, uint32_t row)
{
    uint32_t start, n_taps;

    for (bool fresh = true; self->n_closed < self->across.n_wanted; fresh = false) {
        uint32_t idx = brim_resampler_line(self, self->n_closed);

        brim_axis_bounds(&self->across, idx, &start, &n_taps);
        if (start != row) return;
        for (size_t i = 0; fresh && i < self->along.n_wanted; i++)
            memcpy(self->line + 3 * i, self->row + 3 * (size_t)self->along_start[i], 3);
        self->sink(self->sink_ctx, idx, self->line);
        self->n_closed++;
    }
}

uint8_t *brim_resampler_row(brim_resampler *self)
{
    return self->picks || self->along_first ? self->row
                                            : self->batch + self->n_batched * self->row_stride;
}

void brim_resampler_push(brim_resampler *self)
{
    uint32_t row = self->next_row++;

    if (row < self->across.in_first || row >= self->across.in_end) return;
    if (self->picks) {
        pick(self, row);
        return;
    }
    if (self->along_first)
        reduce_along(self, self->row + 3 * (size_t)self->along.in_first,
                     self->batch + self->n_batched * self->row_stride);
    self->n_batched++;
    if (self->n_batched == BRIM_BATCH_ROWS || row + 1 == self->across.in_end) flush(self);
}
