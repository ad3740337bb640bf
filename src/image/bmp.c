/*
 * bmp.c - BMP and DIB, read here without a library.
 *
 * Rows are read where they lie in the file, the upper one first wherever that is, so nothing is
 * held; runs are unpacked to a whole frame of palette indices. Alpha is dropped.
 */
#include "image/decoder.h"

#include <string.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/bmp_header.h"
#include "image/bmp_rle.h"

typedef struct bmp_decoder {
    const brim_alloc *mem;
    brim_bmp_header header;
    const uint8_t *data;
    size_t bytes;
    bool accept_truncated;
    uint8_t palette[256][3]; /* entries that the file lacks are black */
    uint8_t *indices;        /* of all pixels, in the order of storing; NULL unless unpacked */
    size_t indices_bytes;
    size_t n_unpacked; /* of them; behind are those that the file lacks */
    uint32_t next_row;
} bmp_decoder;

static brim_status count_indices(const brim_bmp_header *header, size_t *out)
{
    *out = 0;
    if (header->packing == BRIM_BMP_PLAIN) return BRIM_OK;
    return brim_mul_bytes(header->width, header->height, out);
}

static brim_status bmp_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    brim_bmp_header header;
    size_t frame;

    brim_status status = brim_bmp_read_header(file->data, file->bytes, &header, err);
    if (status != BRIM_OK) return status;
    info->width = header.width;
    info->height = header.height;
    info->whole_frame = header.packing != BRIM_BMP_PLAIN;
    if (count_indices(&header, &frame) != BRIM_OK ||
        brim_add_bytes(frame, sizeof(bmp_decoder), &info->scratch_bytes) != BRIM_OK)
        return brim_fail(err, BRIM_E_FORMAT, "image too large: %u x %u pixels", info->width,
                         info->height);
    return BRIM_OK;
}

static void fill_palette(bmp_decoder *self)
{
    const brim_bmp_header *h = &self->header;

    for (uint32_t i = 0; i < 256; i++) {
        if (h->colors == BRIM_BMP_GREY) {
            memset(self->palette[i], (int)i, 3);
        } else if (h->colors == BRIM_BMP_TWO) {
            memset(self->palette[i], i > 0 ? 255 : 0, 3);
        } else if (i < h->n_colors) {
            const uint8_t *p = h->palette + (size_t)i * h->color_bytes;
            memcpy(self->palette[i], (uint8_t[]){p[2], p[1], p[0]}, 3);
        }
    }
}

static brim_status truncated(brim_error *err)
{
    return brim_fail(err, BRIM_E_FORMAT, "truncated BMP");
}

static brim_status unpack(bmp_decoder *self, brim_error *err)
{
    brim_status status;

    if (count_indices(&self->header, &self->indices_bytes) != BRIM_OK || self->indices_bytes == 0)
        return BRIM_OK;
    self->indices = brim_alloc_zeroed(self->mem, self->indices_bytes, &status);
    if (!self->indices)
        return brim_fail(err, status, "BMP: no memory for %zu bytes", self->indices_bytes);
    self->n_unpacked = brim_bmp_unpack(&self->header, self->data, self->bytes, self->indices);
    bool is_whole = self->n_unpacked == self->indices_bytes;
    return is_whole || self->accept_truncated ? BRIM_OK : truncated(err);
}

