/*
 * tiff_header.h - what a TIFF says of its first picture, read without decoding any of it.
 */
#ifndef BRIM_IMAGE_TIFF_HEADER_H
#define BRIM_IMAGE_TIFF_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/decoder.h"

enum {
    BRIM_TIFF_WHITE_IS_ZERO = 0,
    BRIM_TIFF_BLACK_IS_ZERO = 1,
    BRIM_TIFF_RGB = 2,
    BRIM_TIFF_PALETTE = 3,
    BRIM_TIFF_CMYK = 5,
    BRIM_TIFF_YCBCR = 6,
};

enum {
    BRIM_TIFF_UNCOMPRESSED = 1,
    BRIM_TIFF_OLD_JPEG = 6,
    BRIM_TIFF_JPEG = 7,
    BRIM_TIFF_LZMA = 34925,
    BRIM_TIFF_ZSTD = 50000,
    BRIM_TIFF_WEBP = 50001,
};

enum {
    BRIM_TIFF_UINT = 1,
    BRIM_TIFF_INT = 2,
    BRIM_TIFF_FLOAT = 3,
};

enum {
    BRIM_TIFF_ASSOCIATED_ALPHA = 1,
    BRIM_TIFF_ALPHA = 2,
};

typedef struct brim_tiff_header {
    uint32_t width, height;
    uint32_t bits; /* of each sample */
    uint32_t sample_format;
    uint32_t photometric;
    uint32_t compression;
    uint32_t n_samples;
    uint32_t n_alphas;         /* of the extra samples those that are opacities */
    uint32_t associated_alpha; /* the sample, from 0, that colours were multiplied by; 0 = none */
    bool planar;               /* each sample has strips or tiles of its own */
    bool tiled;
    bool big_endian;
    bool subsampled; /* YCbCr with fewer chroma samples */
    bool grey_palette;
    uint32_t block_width; /* of a tile; of a strip the picture's */
    uint32_t block_height;
    size_t n_blocks;
    size_t largest_block_bytes; /* as stored */
    size_t entries_bytes;       /* of the values of all tags, as libtiff keeps them */
    uint8_t orientation;        /* 1..8: its tag's, else the XMP packet's */
    bool truncated;             /* a strip or tile lies beyond the end of the file */
} brim_tiff_header;

/* Does a TIFF or BigTIFF begin so? */
bool brim_tiff_matches(const uint8_t *data, size_t bytes);

/*
 * Reads the first directory. BRIM_E_FORMAT where it is cut off ("truncated TIFF") or makes no sense
 * ("broken TIFF: ..."), BRIM_E_UNSUPPORTED for a camera's raw file, whose first picture is only a
 * thumbnail. That pixel data is missing is no failure here: out->truncated tells.
 */
brim_status brim_tiff_read_header(const brim_encoded *file, brim_tiff_header *out, brim_error *err);

/* Where its header->n_blocks strips or tiles lie, as the file says it, unchecked. */
brim_status brim_tiff_read_offsets(const brim_encoded *file, uint64_t *out, brim_error *err);

#endif /* BRIM_IMAGE_TIFF_HEADER_H */
