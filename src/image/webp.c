/*
 * webp.c - WebP through libwebp.
 *
 * The picture is decoded as a whole when the first row is wanted. Of an animation the first frame
 * is taken, on a canvas that is black around it. Transparency is dropped. The container is walked
 * here, for the EXIF chunk and the first frame, since that takes no memory.
 *
 * libwebp allocates by itself: what it will take is predicted in the probe.
 */
#include "image/decoder.h"

#include <string.h>

#include <webp/decode.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/exif.h"

typedef struct webp_layout {
    size_t bytes;        /* of the file, without what trails it */
    const uint8_t *exif; /* NULL where there is none */
    size_t exif_bytes;
    const uint8_t
        *frame; /* first frame of an animation: its header and its picture; NULL if none */
    size_t frame_bytes;
} webp_layout;

typedef struct webp_decoder {
    const brim_alloc *mem;
    const brim_image_info *info;
    uint8_t *pixels; /* [height][width][3] */
    size_t pixels_bytes;
    uint32_t next_row;
} webp_decoder;

enum {
    RIFF_HEADER = 12,
    CHUNK_HEADER = 8,
    FRAME_HEADER = 16,
    ANIMATION_FLAG = 2,
};

static brim_status truncated(brim_error *err)
{
    return brim_fail(err, BRIM_E_FORMAT, "truncated WebP");
}

static uint32_t read_u24(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

static uint32_t read_u32(const uint8_t *p)
{
    return read_u24(p) | (uint32_t)p[3] << 24;
}

static bool webp_matches(const uint8_t *data, size_t bytes)
{
    return bytes >= RIFF_HEADER && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0;
}

/* Walks the chunks of the container. */
static brim_status lay_out(const uint8_t *data, size_t bytes, webp_layout *out, brim_error *err)
{
    size_t claimed = (size_t)read_u32(data + 4) + CHUNK_HEADER;
    size_t at = RIFF_HEADER;
    bool animated = false;

    *out = (webp_layout){.bytes = claimed};
    if (claimed > bytes) return truncated(err);
    while (at < claimed && claimed - at >= CHUNK_HEADER) {
        const uint8_t *p = data + at + CHUNK_HEADER;
        size_t n = read_u32(data + at + 4);

        if (n > claimed - at - CHUNK_HEADER) return truncated(err);
        if (memcmp(data + at, "VP8X", 4) == 0 && n > 0) animated = p[0] & ANIMATION_FLAG;
        if (memcmp(data + at, "EXIF", 4) == 0 && !out->exif) {
            out->exif = p;
            out->exif_bytes = n;
        }
        if (memcmp(data + at, "ANMF", 4) == 0 && animated && !out->frame) {
            out->frame = p;
            out->frame_bytes = n;
        }
        at += CHUNK_HEADER + n + (n & 1);
    }
    return BRIM_OK;
}

static brim_status webp_fail(VP8StatusCode code, brim_error *err)
{
    switch (code) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return truncated(err);
    case VP8_STATUS_OUT_OF_MEMORY:
        return brim_fail(err, BRIM_E_NOMEM, "WebP: the system refused memory");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a WebP with features that libwebp lacks");
    default:
        return brim_fail(err, BRIM_E_FORMAT, "broken WebP");
    }
}

/*
 * Lossy: a few rows of macroblocks, and the whole alpha plane with what its own decoder needs.
 * Lossless: 4 bytes a pixel, some rows, and tables of prefix codes.
 */
static brim_status predict(const WebPBitstreamFeatures *features, brim_image_info *info)
{
    size_t n_px, width = info->width;

    if (brim_mul_bytes(width, info->height, &n_px) != BRIM_OK || n_px > SIZE_MAX / 16)
        return BRIM_E_ARG;
    size_t lossy = 64 * 1024 + 192 * width;
    if (features->has_alpha) lossy += 5 * n_px;
    size_t lossless = 512 * 1024 + 80 * width + 5 * n_px;

    info->foreign_bytes = features->format == 1 || lossy > lossless ? lossy : lossless;
    info->scratch_bytes = info->foreign_bytes + 3 * n_px + sizeof(webp_decoder);
    return BRIM_OK;
}

