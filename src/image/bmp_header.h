/* bmp_header.h - what a BMP says before its pixels. */
#ifndef BRIM_IMAGE_BMP_HEADER_H
#define BRIM_IMAGE_BMP_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

typedef enum brim_bmp_packing {
    BRIM_BMP_PLAIN,
    BRIM_BMP_RLE8, /* runs of indices */
    BRIM_BMP_RLE4,
} brim_bmp_packing;

typedef enum brim_bmp_colors {
    BRIM_BMP_PALETTE,
    BRIM_BMP_GREY, /* the index is the grey level */
    BRIM_BMP_TWO,  /* 0 is black, all others white */
    BRIM_BMP_555,  /* 16 bits a pixel */
    BRIM_BMP_565,
    BRIM_BMP_BYTES, /* a byte each */
} brim_bmp_colors;

typedef struct brim_bmp_header {
    uint32_t width, height;
    bool top_down;
    uint8_t bits; /* of a pixel: 1, 4, 8 (indices), 16, 24, 32 */
    brim_bmp_packing packing;
    brim_bmp_colors colors;
    uint8_t rgb_at[3];      /* where in a pixel's bytes red, green and blue are */
    const uint8_t *palette; /* n_colors x B, G, R (and one more where color_bytes is 4) */
    uint32_t n_colors;      /* at most 256 */
    uint8_t color_bytes;
    size_t pixels_at;    /* in the file; may lie behind its end */
    uint64_t row_stride; /* bytes from one stored row to the next */
} brim_bmp_header;

/* "BM" with something like a header after it, or the bare header of a DIB. */
bool brim_bmp_matches(const uint8_t *data, size_t bytes);

/*
 * Reads the headers, without memory of its own. BRIM_E_FORMAT where they are broken or end early,
 * BRIM_E_UNSUPPORTED for kinds that Pillow does not read either.
 */
brim_status brim_bmp_read_header(const uint8_t *data, size_t bytes, brim_bmp_header *out,
                                 brim_error *err);

#endif /* BRIM_IMAGE_BMP_HEADER_H */
