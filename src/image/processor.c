/*
 * processor.c - applies a preprocessor_config.json to a stream of rows.
 *
 * All that happens to a pixel's value after resampling depends on its 8 bits and its channel, so it
 * is looked up: one table of 256 numbers a channel, filled in the reference's own precision.
 */
#include "image/processor.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
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
    float values[3][256]; /* what a channel's 8 bits become */
    char identity[600];
};

/* Where the pixels of one picture go; all upright. */
typedef struct geometry {
    brim_resample_spec spec;
    uint32_t width, height;     /* of the tensor */
    uint32_t pad_left, pad_top; /* the window's corner in the tensor */
} geometry;

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
    }
}

brim_status brim_processor_parse(const brim_alloc *mem, const char *text, size_t bytes,
                                 const char *name, const brim_log *log, brim_processor **out,
                                 brim_error *err)
{
    brim_processor_config config;

    *out = NULL;
    brim_status status = brim_processor_config_parse(text, bytes, name, log, &config, err);
    if (status != BRIM_OK) return status;
    brim_processor *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "%s: no memory for %zu bytes", name, sizeof(*self));
    self->mem = mem;
    self->config = config;
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

brim_status brim_processor_open(const brim_alloc *mem, const char *path, const brim_log *log,
                                brim_processor **out, brim_error *err)
{
    brim_status status;
    size_t n = 0;
    void *text;

    *out = NULL;
    status = mem->alloc(mem->ctx, MAX_FILE_BYTES + 1, 0, &text);
    if (status != BRIM_OK) return brim_fail(err, status, "%s: no memory to read it", path);
    status = read_file(path, text, &n, err);
    if (status == BRIM_OK) status = brim_processor_parse(mem, text, n, path, log, out, err);
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
                       .width = info->width,
                       .height = info->height,
                       .orientation = info->orientation,
                       .new_width = config->resize == BRIM_RESIZE_EXACT ? config->width : width,
                       .new_height = config->resize == BRIM_RESIZE_EXACT ? config->height : height,
                       .filter = config->filter,
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
    return status == BRIM_OK ? brim_resampler_bytes(&g.spec, out_bytes, err) : status;
}

/* --- applying -------------------------------------------------------------------------------- */

typedef struct tensor {
    const brim_processor *processor;
    const geometry *geometry;
    float *slot; /* [3][height][width] */
} tensor;

/* Finished pixels lie side by side in a row of the tensor, or below each other in a column. */
static void put_line(void *ctx, uint32_t idx, const uint8_t *rgb)
{
    const tensor *t = ctx;
    const geometry *g = t->geometry;
    bool is_column = brim_orientation_is_transposed(g->spec.orientation);
    size_t x = g->pad_left + (is_column ? (size_t)idx : 0);
    size_t y = g->pad_top + (is_column ? 0 : (size_t)idx);
    size_t n = is_column ? g->spec.crop_height : g->spec.crop_width;
    size_t step = is_column ? g->width : 1;

    for (size_t c = 0; c < 3; c++) {
        const float *values = t->processor->values[c];
        float *out = t->slot + (c * g->height + y) * g->width + x;
        for (size_t i = 0; i < n; i++)
            out[i * step] = values[rgb[3 * i + c]];
    }
}

/* Padding happens before the values are changed: it is black, not 0. */
static void fill_black(const brim_processor *self, const geometry *g, float *slot)
{
    size_t n_px = (size_t)g->width * g->height;

    for (size_t c = 0; c < 3; c++) {
        for (size_t i = 0; i < n_px; i++)
            slot[c * n_px + i] = self->values[c][0];
    }
}

brim_status brim_processor_apply(const brim_processor *self, const brim_alloc *scratch,
                                 brim_reader *reader, float *slot, brim_error *err)
{
    brim_resampler *resampler;
    geometry g;

    brim_status status = plan(self, brim_reader_info(reader), &g, err);
    if (status != BRIM_OK) return status;
    tensor t = {self, &g, slot};
    status = brim_resampler_create(scratch, &g.spec, put_line, &t, &resampler, err);
    if (status != BRIM_OK) return status;

    if (g.spec.crop_width < g.width || g.spec.crop_height < g.height) fill_black(self, &g, slot);
    for (;;) {
        status = brim_reader_next_row(reader, brim_resampler_row(resampler), err);
        if (status != BRIM_OK) break;
        brim_resampler_push(resampler);
    }
    brim_resampler_destroy(resampler);
    return status == BRIM_END ? BRIM_OK : status;
}
