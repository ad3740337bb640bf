/*
 * tiff_header.c - walks the first directory of a TIFF or BigTIFF.
 *
 * The file comes from strangers: every offset and count is checked against its length before it is
 * used. Only the first directory is walked, and no chain is followed, so nothing can go in circles.
 *
 * Cameras write their raw files as TIFFs whose first directory is a thumbnail. They are known by
 * DNG's version tag, or by a maker's name together with sub-directories and a first picture that
 * calls itself reduced.
 */
#include "image/tiff_header.h"

#include <string.h>

#include "base/fail.h"
#include "image/raw.h"
#include "image/window.h"
#include "image/xmp.h"

enum {
    TAG_SUBFILE_TYPE = 254,
    TAG_WIDTH = 256,
    TAG_HEIGHT = 257,
    TAG_BITS = 258,
    TAG_COMPRESSION = 259,
    TAG_PHOTOMETRIC = 262,
    TAG_MAKE = 271,
    TAG_STRIP_OFFSETS = 273,
    TAG_ORIENTATION = 274,
    TAG_N_SAMPLES = 277,
    TAG_ROWS_PER_STRIP = 278,
    TAG_STRIP_BYTES = 279,
    TAG_PLANAR = 284,
    TAG_PALETTE = 320,
    TAG_TILE_WIDTH = 322,
    TAG_TILE_HEIGHT = 323,
    TAG_TILE_OFFSETS = 324,
    TAG_TILE_BYTES = 325,
    TAG_SUB_DIRECTORIES = 330,
    TAG_EXTRA_SAMPLES = 338,
    TAG_SAMPLE_FORMAT = 339,
    TAG_SUBSAMPLING = 530,
    TAG_XMP = 700,
    TAG_DNG_VERSION = 50706,
};

enum {
    PLANAR_SEPARATE = 2,
    REDUCED = 1, /* of TAG_SUBFILE_TYPE */
    MAX_ENTRIES = 4096,
    MAX_SAMPLES = 10000,
    MAX_SIDE = 10000000, /* libvips has no larger pictures */
    MAX_TILE_SIDE = 10000,
    MAX_MAKE = 64,
};

/* The values of one tag, found to lie inside the file; n is 0 where the tag is missing. */
typedef struct values {
    uint32_t type;
    uint64_t n;
    size_t at;
} values;

typedef struct tiff {
    brim_window window;
    size_t bytes;
    bool big_endian;
    bool big; /* BigTIFF */
    size_t directory;
    size_t n_entries;
} tiff;

static brim_status truncated(brim_error *err)
{
    return brim_fail(err, BRIM_E_FORMAT, "truncated TIFF");
}

static brim_status broken(brim_error *err, const char *how)
{
    return brim_fail(err, BRIM_E_FORMAT, "broken TIFF: %s", how);
}

/* n bytes, 1 to 8, which the caller knows to be there. */
static uint64_t read_number(tiff *t, size_t at, size_t n)
{
    const uint8_t *p = brim_window_look(&t->window, at, n);
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[t->big_endian ? i : n - 1 - i];
    return v;
}

static size_t type_bytes(uint64_t type)
{
    static const uint8_t BYTES[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};

    return type < sizeof(BYTES) ? BYTES[type] : 0;
}

static bool is_whole_number(uint32_t type)
{
    return type == 1 || type == 3 || type == 4 || type == 13 || (type >= 16 && type <= 18);
}

/* --- the directory --------------------------------------------------------------------------- */

static brim_status open_directory(tiff *t, brim_error *err)
{
    size_t count_bytes = t->big ? 8 : 2, entry_bytes = t->big ? 20 : 12;

    if (t->bytes < (t->big ? 16u : 8u)) return truncated(err);
    uint64_t at = read_number(t, t->big ? 8 : 4, t->big ? 8 : 4);
    if (at == 0) return broken(err, "no picture in it");
    if (at > t->bytes || t->bytes - at < count_bytes) return truncated(err);
    uint64_t n = read_number(t, (size_t)at, count_bytes);
    if (n == 0 || n > MAX_ENTRIES) return broken(err, "a bad number of tags");
    t->directory = (size_t)at + count_bytes;
    t->n_entries = (size_t)n;
    if ((t->bytes - t->directory) / entry_bytes < n) return truncated(err);
    return BRIM_OK;
}

