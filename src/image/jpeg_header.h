/* jpeg_header.h - what a JPEG's markers say before the first scan. */
#ifndef BRIM_IMAGE_JPEG_HEADER_H
#define BRIM_IMAGE_JPEG_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

#define BRIM_JPEG_MAX_COMPONENTS 4

typedef struct brim_jpeg_header {
    uint32_t width, height;
    uint8_t orientation; /* EXIF, 1..8 */
    uint8_t n_components;
    struct {
        uint8_t h, v; /* sampling factors, 1..4 */
    } components[BRIM_JPEG_MAX_COMPONENTS];
    bool progressive;
    bool many_scans; /* progressive, or the first scan lacks a component */
} brim_jpeg_header;

/*
 * Walks the markers up to the first scan, without memory of its own. BRIM_E_FORMAT where the file
 * is broken or ends early, BRIM_E_UNSUPPORTED for kinds of JPEG that nobody's browser shows either.
 */
brim_status brim_jpeg_read_header(const uint8_t *data, size_t bytes, brim_jpeg_header *out,
                                  brim_error *err);

/*
 * The colour profile, put together from its APP2 segments: writes at most capacity bytes to out
 * (which may be NULL) and returns how many there are; 0 where there is none or a piece is missing.
 */
size_t brim_jpeg_read_profile(const uint8_t *data, size_t bytes, uint8_t *out, size_t capacity);

/*
 * The length of a file that ends early without the segment that it ends in: pixels may end
 * anywhere, but a table that lacks its end would be a broken one.
 */
size_t brim_jpeg_whole_bytes(const uint8_t *data, size_t bytes);

/*
 * Where a progressive JPEG could end for a picture that is shrunk: before the scans at its end that
 * only add the last bits of coefficients other than the mean of a block. Its whole length where
 * there are none, or where its end marker is missing.
 */
size_t brim_jpeg_coarse_bytes(const uint8_t *data, size_t bytes);

/* Bytes that libjpeg-turbo will take to decode it, from above, without its coefficients. */
size_t brim_jpeg_library_bytes(const brim_jpeg_header *header);

/* Bytes of the coefficients of the whole picture; 0 where they need not be kept. */
size_t brim_jpeg_frame_bytes(const brim_jpeg_header *header);

#endif /* BRIM_IMAGE_JPEG_HEADER_H */
