/* webp_container.h - where things lie in a WebP file. */
#ifndef BRIM_IMAGE_WEBP_CONTAINER_H
#define BRIM_IMAGE_WEBP_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

/* A chunk's content, within the file's bytes; data is NULL where there is none. */
typedef struct brim_webp_chunk {
    const uint8_t *data;
    size_t bytes;
} brim_webp_chunk;

typedef struct brim_webp_container {
    size_t bytes; /* of the file, without what trails it */
    brim_webp_chunk exif, xmp, icc;
    brim_webp_chunk frame; /* first frame of an animation: its header and its picture */
} brim_webp_container;

enum { BRIM_WEBP_FRAME_HEADER = 16 };

bool brim_webp_matches(const uint8_t *data, size_t bytes);

/*
 * Walks the chunks, without memory of its own. BRIM_E_FORMAT where the bytes end before the file
 * does, unless accept_truncated: then what the last chunk lacks is cut off.
 */
brim_status brim_webp_read_container(const uint8_t *data, size_t bytes, bool accept_truncated,
                                     brim_webp_container *out, brim_error *err);

/* 24 and 32 bits, lowest byte first. */
uint32_t brim_webp_u24(const uint8_t *p);
uint32_t brim_webp_u32(const uint8_t *p);

#endif /* BRIM_IMAGE_WEBP_CONTAINER_H */
