/*
 * reader.c - finds the format, refuses what is too large, and starts decoding when rows are wanted.
 */
#include "image/reader.h"

#include <assert.h>

#include "base/fail.h"
#include "image/decoder.h"
#include "image/icc.h"
#include "image/sniff.h"
#include "image/vips_library.h"

static const brim_format *const FORMATS[] = {
    &brim_format_jpeg, &brim_format_png,  &brim_format_webp, &brim_format_gif,
    &brim_format_bmp,  &brim_format_pnm,  &brim_format_raw, /* before TIFF, as which some begin */
    &brim_format_tiff, &brim_format_avif,                   /* before HEIC, as which some begin */
    &brim_format_heic, &brim_format_jxl,  &brim_format_jp2k,
};

struct brim_reader {
    const brim_alloc *mem;
    brim_encoded file;
    const brim_format *format;
    brim_image_info info;
    size_t format_scratch_bytes, format_foreign_bytes; /* of the info's, as the probe told */
    brim_decoder *decoder;                             /* NULL until the first row is asked for */
    brim_icc *icc;                                     /* NULL: colours are left as they are */
    brim_status ended; /* BRIM_OK while rows may come, then why none do */
};

static brim_status refuse(const uint8_t *data, size_t bytes, brim_error *err)
{
    bool is_picture;

    if (bytes == 0) return brim_fail(err, BRIM_E_FORMAT, "empty file");
    const char *name = brim_sniff(data, bytes, &is_picture);
    if (!name) return brim_fail(err, BRIM_E_FORMAT, "not a picture");
    if (!is_picture) return brim_fail(err, BRIM_E_FORMAT, "not a picture (looks like %s)", name);
    return brim_fail(err, BRIM_E_UNSUPPORTED, "%s: not among the formats read here", name);
}

/* NULL where no format begins so. */
static const brim_format *find_format(const void *data, size_t bytes)
{
    for (size_t i = 0; i < sizeof(FORMATS) / sizeof(FORMATS[0]); i++) {
        if (FORMATS[i]->matches(data, bytes)) return FORMATS[i];
    }
    return NULL;
}

static brim_status probe(const brim_encoded *file, const brim_format *format, brim_image_info *info,
                         brim_error *err)
{
    uint64_t max_px = file->options->max_px;

    *info = (brim_image_info){.format = format->name, .shrink = 1, .orientation = 1, .depth = 8};
    brim_status status = format->probe(file, info, err);
    if (status != BRIM_OK) return status;
    info->row_width = info->width;
    info->n_rows = info->height;
    uint64_t n_px = (uint64_t)info->width * info->height;
    if (max_px > 0 && n_px > max_px)
        return brim_fail(err, BRIM_E_FORMAT,
                         "image too large: %llu pixels, limit %llu (--max-pixels)",
                         (unsigned long long)n_px, (unsigned long long)max_px);
    return BRIM_OK;
}

/* What a format does not know of: the reader itself, and the colour transform. */
static void add_own_bytes(const brim_encoded *file, brim_image_info *info)
{
    info->scratch_bytes += sizeof(brim_reader);
    if (!file->options->apply_icc) return;
    info->scratch_bytes += BRIM_ICC_BYTES + BRIM_ICC_MAX_PROFILE_BYTES;
    info->foreign_bytes += BRIM_ICC_BYTES + BRIM_ICC_MAX_PROFILE_BYTES;
}

static const brim_reader_options PLAIN = {0};

static brim_status open_file(const brim_alloc *mem, brim_encoded file, const brim_format *format,
                             brim_reader **out, brim_error *err)
{
    const brim_format *variant = format && format->variant ? format->variant(&file) : NULL;
    brim_image_info info;

    if (!format) return refuse(file.data, file.bytes, err);
    if (variant) format = variant;
    brim_status status = probe(&file, format, &info, err);
    if (status != BRIM_OK) return status;
    brim_reader *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "reader: no memory for %zu bytes", sizeof(*self));

    self->mem = mem;
    self->file = file;
    self->format = format;
    self->info = info;
    self->format_scratch_bytes = info.scratch_bytes;
    self->format_foreign_bytes = info.foreign_bytes;
    add_own_bytes(&file, &self->info);
    *out = self;
    return BRIM_OK;
}

