/* png_chunks.h - a PNG file as a sequence of chunks, and what they say without decoding. */
#ifndef BRIM_IMAGE_PNG_CHUNKS_H
#define BRIM_IMAGE_PNG_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BRIM_PNG_SIGNATURE_BYTES = 8 };

typedef struct brim_png_chunk {
    char type[5]; /* NUL at the end */
    const uint8_t *data;
    size_t bytes;
} brim_png_chunk;

/* Do the bytes begin as a PNG, as far as they go? */
bool brim_png_matches(const uint8_t *data, size_t bytes);

/* The chunk at *at, which moves behind it; false where the bytes end first. */
bool brim_png_next_chunk(const uint8_t *data, size_t bytes, size_t *at, brim_png_chunk *out);

/*
 * The orientation, 1..8, found where Pillow finds it: in the eXIf chunk, in the text chunk that
 * ImageMagick writes an EXIF block to, or in an XMP packet. It may stand behind the pixels too, so
 * every chunk from `at` on is looked at.
 */
uint8_t brim_png_orientation(const uint8_t *data, size_t bytes, size_t at);

/*
 * Unpacks the colour profile of the first iCCP chunk: writes at most capacity bytes to out, which
 * may be NULL, and returns how many there are; 0 where there is none, or more than limit.
 */
size_t brim_png_read_profile(const uint8_t *data, size_t bytes, size_t limit, uint8_t *out,
                             size_t capacity);

#endif /* BRIM_IMAGE_PNG_CHUNKS_H */
