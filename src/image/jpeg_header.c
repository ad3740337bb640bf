/*
 * jpeg_header.c - a walk over a JPEG's markers: size, sampling, scans, orientation.
 *
 * It runs before libjpeg-turbo is started, so that a picture can be refused, and its memory leased,
 * without any having been taken.
 */
#include "image/jpeg_header.h"

#include <string.h>

#include "base/fail.h"
#include "image/xmp.h"

enum {
    MARKER_TEM = 0x01,
    MARKER_SOF0 = 0xc0, /* baseline */
    MARKER_SOF1 = 0xc1, /* extended sequential */
    MARKER_SOF2 = 0xc2, /* progressive */
    MARKER_DHT = 0xc4,
    MARKER_JPG = 0xc8,
    MARKER_SOF9 = 0xc9,  /* sequential, arithmetic */
    MARKER_SOF10 = 0xca, /* progressive, arithmetic */
    MARKER_DAC = 0xcc,
    MARKER_SOF15 = 0xcf,
    MARKER_RST0 = 0xd0,
    MARKER_RST7 = 0xd7,
    MARKER_SOI = 0xd8,
    MARKER_EOI = 0xd9,
    MARKER_SOS = 0xda,
    MARKER_APP1 = 0xe1,
    MARKER_APP2 = 0xe2,
};

static brim_status truncated(brim_error *err)
{
    return brim_fail(err, BRIM_E_FORMAT, "truncated JPEG");
}

static bool is_frame(unsigned marker)
{
    return marker >= MARKER_SOF0 && marker <= MARKER_SOF15 && marker != MARKER_DHT &&
           marker != MARKER_JPG && marker != MARKER_DAC;
}

static bool stands_alone(unsigned marker)
{
    return marker == MARKER_TEM || (marker >= MARKER_RST0 && marker <= MARKER_SOI);
}

/* p: the segment behind its length, n bytes. */
static brim_status read_frame(unsigned marker, const uint8_t *p, size_t n, brim_jpeg_header *out,
                              brim_error *err)
{
    if (marker != MARKER_SOF0 && marker != MARKER_SOF1 && marker != MARKER_SOF2 &&
        marker != MARKER_SOF9 && marker != MARKER_SOF10)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a lossless or hierarchical JPEG");
    if (out->n_components > 0 || n < 6)
        return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: bad frame header");
    if (p[0] != 8) return brim_fail(err, BRIM_E_UNSUPPORTED, "a JPEG with %u-bit samples", p[0]);

    out->height = (uint32_t)p[1] << 8 | p[2];
    out->width = (uint32_t)p[3] << 8 | p[4];
    out->n_components = p[5];
    out->progressive = marker == MARKER_SOF2 || marker == MARKER_SOF10;
    if (out->width == 0 || out->height == 0)
        return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: no width or height");
    if (p[5] != 1 && p[5] != 3 && p[5] != 4)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a JPEG with %u components", p[5]);
    if (n < 6 + 3 * (size_t)p[5])
        return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: bad frame header");
    for (unsigned c = 0; c < p[5]; c++) {
        unsigned h = p[6 + 3 * c + 1] >> 4, v = p[6 + 3 * c + 1] & 15;
        if (h < 1 || h > 4 || v < 1 || v > 4)
            return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: bad sampling factors");
        out->components[c].h = (uint8_t)h;
        out->components[c].v = (uint8_t)v;
    }
    return BRIM_OK;
}

static brim_status read_scan(const uint8_t *p, size_t n, brim_jpeg_header *out, brim_error *err)
{
    if (out->n_components == 0 || n < 1)
        return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: a scan without a frame");
    out->many_scans = out->progressive || p[0] < out->n_components;
    return BRIM_OK;
}