static void bmp_close(brim_decoder *decoder)
{
    bmp_decoder *self = (bmp_decoder *)decoder;

    if (!self) return;
    brim_alloc_release(self->mem, self->indices, self->indices_bytes);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static brim_status bmp_open(const brim_alloc *mem, const brim_encoded *file,
                            const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    brim_status status;

    (void)info;
    *out = NULL;
    bmp_decoder *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "BMP: no memory for %zu bytes", sizeof(*self));
    self->mem = mem;
    self->data = file->data;
    self->bytes = file->bytes;
    self->accept_truncated = file->options->accept_truncated;
    status = brim_bmp_read_header(file->data, file->bytes, &self->header, err);
    if (status == BRIM_OK && self->header.bits <= 8) {
        fill_palette(self);
        status = unpack(self, err);
    }
    if (status != BRIM_OK) {
        bmp_close((brim_decoder *)self);
        return status;
    }
    *out = (brim_decoder *)self;
    return BRIM_OK;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Of row y in the order of storing; NULL where the file does not hold all of it. The last one may
 * lack its padding. */
static const uint8_t *find_row(const bmp_decoder *self, uint32_t y)
{
    const brim_bmp_header *h = &self->header;
    uint64_t bytes = ((uint64_t)h->width * h->bits + 7) / 8;

    if (h->pixels_at > self->bytes) return NULL;
    uint64_t left = self->bytes - h->pixels_at, at = y * h->row_stride;
    if (at > left || left - at < bytes) return NULL;
    return self->data + h->pixels_at + at;
}

static uint8_t index_at(const uint8_t *row, size_t x, uint8_t bits)
{
    if (bits == 8) return row[x];
    if (bits == 4) return x % 2 == 0 ? row[x / 2] >> 4 : row[x / 2] & 15;
    return row[x / 8] >> (7 - x % 8) & 1;
}

static void look_up(const bmp_decoder *self, const uint8_t *row, uint8_t bits, uint8_t *rgb)
{
    for (size_t x = 0; x < self->header.width; x++)
        memcpy(rgb + 3 * x, self->palette[index_at(row, x, bits)], 3);
}

static void expand_16(const uint8_t *row, size_t n, brim_bmp_colors colors, uint8_t *rgb)
{
    for (size_t x = 0; x < n; x++) {
        uint32_t v = (uint32_t)row[2 * x] | (uint32_t)row[2 * x + 1] << 8;
        rgb[3 * x + 2] = (uint8_t)((v & 31) * 255 / 31);
        if (colors == BRIM_BMP_555) {
            rgb[3 * x + 1] = (uint8_t)((v >> 5 & 31) * 255 / 31);
            rgb[3 * x] = (uint8_t)((v >> 10 & 31) * 255 / 31);
        } else {
            rgb[3 * x + 1] = (uint8_t)((v >> 5 & 63) * 255 / 63);
            rgb[3 * x] = (uint8_t)((v >> 11) * 255 / 31);
        }
    }
}

static void pick_bytes(const brim_bmp_header *h, const uint8_t *row, uint8_t *rgb)
{
    size_t step = h->bits / 8;

    for (size_t x = 0; x < h->width; x++, row += step, rgb += 3) {
        rgb[0] = row[h->rgb_at[0]];
        rgb[1] = row[h->rgb_at[1]];
        rgb[2] = row[h->rgb_at[2]];
    }
}

static void convert(const bmp_decoder *self, const uint8_t *row, uint8_t *rgb)
{
    const brim_bmp_header *h = &self->header;

    if (h->bits <= 8)
        look_up(self, row, h->bits, rgb);
    else if (h->bits == 16)
        expand_16(row, h->width, h->colors, rgb);
    else
        pick_bytes(h, row, rgb);
}

/* Row y of the frame; what the file lacks is black. */
static void convert_unpacked(const bmp_decoder *self, uint32_t y, uint8_t *rgb)
{
    size_t width = self->header.width, first = y * width;
    size_t n_there = self->n_unpacked > first ? self->n_unpacked - first : 0;

    look_up(self, self->indices + first, 8, rgb);
    if (n_there < width) memset(rgb + 3 * n_there, 0, 3 * (width - n_there));
}

static brim_status bmp_next_row(brim_decoder *decoder, uint8_t *rgb, brim_error *err)
{
    bmp_decoder *self = (bmp_decoder *)decoder;
    const brim_bmp_header *h = &self->header;

    if (self->next_row == h->height) return BRIM_END;
    uint32_t y = self->next_row++;
    if (!h->top_down) y = h->height - 1 - y;
    if (self->indices) {
        convert_unpacked(self, y, rgb);
        return BRIM_OK;
    }
    const uint8_t *row = find_row(self, y);
    if (row)
        convert(self, row, rgb);
    else if (self->accept_truncated)
        memset(rgb, 0, 3 * (size_t)h->width);
    else
        return truncated(err);
    return BRIM_OK;
}

const brim_format brim_format_bmp = {
    .name = "BMP",
    .matches = brim_bmp_matches,
    .probe = bmp_probe,
    .open = bmp_open,
    .next_row = bmp_next_row,
    .close = bmp_close,
};
