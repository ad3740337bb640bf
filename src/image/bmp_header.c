/*
 * bmp_header.c - reads a BMP's headers, as Pillow understands them.
 *
 * Some of what Pillow does is odd, and kept: a palette of greys makes the pixels whole bytes, one
 * of black and white makes them bits, whatever their number of bits is said to be.
 */
#include "image/bmp_header.h"

#include <string.h>

#include "base/fail.h"

enum {
    FILE_HEADER_BYTES = 14,
    CORE_BYTES = 12,  /* OS/2: sizes of 16 bits, palettes of 3 bytes */
    INFO_BYTES = 40,  /* Windows: all others begin with it; masks may stand behind it */
    ALPHA_BYTES = 56, /* from here on there is a mask for alpha */
    MASKS_AT = 40,
    COMPRESSION_NONE = 0,
    COMPRESSION_RLE8 = 1,
    COMPRESSION_RLE4 = 2,
    COMPRESSION_MASKS = 3,
    COMPRESSION_JPEG = 4,
    COMPRESSION_PNG = 5,
};

#define MAX_COLORS 65536
#define MAX_SIDE   INT32_MAX

/* The fields, one after another. */
typedef struct fields {
    const uint8_t *data;
    size_t bytes;
    size_t at; /* behind what is read */
    uint32_t header_bytes, bits, compression, n_colors;
} fields;

static uint32_t read_u16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t read_u32(const uint8_t *p)
{
    return read_u16(p) | read_u16(p + 2) << 16;
}

static bool is_header_size(uint32_t n)
{
    static const uint8_t SIZES[] = {CORE_BYTES, INFO_BYTES, 52, ALPHA_BYTES, 64, 108, 124};

    return n < 256 && memchr(SIZES, (int)n, sizeof(SIZES)) != NULL;
}

/* Four bytes are a weak mark: there is one plane in all of them, and few depths. */
static bool is_bare_header(const uint8_t *data, size_t bytes)
{
    if (bytes < 16 || !is_header_size(read_u32(data))) return false;
    const uint8_t *planes = data + (read_u32(data) == CORE_BYTES ? 8 : 12);
    uint32_t bits = read_u16(planes + 2);
    return read_u16(planes) == 1 &&
           (bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32);
}

bool brim_bmp_matches(const uint8_t *data, size_t bytes)
{
    if (bytes < FILE_HEADER_BYTES || memcmp(data, "BM", 2) != 0) return is_bare_header(data, bytes);
    if (memcmp(data + 6, "\0\0\0\0", 4) == 0) return true; /* two reserved numbers */
    return bytes >= FILE_HEADER_BYTES + 4 && is_header_size(read_u32(data + FILE_HEADER_BYTES));
}

static brim_status truncated(brim_error *err)
{
    return brim_fail(err, BRIM_E_FORMAT, "truncated BMP");
}

/* The sizes and what else both kinds of header have. */
static brim_status read_fields(fields *f, brim_bmp_header *out, brim_error *err)
{
    const uint8_t *p = f->data + f->at;

    if (f->bytes - f->at < 4) return truncated(err);
    f->header_bytes = read_u32(p);
    if (!is_header_size(f->header_bytes))
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a BMP with a header of %u bytes",
                         f->header_bytes);
    if (f->bytes - f->at < f->header_bytes) return truncated(err);
    f->at += f->header_bytes;
    if (f->header_bytes == CORE_BYTES) {
        out->width = read_u16(p + 4);
        out->height = read_u16(p + 6);
        f->bits = read_u16(p + 10);
        out->color_bytes = 3;
    } else {
        out->width = read_u32(p + 4);
        out->height = read_u32(p + 8);
        out->top_down = p[11] == 0xff;
        if (out->top_down) out->height = -out->height;
        f->bits = read_u16(p + 14);
        f->compression = read_u32(p + 16);
        f->n_colors = read_u32(p + 32);
        out->color_bytes = 4;
    }
    if (out->width == 0 || out->height == 0 || out->width > MAX_SIDE || out->height > MAX_SIDE)
        return brim_fail(err, BRIM_E_FORMAT, "broken BMP: a size of %u x %u pixels", out->width,
                         out->height);
    return BRIM_OK;
}

