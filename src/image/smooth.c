/*
 * smooth.c - weights of a blur and an interpolation, and two passes over a stream of rows.
 *
 * "Along" is the direction of a stored row, "across" the other one, as in resample.c. Sums are kept
 * in double precision: a line across is made of some hundred rows, and the result has to agree with
 * the reference in its last places.
 */
#include "image/smooth.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/layout.h"

/* The blur ends at this many deviations. */
#define TRUNCATE 4.0

/* One direction. Positions are upright in the padded picture, inputs are numbered as they come. */
typedef struct direction {
    uint32_t n_in;     /* inputs that come */
    uint32_t n_padded; /* with the padding behind them */
    uint32_t n_out;
    bool flipped;      /* inputs come last first */
    double factor;     /* padded inputs to one output */
    int64_t radius;    /* of the blur */
    uint32_t max_taps; /* no output has more inputs */
    double *blur;      /* [radius + 1] weights from the middle on */
} direction;

/* Which inputs an output is made of. */
typedef struct span {
    uint32_t start, end; /* equal where all of it is padding */
} span;

typedef struct open_line {
    span rows;
    double *taps; /* [across.max_taps] */
    double *sums; /* [line_values] */
} open_line;

struct brim_smooth {
    const brim_alloc *mem;
    brim_smooth_sink sink;
    void *sink_ctx;
    const float *values;
    size_t total_bytes;

    direction along, across;
    uint32_t n_slots;   /* lines open at once, at most */
    size_t line_values; /* 3 x along.n_out */

    span *along_spans; /* [along.n_out] */
    float *along_taps; /* [along.n_out][along.max_taps] */
    open_line *slots;  /* [n_slots]; line p of the stream is in slot p % n_slots */
    double *taps;      /* [along.max_taps] scratch */
    float *row_values; /* [3 x width] */
    float *reduced;    /* [line_values] a row reduced along */
    uint8_t *row;      /* 3 x width */

    uint32_t next_row;
    uint32_t n_opened, n_closed; /* lines of the stream begun and finished */
};

/* --- weights --------------------------------------------------------------------------------- */

/* Position i of n that are mirrored at both ends, the ends not repeated. */
static int64_t mirrored(int64_t i, int64_t n)
{
    if (n == 1) return 0;
    int64_t period = 2 * (n - 1);
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - i;
}

/* Where output i lies between the inputs `left` and the next one. */
static int64_t locate(const direction *d, uint32_t i, double *frac)
{
    double n = d->n_padded, at = (i + 0.5) * d->factor - 0.5;

    if (at < 0) at = -at;
    if (at > n - 1) at = 2 * (n - 1) - at;
    at = fmax(at, 0);
    double left = floor(at);
    *frac = at - left;
    return (int64_t)left;
}

/* The inputs between which all of an output's lie, upright. */
static span upright_span(const direction *d, uint32_t i)
{
    double frac;
    int64_t left = locate(d, i, &frac), n = d->n_padded;
    int64_t first = left - d->radius, last = left + 1 + d->radius;
    /* What hangs over the end comes back from there, and may reach further than the rest. */
    int64_t start = first < 0 ? 0 : first, end = (last >= n ? n - 1 : last) + 1;

    if (last >= n && 2 * (n - 1) - last < start) start = 2 * (n - 1) - last;
    start = start < 0 ? 0 : start > d->n_in ? d->n_in : start;
    end = end > d->n_in ? d->n_in : end;
    return (span){(uint32_t)start, (uint32_t)(end < start ? start : end)};
}

static span stored_span(const direction *d, uint32_t i)
{
    span s = upright_span(d, i);

    return d->flipped ? (span){d->n_in - s.end, d->n_in - s.start} : s;
}

/* Adds one blurred input's weights to taps. */
static void add_blurred(const direction *d, int64_t centre, double weight, span s, double *taps)
{
    for (int64_t k = -d->radius; k <= d->radius; k++) {
        int64_t at = mirrored(centre + k, d->n_padded);
        if (at >= d->n_in) continue; /* black padding */
        if (d->flipped) at = d->n_in - 1 - at;
        taps[at - s.start] += weight * d->blur[k < 0 ? -k : k];
    }
}

static void fill_taps(const direction *d, uint32_t i, span s, double *taps)
{
    double frac;
    int64_t left = locate(d, i, &frac);

    memset(taps, 0, (s.end - s.start) * sizeof(*taps));
    add_blurred(d, left, 1 - frac, s, taps);
    if (frac > 0) add_blurred(d, left + 1, frac, s, taps);
}

