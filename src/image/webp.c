/*
 * webp.c - WebP through libwebp.
 *
 * The picture is decoded as a whole when the first row is wanted. Of an animation the first frame
 * is taken, on a canvas that is black around it. Transparency is dropped. Shrinking saves memory,
 * since the frame is then kept at its smaller size, and some time.
 *
 * libwebp allocates by itself: what it will take is predicted in the probe.
 */
#include "image/decoder.h"

#include <string.h>

#include <webp/decode.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/icc.h"
#include "image/webp_container.h"
#include "image/xmp.h"

typedef struct webp_decoder {
    const brim_alloc *mem;
    const brim_image_info *info;
    bool accept_truncated;
    uint8_t *pixels; /* [n_rows][row_width][3] */
    size_t pixels_bytes;
    uint32_t next_row;
} webp_decoder;

static brim_status webp_fail(VP8StatusCode code, brim_error *err)
{
    switch (code) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return brim_fail(err, BRIM_E_FORMAT, "truncated WebP");
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
    size_t n_px, n_kept, width = info->width;

    if (brim_mul_bytes(width, info->height, &n_px) != BRIM_OK || n_px > SIZE_MAX / 16)
        return BRIM_E_ARG;
    n_kept = (size_t)info->row_width * info->n_rows;
    size_t lossy = 64 * 1024 + 192 * width;
    if (features->has_alpha) lossy += 5 * n_px;
    size_t lossless = 512 * 1024 + 80 * width + 5 * n_px;

    info->foreign_bytes = features->format == 1 || lossy > lossless ? lossy : lossless;
    if (info->shrink > 1) info->foreign_bytes += 64 * width; /* rows of the scaler */
    info->scratch_bytes = info->foreign_bytes + 3 * n_kept + sizeof(webp_decoder);
    return BRIM_OK;
}

/* Container and picture header; an animation has a first frame then. */
static brim_status read_headers(const brim_encoded *file, brim_webp_container *container,
                                WebPBitstreamFeatures *features, brim_error *err)
{
    brim_status status = brim_webp_read_container(file->data, file->bytes,
                                                  file->options->accept_truncated, container, err);

    if (status != BRIM_OK) return status;
    VP8StatusCode code = WebPGetFeatures(file->data, container->bytes, features);
    if (code != VP8_STATUS_OK) return webp_fail(code, err);
    if (features->has_animation && container->frame.bytes < BRIM_WEBP_FRAME_HEADER)
        return brim_fail(err, BRIM_E_FORMAT, "broken WebP: an animation without frames");
    return BRIM_OK;
}

static brim_status webp_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    WebPBitstreamFeatures features;
    brim_webp_container container;

    brim_status status = read_headers(file, &container, &features, err);
    if (status != BRIM_OK) return status;
    info->width = info->row_width = (uint32_t)features.width;
    info->height = info->n_rows = (uint32_t)features.height;
    info->whole_frame = true;
    if (info->width == 0 || info->height == 0 || predict(&features, info) != BRIM_OK)
        return brim_fail(err, BRIM_E_FORMAT, "broken WebP: bad size");
    info->orientation = brim_orientation_of(container.exif.data, container.exif.bytes,
                                            container.xmp.data, container.xmp.bytes);
    return BRIM_OK;
}

/* libwebp scales whole pictures, not the frames of an animation, which lie on a canvas. */
static void webp_shrink(const brim_encoded *file, uint32_t factor, brim_image_info *info)
{
    WebPBitstreamFeatures features;
    brim_webp_container container;

    if (read_headers(file, &container, &features, NULL) != BRIM_OK || features.has_animation)
        return;
    brim_image_info_shrink(info, factor);
    predict(&features, info); /* of fewer pixels than in the probe, so it fits */
}

/* Rows that came before the bytes ended are there, the others stay black. */
static VP8StatusCode decode_what_is_there(const brim_webp_chunk *picture, WebPDecoderConfig *config)
{
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, config);

    if (!decoder) return VP8_STATUS_OUT_OF_MEMORY;
    VP8StatusCode code = WebPIUpdate(decoder, picture->data, picture->bytes);
    WebPIDelete(decoder);
    return code == VP8_STATUS_SUSPENDED ? VP8_STATUS_OK : code;
}

