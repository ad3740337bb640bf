/*
 * reader.h - a picture as a stream of scanlines, whatever its format.
 *
 * A reader is opened over the bytes of one file. Opening reads the header only: it tells the size,
 * the orientation and how much scratch decoding will take, so the caller can refuse or wait before
 * any of it is taken. Rows then come top to bottom as stored (orientation is not applied here), as
 * 8-bit RGB, converted as Pillow's convert("RGB") does: palettes looked up, grey repeated, alpha
 * dropped, CMYK with Adobe's inversion. What the options ask for is the only departure from that.
 *
 * Threads: a reader belongs to one thread at a time.
 */
#ifndef BRIM_IMAGE_READER_H
#define BRIM_IMAGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/image.h"
#include "brimful/memory.h"
#include "brimful/status.h"

/* All zero: as Pillow reads it, but 16-bit grey scaled, and sizes without limit. */
typedef struct brim_reader_options {
    uint64_t max_px; /* width x height beyond this is refused; 0 = no limit */
    brim_depth depth;
    uint32_t bands[3]; /* of a picture with many bands those that become R, G, B, counted from 1;
                          all 0 = the first three where there are 3 or 4, else it is refused */
    bool apply_icc;    /* embedded colour profiles are applied (to sRGB), not passed over */
    bool accept_truncated; /* what a file that ends early lacks is filled in, not refused */
} brim_reader_options;

typedef struct brim_image_info {
    const char *format; /* "JPEG", "PNG", "TIFF", ...; static */
    uint32_t width;     /* pixels, as stored */
    uint32_t height;
    uint32_t
        row_width; /* of the rows that come: the same, unless brim_reader_shrink() was called */
    uint32_t n_rows;
    uint8_t shrink;         /* 1, 2, 4 or 8: what brim_reader_shrink() was granted */
    uint8_t orientation;    /* EXIF or XMP, 1..8; 1 where there is none or it makes no sense */
    uint8_t depth;          /* bits of a sample as stored; above 8 they were scaled or clamped */
    uint16_t ignored_bands; /* stored bands that do not show, alpha not counted */
    bool grey;              /* what shows is one band, of light */
    bool whole_frame;       /* no scanline before all is decoded: progressive, interlaced, WebP */
    size_t scratch_bytes; /* predicted: what reading all rows takes beside the file's own bytes, the
                             libraries' share included */
    size_t foreign_bytes; /* the part of it that libraries take past the reader's allocator */
    size_t frame_bytes;   /* the part of it that is one block for all of the picture, which may be
                             lent; 0 = none is needed */
} brim_image_info;

/* Of a file's first bytes, enough for every format to be recognised and refused. */
enum { BRIM_HEAD_BYTES = 4096 };

/* Of 8-bit rows that come as they are stored. */
static inline brim_image_info brim_image_info_of(uint32_t width, uint32_t height,
                                                 uint8_t orientation)
{
    return (brim_image_info){.width = width,
                             .height = height,
                             .row_width = width,
                             .n_rows = height,
                             .shrink = 1,
                             .orientation = orientation,
                             .depth = 8};
}

typedef struct brim_reader brim_reader;

/*
 * Reads the header of a picture; decoding starts only when the first row is asked for, so an open
 * reader costs next to nothing. data and options (NULL = all zero) stay the caller's and must
 * outlive the reader. Beyond options->max_px BRIM_E_FORMAT with the words "image too large: N
 * pixels, limit L (--max-pixels)". Content decides the format. BRIM_E_UNSUPPORTED names a known
 * format without a decoder here, BRIM_E_FORMAT says "not a picture" or what is wrong ("truncated
 * JPEG", "empty file"). No message names the file: the caller knows it.
 */
brim_status brim_reader_open(const brim_alloc *mem, const void *data, size_t bytes,
                             const brim_reader_options *options, brim_reader **out,
                             brim_error *err);

/*
 * For files that are too large to be held: may one that begins with these bytes be read from its
 * descriptor? Then brim_reader_open_fd() takes that, a regular file of `bytes`, and its first
 * head_bytes; both must outlive the reader, and the file's offset is the reader's.
 */
bool brim_reader_takes_fd(const void *head, size_t head_bytes);
brim_status brim_reader_open_fd(const brim_alloc *mem, int fd, uint64_t bytes, const void *head,
                                size_t head_bytes, const brim_reader_options *options,
                                brim_reader **out, brim_error *err);

/*
 * The first picture of some kinds starts a large library, which stays resident for the rest of the
 * process: how much memory that takes, 0 where these first bytes need none, or it was tried.
 * Whoever keeps account reserves it and then starts the library; else brim_reader_open() does.
 * False: it could not be started, and took next to nothing.
 */
size_t brim_reader_start_bytes(const void *head, size_t head_bytes);
bool brim_reader_start_library(void);

/* Valid while the reader lives. */
const brim_image_info *brim_reader_info(const brim_reader *reader);

/*
 * Before the first row: asks for quicker, less exact decoding to rows about 1/factor as wide and as
 * many (factor 1, 2, 4 or 8; row_width and n_rows are rounded up). Where the format cannot do that
 * nothing changes. The info tells what will come, and its scratch.
 */
void brim_reader_shrink(brim_reader *reader, uint32_t factor);

/*
 * Lends info.frame_bytes, aligned to 64, until the reader is closed, so that the allocator is not
 * asked for them. To be called before the first row.
 */
void brim_reader_lend_frame(brim_reader *reader, void *frame);

/*
 * The next scanline into rgb (3 x row_width bytes), BRIM_END after the last one. A file that ends
 * early is BRIM_E_FORMAT "truncated ...", unless that is accepted: also when all rows came and only
 * the end marker is missing, which shows in the call that would give BRIM_END.
 */
brim_status brim_reader_next_row(brim_reader *reader, uint8_t *rgb, brim_error *err);

/* Accepts NULL. */
void brim_reader_close(brim_reader *reader);

#endif /* BRIM_IMAGE_READER_H */
