/*
 * processor.c - applies a preprocessor_config.json to a stream of rows.
 *
 * All that happens to a pixel's value after resampling depends on its 8 bits and its channel, so it
 * is looked up: one table of 256 numbers a channel, filled in the reference's own precision.
 */
#include "image/processor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/half.h"
#include "base/size.h"
#include "image/processor_config.h"
#include "image/resample.h"

/* Real ones have some hundred bytes. */
#define MAX_FILE_BYTES (1 << 18)

/* Longest side of a resized picture, before the crop: Pillow's own limit. */
#define MAX_RESIZED 0x7fffffff

struct brim_processor {
    const brim_alloc *mem;
    brim_processor_config config;
    brim_resample_order order;
    float values[3][256];    /* what a channel's 8 bits become */
    uint16_t halves[3][256]; /* the same as float16 */
    char identity[600];
};

/* Where the pixels of one picture go; all upright. */
typedef struct geometry {
    brim_resample_spec spec;
    uint32_t width, height;     /* of the tensor */
    uint32_t pad_left, pad_top; /* the window's corner in the tensor */
} geometry;

struct brim_processing {
    const brim_processor *processor;
    const brim_alloc *scratch;
    geometry geometry;
    brim_resampler *resampler;
    brim_dtype dtype;
    void *slot; /* [3][height][width] */
};

/* --- opening --------------------------------------------------------------------------------- */

/* Rescaling happens in double and is rounded, normalising in float: so does the reference. */
static void fill_values(brim_processor *self)
{
    const brim_processor_config *config = &self->config;

    for (int c = 0; c < 3; c++) {
        for (int v = 0; v < 256; v++) {
            float x = (float)(config->do_rescale ? v * config->rescale_factor : (double)v);
            if (config->do_normalize) x = (x - (float)config->mean[c]) / (float)config->std[c];
            self->values[c][v] = x;
        }
        brim_half_from_float(self->halves[c], self->values[c], 256);
    }
}

brim_status brim_processor_parse(const brim_alloc *mem, const char *text, size_t bytes,
                                 const char *name, const brim_processor_options *options,
                                 brim_processor **out, brim_error *err)
{
    brim_processor_config config;

    *out = NULL;
    brim_status status =
        brim_processor_config_parse(text, bytes, name, options ? options->log : NULL, &config, err);
    if (status != BRIM_OK) return status;
    brim_processor *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "%s: no memory for %zu bytes", name, sizeof(*self));
    self->mem = mem;
    self->config = config;
    if (options) self->order = options->order;
    if (brim_processor_config_write(&config, self->identity, sizeof(self->identity)) == 0) {
        brim_processor_close(self);
        return brim_fail(err, BRIM_E_NOMEM, "%s: no memory to describe it", name);
    }
    fill_values(self);
    *out = self;
    return BRIM_OK;
}

/* Reads at most MAX_FILE_BYTES and one more; *n tells how many. */
static brim_status read_file(const char *path, char *text, size_t *n, brim_error *err)
{
    FILE *f = fopen(path, "rb");

    if (!f) return brim_fail(err, BRIM_E_IO, "%s: cannot be opened", path);
    *n = fread(text, 1, MAX_FILE_BYTES + 1, f);
    int failed = ferror(f);
    fclose(f);
    if (failed) return brim_fail(err, BRIM_E_IO, "%s: cannot be read", path);
    if (*n > MAX_FILE_BYTES)
        return brim_fail(err, BRIM_E_FORMAT, "%s: too large for a preprocessor_config.json", path);
    return BRIM_OK;
}

brim_status brim_processor_open(const brim_alloc *mem, const char *path,
                                const brim_processor_options *options, brim_processor **out,
                                brim_error *err)
{
    brim_status status;
    size_t n = 0;
    void *text;

    *out = NULL;
    status = mem->alloc(mem->ctx, MAX_FILE_BYTES + 1, 0, &text);
    if (status != BRIM_OK) return brim_fail(err, status, "%s: no memory to read it", path);
    status = read_file(path, text, &n, err);
    if (status == BRIM_OK) status = brim_processor_parse(mem, text, n, path, options, out, err);
    brim_alloc_release(mem, text, MAX_FILE_BYTES + 1);
    return status;
}