/* Moves *at behind the next marker and tells it; bytes that are no marker are passed over. */
static bool next_marker(const uint8_t *data, size_t bytes, size_t *at, unsigned *marker)
{
    for (;;) {
        const uint8_t *ff = memchr(data + *at, 0xff, bytes - *at);
        if (!ff) return false;
        *at = (size_t)(ff - data);
        while (*at < bytes && data[*at] == 0xff)
            ++*at;
        if (*at == bytes) return false;
        *marker = data[(*at)++];
        if (*marker != 0) return true;
    }
}

/* Where the words on orientation are; NULL where there are none. */
typedef struct metadata {
    const uint8_t *exif, *xmp;
    size_t exif_bytes, xmp_bytes;
} metadata;

/* Of several EXIF segments the first counts, of XMP packets the last, as Pillow has it. */
static void note_metadata(const uint8_t *p, size_t n, metadata *found)
{
    static const char XMP[] = "http://ns.adobe.com/xap/1.0/"; /* a NUL belongs to it */

    if (!found->exif && n >= 6 && memcmp(p, "Exif\0\0", 6) == 0) {
        found->exif = p;
        found->exif_bytes = n;
    } else if (n >= sizeof(XMP) && memcmp(p, XMP, sizeof(XMP)) == 0) {
        found->xmp = p + sizeof(XMP);
        found->xmp_bytes = n - sizeof(XMP);
    }
}

brim_status brim_jpeg_read_header(const uint8_t *data, size_t bytes, brim_jpeg_header *out,
                                  brim_error *err)
{
    metadata found = {0};
    size_t at = 2; /* behind the start of image */
    unsigned marker;

    *out = (brim_jpeg_header){.orientation = 1};
    if (bytes < 2) return truncated(err);
    while (next_marker(data, bytes, &at, &marker)) {
        if (stands_alone(marker)) continue;
        if (marker == MARKER_EOI) return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: no picture");
        if (bytes - at < 2) break;
        size_t length = (size_t)data[at] << 8 | data[at + 1];
        if (length < 2) return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: bad segment length");
        if (length > bytes - at) break;

        const uint8_t *p = data + at + 2;
        size_t n = length - 2;
        if (marker == MARKER_SOS) {
            out->orientation =
                brim_orientation_of(found.exif, found.exif_bytes, found.xmp, found.xmp_bytes);
            return read_scan(p, n, out, err);
        }
        if (is_frame(marker)) {
            brim_status status = read_frame(marker, p, n, out, err);
            if (status != BRIM_OK) return status;
        }
        if (marker == MARKER_APP1) note_metadata(p, n, &found);
        at += length;
    }
    return truncated(err);
}

/* Piece number `wanted` of the profile, of *n_pieces; false where it is not there. */
static bool find_piece(const uint8_t *data, size_t bytes, unsigned wanted, unsigned *n_pieces,
                       const uint8_t **piece, size_t *n)
{
    static const char NAME[] = "ICC_PROFILE"; /* its NUL belongs to it, then number and count */
    size_t at = 2;
    unsigned marker;

    if (bytes < at) return false;
    while (next_marker(data, bytes, &at, &marker) && marker != MARKER_SOS && marker != MARKER_EOI) {
        if (stands_alone(marker)) continue;
        if (bytes - at < 2) return false;
        size_t length = (size_t)data[at] << 8 | data[at + 1];
        if (length < 2 || length > bytes - at) return false;
        const uint8_t *p = data + at + 2;
        at += length;
        if (marker != MARKER_APP2 || length - 2 < sizeof(NAME) + 2) continue;
        if (memcmp(p, NAME, sizeof(NAME)) != 0 || p[sizeof(NAME)] != wanted) continue;
        *n_pieces = p[sizeof(NAME) + 1];
        *piece = p + sizeof(NAME) + 2;
        *n = length - 2 - sizeof(NAME) - 2;
        return true;
    }
    return false;
}

