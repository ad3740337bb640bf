/*
 * reader.h - a picture as a stream of scanlines, whatever its format.
 *
 * A reader is opened over the bytes of one file. Opening reads the header only: it tells the size,
 * the orientation and how much scratch decoding will take, so the caller can refuse or wait before
 * any of it is taken. Rows then come top to bottom as stored (orientation is not applied here), as
 * 8-bit RGB, converted as Pillow's convert("RGB") does: palettes looked up, grey repeated, alpha
 * dropped, CMYK with Adobe's inversion; 16-bit samples are scaled (v >> 8).
 *
 * Threads: a reader belongs to one thread at a time.
 */
#ifndef BRIM_IMAGE_READER_H
#define BRIM_IMAGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/memory.h"
#include "brimful/status.h"

typedef struct brim_image_info {
    const char *format; /* "JPEG", "PNG", "WebP"; static */
    uint32_t width;     /* pixels, as stored */
    uint32_t height;
    uint8_t orientation;  /* EXIF, 1..8; 1 where there is none or it makes no sense */
    uint8_t depth;        /* bits of a sample as stored; above 8 they were scaled */
    bool whole_frame;     /* no scanline before all is decoded: progressive, interlaced, WebP */
    size_t scratch_bytes; /* predicted: what reading all rows takes beside the file's own bytes, the
                             libraries' share included */
    size_t foreign_bytes; /* the part of it that libraries take past the reader's allocator */
} brim_image_info;

typedef struct brim_reader brim_reader;

/*
 * Reads the header of a picture; the libraries behind the formats start only when the first row is
 * asked for, so an open reader costs next to nothing. data stays the caller's and must outlive the
 * reader. max_px (0 = no limit) bounds width x height: above it BRIM_E_FORMAT with the words "image
 * too large: N pixels, limit L (--max-pixels)". Content decides the format. BRIM_E_UNSUPPORTED
 * names a known format without a decoder here ("a GIF picture: this build reads JPEG, PNG and
 * WebP"), BRIM_E_FORMAT says "not a picture" or what is wrong ("truncated JPEG", "empty file"). No
 * message names the file: the caller knows it.
 */
brim_status brim_reader_open(const brim_alloc *mem, const void *data, size_t bytes, uint64_t max_px,
                             brim_reader **out, brim_error *err);

/* Valid while the reader lives. */
const brim_image_info *brim_reader_info(const brim_reader *reader);

/*
 * The next scanline into rgb (3 x width bytes), BRIM_END after the last one. A file that ends early
 * is BRIM_E_FORMAT "truncated ...": also when all rows came and only the end marker is missing,
 * which shows in the call that would give BRIM_END.
 */
brim_status brim_reader_next_row(brim_reader *reader, uint8_t *rgb, brim_error *err);

/* Accepts NULL. */
void brim_reader_close(brim_reader *reader);

#endif /* BRIM_IMAGE_READER_H */