static void fill_blur(direction *d)
{
    double deviation = fmax(0, (d->factor - 1) / 2), sum = 0;

    for (int64_t k = -d->radius; k <= d->radius; k++)
        sum += d->radius ? exp(-0.5 / (deviation * deviation) * (double)(k * k)) : 1;
    for (int64_t k = 0; k <= d->radius; k++)
        d->blur[k] = (d->radius ? exp(-0.5 / (deviation * deviation) * (double)(k * k)) : 1) / sum;
}

/* --- the plan -------------------------------------------------------------------------------- */

static void plan_direction(direction *d)
{
    d->factor = (double)d->n_padded / d->n_out;
    d->radius = (int64_t)(TRUNCATE * fmax(0, (d->factor - 1) / 2) + 0.5);
    for (uint32_t i = 0; i < d->n_out; i++) {
        span s = upright_span(d, i);
        if (s.end - s.start > d->max_taps) d->max_taps = s.end - s.start;
    }
}

/* Lines come in stored order; with flipped rows the last upright one is finished first. */
static uint32_t line_index(const brim_smooth *self, uint32_t p)
{
    return self->across.flipped ? self->across.n_out - 1 - p : p;
}

/* Neither end of a line's rows goes back as p grows, so two pointers see all that is open. */
static uint32_t most_open_lines(const brim_smooth *self)
{
    uint32_t most = 1, oldest = 0;

    for (uint32_t p = 0; p < self->across.n_out; p++) {
        uint32_t start = stored_span(&self->across, line_index(self, p)).start;
        while (oldest < p && stored_span(&self->across, line_index(self, oldest)).end <= start)
            oldest++;
        if (p - oldest + 1 > most) most = p - oldest + 1;
    }
    return most;
}

static void plan_directions(brim_smooth *self, const brim_smooth_spec *spec)
{
    uint8_t o = spec->orientation;
    bool transposed = brim_orientation_is_transposed(o);
    uint32_t width = transposed ? spec->height : spec->width;
    uint32_t height = transposed ? spec->width : spec->height;
    direction horizontal = {
        .n_in = width,
        .n_padded = spec->side ? spec->side : width,
        .n_out = spec->new_width,
        .flipped = o == 2 || o == 3 || o == 6 || o == 7,
    };
    direction vertical = {
        .n_in = height,
        .n_padded = spec->side ? spec->side : height,
        .n_out = spec->new_height,
        .flipped = o == 3 || o == 4 || o == 7 || o == 8,
    };

    plan_direction(&horizontal);
    plan_direction(&vertical);
    self->along = transposed ? vertical : horizontal;
    self->across = transposed ? horizontal : vertical;
    self->n_slots = most_open_lines(self);
    self->line_values = 3 * (size_t)self->along.n_out;
}

static void lay_out(brim_smooth *self, brim_layout *at, size_t width)
{
    size_t n_along = self->along.n_out, along_taps = self->along.max_taps;
    size_t n_slots = self->n_slots, across_taps = self->across.max_taps;

    brim_layout_take(at, 1, sizeof(*self));
    self->along.blur = brim_layout_take(at, (size_t)self->along.radius + 1, sizeof(double));
    self->across.blur = brim_layout_take(at, (size_t)self->across.radius + 1, sizeof(double));
    self->along_spans = brim_layout_take(at, n_along, sizeof(span));
    self->along_taps = brim_layout_take(at, n_along, along_taps * sizeof(float));
    self->slots = brim_layout_take(at, n_slots, sizeof(open_line));
    double *taps = brim_layout_take(at, n_slots, across_taps * sizeof(double));
    double *sums = brim_layout_take(at, n_slots, self->line_values * sizeof(double));
    self->taps = brim_layout_take(at, along_taps, sizeof(double));
    self->row_values = brim_layout_take(at, 3 * width, sizeof(float));
    self->reduced = brim_layout_take(at, self->line_values, sizeof(float));
    self->row = brim_layout_take(at, 3, width);
    for (size_t i = 0; at->base && i < n_slots; i++) {
        self->slots[i].taps = taps + i * across_taps;
        self->slots[i].sums = sums + i * self->line_values;
    }
}

static brim_status plan(brim_smooth *self, const brim_smooth_spec *spec, brim_error *err)
{
    brim_layout at = {0};

    assert(spec->width > 0 && spec->height > 0 && spec->new_width > 0 && spec->new_height > 0);
    *self = (brim_smooth){0};
    plan_directions(self, spec);
    lay_out(self, &at, spec->width);
    if (at.overflow)
        return brim_fail(err, BRIM_E_ARG, "resampling %u x %u pixels to %u x %u takes too much",
                         spec->width, spec->height, spec->new_width, spec->new_height);
    self->total_bytes = at.used;
    return BRIM_OK;
}

