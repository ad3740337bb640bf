/*
 * resample.h - resizes a picture that comes row by row, turning it upright on the way.
 *
 * The result equals Pillow's Image.resize() of the upright picture, to the bit, including its
 * choice of the direction that goes first. Neither the picture nor its resized form is ever held:
 * only sums for the outputs whose inputs are passing by. Only a window of the resized picture is
 * computed, so one that is far larger than the window costs nothing.
 *
 * Threads: a resampler belongs to one thread at a time.
 */
#ifndef BRIM_IMAGE_RESAMPLE_H
#define BRIM_IMAGE_RESAMPLE_H

#include <stdint.h>

#include "brimful/memory.h"
#include "brimful/status.h"
#include "image/axis.h"

/* Which direction of the upright picture is resampled first: it shows in the result. */
typedef enum brim_resample_order {
    /* The vertical one where height - new height > 2 x max(width - new width, 0). */
    BRIM_ORDER_PILLOW13,
    /* Pillow up to 12: the horizontal one, but of a picture that shrinks in height and is more than
       100 times as high as wide the vertical one. */
    BRIM_ORDER_CLASSIC,
} brim_resample_order;

typedef struct brim_resample_spec {
    uint32_t width, height;         /* of the rows that come, as stored */
    uint8_t orientation;            /* EXIF, 1..8 */
    uint32_t new_width, new_height; /* of the whole resized picture, upright */
    uint32_t crop_x, crop_y;        /* the window wanted of it */
    uint32_t crop_width, crop_height;
    brim_filter filter;
    brim_resample_order order;
} brim_resample_spec;

/* Orientations that exchange rows and columns. */
static inline bool brim_orientation_is_transposed(uint8_t orientation)
{
    return orientation >= 5;
}

/*
 * Takes one finished line of the window: row idx, crop_width pixels; where the orientation is
 * transposed column idx, crop_height pixels. Lines come in the order in which they are finished,
 * each once. rgb is borrowed until the call returns.
 */
typedef void (*brim_line_sink)(void *ctx, uint32_t idx, const uint8_t *rgb);

typedef struct brim_resampler brim_resampler;

/* Bytes that brim_resampler_create() will take, exactly. */
brim_status brim_resampler_bytes(const brim_resample_spec *spec, size_t *out_bytes,
                                 brim_error *err);

/*
 * Makes a resampler that hands its lines to sink. Fails with BRIM_E_ARG where sizes overflow and
 * BRIM_E_UNSUPPORTED where an output would be made of too many inputs; *out is then NULL. The
 * window must lie within the resized picture and hold at least one pixel.
 */
brim_status brim_resampler_create(const brim_alloc *mem, const brim_resample_spec *spec,
                                  brim_line_sink sink, void *sink_ctx, brim_resampler **out,
                                  brim_error *err);

/* Accepts NULL. */
void brim_resampler_destroy(brim_resampler *resampler);

/* Where the next stored row is to be written, 3 x width bytes; valid until the next push. */
uint8_t *brim_resampler_row(brim_resampler *resampler);

/* The row is there: takes it in, and calls the sink for each line that it completes. */
void brim_resampler_push(brim_resampler *resampler);

#endif /* BRIM_IMAGE_RESAMPLE_H */
