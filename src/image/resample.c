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
 *
 * All of it lives in one allocation whose size follows from the spec.
 */
#include "image/resample.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/kernels.h"

#define PLANE_PX 1024 /* pixels that are split at once, roughly: 6 KiB */

/* An output line whose sums are being made. */
typedef struct open_line {
    uint32_t start, end; /* stored rows it is made of */
    int32_t *taps;       /* [end - start] */
    int32_t *sums;       /* [line_bytes] */
} open_line;

struct brim_resampler {
    const brim_alloc *mem;
    const brim_kernels *kernels;
    brim_line_sink sink;
    void *sink_ctx;
    size_t total_bytes;

    brim_axis along, across;
    bool along_first;
    bool picks; /* both axes do: no batch, no sums */

    /* Sizes of what lies in the allocation behind this struct. */
    uint32_t n_slots;    /* lines open at once, at most */
    size_t line_bytes;   /* of a line that is added up: 3 x pixels */
    size_t row_stride;   /* bytes between the rows of a batch */
    size_t along_stride; /* taps of one output along, padded */
    size_t n_at_once;    /* outputs along whose inputs fit the planes */
    size_t plane_stride; /* 16-bit numbers in a plane, padding included */

    open_line *slots;               /* [n_slots]; line p of the stream is in slot p % n_slots */
    uint32_t *along_start;          /* [along.n_wanted], from along.in_first */
    brim_split_taps *along_outputs; /* [along.n_wanted] */
    int16_t *along_taps;            /* [along.n_wanted][2][along_stride] */
    int32_t *scratch_taps;          /* [along.max_taps] */
    int16_t *planes;                /* [3][plane_stride] */
    uint8_t *row;                   /* 3 x width, where rows are not read into the batch itself */
    uint8_t *batch;                 /* [BRIM_BATCH_ROWS][row_stride] */
    uint8_t *line;                  /* a finished line across, line_bytes */
    uint8_t *reduced;               /* that line reduced along, where along comes second */

    uint32_t next_row;  /* stored row that comes next */
    uint32_t batch_row; /* stored row that batch begins with */
    uint32_t n_batched;
    uint32_t n_opened, n_closed; /* lines of the stream begun and finished, from the first one */
};

/* --- the plan -------------------------------------------------------------------------------- */

static bool goes_vertically_first(const brim_axis *horizontal, const brim_axis *vertical,
                                  brim_resample_order order)
{
    uint64_t width = horizontal->n_in, new_width = horizontal->n_out;
    uint64_t height = vertical->n_in, new_height = vertical->n_out;

    if (height <= new_height) return false;
    if (order == BRIM_ORDER_CLASSIC) return height > 100 * width;
    return height - new_height > 2 * (width > new_width ? width - new_width : 0);
}

static brim_status plan_axes(brim_resampler *self, const brim_resample_spec *spec, brim_error *err)
{
    uint8_t o = spec->orientation;
    bool transposed = brim_orientation_is_transposed(o);
    brim_axis horizontal = {
        .n_in = transposed ? spec->height : spec->width,
        .n_out = spec->new_width,
        .first = spec->crop_x,
        .n_wanted = spec->crop_width,
        .flipped = o == 2 || o == 3 || o == 6 || o == 7,
        .filter = spec->filter,
    };
    brim_axis vertical = {
        .n_in = transposed ? spec->width : spec->height,
        .n_out = spec->new_height,
        .first = spec->crop_y,
        .n_wanted = spec->crop_height,
        .flipped = o == 3 || o == 4 || o == 7 || o == 8,
        .filter = spec->filter,
    };

    self->along = transposed ? vertical : horizontal;
    self->across = transposed ? horizontal : vertical;
    bool vertical_first = goes_vertically_first(&horizontal, &vertical, spec->order);
    self->along_first = vertical_first == transposed;
    self->picks = brim_axis_picks(&self->along) && brim_axis_picks(&self->across);
    brim_status status = brim_axis_init(&self->along, err);
    return status == BRIM_OK ? brim_axis_init(&self->across, err) : status;
}

/* Lines come in stored order; with flipped rows the last upright one is finished first. */
static uint32_t line_index(const brim_resampler *self, uint32_t p)
{
    return self->across.flipped ? self->across.n_wanted - 1 - p : p;
}

/* First and last batch that line p of the stream has a part in. */
static void line_batches(const brim_resampler *self, uint32_t p, uint32_t *first, uint32_t *last)
{
    uint32_t start, n_taps;

    brim_axis_bounds(&self->across, line_index(self, p), &start, &n_taps);
    *first = (start - self->across.in_first) / BRIM_BATCH_ROWS;
    *last = (start + n_taps - 1 - self->across.in_first) / BRIM_BATCH_ROWS;
}

/* Neither end of a line's range goes back as p grows, so two pointers see every batch's lines. */
static uint32_t most_open_lines(const brim_resampler *self)
{
    uint32_t most = 0, oldest = 0, first, last, ignored;

    for (uint32_t p = 0; p < self->across.n_wanted; p++) {
        line_batches(self, p, &first, &ignored);
        for (line_batches(self, oldest, &ignored, &last); last < first;
             line_batches(self, oldest, &ignored, &last))
            oldest++;
        if (p - oldest + 1 > most) most = p - oldest + 1;
    }
    return most;
}

/* --- the allocation -------------------------------------------------------------------------- */

/* Measures when base is NULL, hands out when it is not. */
typedef struct layout {
    unsigned char *base;
    size_t used;
    bool overflow;
} layout;

