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
#include "image/processor_size.h"
#include "image/smooth.h"

/* Real ones have some hundred bytes. */
#define MAX_FILE_BYTES (1 << 18)

/* Pixels of a picture shrunk while decoding for each that it is resized to: with fewer, what the
 * resampler has to smooth shows the quicker decoder's own filter. */
#define SHRUNK_PER_RESIZED 2

struct brim_processor {
    const brim_alloc *mem;
    brim_processor_config config;
    brim_resample_order order;
    float rescaled[256];     /* what 8 bits are worth before they are normalised */
    float values[3][256];    /* what a channel's 8 bits become */
    uint16_t halves[3][256]; /* the same as float16 */
    char identity[600];
};

struct brim_processing {
    const brim_processor *processor;
    const brim_alloc *scratch;
    brim_placement placement;
    brim_resampler *resampler; /* one of the two */
    brim_smooth *smooth;
    brim_dtype dtype;
    void *slot; /* [3][height][width] or [max_patches][patch_size][patch_size][3] */
};

/* --- opening --------------------------------------------------------------------------------- */

/* Rescaling happens in double and is rounded, normalising in float: so does the reference. */
static float normalized(const brim_processor_config *config, int c, float x)
{
    if (config->do_normalize) x = (x - (float)config->mean[c]) / (float)config->std[c];
    if (config->divide_again) x /= (float)config->std[c];
    return x;
}

