/*
 * samples.c - picks bands and converts rows.
 *
 * Pillow's ways: 16 bits of colour keep their upper byte, 16 bits of grey are scaled or clamped as
 * the options say, whole numbers and floats of 32 bits are clamped to 0..255 (fractions cut off).
 */
#include "image/samples.h"

#include <assert.h>
#include <string.h>

#include "base/fail.h"

enum {
    CHUNK = 256, /* pixels whose inks lie apart for a moment */
};

static const char *const TYPE_NAMES[] = {"uint8", "uint16", "int16", "int32", "float32"};

size_t brim_sample_bytes(brim_sample_type type)
{
    switch (type) {
    case BRIM_SAMPLE_U8:
        return 1;
    case BRIM_SAMPLE_U16:
    case BRIM_SAMPLE_S16:
        return 2;
    default:
        return 4;
    }
}

/* --- which bands ----------------------------------------------------------------------------- */

static uint32_t n_colours(brim_colour colour)
{
    switch (colour) {
    case BRIM_COLOUR_GREY:
        return 1;
    case BRIM_COLOUR_CMYK:
        return 4;
    default:
        return 3;
    }
}

static brim_status choose(const brim_pixel *pixel, const uint32_t *bands, brim_samples *out,
                          brim_error *err)
{
    bool shown[3] = {false, false, false};

    for (size_t i = 0; i < 3; i++) {
        if (bands[i] < 1 || bands[i] > pixel->n_bands)
            return brim_fail(err, BRIM_E_ARG, "--bands %u,%u,%u: the picture has %u", bands[0],
                             bands[1], bands[2], pixel->n_bands);
        out->from[i] = bands[i] - 1;
        shown[i] = true;
        for (size_t j = 0; j < i; j++) {
            if (bands[j] == bands[i]) shown[i] = false;
        }
    }
    uint32_t n_shown = (uint32_t)shown[0] + shown[1] + shown[2];
    uint32_t n_rest = pixel->n_bands - n_shown;
    out->ignored_bands = (uint16_t)(n_rest > pixel->n_alphas ? n_rest - pixel->n_alphas : 0);
    out->colour = BRIM_COLOUR_RGB;
    return BRIM_OK;
}

/* Nothing says which are to show: many bands, or colours of a kind that has no 8-bit meaning. */
static bool is_plain(const brim_pixel *pixel)
{
    uint32_t n = n_colours(pixel->colour);
    uint32_t n_extra = pixel->n_bands - n;

    if (pixel->colour == BRIM_COLOUR_BANDS) return false;
    if (pixel->type > BRIM_SAMPLE_U16 && pixel->n_bands > 1) return false;
    return n_extra <= 1;
}

brim_status brim_samples_settle(const brim_pixel *pixel, const brim_reader_options *options,
                                brim_samples *out, brim_error *err)
{
    const uint32_t *bands = options->bands;
    uint32_t n = n_colours(pixel->colour);
    const char *type = TYPE_NAMES[pixel->type];

    *out = (brim_samples){.pixel = *pixel, .colour = pixel->colour};
    out->clamp = options->depth == BRIM_DEPTH_CLAMP;
    if (bands[0] || bands[1] || bands[2]) return choose(pixel, bands, out, err);
    if (pixel->n_bands < n && pixel->colour != BRIM_COLOUR_BANDS)
        return brim_fail(err, BRIM_E_FORMAT, "a picture of %u bands where %u make a colour",
                         pixel->n_bands, n);
    if (!is_plain(pixel)) {
        if (pixel->n_bands < 3)
            return brim_fail(err, BRIM_E_UNSUPPORTED, "%u bands, %s: choose with --bands 1,1,1",
                             pixel->n_bands, type);
        return brim_fail(err, BRIM_E_UNSUPPORTED, "%u bands, %s: choose three with --bands 1,2,3",
                         pixel->n_bands, type);
    }
    for (uint32_t i = 1; i < 3 && n > 1; i++)
        out->from[i] = i;
    out->ignored_bands = (uint16_t)(pixel->n_bands - n - pixel->n_alphas);
    return BRIM_OK;
}

/* --- rows ------------------------------------------------------------------------------------ */

static uint8_t clamp_whole(int32_t v)
{
    return (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : v);
}

/* A float that is no number is black. */
static uint8_t clamp_float(float v)
{
    return (uint8_t)(v >= 255 ? 255 : v > 0 ? v : 0);
}

