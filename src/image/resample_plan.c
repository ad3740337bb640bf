/*
 * resample_plan.c - orders, sizes and places; see resample.c for what happens there.
 *
 * All of a resampler lives in one allocation whose size follows from the spec.
 */
#include "image/resample_plan.h"

#include <assert.h>
#include <math.h>

#include "base/fail.h"
#include "base/layout.h"

#define PLANE_PX 1024 /* pixels that are split at once, roughly: 6 KiB */

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

/* First and last batch that line p of the stream has a part in. */
static void line_batches(const brim_resampler *self, uint32_t p, uint32_t *first, uint32_t *last)
{
    uint32_t start, n_taps;

    brim_axis_bounds(&self->across, brim_resampler_line(self, p), &start, &n_taps);
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

static uint8_t *take_rows(brim_layout *at, size_t n, size_t stride)
{
    uint8_t *rows = brim_layout_take(at, n, stride + OFF_BOUNDARY);

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

static void lay_out_picking(brim_resampler *self, brim_layout *at, uint32_t width)
{
    brim_layout_take(at, 1, sizeof(*self));
    self->along_start = brim_layout_take(at, self->along.n_wanted, sizeof(uint32_t));
    self->row = take_rows(at, 1, row_bytes(width));
    self->line = brim_layout_take(at, 3, self->along.n_wanted);
}

static void lay_out_blending(brim_resampler *self, brim_layout *at, uint32_t width)
{
    size_t n_slots = self->n_slots, n_along = self->along.n_wanted;
    bool resamples_along = !brim_axis_is_identity(&self->along);

    brim_layout_take(at, 1, sizeof(*self));
    self->slots = brim_layout_take(at, n_slots, sizeof(open_line));
    unsigned char *taps = brim_layout_take(at, n_slots, self->across.max_taps * sizeof(int32_t));
    unsigned char *sums = brim_layout_take(at, n_slots, self->line_bytes * sizeof(int32_t));
    if (resamples_along) {
        self->along_start = brim_layout_take(at, n_along, sizeof(uint32_t));
        self->along_outputs = brim_layout_take(at, n_along, sizeof(brim_split_taps));
        self->along_taps = brim_layout_take(at, n_along, 2 * self->along_stride * sizeof(int16_t));
        self->scratch_taps = brim_layout_take(at, self->along.max_taps, sizeof(int32_t));
        self->planes = brim_layout_take(at, 3 * self->plane_stride, sizeof(int16_t));
    }
    if (self->along_first) self->row = take_rows(at, 1, row_bytes(width));
    self->batch = take_rows(at, BRIM_BATCH_ROWS, self->row_stride);
    self->line = brim_layout_take(at, 1, self->line_bytes);
    if (!self->along_first) self->reduced = brim_layout_take(at, 3, n_along);

    for (size_t i = 0; at->base && i < n_slots; i++) {
        self->slots[i].taps = (int32_t *)(taps + i * self->across.max_taps * sizeof(int32_t));
        self->slots[i].sums = (int32_t *)(sums + i * self->line_bytes * sizeof(int32_t));
    }
}

static void lay_out(brim_resampler *self, brim_layout *at, uint32_t width)
{
    if (self->picks)
        lay_out_picking(self, at, width);
    else
        lay_out_blending(self, at, width);
}

void brim_resampler_lay_out(brim_resampler *self, uint32_t width)
{
    lay_out(self, &(brim_layout){.base = (unsigned char *)self}, width);
}

brim_status brim_resampler_plan(brim_resampler *self, const brim_resample_spec *spec,
                                brim_error *err)
{
    brim_layout at = {0};

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