static void fill_values(brim_processor *self)
{
    const brim_processor_config *config = &self->config;

    for (int v = 0; v < 256; v++) {
        float x = (float)(config->do_rescale ? v * config->rescale_factor : (double)v);
        self->rescaled[v] = config->do_rescale && config->rescale_offset ? x - 1 : x;
    }
    for (int c = 0; c < 3; c++) {
        for (int v = 0; v < 256; v++)
            self->values[c][v] = normalized(config, c, self->rescaled[v]);
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
    if (brim_processor_config_write(&config, self->order, self->identity, sizeof(self->identity)) ==
        0) {
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

static brim_smooth_spec smooth_spec(const brim_processor *self, const brim_placement *p)
{
    return (brim_smooth_spec){
        .width = p->spec.width,
        .height = p->spec.height,
        .orientation = p->spec.orientation,
        .side = p->side,
        .new_width = p->spec.new_width,
        .new_height = p->spec.new_height,
        .values = self->rescaled,
    };
}

brim_processor_layout brim_processor_slot_layout(const brim_processor *self)
{
    return self->config.patch_size > 0 ? BRIM_LAYOUT_PATCHES : BRIM_LAYOUT_PLANES;
}

brim_status brim_processor_shape(const brim_processor *self, const brim_image_info *info,
                                 uint32_t *out_height, uint32_t *out_width, brim_error *err)
{
    brim_placement p;

    *out_height = *out_width = 0;
    if (self->config.patch_size > 0)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "the processor makes patches, not one picture");
    brim_status status = brim_placement_plan(&self->config, self->order, info, &p, err);
    if (status != BRIM_OK) return status;
    *out_height = p.height;
    *out_width = p.width;
    return BRIM_OK;
}

brim_status brim_processor_content(const brim_processor *self, const brim_image_info *info,
                                   uint32_t *out_height, uint32_t *out_width, brim_error *err)
{
    brim_placement p;

    *out_height = *out_width = 0;
    brim_status status = brim_placement_plan(&self->config, self->order, info, &p, err);
    if (status != BRIM_OK) return status;
    *out_height = p.inner_height;
    *out_width = p.inner_width;
    return BRIM_OK;
}

brim_status brim_processor_patches(const brim_processor *self, const brim_image_info *info,
                                   brim_patch_grid *out, brim_error *err)
{
    uint32_t size = self->config.patch_size;
    brim_placement p;

    *out = (brim_patch_grid){0};
    if (size == 0)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "the processor makes one picture, not patches");
    brim_status status = brim_placement_plan(&self->config, self->order, info, &p, err);
    if (status != BRIM_OK) return status;
    *out = (brim_patch_grid){p.height / size, p.width / size, self->config.max_patches, size};
    return BRIM_OK;
}

uint32_t brim_processor_shrink_factor(const brim_processor *self, const brim_image_info *info)
{
    brim_placement p;
    uint32_t factor = 8;

    if (brim_placement_plan(&self->config, self->order, info, &p, NULL) != BRIM_OK) return 1;
    bool transposed = brim_orientation_is_transposed(info->orientation);
    uint64_t new_width = transposed ? p.spec.new_height : p.spec.new_width;
    uint64_t new_height = transposed ? p.spec.new_width : p.spec.new_height;
    while (factor > 1 && (info->width / factor < SHRUNK_PER_RESIZED * new_width ||
                          info->height / factor < SHRUNK_PER_RESIZED * new_height))
        factor /= 2;
    return factor;
}

brim_status brim_processor_scratch_bytes(const brim_processor *self, const brim_image_info *info,
                                         size_t *out_bytes, brim_error *err)
{
    brim_placement p;

    *out_bytes = 0;
    brim_status status = brim_placement_plan(&self->config, self->order, info, &p, err);
    if (status != BRIM_OK) return status;
    if (self->config.resize == BRIM_RESIZE_SMOOTH) {
        brim_smooth_spec spec = smooth_spec(self, &p);
        status = brim_smooth_bytes(&spec, out_bytes, err);
    } else {
        status = brim_resampler_bytes(&p.spec, out_bytes, err);
    }
    if (status != BRIM_OK) return status;
    return brim_add_bytes(*out_bytes, sizeof(brim_processing), out_bytes) == BRIM_OK
               ? BRIM_OK
               : brim_fail(err, BRIM_E_ARG, "a picture takes too much memory");
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

/* The same for values that were rescaled before. */
static void put_floats(const brim_processing *self, int c, size_t at, size_t step, const float *rgb,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float x = normalized(&self->processor->config, c, rgb[3 * i + c]);
        if (self->dtype == BRIM_F32)
            ((float *)self->slot)[at + i * step] = x;
        else
            brim_half_from_float((uint16_t *)self->slot + at + i * step, &x, 1);
    }
}

/* Where line idx begins in a plane: a row of the tensor, or a column. */
static size_t line_start(const brim_placement *p, uint32_t idx, size_t *step)
{
    bool is_column = brim_orientation_is_transposed(p->spec.orientation);
    size_t x = p->left + (is_column ? (size_t)idx : 0);
    size_t y = p->top + (is_column ? 0 : (size_t)idx);

    *step = is_column ? p->width : 1;
    return y * p->width + x;
}

static void put_line(void *ctx, uint32_t idx, const uint8_t *rgb)
{
    const brim_processing *self = ctx;
    const brim_placement *p = &self->placement;
    bool is_column = brim_orientation_is_transposed(p->spec.orientation);
    size_t n = is_column ? p->spec.crop_height : p->spec.crop_width;
    size_t step, at = line_start(p, idx, &step);

    for (size_t c = 0; c < 3; c++)
        put_values(self, c, c * p->height * p->width + at, step, rgb, n);
}

static void put_float_line(void *ctx, uint32_t idx, const float *rgb)
{
    const brim_processing *self = ctx;
    const brim_placement *p = &self->placement;
    bool is_column = brim_orientation_is_transposed(p->spec.orientation);
    size_t n = is_column ? p->height : p->width;
    size_t step, at = line_start(p, idx, &step);

    for (int c = 0; c < 3; c++)
        put_floats(self, c, (size_t)c * p->height * p->width + at, step, rgb, n);
}

/* Patches come row after row of them; a patch is rows of R, G, B side by side. */
static void put_patch_line(void *ctx, uint32_t idx, const uint8_t *rgb)
{
    const brim_processing *self = ctx;
    const brim_placement *p = &self->placement;
    size_t size = self->processor->config.patch_size;
    bool is_column = brim_orientation_is_transposed(p->spec.orientation);
    size_t n = is_column ? p->height : p->width;

    for (size_t i = 0; i < n; i += size) {
        size_t x = is_column ? idx : i, y = is_column ? i : idx;
        size_t patch = y / size * (p->width / size) + x / size;
        size_t at = (patch * size + y % size) * size + x % size;
        for (size_t c = 0; c < 3; c++)
            put_values(self, c, 3 * at + c, is_column ? 3 * size : 3, rgb + 3 * i, size);
    }
}

static void fill_zero(const brim_processing *self, size_t at, size_t n)
{
    size_t each = self->dtype == BRIM_F32 ? sizeof(float) : sizeof(uint16_t);

    memset((char *)self->slot + at * each, 0, n * each);
}

/* n values of a channel that are all the same. */
static void fill_value(const brim_processing *self, size_t c, size_t at, uint8_t value, size_t n)
{
    const brim_processor *processor = self->processor;

    for (size_t i = at; i < at + n; i++) {
        if (self->dtype == BRIM_F32)
            ((float *)self->slot)[i] = processor->values[c][value];
        else
            ((uint16_t *)self->slot)[i] = processor->halves[c][value];
    }
}

/* A crop's surroundings become values as pixels do; what comes after them is 0. */
static void fill_padding(const brim_processing *self)
{
    const brim_placement *p = &self->placement;
    const uint8_t *color = self->processor->config.crop_fill;

    for (size_t c = 0; c < 3; c++) {
        for (size_t y = 0; y < p->height; y++) {
            size_t at = (c * p->height + y) * p->width;
            size_t n = y < p->inner_height ? p->inner_width : 0;
            fill_value(self, c, at, color[c], n);
            fill_zero(self, at + n, p->width - n);
        }
    }
}

/* What no line will reach. */
static void fill_rest(const brim_processing *self)
{
    const brim_placement *p = &self->placement;
    const brim_processor_config *config = &self->processor->config;
    size_t patch = (size_t)config->patch_size * config->patch_size;

    if (patch > 0) {
        size_t used = 3 * (size_t)p->width * p->height;
        fill_zero(self, used, 3 * patch * config->max_patches - used);
    } else if (p->spec.crop_width < p->width || p->spec.crop_height < p->height) {
        fill_padding(self);
    }
}

static brim_status make_resampler(brim_processing *self, brim_error *err)
{
    const brim_processor_config *config = &self->processor->config;

    if (config->resize == BRIM_RESIZE_SMOOTH) {
        brim_smooth_spec spec = smooth_spec(self->processor, &self->placement);
        return brim_smooth_create(self->scratch, &spec, put_float_line, self, &self->smooth, err);
    }
    return brim_resampler_create(self->scratch, &self->placement.spec,
                                 config->patch_size > 0 ? put_patch_line : put_line, self,
                                 &self->resampler, err);
}

brim_status brim_processing_start(const brim_processor *processor, const brim_alloc *scratch,
                                  const brim_image_info *info, brim_dtype dtype, void *slot,
                                  brim_processing **out, brim_error *err)
{
    brim_placement p;

    *out = NULL;
    assert(dtype == BRIM_F32 || dtype == BRIM_F16);
    brim_status status = brim_placement_plan(&processor->config, processor->order, info, &p, err);
    if (status != BRIM_OK) return status;
    brim_processing *self = brim_alloc_zeroed(scratch, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "no memory for %zu bytes", sizeof(*self));
    *self = (brim_processing){
        .processor = processor, .scratch = scratch, .placement = p, .dtype = dtype, .slot = slot};
    status = make_resampler(self, err);
    if (status != BRIM_OK) {
        brim_processing_end(self);
        return status;
    }
    fill_rest(self);
    *out = self;
    return BRIM_OK;
}

uint8_t *brim_processing_row(brim_processing *self)
{
    return self->smooth ? brim_smooth_row(self->smooth) : brim_resampler_row(self->resampler);
}

void brim_processing_push(brim_processing *self)
{
    if (self->smooth)
        brim_smooth_push(self->smooth);
    else
        brim_resampler_push(self->resampler);
}

void brim_processing_end(brim_processing *self)
{
    if (!self) return;
    brim_resampler_destroy(self->resampler);
    brim_smooth_destroy(self->smooth);
    brim_alloc_release(self->scratch, self, sizeof(*self));
}

brim_status brim_processor_apply(const brim_processor *processor, const brim_alloc *scratch,
                                 brim_reader *reader, brim_dtype dtype, void *slot, brim_error *err)
{
    brim_processing *run;

    brim_status status =
        brim_processing_start(processor, scratch, brim_reader_info(reader), dtype, slot, &run, err);
    if (status != BRIM_OK) return status;
    assert(run);
    for (;;) {
        status = brim_reader_next_row(reader, brim_processing_row(run), err);
        if (status != BRIM_OK) break;
        brim_processing_push(run);
    }
    brim_processing_end(run);
    return status == BRIM_END ? BRIM_OK : status;
}
