/* tiff_samples.c - the kinds of samples and colours that TIFFs have. */
#include "image/tiff_samples.h"

#include "base/fail.h"

static brim_status sample_type(const brim_tiff_header *h, brim_sample_type *out, brim_error *err)
{
    if (h->bits <= 8 && h->sample_format != BRIM_TIFF_FLOAT &&
        (h->bits == 8 || h->bits == 4 || h->bits == 2 || h->bits == 1))
        *out = BRIM_SAMPLE_U8;
    else if (h->bits == 16 && h->sample_format == BRIM_TIFF_UINT)
        *out = BRIM_SAMPLE_U16;
    else if (h->bits == 16 && h->sample_format == BRIM_TIFF_INT)
        *out = BRIM_SAMPLE_S16;
    else if (h->bits == 32 && h->sample_format == BRIM_TIFF_FLOAT)
        *out = BRIM_SAMPLE_F32;
    else if (h->bits == 32 && h->sample_format <= BRIM_TIFF_INT)
        *out = BRIM_SAMPLE_S32;
    else
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a TIFF picture with %s samples of %u bits",
                         h->sample_format == BRIM_TIFF_FLOAT ? "float" : "whole", h->bits);
    return BRIM_OK;
}

static brim_status colour_of(const brim_tiff_header *h, brim_pixel *pixel, brim_error *err)
{
    switch (h->photometric) {
    case BRIM_TIFF_WHITE_IS_ZERO:
    case BRIM_TIFF_BLACK_IS_ZERO:
        pixel->colour = h->n_samples <= 2 ? BRIM_COLOUR_GREY : BRIM_COLOUR_BANDS;
        return BRIM_OK;
    case BRIM_TIFF_RGB:
        pixel->colour = BRIM_COLOUR_RGB;
        return BRIM_OK;
    case BRIM_TIFF_PALETTE: /* what libvips makes of it */
        pixel->colour = h->grey_palette ? BRIM_COLOUR_GREY : BRIM_COLOUR_RGB;
        if (!h->grey_palette) pixel->n_bands += 2;
        return BRIM_OK;
    case BRIM_TIFF_CMYK:
        pixel->colour = BRIM_COLOUR_CMYK;
        return BRIM_OK;
    case BRIM_TIFF_YCBCR:
        if (h->compression == BRIM_TIFF_JPEG)
            pixel->colour = h->n_samples == 1 ? BRIM_COLOUR_GREY : BRIM_COLOUR_RGB;
        else if (h->subsampled && h->n_samples > 1)
            return brim_fail(err, BRIM_E_UNSUPPORTED,
                             "a TIFF picture in YCbCr, subsampled and not compressed by JPEG");
        else
            pixel->colour = h->n_samples == 1 ? BRIM_COLOUR_GREY : BRIM_COLOUR_YCBCR;
        return BRIM_OK;
    default:
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a TIFF picture in colours of kind %u",
                         h->photometric);
    }
}

brim_status brim_tiff_settle(const brim_tiff_header *h, const brim_reader_options *options,
                             brim_samples *out, brim_error *err)
{
    brim_pixel pixel = {.n_bands = h->n_samples, .n_alphas = h->n_alphas};

    if (h->compression == BRIM_TIFF_OLD_JPEG)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a TIFF picture compressed by old-style JPEG");
    if (h->tiled && h->planar)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a TIFF picture of tiles in separate planes");
    brim_status status = sample_type(h, &pixel.type, err);
    if (status == BRIM_OK) status = colour_of(h, &pixel, err);
    if (status != BRIM_OK) return status;
    pixel.alpha = h->associated_alpha;
    return brim_samples_settle(&pixel, options, out, err);
}

void brim_tiff_describe(const brim_tiff_header *header, const brim_samples *samples,
                        brim_image_info *info)
{
    info->width = header->width;
    info->height = header->height;
    info->orientation = header->orientation;
    info->depth = (uint8_t)header->bits;
    info->ignored_bands = samples->ignored_bands;
    info->grey = samples->colour == BRIM_COLOUR_GREY;
}