/* Of a tag that comes twice the first counts, as libtiff has it. */
static brim_status find(tiff *t, uint32_t tag, values *out, brim_error *err)
{
    size_t word = t->big ? 8 : 4, entry_bytes = t->big ? 20 : 12;

    *out = (values){0};
    for (size_t i = 0; i < t->n_entries; i++) {
        size_t at = t->directory + i * entry_bytes;

        if (read_number(t, at, 2) != tag) continue;
        uint64_t n = read_number(t, at + 4, word);
        size_t unit = type_bytes(read_number(t, at + 2, 2));
        if (unit == 0 || n == 0) return BRIM_OK; /* a tag of a type not known is not there */
        if (n > t->bytes / unit) return truncated(err);
        uint64_t place = n * unit <= word ? at + 4 + word : read_number(t, at + 4 + word, word);
        if (place > t->bytes || t->bytes - place < n * unit) return truncated(err);
        *out = (values){(uint32_t)read_number(t, at + 2, 2), n, (size_t)place};
        return BRIM_OK;
    }
    return BRIM_OK;
}

/* Of values that are there. */
static uint64_t value(tiff *t, const values *v, uint64_t i)
{
    size_t unit = type_bytes(v->type);

    return is_whole_number(v->type) ? read_number(t, v->at + (size_t)i * unit, unit) : 0;
}

static brim_status find_number(tiff *t, uint32_t tag, uint32_t otherwise, uint32_t *out,
                               brim_error *err)
{
    values v;

    *out = otherwise;
    brim_status status = find(t, tag, &v, err);
    if (status != BRIM_OK || v.n == 0) return status;
    uint64_t number = value(t, &v, 0);
    *out = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    return BRIM_OK;
}

/* --- raw files of cameras -------------------------------------------------------------------- */

static brim_status refuse_cameras(tiff *t, brim_error *err)
{
    values dng, make, sub;
    uint32_t subfile;

    brim_status status = find(t, TAG_DNG_VERSION, &dng, err);
    if (status == BRIM_OK) status = find(t, TAG_MAKE, &make, err);
    if (status == BRIM_OK) status = find(t, TAG_SUB_DIRECTORIES, &sub, err);
    if (status == BRIM_OK) status = find_number(t, TAG_SUBFILE_TYPE, 0, &subfile, err);
    if (status != BRIM_OK) return status;
    if (dng.n > 0) return brim_raw_refuse("DNG", err);
    if (make.n == 0 || sub.n == 0 || !(subfile & REDUCED)) return BRIM_OK;
    size_t n = make.n < MAX_MAKE ? (size_t)make.n : MAX_MAKE;
    const uint8_t *name = brim_window_look(&t->window, make.at, n);
    const char *kind = brim_raw_of_maker((const char *)name, n);
    return kind ? brim_raw_refuse(kind, err) : BRIM_OK;
}

/* --- the picture ----------------------------------------------------------------------------- */

static brim_status read_samples(tiff *t, brim_tiff_header *h, brim_error *err)
{
    values bits, extra, subsampling;
    uint32_t planar;

    brim_status status = find(t, TAG_BITS, &bits, err);
    if (status == BRIM_OK) status = find_number(t, TAG_COMPRESSION, 1, &h->compression, err);
    if (status == BRIM_OK) status = find_number(t, TAG_N_SAMPLES, 1, &h->n_samples, err);
    if (status == BRIM_OK) status = find_number(t, TAG_SAMPLE_FORMAT, 1, &h->sample_format, err);
    if (status == BRIM_OK) status = find_number(t, TAG_PLANAR, 1, &planar, err);
    if (status == BRIM_OK) status = find(t, TAG_EXTRA_SAMPLES, &extra, err);
    if (status == BRIM_OK) status = find(t, TAG_SUBSAMPLING, &subsampling, err);
    if (status == BRIM_OK)
        status = find_number(t, TAG_PHOTOMETRIC, BRIM_TIFF_WHITE_IS_ZERO, &h->photometric, err);
    if (status != BRIM_OK) return status;

    if (h->n_samples == 0 || h->n_samples > MAX_SAMPLES)
        return broken(err, "a bad number of samples");
    if (h->sample_format == 4) h->sample_format = BRIM_TIFF_UINT; /* "undefined" */
    h->planar = planar == PLANAR_SEPARATE && h->n_samples > 1;
    h->bits = bits.n ? (uint32_t)value(t, &bits, 0) : 1;
    for (uint64_t i = 0; i < bits.n && i < h->n_samples; i++) {
        if (value(t, &bits, i) != h->bits)
            return brim_fail(err, BRIM_E_UNSUPPORTED,
                             "a TIFF picture whose samples differ in their number of bits");
    }
    for (uint64_t i = 0; i < extra.n && extra.n < h->n_samples; i++) {
        uint64_t kind = value(t, &extra, i);

        if (kind == BRIM_TIFF_ASSOCIATED_ALPHA)
            h->associated_alpha = h->n_samples - (uint32_t)(extra.n - i);
        if (kind == BRIM_TIFF_ASSOCIATED_ALPHA || kind == BRIM_TIFF_ALPHA) h->n_alphas++;
    }
    h->subsampled =
        h->photometric == BRIM_TIFF_YCBCR &&
        (subsampling.n < 2 || value(t, &subsampling, 0) != 1 || value(t, &subsampling, 1) != 1);
    return BRIM_OK;
}