size_t brim_jpeg_read_profile(const uint8_t *data, size_t bytes, uint8_t *out, size_t capacity)
{
    unsigned n_pieces = 1;
    size_t total = 0;

    for (unsigned i = 1; i <= n_pieces; i++) {
        const uint8_t *piece;
        size_t n;

        if (!find_piece(data, bytes, i, &n_pieces, &piece, &n)) return 0;
        if (out && total < capacity)
            memcpy(out + total, piece, n < capacity - total ? n : capacity - total);
        total += n;
    }
    return total;
}

size_t brim_jpeg_whole_bytes(const uint8_t *data, size_t bytes)
{
    size_t at = 0;
    unsigned marker;

    while (next_marker(data, bytes, &at, &marker)) {
        if (stands_alone(marker)) continue;
        if (marker == MARKER_EOI) break;
        size_t length = bytes - at < 2 ? SIZE_MAX : (size_t)data[at] << 8 | data[at + 1];
        if (length > bytes - at) return at - 2;
        at += length;
    }
    return bytes;
}

/* p: a scan's header behind its length, n bytes: components, then first, last coefficient, bits. */
static bool only_refines_detail(const uint8_t *p, size_t n)
{
    size_t at = n > 0 ? 1 + 2 * (size_t)p[0] : 0;

    return n > 0 && n >= at + 3 && p[at] > 0 && p[at + 2] >> 4 > 0;
}

size_t brim_jpeg_coarse_bytes(const uint8_t *data, size_t bytes)
{
    size_t at = 0, coarse = bytes;
    unsigned marker;

    while (next_marker(data, bytes, &at, &marker)) {
        if (stands_alone(marker)) continue;
        if (marker == MARKER_EOI) return coarse;
        if (bytes - at < 2) break;
        size_t length = (size_t)data[at] << 8 | data[at + 1];
        if (length < 2 || length > bytes - at) break;
        if (marker == MARKER_SOS) {
            bool detail = only_refines_detail(data + at + 2, length - 2);
            coarse = !detail ? bytes : coarse == bytes ? at - 2 : coarse;
        }
        at += length;
    }
    return bytes;
}

static size_t round_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

static size_t most_h(const brim_jpeg_header *header)
{
    size_t most = 1;

    for (unsigned c = 0; c < header->n_components; c++)
        if (header->components[c].h > most) most = header->components[c].h;
    return most;
}

static size_t most_v(const brim_jpeg_header *header)
{
    size_t most = 1;

    for (unsigned c = 0; c < header->n_components; c++)
        if (header->components[c].v > most) most = header->components[c].v;
    return most;
}

static size_t blocks_across(const brim_jpeg_header *header, unsigned component)
{
    size_t h = header->components[component].h, in_all = most_h(header) * 8;

    return round_up((header->width * h + in_all - 1) / in_all, h);
}

static size_t blocks_down(const brim_jpeg_header *header, unsigned component)
{
    size_t v = header->components[component].v, in_all = most_v(header) * 8;

    return round_up((header->height * v + in_all - 1) / in_all, v);
}

/*
 * What is counted: tables and small objects of any decoder; for each component a strip of samples
 * between the inverse transform and upsampling, and a strip behind it; where there are many scans
 * the addresses of the rows of coefficients. Rows of samples are padded to 64 bytes.
 */
size_t brim_jpeg_library_bytes(const brim_jpeg_header *header)
{
    size_t total = 72 * 1024;

    for (unsigned c = 0; c < header->n_components; c++) {
        total += round_up(blocks_across(header, c) * 8, 64) * header->components[c].v * 12;
        total += round_up(header->width, 64) * most_v(header);
        if (header->many_scans) total += blocks_down(header, c) * 2 * sizeof(void *);
    }
    return total;
}

size_t brim_jpeg_frame_bytes(const brim_jpeg_header *header)
{
    size_t n_blocks = 0;

    for (unsigned c = 0; c < header->n_components && header->many_scans; c++)
        n_blocks += blocks_across(header, c) * blocks_down(header, c);
    return n_blocks * 64 * sizeof(int16_t);
}
