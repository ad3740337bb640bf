/*
 * jp2k_header.c - finds the codestream and what the boxes before it say of colours, reads its size
 * marker and hops from tile part to tile part to its end.
 */
#include "image/jp2k_header.h"

#include <string.h>

#include "base/fail.h"
#include "image/boxes.h"

enum {
    MARKER_SIZE = 0xff51,
    MARKER_TILE_PART = 0xff90,
    MARKER_END = 0xffd9,
    SIZE_BYTES = 38, /* of the size marker's segment, without components */
    TILE_PART_BYTES = 12,
    COLOURS_BY_NUMBER = 1, /* of a colour box's methods */
};

static uint32_t read_u16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t read_u32(const uint8_t *p)
{
    return read_u16(p) << 16 | read_u16(p + 2);
}

static brim_status truncated(brim_error *err)
{
    return brim_fail(err, BRIM_E_FORMAT, "truncated JPEG 2000");
}

static brim_status broken(brim_error *err, const char *how)
{
    return brim_fail(err, BRIM_E_FORMAT, "broken JPEG 2000: %s", how);
}

bool brim_jp2k_matches(const uint8_t *data, size_t bytes)
{
    return (bytes >= 12 && memcmp(data, "\0\0\0\x0cjP  \r\n\x87\n", 12) == 0) ||
           (bytes >= 4 && memcmp(data, "\xff\x4f\xff\x51", 4) == 0);
}

/* The first colour box of a header box counts: method, precedence, approximation, number. */
static uint32_t find_colours(const brim_box *header)
{
    size_t at = 0;
    brim_box box;

    while (brim_box_next(header->data, header->bytes, &at, &box)) {
        if (memcmp(box.name, "colr", 4) != 0) continue;
        return box.bytes >= 7 && box.data[0] == COLOURS_BY_NUMBER ? read_u32(box.data + 3) : 0;
    }
    return 0;
}

/* The codestream, which may be all of the file. */
static brim_status find_code(const uint8_t **data, size_t *bytes, uint32_t *colours,
                             brim_error *err)
{
    size_t at = 0;
    brim_box box;

    if (**data == 0xff) return BRIM_OK;
    while (brim_box_next(*data, *bytes, &at, &box)) {
        if (memcmp(box.name, "jp2c", 4) == 0) {
            *data = box.data;
            *bytes = box.bytes;
            return BRIM_OK;
        }
        if (memcmp(box.name, "jp2h", 4) == 0) *colours = find_colours(&box);
        if (!box.complete) return truncated(err);
    }
    return at == *bytes ? truncated(err) : broken(err, "no picture in it");
}

/* Main header's segments, then tile parts, each of which tells its length; 0 is "to the end". */
static bool has_end(const uint8_t *p, size_t bytes)
{
    size_t at = 2;

    while (bytes - at >= 4 && read_u16(p + at) != MARKER_TILE_PART) {
        size_t n = 2 + read_u16(p + at + 2);

        if (n < 4 || n > bytes - at) return false;
        at += n;
    }
    while (bytes - at >= TILE_PART_BYTES && read_u16(p + at) == MARKER_TILE_PART) {
        size_t n = read_u32(p + at + 6);

        if (n == 0) return bytes >= 2 && read_u16(p + bytes - 2) == MARKER_END;
        if (n < TILE_PART_BYTES || n > bytes - at) return false;
        at += n;
    }
    return bytes - at >= 2 && read_u16(p + at) == MARKER_END;
}

static brim_status read_size(const uint8_t *p, brim_jp2k_header *out, brim_error *err)
{
    uint32_t right = read_u32(p + 4), bottom = read_u32(p + 8);
    uint32_t left = read_u32(p + 12), top = read_u32(p + 16);
    uint32_t tile_left = read_u32(p + 28), tile_top = read_u32(p + 32);

    out->tile_width = read_u32(p + 20);
    out->tile_height = read_u32(p + 24);
    out->n_components = read_u16(p + 36);
    if (right <= left || bottom <= top || tile_left > left || tile_top > top ||
        out->tile_width == 0 || out->tile_height == 0 || out->n_components == 0)
        return broken(err, "bad size");
    out->n_tiles = ((uint64_t)(right - tile_left - 1) / out->tile_width + 1) *
                   ((bottom - tile_top - 1) / out->tile_height + 1);
    out->width = right - left;
    out->height = bottom - top;
    if (out->tile_width > out->width) out->tile_width = out->width;
    if (out->tile_height > out->height) out->tile_height = out->height;
    return BRIM_OK;
}

/* p: bits less 1, and the distance of samples across and down, of each component. */
static void read_components(const uint8_t *p, size_t bytes, brim_jp2k_header *out)
{
    out->bits = (p[0] & 0x7f) + 1u;
    for (size_t i = 0; i < out->n_components && bytes - 3 * i >= 3; i++)
        out->subsampled |= p[3 * i + 1] > 1 || p[3 * i + 2] > 1;
}

brim_status brim_jp2k_read_header(const uint8_t *data, size_t bytes, brim_jp2k_header *out,
                                  brim_error *err)
{
    *out = (brim_jp2k_header){0};
    brim_status status = find_code(&data, &bytes, &out->colours, err);
    if (status != BRIM_OK) return status;
    if (bytes < 2 + 2 + SIZE_BYTES + 3) return truncated(err);
    if (read_u16(data) != 0xff4f || read_u16(data + 2) != MARKER_SIZE)
        return broken(err, "a codestream that begins otherwise");
    status = read_size(data + 4, out, err);
    if (status != BRIM_OK) return status;
    read_components(data + 4 + SIZE_BYTES, bytes - 4 - SIZE_BYTES, out);
    out->truncated = !has_end(data, bytes);
    return BRIM_OK;
}