/* libvips makes one band of a palette that is all grey. */
static brim_status read_palette(tiff *t, brim_tiff_header *h, brim_error *err)
{
    values palette;

    if (h->photometric != BRIM_TIFF_PALETTE) return BRIM_OK;
    brim_status status = find(t, TAG_PALETTE, &palette, err);
    if (status != BRIM_OK) return status;
    if (h->bits > 16 || palette.n < (uint64_t)3 << h->bits) return broken(err, "a bad palette");
    uint64_t n = (uint64_t)1 << h->bits;
    h->grey_palette = true;
    for (uint64_t i = 0; i < n && h->grey_palette; i++) {
        uint64_t v = value(t, &palette, i);
        h->grey_palette = v == value(t, &palette, n + i) && v == value(t, &palette, 2 * n + i);
    }
    return BRIM_OK;
}

static brim_status read_shape(tiff *t, brim_tiff_header *h, brim_error *err)
{
    uint32_t tile_width, tile_height, rows_per_strip;

    brim_status status = find_number(t, TAG_TILE_WIDTH, 0, &tile_width, err);
    if (status == BRIM_OK) status = find_number(t, TAG_TILE_HEIGHT, 0, &tile_height, err);
    if (status == BRIM_OK)
        status = find_number(t, TAG_ROWS_PER_STRIP, UINT32_MAX, &rows_per_strip, err);
    if (status == BRIM_OK) status = find_number(t, TAG_WIDTH, 0, &h->width, err);
    if (status == BRIM_OK) status = find_number(t, TAG_HEIGHT, 0, &h->height, err);
    if (status != BRIM_OK) return status;
    if (h->width == 0 || h->height == 0 || h->width >= MAX_SIDE || h->height >= MAX_SIDE)
        return broken(err, "bad size");

    h->tiled = tile_width > 0 || tile_height > 0;
    if (h->tiled && (tile_width == 0 || tile_height == 0 || tile_width > MAX_TILE_SIDE ||
                     tile_height > MAX_TILE_SIDE))
        return broken(err, "bad size of tiles");
    if (!h->tiled && rows_per_strip == 0) return broken(err, "strips of no rows");
    h->block_width = h->tiled ? tile_width : h->width;
    h->block_height = h->tiled                     ? tile_height
                      : rows_per_strip < h->height ? rows_per_strip
                                                   : h->height;
    size_t across = (h->width - 1) / h->block_width + 1;
    size_t down = (h->height - 1) / h->block_height + 1;
    h->n_blocks = across * down * (h->planar ? h->n_samples : 1);
    return BRIM_OK;
}

static brim_status find_offsets(tiff *t, const brim_tiff_header *h, values *out, brim_error *err)
{
    brim_status status = find(t, h->tiled ? TAG_TILE_OFFSETS : TAG_STRIP_OFFSETS, out, err);

    if (status == BRIM_OK && out->n == 0) status = find(t, TAG_STRIP_OFFSETS, out, err);
    if (status != BRIM_OK) return status;
    if (out->n == 0) return broken(err, "no pixels in it");
    return out->n < h->n_blocks ? broken(err, "too few strips or tiles") : BRIM_OK;
}