static brim_status webp_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    WebPBitstreamFeatures features;
    webp_layout layout;

    brim_status status = lay_out(file->data, file->bytes, &layout, err);
    if (status != BRIM_OK) return status;
    VP8StatusCode code = WebPGetFeatures(file->data, layout.bytes, &features);
    if (code != VP8_STATUS_OK) return webp_fail(code, err);
    if (features.has_animation && (!layout.frame || layout.frame_bytes < FRAME_HEADER))
        return brim_fail(err, BRIM_E_FORMAT, "broken WebP: an animation without frames");

    info->width = (uint32_t)features.width;
    info->height = (uint32_t)features.height;
    info->whole_frame = true;
    if (info->width == 0 || info->height == 0 || predict(&features, info) != BRIM_OK)
        return brim_fail(err, BRIM_E_FORMAT, "broken WebP: bad size");
    if (layout.exif) info->orientation = brim_exif_orientation(layout.exif, layout.exif_bytes);
    return BRIM_OK;
}

/* Decodes one picture, width x height, to `out`, which lies in rows of self's width. */
static brim_status decode(const webp_decoder *self, const uint8_t *data, size_t bytes,
                          uint32_t width, uint32_t height, uint8_t *out, brim_error *err)
{
    size_t stride = 3 * (size_t)self->info->width;
    WebPDecoderConfig config;

    if (!WebPInitDecoderConfig(&config))
        return brim_fail(err, BRIM_E_UNSUPPORTED, "libwebp is of another version");
    VP8StatusCode code = WebPGetFeatures(data, bytes, &config.input);
    if (code != VP8_STATUS_OK) return webp_fail(code, err);
    if ((uint32_t)config.input.width != width || (uint32_t)config.input.height != height)
        return brim_fail(err, BRIM_E_FORMAT, "broken WebP: sizes that contradict each other");

    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = self->pixels_bytes - (size_t)(out - self->pixels);
    code = WebPDecode(data, bytes, &config);
    return code == VP8_STATUS_OK ? BRIM_OK : webp_fail(code, err);
}

static brim_status decode_first_frame(const webp_decoder *self, const webp_layout *file,
                                      brim_error *err)
{
    const uint8_t *p = file->frame;
    uint32_t x = 2 * read_u24(p), y = 2 * read_u24(p + 3);
    uint32_t width = read_u24(p + 6) + 1, height = read_u24(p + 9) + 1;

    if (width > self->info->width || x > self->info->width - width || height > self->info->height ||
        y > self->info->height - height)
        return brim_fail(err, BRIM_E_FORMAT, "broken WebP: a frame outside its canvas");
    return decode(self, p + FRAME_HEADER, file->frame_bytes - FRAME_HEADER, width, height,
                  self->pixels + 3 * ((size_t)y * self->info->width + x), err);
}

static void webp_close(brim_decoder *decoder)
{
    webp_decoder *self = (webp_decoder *)decoder;

    if (!self) return;
    brim_alloc_release(self->mem, self->pixels, self->pixels_bytes);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static brim_status webp_open(const brim_alloc *mem, const brim_encoded *file,
                             const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    webp_layout layout;

    *out = NULL;
    brim_status status = lay_out(file->data, file->bytes, &layout, err);
    if (status != BRIM_OK) return status;
    webp_decoder *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "WebP: no memory for %zu bytes", sizeof(*self));
    self->mem = mem;
    self->info = info;
    self->pixels_bytes = 3 * (size_t)info->width * info->height; /* the probe saw that it fits */
    self->pixels = brim_alloc_zeroed(mem, self->pixels_bytes, &status);
    if (!self->pixels) {
        brim_fail(err, status, "WebP: no memory for %zu bytes", self->pixels_bytes);
        goto fail;
    }
    status = layout.frame ? decode_first_frame(self, &layout, err)
                          : decode(self, file->data, layout.bytes, info->width, info->height,
                                   self->pixels, err);
    if (status != BRIM_OK) goto fail;
    *out = (brim_decoder *)self;
    return BRIM_OK;

fail:
    webp_close((brim_decoder *)self);
    return status;
}

static brim_status webp_next_row(brim_decoder *decoder, uint8_t *rgb, brim_error *err)
{
    webp_decoder *self = (webp_decoder *)decoder;
    size_t row_bytes = 3 * (size_t)self->info->width;

    (void)err;
    if (self->next_row == self->info->height) return BRIM_END;
    memcpy(rgb, self->pixels + self->next_row * row_bytes, row_bytes);
    self->next_row++;
    return BRIM_OK;
}

const brim_format brim_format_webp = {
    .name = "WebP",
    .matches = webp_matches,
    .probe = webp_probe,
    .open = webp_open,
    .next_row = webp_next_row,
    .close = webp_close,
};
