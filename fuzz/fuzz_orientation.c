/*
 * fuzz_orientation.c - the same bytes as an EXIF block, an XMP packet, both, the chunks of a PNG
 * behind its signature, and the headers that are walked without a library.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "image/bmp_header.h"
#include "image/exif.h"
#include "image/gif_header.h"
#include "image/jpeg_header.h"
#include "image/png_chunks.h"
#include "image/webp_container.h"
#include "image/xmp.h"

#define MAX_PROFILE_BYTES 4096

static void must_be_orientation(uint8_t orientation)
{
    FUZZ_MUST(orientation >= 1 && orientation <= 8);
}

static void look_into_blocks(const uint8_t *data, size_t bytes)
{
    size_t half = bytes / 2;
    uint8_t orientation;

    bool found = brim_exif_find_orientation(data, bytes, &orientation);
    must_be_orientation(orientation);
    FUZZ_MUST(found || orientation == 1);
    must_be_orientation(brim_xmp_orientation(data, bytes));
    must_be_orientation(brim_orientation_of(data, half, data + half, bytes - half));
    must_be_orientation(brim_orientation_of(NULL, 0, data, bytes));
}

static void look_into_chunks(const uint8_t *data, size_t bytes)
{
    bool has_signature = bytes >= BRIM_PNG_SIGNATURE_BYTES && brim_png_matches(data, bytes);
    uint8_t profile[MAX_PROFILE_BYTES];

    must_be_orientation(
        brim_png_orientation(data, bytes, has_signature ? BRIM_PNG_SIGNATURE_BYTES : 0));
    if (!has_signature) return;
    size_t n = brim_png_read_profile(data, bytes, MAX_PROFILE_BYTES, NULL, 0);
    FUZZ_MUST(n <= MAX_PROFILE_BYTES);
    FUZZ_MUST(brim_png_read_profile(data, bytes, MAX_PROFILE_BYTES, profile, n) == n);
}

static void look_into_jpeg(const uint8_t *data, size_t bytes)
{
    brim_jpeg_header header;
    uint8_t profile[MAX_PROFILE_BYTES];

    if (brim_jpeg_read_header(data, bytes, &header, NULL) == BRIM_OK) {
        must_be_orientation(header.orientation);
        FUZZ_MUST(header.width > 0 && header.height > 0);
        FUZZ_MUST(brim_jpeg_library_bytes(&header) > 0);
    }
    size_t n = brim_jpeg_read_profile(data, bytes, NULL, 0);
    FUZZ_MUST(brim_jpeg_read_profile(data, bytes, profile, sizeof(profile)) == n);
    FUZZ_MUST(brim_jpeg_whole_bytes(data, bytes) <= bytes);
}

static void look_into_others(const uint8_t *data, size_t bytes)
{
    brim_webp_container container;
    brim_gif_header gif;
    brim_bmp_header bmp;

    for (int accept = 0; accept < 2; accept++) {
        if (!brim_webp_matches(data, bytes) ||
            brim_webp_read_container(data, bytes, accept, &container, NULL) != BRIM_OK)
            continue;
        must_be_orientation(brim_orientation_of(container.exif.data, container.exif.bytes,
                                                container.xmp.data, container.xmp.bytes));
    }
    if (brim_gif_read_header(data, bytes, &gif, NULL) == BRIM_OK)
        FUZZ_MUST(gif.x + gif.frame_width <= gif.width && gif.frame_height <= gif.height);
    if (brim_bmp_read_header(data, bytes, &bmp, NULL) == BRIM_OK)
        FUZZ_MUST(bmp.width > 0 && bmp.height > 0 && bmp.n_colors <= 65536);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    look_into_blocks(data, bytes);
    look_into_chunks(data, bytes);
    look_into_jpeg(data, bytes);
    look_into_others(data, bytes);
    return 0;
}
