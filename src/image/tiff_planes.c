/*
 * tiff_planes.c - TIFFs of measurements (bands that are no colours) in separate planes, not
 * compressed.
 *
 * libvips takes the rows of such strips for shorter than they are and gives wrong pixels, without a
 * word. They are plain numbers in the file, so rows are picked up here, plane by plane, wherever
 * the file is. Compressed ones are refused.
 */
#include "image/tiff_planes.h"

#include <string.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/tiff_samples.h"
#include "image/window.h"

typedef struct planes_decoder {
    const brim_alloc *mem;
    const brim_image_info *info;
    brim_tiff_header header;
    brim_samples samples;
    brim_window window;
    bool accept_truncated;
    size_t sample_bytes, plane_row_bytes;
    uint64_t *offsets; /* [n_blocks] of strips: all of a plane, then the next plane's */
    uint8_t *row;      /* [width][n_bands] */
    uint32_t next_row;
} planes_decoder;

static bool is_planes(const brim_tiff_header *h)
{
    return h->planar && h->photometric <= BRIM_TIFF_BLACK_IS_ZERO;
}

const brim_format *brim_tiff_planes_variant(const brim_encoded *file)
{
    brim_tiff_header header;

    if (brim_tiff_read_header(file, &header, NULL) != BRIM_OK) return NULL;
    return is_planes(&header) ? &brim_format_tiff_planes : NULL;
}

static brim_status read_header(const brim_encoded *file, brim_tiff_header *header,
                               brim_samples *samples, brim_error *err)
{
    brim_status status = brim_tiff_read_header(file, header, err);

    if (status != BRIM_OK) return status;
    if (header->truncated && !file->options->accept_truncated)
        return brim_fail(err, BRIM_E_FORMAT, "truncated TIFF");
    if (header->compression != BRIM_TIFF_UNCOMPRESSED || header->tiled || header->bits % 8 != 0)
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "a TIFF picture of %u bands in separate planes, compressed, tiled or of "
                         "%u bits: write it without, or pixel by pixel",
                         header->n_samples, header->bits);
    return brim_tiff_settle(header, file->options, samples, err);
}

/* Bytes of the rows and of the list of strips. */
static brim_status count(const brim_tiff_header *h, const brim_samples *samples, size_t *row_bytes,
                         size_t *offsets_bytes)
{
    size_t pixel_bytes = h->n_samples * brim_sample_bytes(samples->pixel.type);

    brim_status status = brim_mul_bytes(h->width, pixel_bytes, row_bytes);
    return status == BRIM_OK ? brim_mul_bytes(h->n_blocks, sizeof(uint64_t), offsets_bytes)
                             : status;
}

static brim_status planes_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    size_t row_bytes = 0, offsets_bytes = 0;
    brim_tiff_header header;
    brim_samples samples = {0};

    brim_status status = read_header(file, &header, &samples, err);
    if (status != BRIM_OK) return status;
    if (count(&header, &samples, &row_bytes, &offsets_bytes) != BRIM_OK ||
        brim_add_bytes(row_bytes, offsets_bytes, &info->scratch_bytes) != BRIM_OK ||
        brim_add_bytes(info->scratch_bytes, sizeof(planes_decoder), &info->scratch_bytes) !=
            BRIM_OK)
        return brim_fail(err, BRIM_E_FORMAT, "broken TIFF: bad size");
    brim_tiff_describe(&header, &samples, info);
    return BRIM_OK;
}