/* One band of n pixels into every step-th byte of out. */
static void band_to_8(const brim_samples *s, const void *row, uint32_t band, uint8_t *out,
                      size_t step, size_t n)
{
    bool clamp = s->clamp && s->colour == BRIM_COLOUR_GREY;
    size_t stride = s->pixel.n_bands;

    switch (s->pixel.type) {
    case BRIM_SAMPLE_U8:
        for (size_t i = 0; i < n; i++)
            out[i * step] = ((const uint8_t *)row)[i * stride + band];
        break;
    case BRIM_SAMPLE_U16:
        for (size_t i = 0; i < n; i++) {
            uint16_t v = ((const uint16_t *)row)[i * stride + band];
            out[i * step] = (uint8_t)(clamp ? clamp_whole(v) : v >> 8);
        }
        break;
    case BRIM_SAMPLE_S16:
        for (size_t i = 0; i < n; i++)
            out[i * step] = clamp_whole(((const int16_t *)row)[i * stride + band]);
        break;
    case BRIM_SAMPLE_S32:
        for (size_t i = 0; i < n; i++)
            out[i * step] = clamp_whole(((const int32_t *)row)[i * stride + band]);
        break;
    case BRIM_SAMPLE_F32:
        for (size_t i = 0; i < n; i++)
            out[i * step] = clamp_float(((const float *)row)[i * stride + band]);
        break;
    }
}

static uint8_t clip_8(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* What is left of white after each ink, a product rounded as Pillow rounds it. */
static void cmyk_to_rgb(const uint8_t *inks, uint8_t *rgb)
{
    int white = 255 - inks[3 * CHUNK];

    for (size_t c = 0; c < 3; c++) {
        int product = inks[c * CHUNK] * white + 128;

        rgb[c] = clip_8(white - (((product >> 8) + product) >> 8));
    }
}

/* Pillow's fixed point: 6 bits after the point. */
static void ycbcr_to_rgb(const uint8_t *planes, uint8_t *rgb)
{
    int y = planes[0];
    int cb = planes[CHUNK] - 128, cr = planes[2 * CHUNK] - 128;

    rgb[0] = clip_8(y + ((cr * 5743) >> 12));
    rgb[1] = clip_8(y + ((-cb * 1410 - cr * 2925) >> 12));
    rgb[2] = clip_8(y + ((cb * 7258) >> 12));
}

/* Colours of which every band has a say in every one of R, G and B. */
static void mixed_to_rgb(const brim_samples *s, const void *row, uint8_t *rgb, size_t n)
{
    uint8_t planes[4 * CHUNK];
    size_t pixel_bytes = brim_sample_bytes(s->pixel.type) * s->pixel.n_bands;
    uint32_t n_planes = n_colours(s->colour);

    for (size_t at = 0; at < n; at += CHUNK) {
        size_t m = n - at < CHUNK ? n - at : CHUNK;

        for (uint32_t band = 0; band < n_planes; band++)
            band_to_8(s, (const uint8_t *)row + at * pixel_bytes, band, planes + band * CHUNK, 1,
                      m);
        for (size_t i = 0; i < m; i++) {
            if (s->colour == BRIM_COLOUR_CMYK)
                cmyk_to_rgb(planes + i, rgb + 3 * (at + i));
            else
                ycbcr_to_rgb(planes + i, rgb + 3 * (at + i));
        }
    }
}

/*
 * libvips has divided colours u by opacity a, fractions cut off. What was stored is found again,
 * v = (u + 1/2) a / top, and divided as Pillow does it, the upper bytes of 16 bits alone.
 */
static uint8_t divide_again(uint32_t u, uint32_t a, uint32_t top)
{
    uint64_t stored = ((2 * (uint64_t)u + 1) * a + top - 1) / (2 * (uint64_t)top);
    uint32_t v = (uint32_t)(top > 255 ? stored >> 8 : stored);

    if (top > 255) a >>= 8;
    if (a == 0) return 0;
    return (uint8_t)(v >= a ? 255 : v * 255 / a);
}

static void divided_to_rgb(const brim_samples *s, const void *row, uint8_t *rgb, size_t n)
{
    uint32_t alpha = s->pixel.alpha;

    for (size_t i = 0; i < n; i++) {
        const uint8_t *p8 = (const uint8_t *)row + i * s->pixel.n_bands;
        const uint16_t *p16 = (const uint16_t *)row + i * s->pixel.n_bands;

        for (size_t c = 0; c < 3; c++) {
            uint32_t band = s->from[c];
            rgb[3 * i + c] = s->pixel.type == BRIM_SAMPLE_U8
                                 ? divide_again(p8[band], p8[alpha], 255)
                                 : divide_again(p16[band], p16[alpha], 65535);
        }
    }
}

void brim_samples_to_rgb(const brim_samples *s, const void *row, uint8_t *rgb, size_t n)
{
    if (s->colour == BRIM_COLOUR_CMYK || s->colour == BRIM_COLOUR_YCBCR) {
        mixed_to_rgb(s, row, rgb, n);
        return;
    }
    if (s->pixel.alpha > 0 && s->pixel.type <= BRIM_SAMPLE_U16) {
        divided_to_rgb(s, row, rgb, n);
        return;
    }
    for (size_t c = 0; c < 3; c++)
        band_to_8(s, row, s->from[c], rgb + c, 3, n);
}