static brim_status check_kind(const fields *f, brim_error *err)
{
    if (f->compression == COMPRESSION_JPEG || f->compression == COMPRESSION_PNG)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a BMP that wraps a %s",
                         f->compression == COMPRESSION_JPEG ? "JPEG" : "PNG");
    if (f->compression > COMPRESSION_PNG)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a BMP of compression %u", f->compression);
    switch (f->bits) {
    case 1:
    case 4:
    case 8:
        if (f->compression != COMPRESSION_MASKS) return BRIM_OK;
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a BMP with unusual colour masks");
    case 16:
    case 24:
    case 32:
        if (f->compression != COMPRESSION_RLE8 && f->compression != COMPRESSION_RLE4)
            return BRIM_OK;
        return brim_fail(err, BRIM_E_FORMAT, "broken BMP: runs of %u-bit pixels", f->bits);
    default:
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a BMP of %u bits a pixel", f->bits);
    }
}

/* The layouts that Pillow knows, by the masks for red, green, blue and alpha. */
static bool set_masks(const uint32_t masks[4], brim_bmp_header *out)
{
    static const struct {
        uint32_t masks[4];
        uint8_t rgb_at[3];
    } LAYOUTS[] = {
        {{0xff0000, 0xff00, 0xff, 0}, {2, 1, 0}},
        {{0xff0000, 0xff00, 0xff, 0xff000000}, {2, 1, 0}},
        {{0, 0, 0, 0}, {2, 1, 0}},
        {{0xff, 0xff00, 0xff0000, 0xff000000}, {0, 1, 2}},
        {{0xff000000, 0xff0000, 0xff00, 0}, {3, 2, 1}},
        {{0xff000000, 0xff0000, 0xff00, 0xff}, {3, 2, 1}},
        {{0xff000000, 0xff00, 0xff, 0}, {3, 1, 0}},
        {{0xff000000, 0xff00, 0xff, 0xff0000}, {3, 1, 0}},
    };

    if (out->bits == 16) {
        static const uint32_t RGB555[] = {0x7c00, 0x3e0, 0x1f}, RGB565[] = {0xf800, 0x7e0, 0x1f};
        out->colors = memcmp(masks, RGB565, sizeof(RGB565)) == 0 ? BRIM_BMP_565 : BRIM_BMP_555;
        return out->colors == BRIM_BMP_565 || memcmp(masks, RGB555, sizeof(RGB555)) == 0;
    }
    if (out->bits == 24) return memcmp(masks, LAYOUTS[0].masks, 3 * sizeof(*masks)) == 0;
    for (size_t i = 0; i < sizeof(LAYOUTS) / sizeof(LAYOUTS[0]); i++) {
        if (memcmp(masks, LAYOUTS[i].masks, sizeof(LAYOUTS[i].masks)) != 0) continue;
        memcpy(out->rgb_at, LAYOUTS[i].rgb_at, 3);
        return true;
    }
    return false;
}

static brim_status read_masks(fields *f, brim_bmp_header *out, brim_error *err)
{
    size_t at = f->at - f->header_bytes + MASKS_AT;
    size_t n = f->header_bytes < ALPHA_BYTES ? 3 : 4;
    uint32_t masks[4] = {0};

    if (f->bytes - at < 4 * n) return truncated(err);
    for (size_t i = 0; i < n; i++)
        masks[i] = read_u32(f->data + at + 4 * i);
    if (f->header_bytes == INFO_BYTES) f->at += 4 * n;
    if (set_masks(masks, out)) return BRIM_OK;
    return brim_fail(err, BRIM_E_UNSUPPORTED, "a BMP with unusual colour masks");
}

