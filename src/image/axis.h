/*
 * axis.h - resampling along one direction: which inputs an output is made of, and how much of each.
 *
 * The numbers are Pillow's, to the bit: weights are found in double precision, made to add up to 1
 * and rounded to fixed point with BRIM_TAP_BITS fractional bits. The nearest "filter" has one input
 * an output, of full weight.
 */
#ifndef BRIM_IMAGE_AXIS_H
#define BRIM_IMAGE_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

#define BRIM_TAP_BITS 22

/* More inputs to one output than this are refused: the sums in the kernels stay within 32 bits. */
#define BRIM_MAX_TAPS 65536

/* Numbered as Pillow's Resampling, which is what configuration files hold. */
typedef enum brim_filter {
    BRIM_FILTER_NEAREST = 0,
    BRIM_FILTER_LANCZOS = 1,
    BRIM_FILTER_BILINEAR = 2,
    BRIM_FILTER_BICUBIC = 3,
    BRIM_FILTER_BOX = 4,
    BRIM_FILTER_HAMMING = 5,
} brim_filter;

/* "bicubic", ...; NULL for a number that is none of them. */
const char *brim_filter_name(int filter);

typedef struct brim_axis {
    uint32_t n_in;     /* inputs, all of them */
    uint32_t n_out;    /* outputs, all of them; n_in means that nothing is resampled */
    uint32_t first;    /* the outputs wanted: first .. first + n_wanted - 1 */
    uint32_t n_wanted; /* at least 1 */
    bool flipped;      /* inputs come last first */
    brim_filter filter;

    /* Filled in by brim_axis_init(). */
    uint32_t in_first, in_end; /* inputs that matter, numbered as they come */
    uint32_t max_taps;         /* no output has more */
    double scale, support;
} brim_axis;

/* Checks the upper half of axis and fills in the rest. BRIM_E_UNSUPPORTED above BRIM_MAX_TAPS. */
brim_status brim_axis_init(brim_axis *axis, brim_error *err);

/* Nothing to compute: output i is input i. */
static inline bool brim_axis_is_identity(const brim_axis *axis)
{
    return axis->n_in == axis->n_out;
}

/* Every output is one input as it is. */
static inline bool brim_axis_picks(const brim_axis *axis)
{
    return brim_axis_is_identity(axis) || axis->filter == BRIM_FILTER_NEAREST;
}

/* Wanted output i (0 .. n_wanted - 1) is made of inputs *start .. *start + *n_taps - 1, as they
 * come. */
void brim_axis_bounds(const brim_axis *axis, uint32_t i, uint32_t *start, uint32_t *n_taps);

/* The fixed-point weights of those inputs, in the same order. */
void brim_axis_taps(const brim_axis *axis, uint32_t i, int32_t *taps);

#endif /* BRIM_IMAGE_AXIS_H */