brim_status brim_smooth_bytes(const brim_smooth_spec *spec, size_t *out_bytes, brim_error *err)
{
    brim_smooth planned;

    *out_bytes = 0;
    brim_status status = plan(&planned, spec, err);
    if (status == BRIM_OK) *out_bytes = planned.total_bytes;
    return status;
}

brim_status brim_smooth_create(const brim_alloc *mem, const brim_smooth_spec *spec,
                               brim_smooth_sink sink, void *sink_ctx, brim_smooth **out,
                               brim_error *err)
{
    brim_smooth planned;

    *out = NULL;
    brim_status status = plan(&planned, spec, err);
    if (status != BRIM_OK) return status;
    brim_smooth *self = brim_alloc_zeroed(mem, planned.total_bytes, &status);
    if (!self)
        return brim_fail(err, status, "resampler: no memory for %zu bytes", planned.total_bytes);

    *self = planned;
    self->mem = mem;
    self->sink = sink;
    self->sink_ctx = sink_ctx;
    self->values = spec->values;
    lay_out(self, &(brim_layout){.base = (unsigned char *)self}, spec->width);
    fill_blur(&self->along);
    fill_blur(&self->across);
    for (uint32_t i = 0; i < self->along.n_out; i++) {
        span s = self->along_spans[i] = stored_span(&self->along, i);
        float *taps = self->along_taps + (size_t)i * self->along.max_taps;
        fill_taps(&self->along, i, s, self->taps);
        for (uint32_t t = 0; t < s.end - s.start; t++)
            taps[t] = (float)self->taps[t];
    }
    *out = self;
    return BRIM_OK;
}

void brim_smooth_destroy(brim_smooth *self)
{
    if (self) brim_alloc_release(self->mem, self, self->total_bytes);
}

/* --- the walk -------------------------------------------------------------------------------- */

static void reduce_along(brim_smooth *self)
{
    for (size_t x = 0; x < 3 * (size_t)self->along.n_in; x++)
        self->row_values[x] = self->values[self->row[x]];
    for (uint32_t i = 0; i < self->along.n_out; i++) {
        const float *taps = self->along_taps + (size_t)i * self->along.max_taps;
        span s = self->along_spans[i];
        const float *in = self->row_values + 3 * (size_t)s.start;
        double r = 0, g = 0, b = 0;

        for (uint32_t t = 0; t < s.end - s.start; t++) {
            r += (double)taps[t] * in[3 * t];
            g += (double)taps[t] * in[3 * t + 1];
            b += (double)taps[t] * in[3 * t + 2];
        }
        self->reduced[3 * i] = (float)r;
        self->reduced[3 * i + 1] = (float)g;
        self->reduced[3 * i + 2] = (float)b;
    }
}

/* Begins every line that has a part in rows before `end`, or in none. */
static void open_lines(brim_smooth *self, uint32_t end)
{
    while (self->n_opened < self->across.n_out && self->n_opened - self->n_closed < self->n_slots) {
        uint32_t i = line_index(self, self->n_opened);
        span rows = stored_span(&self->across, i);

        if (rows.start >= end && rows.start < rows.end) return;
        open_line *line = &self->slots[self->n_opened % self->n_slots];
        line->rows = rows;
        fill_taps(&self->across, i, rows, line->taps);
        memset(line->sums, 0, self->line_values * sizeof(double));
        self->n_opened++;
    }
}

static void close_line(brim_smooth *self, const open_line *line)
{
    for (size_t x = 0; x < self->line_values; x++)
        self->reduced[x] = (float)line->sums[x];
    self->sink(self->sink_ctx, line_index(self, self->n_closed), self->reduced);
    self->n_closed++;
}

/* Hands on the lines that lack nothing; room for more of them may open others. */
static void close_lines(brim_smooth *self, uint32_t end)
{
    for (open_lines(self, end); self->n_closed < self->n_opened; open_lines(self, end)) {
        const open_line *line = &self->slots[self->n_closed % self->n_slots];
        if (line->rows.end > end) return;
        close_line(self, line);
    }
}

uint8_t *brim_smooth_row(brim_smooth *self)
{
    return self->row;
}

void brim_smooth_push(brim_smooth *self)
{
    uint32_t row = self->next_row++;

    assert(row < self->across.n_in);
    close_lines(self, row); /* those of padding, that come first where rows are flipped */
    reduce_along(self);
    open_lines(self, row + 1);
    for (uint32_t p = self->n_closed; p < self->n_opened; p++) {
        open_line *line = &self->slots[p % self->n_slots];
        if (row < line->rows.start || row >= line->rows.end) continue;
        double tap = line->taps[row - line->rows.start];
        for (size_t x = 0; x < self->line_values; x++)
            line->sums[x] += tap * self->reduced[x];
    }
    close_lines(self, row + 1);
}