brim_status brim_reader_open(const brim_alloc *mem, const void *data, size_t bytes,
                             const brim_reader_options *options, brim_reader **out, brim_error *err)
{
    brim_encoded file = {data, bytes, options ? options : &PLAIN, -1, NULL};

    *out = NULL;
    return open_file(mem, file, find_format(data, bytes), out, err);
}

size_t brim_reader_start_bytes(const void *head, size_t head_bytes)
{
    const brim_format *format = find_format(head, head_bytes);

    return format && format->needs_libvips ? brim_vips_start_bytes() : 0;
}

bool brim_reader_start_library(void)
{
    return brim_vips_start();
}

bool brim_reader_takes_fd(const void *head, size_t head_bytes)
{
    const brim_format *format = find_format(head, head_bytes);

    return format && format->takes_fd;
}

brim_status brim_reader_open_fd(const brim_alloc *mem, int fd, uint64_t bytes, const void *head,
                                size_t head_bytes, const brim_reader_options *options,
                                brim_reader **out, brim_error *err)
{
    brim_encoded file = {head, (size_t)bytes, options ? options : &PLAIN, fd, NULL};

    *out = NULL;
    assert(bytes >= head_bytes && brim_reader_takes_fd(head, head_bytes));
    return open_file(mem, file, find_format(head, head_bytes), out, err);
}

const brim_image_info *brim_reader_info(const brim_reader *self)
{
    return &self->info;
}

void brim_reader_shrink(brim_reader *self, uint32_t factor)
{
    assert(!self->decoder && (factor == 1 || factor == 2 || factor == 4 || factor == 8));
    if (!self->format->shrink || factor == 1) return;
    self->info.scratch_bytes = self->format_scratch_bytes;
    self->info.foreign_bytes = self->format_foreign_bytes;
    self->format->shrink(&self->file, factor, &self->info);
    add_own_bytes(&self->file, &self->info);
}

void brim_reader_lend_frame(brim_reader *self, void *frame)
{
    assert(!self->decoder);
    self->file.frame = frame;
}

/* Starts decoding, and the colour transform where one is wanted and possible. */
static brim_status start(brim_reader *self, brim_error *err)
{
    const brim_format *format = self->format;
    void *profile = NULL;
    size_t bytes = 0;

    brim_status status = format->open(self->mem, &self->file, &self->info, &self->decoder, err);
    if (status != BRIM_OK || !self->file.options->apply_icc || !format->read_profile) return status;
    format->read_profile(self->decoder, &self->file, brim_heap(), &profile, &bytes);
    self->icc = brim_icc_open(profile, bytes, self->info.grey);
    brim_alloc_release(brim_heap(), profile, bytes);
    return BRIM_OK;
}

brim_status brim_reader_next_row(brim_reader *self, uint8_t *rgb, brim_error *err)
{
    if (self->ended == BRIM_END) return BRIM_END;
    if (self->ended != BRIM_OK) return brim_fail(err, self->ended, "reading on after a failure");
    if (!self->decoder) self->ended = start(self, err);
    if (self->ended == BRIM_OK) self->ended = self->format->next_row(self->decoder, rgb, err);
    if (self->ended == BRIM_OK && self->icc) brim_icc_apply(self->icc, rgb, self->info.row_width);
    return self->ended;
}

void brim_reader_close(brim_reader *self)
{
    if (!self) return;
    brim_icc_close(self->icc);
    self->format->close(self->decoder);
    brim_alloc_release(self->mem, self, sizeof(*self));
}
