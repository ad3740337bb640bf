/*
 * smooth.h - resizes a picture that comes row by row as OWLv2's processor does.
 *
 * A Gaussian blur, as wide as the picture shrinks, and linear interpolation of what it leaves; both
 * mirror the picture at its edges. It may first be padded with black at the right and below to a
 * square. All of it is weights along either direction, so the picture is never held: rows are
 * reduced along as they come, and added to the sums of the outputs that they have a part in.
 *
 * Threads: one belongs to one thread at a time.
 */
#ifndef BRIM_IMAGE_SMOOTH_H
#define BRIM_IMAGE_SMOOTH_H

#include "image/resample.h"

typedef struct brim_smooth brim_smooth;

typedef struct brim_smooth_spec {
    uint32_t width, height;         /* of the rows that come, as stored */
    uint8_t orientation;            /* EXIF, 1..8 */
    uint32_t side;                  /* of the square, in pixels that come; 0 = not padded to one */
    uint32_t new_width, new_height; /* upright */
    const float *values;            /* [256] what 8 bits are worth, black 0; borrowed */
} brim_smooth_spec;

/* As brim_line_sink, for lines (n,3) of what the values became. */
typedef void (*brim_smooth_sink)(void *ctx, uint32_t idx, const float *rgb);

/* Bytes that brim_smooth_create() will take, exactly. */
brim_status brim_smooth_bytes(const brim_smooth_spec *spec, size_t *out_bytes, brim_error *err);

/* Every line of the result comes to sink once, the last ones in the last push. */
brim_status brim_smooth_create(const brim_alloc *mem, const brim_smooth_spec *spec,
                               brim_smooth_sink sink, void *sink_ctx, brim_smooth **out,
                               brim_error *err);

/* Accepts NULL. */
void brim_smooth_destroy(brim_smooth *smooth);

/* Where the next stored row is to be written, 3 x width bytes; valid until the next push. */
uint8_t *brim_smooth_row(brim_smooth *smooth);

void brim_smooth_push(brim_smooth *smooth);

#endif /* BRIM_IMAGE_SMOOTH_H */
