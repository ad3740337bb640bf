/*
 * tiff.c - TIFF and BigTIFF through libvips.
 *
 * libvips's reader expands palettes and pictures of less than 8 bits, turns white-is-zero round and
 * divides by associated alpha; all else comes as it is stored and is converted here. It reads strip
 * by strip or tile row by tile row, also where one compressed strip is the whole picture (then line
 * by line), but for planes and YCbCr, whose strips are decoded as wholes.
 */
#include "image/decoder.h"

#include "base/fail.h"
#include "base/size.h"
#include "image/tiff_planes.h"
#include "image/tiff_samples.h"
#include "image/vips_picture.h"

enum {
    MANY_ROWS = 128, /* strips of more rows are read line by line */
    TILES_BYTES = 192 * 1024,
    CODEC_BYTES = 1024 * 1024,
    USUAL_DICTIONARY_BYTES = 9 * 1024 * 1024,
    DICTIONARY_BYTES = 64 * 1024 * 1024, /* LZMA's and Zstandard's at most */
    FLOAT_ROWS = 48,                     /* on their way through the division by alpha */
};

static const brim_vips_kind TIFF = {"TIFF", "a TIFF picture", "tiffload_buffer",
                                    offsetof(brim_vips, load_tiff)};

/* Of a strip or tile, decoded. */
static size_t block_bytes(const brim_tiff_header *h)
{
    size_t samples = h->planar ? 1 : h->n_samples;
    size_t row_bytes = brim_mul_saturated(h->block_width, samples * h->bits) / 8 + 1;

    return brim_mul_saturated(row_bytes, h->block_height);
}

static size_t codec_bytes(const brim_tiff_header *h)
{
    size_t decoded = block_bytes(h);

    switch (h->compression) {
    case BRIM_TIFF_LZMA:
    case BRIM_TIFF_ZSTD: /* of a dictionary beyond the usual no more is touched than is decoded */
        return USUAL_DICTIONARY_BYTES +
               (decoded < DICTIONARY_BYTES / 2 ? 2 * decoded : DICTIONARY_BYTES);
    case BRIM_TIFF_WEBP:
        return CODEC_BYTES + 5 * (decoded / 3);
    default:
        return CODEC_BYTES;
    }
}

/* libtiff, beside the cache behind it: blocks as stored and decoded, lists of where they lie. */
static size_t library_bytes(const brim_tiff_header *h, const brim_samples *samples,
                            const brim_image_info *info, bool from_fd)
{
    size_t pixel_bytes = samples->pixel.n_bands * brim_sample_bytes(samples->pixel.type);
    bool line_by_line =
        h->block_height > MANY_ROWS && !h->planar && h->photometric != BRIM_TIFF_YCBCR;
    size_t bytes = codec_bytes(h) + 3 * h->entries_bytes;

    if (h->compression != BRIM_TIFF_UNCOMPRESSED || (from_fd && !line_by_line))
        bytes += h->largest_block_bytes;
    if (h->associated_alpha > 0)
        bytes += brim_mul_saturated(FLOAT_ROWS * sizeof(float) * h->n_samples, info->width);
    if (h->tiled) {
        size_t across = (h->width - 1) / h->block_width + 1;
        size_t row_of_tiles =
            brim_mul_saturated(brim_mul_saturated(across + 1, h->block_width), h->block_height);

        bytes += 2 * block_bytes(h) + 2 * brim_mul_saturated(row_of_tiles, pixel_bytes);
        return bytes + brim_vips_pipeline_bytes(info, pixel_bytes, 1) / 8 + TILES_BYTES;
    }
    size_t read_rows = line_by_line ? 1 : h->block_height;
    if (!line_by_line)
        bytes += brim_mul_saturated(block_bytes(h), h->planar ? 1 + h->n_samples : 1);
    return bytes + brim_vips_pipeline_bytes(info, pixel_bytes,
                                            read_rows >= 16 ? read_rows : 16 - 16 % read_rows);
}

static brim_status tiff_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    brim_tiff_header header;
    brim_samples samples = {0};
    const brim_vips *vips;

    brim_status status = brim_tiff_read_header(file, &header, err);
    if (status != BRIM_OK) return status;
    if (header.truncated && !file->options->accept_truncated)
        return brim_fail(err, BRIM_E_FORMAT, "truncated TIFF");
    status = brim_vips_open(TIFF.what, TIFF.loader, &vips, err);
    if (status == BRIM_OK) status = brim_tiff_settle(&header, file->options, &samples, err);
    if (status != BRIM_OK) return status;

    brim_tiff_describe(&header, &samples, info);
    info->whole_frame = header.block_height == header.height;
    info->foreign_bytes = library_bytes(&header, &samples, info, file->fd >= 0);
    info->scratch_bytes = info->foreign_bytes + brim_vips_decoder_bytes();
    return BRIM_OK;
}

static brim_status tiff_open(const brim_alloc *mem, const brim_encoded *file,
                             const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    brim_vips_image *image;
    brim_tiff_header header;
    brim_samples samples = {0};
    const brim_vips *vips;

    *out = NULL;
    brim_status status = brim_tiff_read_header(file, &header, err);
    if (status == BRIM_OK) status = brim_tiff_settle(&header, file->options, &samples, err);
    if (status == BRIM_OK) status = brim_vips_open(TIFF.what, TIFF.loader, &vips, err);
    if (status == BRIM_OK) status = brim_vips_open_image(vips, &TIFF, file, &image, err);
    if (status != BRIM_OK) return status;
    return brim_vips_decoder_open(mem, vips, &TIFF, file, info, &samples, image, out, err);
}

const brim_format brim_format_tiff = {
    .name = "TIFF",
    .needs_libvips = true,
    .takes_fd = true,
    .matches = brim_tiff_matches,
    .variant = brim_tiff_planes_variant,
    .probe = tiff_probe,
    .open = tiff_open,
    .next_row = brim_vips_next_row,
    .read_profile = brim_vips_read_profile,
    .close = brim_vips_close,
};