void brim_processor_close(brim_processor *self)
{
    if (self) brim_alloc_release(self->mem, self, sizeof(*self));
}

const char *brim_processor_identity(const brim_processor *self)
{
    return self->identity;
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* The longer side is rounded down from the exact quotient, as the reference has it. */
static brim_status resize_shortest(uint32_t edge, uint32_t width, uint32_t height,
                                   brim_resample_spec *spec, brim_error *err)
{
    uint32_t shorter = width <= height ? width : height;
    uint32_t longer = width <= height ? height : width;
    double resized = (double)edge * longer / shorter; /* the product is exact: 16 and 32 bits */

    if (resized > MAX_RESIZED)
        return brim_fail(err, BRIM_E_ARG, "%u x %u pixels become too long when resized", width,
                         height);
    spec->new_width = width <= height ? edge : (uint32_t)resized;
    spec->new_height = width <= height ? (uint32_t)resized : edge;
    return BRIM_OK;
}

/* One direction of the centre crop: floor where it cuts, and the larger half before it pads. */
static void crop(uint32_t resized, uint32_t wanted, uint32_t *first, uint32_t *n, uint32_t *pad)
{
    if (wanted <= resized) {
        *first = (resized - wanted) / 2;
        *n = wanted;
        *pad = 0;
    } else {
        *first = 0;
        *n = resized;
        *pad = (wanted - resized + 1) / 2;
    }
}

static brim_status plan(const brim_processor *self, const brim_image_info *info, geometry *out,
                        brim_error *err)
{
    const brim_processor_config *config = &self->config;
    bool transposed = brim_orientation_is_transposed(info->orientation);
    uint32_t width = transposed ? info->height : info->width;
    uint32_t height = transposed ? info->width : info->height;
    brim_resample_spec *spec = &out->spec;

    *out =
        (geometry){.spec = {
                       .width = info->row_width,
                       .height = info->n_rows,
                       .orientation = info->orientation,
                       .new_width = config->resize == BRIM_RESIZE_EXACT ? config->width : width,
                       .new_height = config->resize == BRIM_RESIZE_EXACT ? config->height : height,
                       .filter = config->filter,
                       .order = self->order,
                   }};
    if (config->resize == BRIM_RESIZE_SHORTEST_EDGE) {
        brim_status status = resize_shortest(config->shortest_edge, width, height, spec, err);
        if (status != BRIM_OK) return status;
    }
    out->width = config->do_center_crop ? config->crop_width : spec->new_width;
    out->height = config->do_center_crop ? config->crop_height : spec->new_height;
    crop(spec->new_width, out->width, &spec->crop_x, &spec->crop_width, &out->pad_left);
    crop(spec->new_height, out->height, &spec->crop_y, &spec->crop_height, &out->pad_top);

    size_t bytes;
    if (brim_mul_bytes(3 * sizeof(float) * (size_t)out->width, out->height, &bytes) != BRIM_OK)
        return brim_fail(err, BRIM_E_ARG, "a tensor of %u x %u pixels is too large", out->width,
                         out->height);
    return BRIM_OK;
}

brim_status brim_processor_shape(const brim_processor *self, const brim_image_info *info,
                                 uint32_t *out_height, uint32_t *out_width, brim_error *err)
{
    geometry g;

    *out_height = *out_width = 0;
    brim_status status = plan(self, info, &g, err);
    if (status != BRIM_OK) return status;
    *out_height = g.height;
    *out_width = g.width;
    return BRIM_OK;
}

brim_status brim_processor_scratch_bytes(const brim_processor *self, const brim_image_info *info,
                                         size_t *out_bytes, brim_error *err)
{
    geometry g;

    *out_bytes = 0;
    brim_status status = plan(self, info, &g, err);
    if (status == BRIM_OK) status = brim_resampler_bytes(&g.spec, out_bytes, err);
    if (status == BRIM_OK &&
        brim_add_bytes(*out_bytes, sizeof(brim_processing), out_bytes) != BRIM_OK)
        status = brim_fail(err, BRIM_E_ARG, "the picture is too large to resize");
    return status;
}

/* --- applying -------------------------------------------------------------------------------- */

/* n values of one channel from `at` on, each a step further. */
static void put_values(const brim_processing *self, size_t c, size_t at, size_t step,
                       const uint8_t *rgb, size_t n)
{
    if (self->dtype == BRIM_F32) {
        const float *values = self->processor->values[c];
        float *out = (float *)self->slot + at;
        for (size_t i = 0; i < n; i++)
            out[i * step] = values[rgb[3 * i + c]];
    } else {
        const uint16_t *values = self->processor->halves[c];
        uint16_t *out = (uint16_t *)self->slot + at;
        for (size_t i = 0; i < n; i++)
            out[i * step] = values[rgb[3 * i + c]];
    }
}

/* Finished pixels lie side by side in a row of the tensor, or below each other in a column. */
static void put_line(void *ctx, uint32_t idx, const uint8_t *rgb)
{
    const brim_processing *self = ctx;
    const geometry *g = &self->geometry;
    bool is_column = brim_orientation_is_transposed(g->spec.orientation);
    size_t x = g->pad_left + (is_column ? (size_t)idx : 0);
    size_t y = g->pad_top + (is_column ? 0 : (size_t)idx);
    size_t n = is_column ? g->spec.crop_height : g->spec.crop_width;
    size_t step = is_column ? g->width : 1;

    for (size_t c = 0; c < 3; c++)
        put_values(self, c, (c * g->height + y) * g->width + x, step, rgb, n);
}

/* Padding happens before the values are changed: it is black, not 0. */
static void fill_black(const brim_processing *self)
{
    static const uint8_t BLACK[3] = {0};
    size_t n_px = (size_t)self->geometry.width * self->geometry.height;

    for (size_t i = 0; i < n_px; i++) {
        for (size_t c = 0; c < 3; c++)
            put_values(self, c, c * n_px + i, 1, BLACK, 1);
    }
}

brim_status brim_processing_start(const brim_processor *processor, const brim_alloc *scratch,
                                  const brim_image_info *info, brim_dtype dtype, void *slot,
                                  brim_processing **out, brim_error *err)
{
    geometry g;

    *out = NULL;
    assert(dtype == BRIM_F32 || dtype == BRIM_F16);
    brim_status status = plan(processor, info, &g, err);
    if (status != BRIM_OK) return status;
    brim_processing *self = brim_alloc_zeroed(scratch, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "no memory for %zu bytes", sizeof(*self));
    *self = (brim_processing){processor, scratch, g, NULL, dtype, slot};
    status = brim_resampler_create(scratch, &g.spec, put_line, self, &self->resampler, err);
    if (status != BRIM_OK) {
        brim_processing_end(self);
        return status;
    }
    if (g.spec.crop_width < g.width || g.spec.crop_height < g.height) fill_black(self);
    *out = self;
    return BRIM_OK;
}

uint8_t *brim_processing_row(brim_processing *self)
{
    return brim_resampler_row(self->resampler);
}

void brim_processing_push(brim_processing *self)
{
    brim_resampler_push(self->resampler);
}

void brim_processing_end(brim_processing *self)
{
    if (!self) return;
    brim_resampler_destroy(self->resampler);
    brim_alloc_release(self->scratch, self, sizeof(*self));
}

brim_status brim_processor_apply(const brim_processor *processor, const brim_alloc *scratch,
                                 brim_reader *reader, brim_dtype dtype, void *slot, brim_error *err)
{
    brim_processing *run;

    brim_status status =
        brim_processing_start(processor, scratch, brim_reader_info(reader), dtype, slot, &run, err);
    if (status != BRIM_OK) return status;
    for (;;) {
        status = brim_reader_next_row(reader, brim_processing_row(run), err);
        if (status != BRIM_OK) break;
        brim_processing_push(run);
    }
    brim_processing_end(run);
    return status == BRIM_END ? BRIM_OK : status;
}