static void *take(layout *at, size_t n, size_t each)
{
    size_t bytes, end;

    if (brim_mul_bytes(n, each, &bytes) != BRIM_OK ||
        brim_add_bytes(at->used, bytes, &end) != BRIM_OK ||
        brim_add_bytes(end, 63, &end) != BRIM_OK) {
        at->overflow = true;
        return NULL;
    }
    void *p = at->base ? at->base + at->used : NULL;
    at->used = end / 64 * 64;
    return p;
}

static size_t round_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/*
 * Rows that decoders write begin a little off a vector's boundary. libjpeg-turbo writes those on
 * one past the caches, straight to memory, and here they are read again at once: that cost as much
 * as a fifth of the decoding.
 */
#define OFF_BOUNDARY 8

static size_t row_bytes(uint32_t width)
{
    return round_up(3 * (size_t)width, 64); /* each row is as far off as the first one */
}

static uint8_t *take_rows(layout *at, size_t n, size_t stride)
{
    uint8_t *rows = take(at, n, stride + OFF_BOUNDARY);

    return rows ? rows + OFF_BOUNDARY : NULL;
}

/* The planes are so small that they stay in the fastest cache, whatever the width. */
static void plan_planes(brim_resampler *self)
{
    double scale = self->along.scale;
    size_t n_wanted = self->along.n_wanted, fits = 0;

    self->along_stride = round_up(self->along.max_taps, BRIM_TAP_BLOCK);
    if (self->along_stride < PLANE_PX) fits = (size_t)((PLANE_PX - self->along_stride) / scale);
    self->n_at_once = fits < 1 ? 1 : fits < n_wanted ? fits : n_wanted;
    size_t n_between = (size_t)ceil((self->n_at_once - 1) * scale) + 1; /* first starts, rounded */
    self->plane_stride = round_up(n_between + self->along_stride, BRIM_TAP_BLOCK);
}

/* Sizes first: 3 bytes times 32 bits cannot overflow 64, and `take` watches the products. */
static void plan_sizes(brim_resampler *self, uint32_t width)
{
    size_t n_needed = (size_t)self->along.in_end - self->along.in_first;

    self->n_slots = most_open_lines(self);
    self->line_bytes = 3 * (self->along_first ? (size_t)self->along.n_wanted : n_needed);
    self->row_stride = self->along_first ? self->line_bytes : row_bytes(width);
    plan_planes(self);
}

static void lay_out_picking(brim_resampler *self, layout *at, uint32_t width)
{
    take(at, 1, sizeof(*self));
    self->along_start = take(at, self->along.n_wanted, sizeof(uint32_t));
    self->row = take_rows(at, 1, row_bytes(width));
    self->line = take(at, 3, self->along.n_wanted);
}

static void lay_out_blending(brim_resampler *self, layout *at, uint32_t width)
{
    size_t n_slots = self->n_slots, n_along = self->along.n_wanted;
    bool resamples_along = !brim_axis_is_identity(&self->along);

    take(at, 1, sizeof(*self));
    self->slots = take(at, n_slots, sizeof(open_line));
    unsigned char *taps = take(at, n_slots, self->across.max_taps * sizeof(int32_t));
    unsigned char *sums = take(at, n_slots, self->line_bytes * sizeof(int32_t));
    if (resamples_along) {
        self->along_start = take(at, n_along, sizeof(uint32_t));
        self->along_outputs = take(at, n_along, sizeof(brim_split_taps));
        self->along_taps = take(at, n_along, 2 * self->along_stride * sizeof(int16_t));
        self->scratch_taps = take(at, self->along.max_taps, sizeof(int32_t));
        self->planes = take(at, 3 * self->plane_stride, sizeof(int16_t));
    }
    if (self->along_first) self->row = take_rows(at, 1, row_bytes(width));
    self->batch = take_rows(at, BRIM_BATCH_ROWS, self->row_stride);
    self->line = take(at, 1, self->line_bytes);
    if (!self->along_first) self->reduced = take(at, 3, n_along);

    for (size_t i = 0; at->base && i < n_slots; i++) {
        self->slots[i].taps = (int32_t *)(taps + i * self->across.max_taps * sizeof(int32_t));
        self->slots[i].sums = (int32_t *)(sums + i * self->line_bytes * sizeof(int32_t));
    }
}

static void lay_out(brim_resampler *self, layout *at, uint32_t width)
{
    if (self->picks)
        lay_out_picking(self, at, width);
    else
        lay_out_blending(self, at, width);
}

static brim_status plan(brim_resampler *self, const brim_resample_spec *spec, brim_error *err)
{
    layout at = {0};

    assert(spec->width > 0 && spec->height > 0);
    assert(spec->orientation >= 1 && spec->orientation <= 8);
    *self = (brim_resampler){0};
    brim_status status = plan_axes(self, spec, err);
    if (status != BRIM_OK) return status;
    if (!self->picks) plan_sizes(self, spec->width);
    lay_out(self, &at, spec->width);
    if (at.overflow)
        return brim_fail(err, BRIM_E_ARG, "resampling %u x %u pixels to %u x %u takes too much",
                         spec->width, spec->height, spec->new_width, spec->new_height);
    self->total_bytes = at.used;
    return BRIM_OK;
}

brim_status brim_resampler_bytes(const brim_resample_spec *spec, size_t *out_bytes, brim_error *err)
{
    brim_resampler planned;

    *out_bytes = 0;
    brim_status status = plan(&planned, spec, err);
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
    brim_status status = plan(&planned, spec, err);
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
    lay_out(self, &(layout){.base = (unsigned char *)self}, spec->width);
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
        uint32_t i = line_index(self, self->n_opened);
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
    self->sink(self->sink_ctx, line_index(self, self->n_closed), finished);
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
        uint32_t idx = line_index(self, self->n_closed);

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