/* Where the strips or tiles lie. A writer may leave their lengths out, and sparse ones are 0, 0. */
static brim_status read_blocks(tiff *t, brim_tiff_header *h, brim_error *err)
{
    values offsets, counts;

    brim_status status = find_offsets(t, h, &offsets, err);
    if (status == BRIM_OK)
        status = find(t, h->tiled ? TAG_TILE_BYTES : TAG_STRIP_BYTES, &counts, err);
    if (status == BRIM_OK && counts.n == 0) status = find(t, TAG_STRIP_BYTES, &counts, err);
    if (status != BRIM_OK) return status;
    for (size_t i = 0; i < h->n_blocks; i++) {
        uint64_t at = value(t, &offsets, i), n = i < counts.n ? value(t, &counts, i) : 0;

        if (at > t->bytes || n > t->bytes - at) h->truncated = true;
        if (n > t->bytes) n = t->bytes;
        if (n > h->largest_block_bytes) h->largest_block_bytes = (size_t)n;
    }
    if (counts.n == 0) h->largest_block_bytes = t->bytes;
    return BRIM_OK;
}

/* Of a file that is not in memory only the packet's beginning is looked at. */
static uint8_t xmp_orientation(tiff *t, const values *xmp)
{
    const brim_encoded *file = t->window.file;
    size_t n = (size_t)xmp->n * type_bytes(xmp->type);

    if (file->fd < 0) return brim_xmp_orientation(file->data + xmp->at, n);
    if (n > BRIM_WINDOW_BYTES) n = BRIM_WINDOW_BYTES;
    return brim_xmp_orientation(brim_window_look(&t->window, xmp->at, n), n);
}

static brim_status read_rest(tiff *t, brim_tiff_header *h, brim_error *err)
{
    size_t entry_bytes = t->big ? 20 : 12;
    uint32_t orientation;
    values xmp;

    brim_status status = find(t, TAG_XMP, &xmp, err);
    if (status == BRIM_OK) status = find_number(t, TAG_ORIENTATION, UINT32_MAX, &orientation, err);
    if (status != BRIM_OK) return status;
    if (orientation == UINT32_MAX && xmp.n > 0) orientation = xmp_orientation(t, &xmp);
    h->orientation = orientation >= 1 && orientation <= 8 ? (uint8_t)orientation : 1;
    for (size_t i = 0; i < t->n_entries; i++) {
        size_t at = t->directory + i * entry_bytes;
        uint64_t n = read_number(t, at + 4, t->big ? 8 : 4);
        size_t unit = type_bytes(read_number(t, at + 2, 2));

        if (unit > 0 && n <= t->bytes / unit) h->entries_bytes += 64 + 8 * (size_t)n;
    }
    return BRIM_OK;
}

bool brim_tiff_matches(const uint8_t *data, size_t bytes)
{
    if (bytes < 4) return false;
    return memcmp(data, "II*\0", 4) == 0 || memcmp(data, "MM\0*", 4) == 0 ||
           memcmp(data, "II+\0", 4) == 0 || memcmp(data, "MM\0+", 4) == 0;
}

static void open_tiff(tiff *t, const brim_encoded *file)
{
    t->bytes = file->bytes;
    t->big_endian = file->data[0] == 'M';
    t->big = file->data[2] == '+' || file->data[3] == '+';
    brim_window_init(&t->window, file);
}

brim_status brim_tiff_read_header(const brim_encoded *file, brim_tiff_header *out, brim_error *err)
{
    tiff t;

    open_tiff(&t, file);
    *out = (brim_tiff_header){.big_endian = t.big_endian};
    brim_status status = open_directory(&t, err);
    if (status == BRIM_OK) status = refuse_cameras(&t, err);
    if (status == BRIM_OK) status = read_samples(&t, out, err);
    if (status == BRIM_OK) status = read_palette(&t, out, err);
    if (status == BRIM_OK) status = read_shape(&t, out, err);
    if (status == BRIM_OK) status = read_blocks(&t, out, err);
    if (status == BRIM_OK) status = read_rest(&t, out, err);
    if (t.window.failed) return brim_fail(err, BRIM_E_IO, "cannot be read to its end");
    return status;
}

brim_status brim_tiff_read_offsets(const brim_encoded *file, uint64_t *out, brim_error *err)
{
    brim_tiff_header header = {0};
    values offsets;
    tiff t;

    open_tiff(&t, file);
    brim_status status = open_directory(&t, err);
    if (status == BRIM_OK) status = read_samples(&t, &header, err);
    if (status == BRIM_OK) status = read_shape(&t, &header, err);
    if (status == BRIM_OK) status = find_offsets(&t, &header, &offsets, err);
    for (size_t i = 0; status == BRIM_OK && i < header.n_blocks; i++)
        out[i] = value(&t, &offsets, i);
    if (t.window.failed) return brim_fail(err, BRIM_E_IO, "cannot be read to its end");
    return status;
}