/* Of 16 bits and more a pixel. */
static brim_status read_layout(fields *f, brim_bmp_header *out, brim_error *err)
{
    out->colors = out->bits == 16 ? BRIM_BMP_555 : BRIM_BMP_BYTES;
    memcpy(out->rgb_at, (uint8_t[]){2, 1, 0}, 3);
    return f->compression == COMPRESSION_MASKS ? read_masks(f, out, err) : BRIM_OK;
}

/* Is entry i of the palette there, and that grey? */
static bool is_grey(const brim_bmp_header *h, uint32_t i, uint8_t level)
{
    const uint8_t *p = h->palette + (size_t)i * h->color_bytes;

    return p[0] == level && p[1] == level && p[2] == level;
}

/* What the palette makes of the indices; n_named: how many entries there are said to be. */
static brim_bmp_colors judge_palette(const brim_bmp_header *h, uint32_t n_named)
{
    if (h->n_colors < n_named) return BRIM_BMP_PALETTE;
    if (n_named == 2 && is_grey(h, 0, 0) && is_grey(h, 1, 255)) return BRIM_BMP_TWO;
    for (uint32_t i = 0; i < n_named; i++) {
        if (n_named == 2 || !is_grey(h, i, (uint8_t)i)) return BRIM_BMP_PALETTE;
    }
    return n_named == 1 ? BRIM_BMP_TWO : BRIM_BMP_GREY;
}

static brim_status read_palette(fields *f, brim_bmp_header *out, brim_error *err)
{
    uint32_t n_named = f->n_colors ? f->n_colors : 1u << f->bits;
    size_t left = (f->bytes - f->at) / out->color_bytes;

    if (n_named > MAX_COLORS)
        return brim_fail(err, BRIM_E_FORMAT, "broken BMP: a palette of %u colours", n_named);
    out->palette = f->data + f->at;
    out->n_colors = left < n_named ? (uint32_t)left : n_named;
    f->at += left < n_named ? f->bytes - f->at : (size_t)n_named * out->color_bytes;
    f->n_colors = n_named;
    out->colors = judge_palette(out, n_named);
    if (out->colors == BRIM_BMP_PALETTE && out->n_colors > 256)
        return brim_fail(err, BRIM_E_FORMAT, "broken BMP: a palette of %u colours", n_named);
    if (out->packing != BRIM_BMP_PLAIN || out->colors == BRIM_BMP_PALETTE) return BRIM_OK;
    out->bits = out->colors == BRIM_BMP_TWO ? 1 : 8;
    if (out->bits == 8 && out->row_stride < out->width)
        return brim_fail(err, BRIM_E_FORMAT, "broken BMP: a palette of greys for %u-bit pixels",
                         f->bits);
    return BRIM_OK;
}

brim_status brim_bmp_read_header(const uint8_t *data, size_t bytes, brim_bmp_header *out,
                                 brim_error *err)
{
    bool has_file_header = bytes >= 2 && memcmp(data, "BM", 2) == 0;
    fields f = {data, bytes, has_file_header ? FILE_HEADER_BYTES : 0, 0, 0, 0, 0};

    *out = (brim_bmp_header){0};
    if (bytes < f.at) return truncated(err);
    size_t pixels_at = has_file_header ? read_u32(data + 10) : 0;
    brim_status status = read_fields(&f, out, err);
    if (status == BRIM_OK) status = check_kind(&f, err);
    if (status != BRIM_OK) return status;
    size_t headers_end = f.at;
    out->bits = (uint8_t)f.bits;
    out->packing = f.compression == COMPRESSION_RLE8   ? BRIM_BMP_RLE8
                   : f.compression == COMPRESSION_RLE4 ? BRIM_BMP_RLE4
                                                       : BRIM_BMP_PLAIN;
    out->row_stride = ((uint64_t)out->width * f.bits + 31) / 32 * 4;
    status = f.bits <= 8 ? read_palette(&f, out, err) : read_layout(&f, out, err);
    out->pixels_at = pixels_at ? pixels_at : f.at;
    /* Writers that forget their palette when they say where the pixels are. */
    if (f.bits <= 8 && pixels_at == headers_end && has_file_header)
        out->pixels_at += (size_t)f.n_colors * out->color_bytes;
    return status;
}
