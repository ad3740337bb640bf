/* jp2k_header.h - what a JPEG 2000 codestream says of its picture, read without decoding. */
#ifndef BRIM_IMAGE_JP2K_HEADER_H
#define BRIM_IMAGE_JP2K_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

/* What its boxes call the colours, by number. */
enum {
    BRIM_JP2K_CMYK = 12,
    BRIM_JP2K_YCC = 18,
};

typedef struct brim_jp2k_header {
    uint32_t width, height;
    uint32_t tile_width, tile_height;
    uint64_t n_tiles;
    uint32_t n_components;
    uint32_t bits; /* of the first component */
    bool subsampled;
    uint32_t colours; /* one of the above, or another; 0 where it is not said */
    bool truncated;   /* its end marker is not there */
} brim_jp2k_header;

/* A file of boxes or a bare codestream. */
bool brim_jp2k_matches(const uint8_t *data, size_t bytes);

/* BRIM_E_FORMAT "truncated JPEG 2000" where the header is, or "broken JPEG 2000: ...". */
brim_status brim_jp2k_read_header(const uint8_t *data, size_t bytes, brim_jp2k_header *out,
                                  brim_error *err);

#endif /* BRIM_IMAGE_JP2K_HEADER_H */
