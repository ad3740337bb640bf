/* webp_container.c - a walk over the chunks of a WebP file. */
#include "image/webp_container.h"

#include <string.h>

#include "base/fail.h"

enum {
    RIFF_HEADER = 12,
    CHUNK_HEADER = 8,
    ANIMATION_FLAG = 2,
};

uint32_t brim_webp_u24(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

uint32_t brim_webp_u32(const uint8_t *p)
{
    return brim_webp_u24(p) | (uint32_t)p[3] << 24;
}

bool brim_webp_matches(const uint8_t *data, size_t bytes)
{
    return bytes >= RIFF_HEADER && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0;
}

/* Of several chunks of a kind the first counts. */
static void keep_first(brim_webp_chunk *kept, const uint8_t *data, size_t bytes)
{
    if (!kept->data) *kept = (brim_webp_chunk){data, bytes};
}

static void take_chunk(const uint8_t *name, const uint8_t *data, size_t bytes, bool *animated,
                       brim_webp_container *out)
{
    if (memcmp(name, "VP8X", 4) == 0 && bytes > 0) *animated = data[0] & ANIMATION_FLAG;
    if (memcmp(name, "EXIF", 4) == 0) keep_first(&out->exif, data, bytes);
    if (memcmp(name, "XMP ", 4) == 0) keep_first(&out->xmp, data, bytes);
    if (memcmp(name, "ICCP", 4) == 0) keep_first(&out->icc, data, bytes);
    if (memcmp(name, "ANMF", 4) == 0 && *animated) keep_first(&out->frame, data, bytes);
}

brim_status brim_webp_read_container(const uint8_t *data, size_t bytes, bool accept_truncated,
                                     brim_webp_container *out, brim_error *err)
{
    size_t claimed = (size_t)brim_webp_u32(data + 4) + CHUNK_HEADER;
    size_t at = RIFF_HEADER;
    bool animated = false;

    if (claimed > bytes && !accept_truncated)
        return brim_fail(err, BRIM_E_FORMAT, "truncated WebP");
    if (claimed > bytes) claimed = bytes;
    *out = (brim_webp_container){.bytes = claimed};
    while (at < claimed && claimed - at >= CHUNK_HEADER) {
        size_t n = brim_webp_u32(data + at + 4), left = claimed - at - CHUNK_HEADER;

        if (n > left && !accept_truncated) return brim_fail(err, BRIM_E_FORMAT, "truncated WebP");
        if (n > left) n = left;
        take_chunk(data + at, data + at + CHUNK_HEADER, n, &animated, out);
        at += CHUNK_HEADER + n + (n & 1);
    }
    return BRIM_OK;
}