static void planes_close(brim_decoder *decoder)
{
    planes_decoder *self = (planes_decoder *)decoder;

    if (!self) return;
    brim_alloc_release(self->mem, self->offsets, self->header.n_blocks * sizeof(uint64_t));
    brim_alloc_release(self->mem, self->row, self->plane_row_bytes * self->header.n_samples);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static brim_status take_memory(planes_decoder *self, brim_error *err)
{
    size_t row_bytes = self->plane_row_bytes * self->header.n_samples;
    size_t offsets_bytes = self->header.n_blocks * sizeof(uint64_t);
    brim_status status;

    self->row = brim_alloc_zeroed(self->mem, row_bytes, &status);
    if (self->row) self->offsets = brim_alloc_zeroed(self->mem, offsets_bytes, &status);
    if (self->offsets) return BRIM_OK;
    return brim_fail(err, status, "TIFF: no memory for %zu bytes", row_bytes + offsets_bytes);
}

static brim_status planes_open(const brim_alloc *mem, const brim_encoded *file,
                               const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    planes_decoder *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "TIFF: no memory for %zu bytes", sizeof(*self));
    self->mem = mem;
    self->info = info;
    self->accept_truncated = file->options->accept_truncated;
    brim_window_init(&self->window, file);
    status = read_header(file, &self->header, &self->samples, err);
    if (status != BRIM_OK) goto fail;
    self->sample_bytes = brim_sample_bytes(self->samples.pixel.type);
    self->plane_row_bytes = self->header.width * self->sample_bytes;
    status = take_memory(self, err);
    if (status == BRIM_OK) status = brim_tiff_read_offsets(file, self->offsets, err);
    if (status != BRIM_OK) goto fail;
    *out = (brim_decoder *)self;
    return BRIM_OK;

fail:
    planes_close((brim_decoder *)self);
    return status;
}

/* One sample, its lowest byte first. */
static void put_sample(const planes_decoder *self, const uint8_t *from, uint8_t *to)
{
    size_t n = self->sample_bytes;

    for (size_t i = 0; i < n; i++)
        to[i] = from[self->header.big_endian ? n - 1 - i : i];
}

/* Samples first .. first + n - 1 of a plane's row, from `at` in the file, into the row of pixels.
 */
static void put_samples(planes_decoder *self, uint64_t at, uint32_t band, size_t first, size_t n)
{
    const uint8_t *from =
        brim_window_look(&self->window, at + first * self->sample_bytes, n * self->sample_bytes);
    size_t step = self->header.n_samples * self->sample_bytes;
    uint8_t *to = self->row + first * step + band * self->sample_bytes;

    for (size_t i = 0; i < n; i++, to += step)
        put_sample(self, from + i * self->sample_bytes, to);
}

/* False where the file ends before. */
static bool gather_plane(planes_decoder *self, uint32_t band)
{
    const brim_tiff_header *h = &self->header;
    size_t strips = (h->height - 1) / h->block_height + 1;
    size_t strip = band * strips + self->next_row / h->block_height;
    uint64_t within = (uint64_t)(self->next_row % h->block_height) * self->plane_row_bytes;
    uint64_t bytes = self->window.file->bytes, at = self->offsets[strip];
    size_t most = BRIM_WINDOW_BYTES / self->sample_bytes;

    if (at > bytes || within > bytes - at || self->plane_row_bytes > bytes - at - within)
        return false;
    for (size_t first = 0; first < h->width; first += most)
        put_samples(self, at + within, band, first,
                    h->width - first < most ? h->width - first : most);
    return true;
}

static brim_status planes_next_row(brim_decoder *decoder, uint8_t *rgb, brim_error *err)
{
    planes_decoder *self = (planes_decoder *)decoder;
    bool whole = true;

    if (self->next_row == self->info->height) return BRIM_END;
    for (uint32_t band = 0; band < self->header.n_samples && whole; band++)
        whole = gather_plane(self, band);
    if (self->window.failed) return brim_fail(err, BRIM_E_IO, "cannot be read to its end");
    if (!whole && !self->accept_truncated) return brim_fail(err, BRIM_E_FORMAT, "truncated TIFF");
    self->next_row++;
    if (whole)
        brim_samples_to_rgb(&self->samples, self->row, rgb, self->info->width);
    else
        memset(rgb, 0, 3 * (size_t)self->info->width);
    return BRIM_OK;
}

const brim_format brim_format_tiff_planes = {
    .name = "TIFF",
    .takes_fd = true,
    .matches = brim_tiff_matches,
    .probe = planes_probe,
    .open = planes_open,
    .next_row = planes_next_row,
    .close = planes_close,
};