/* Decodes one picture, width x height, to `out`, which lies in rows of self's row_width. */
static brim_status decode(const webp_decoder *self, const brim_webp_chunk *picture, uint32_t width,
                          uint32_t height, uint8_t *out, brim_error *err)
{
    const brim_image_info *info = self->info;
    WebPDecoderConfig config;

    if (!WebPInitDecoderConfig(&config))
        return brim_fail(err, BRIM_E_UNSUPPORTED, "libwebp is of another version");
    VP8StatusCode code = WebPGetFeatures(picture->data, picture->bytes, &config.input);
    if (code != VP8_STATUS_OK) return webp_fail(code, err);
    if ((uint32_t)config.input.width != width || (uint32_t)config.input.height != height)
        return brim_fail(err, BRIM_E_FORMAT, "broken WebP: sizes that contradict each other");

    config.options.use_scaling = info->shrink > 1;
    config.options.scaled_width = (int)info->row_width;
    config.options.scaled_height = (int)info->n_rows;
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out;
    config.output.u.RGBA.stride = (int)(3 * info->row_width);
    config.output.u.RGBA.size = self->pixels_bytes - (size_t)(out - self->pixels);
    code = self->accept_truncated ? decode_what_is_there(picture, &config)
                                  : WebPDecode(picture->data, picture->bytes, &config);
    return code == VP8_STATUS_OK ? BRIM_OK : webp_fail(code, err);
}

static brim_status decode_first_frame(const webp_decoder *self, const brim_webp_chunk *frame,
                                      brim_error *err)
{
    const uint8_t *p = frame->data;
    uint32_t x = 2 * brim_webp_u24(p), y = 2 * brim_webp_u24(p + 3);
    uint32_t width = brim_webp_u24(p + 6) + 1, height = brim_webp_u24(p + 9) + 1;
    brim_webp_chunk picture = {p + BRIM_WEBP_FRAME_HEADER, frame->bytes - BRIM_WEBP_FRAME_HEADER};

    if (width > self->info->width || x > self->info->width - width || height > self->info->height ||
        y > self->info->height - height)
        return brim_fail(err, BRIM_E_FORMAT, "broken WebP: a frame outside its canvas");
    return decode(self, &picture, width, height,
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
    brim_webp_container container;

    *out = NULL;
    brim_status status = brim_webp_read_container(file->data, file->bytes,
                                                  file->options->accept_truncated, &container, err);
    if (status != BRIM_OK) return status;
    webp_decoder *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "WebP: no memory for %zu bytes", sizeof(*self));
    self->mem = mem;
    self->info = info;
    self->accept_truncated = file->options->accept_truncated;
    self->pixels_bytes =
        3 * (size_t)info->row_width * info->n_rows; /* the probe saw that it fits */
    self->pixels = brim_alloc_zeroed(mem, self->pixels_bytes, &status);
    if (!self->pixels) {
        brim_fail(err, status, "WebP: no memory for %zu bytes", self->pixels_bytes);
        goto fail;
    }
    brim_webp_chunk whole = {file->data, container.bytes};
    status = container.frame.data
                 ? decode_first_frame(self, &container.frame, err)
                 : decode(self, &whole, info->width, info->height, self->pixels, err);
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
    size_t row_bytes = 3 * (size_t)self->info->row_width;

    (void)err;
    if (self->next_row == self->info->n_rows) return BRIM_END;
    memcpy(rgb, self->pixels + self->next_row * row_bytes, row_bytes);
    self->next_row++;
    return BRIM_OK;
}

static void webp_read_profile(brim_decoder *decoder, const brim_encoded *file,
                              const brim_alloc *mem, void **out, size_t *bytes)
{
    brim_webp_container container;
    brim_status status;

    (void)decoder;
    *out = NULL;
    *bytes = 0;
    if (brim_webp_read_container(file->data, file->bytes, true, &container, NULL) != BRIM_OK)
        return;
    *bytes = container.icc.bytes;
    if (*bytes == 0 || *bytes > BRIM_ICC_MAX_PROFILE_BYTES) return;
    *out = brim_alloc_zeroed(mem, *bytes, &status);
    if (*out) memcpy(*out, container.icc.data, *bytes);
}

const brim_format brim_format_webp = {
    .name = "WebP",
    .matches = brim_webp_matches,
    .probe = webp_probe,
    .shrink = webp_shrink,
    .open = webp_open,
    .next_row = webp_next_row,
    .read_profile = webp_read_profile,
    .close = webp_close,
};
