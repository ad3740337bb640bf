/*
 * kernels.h - the inner loops of resampling, over lines of 3 bytes a pixel.
 *
 * There is a plain set for any processor and one for AVX2; which one runs is decided when the
 * program does. Results are equal to the bit, since all of it is whole numbers.
 */
#ifndef BRIM_IMAGE_KERNELS_H
#define BRIM_IMAGE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define BRIM_TAP_BLOCK  16 /* taps of an output are padded with zeros to a multiple of this */
#define BRIM_BATCH_ROWS 4  /* lines that accumulate takes at once */

/*
 * Weights along a line. Each is split in two numbers of 16 bits, weight = high * 2^shift + low,
 * because processors multiply and add pairs of those in one step. The low ones are worth little:
 * whatever the bytes, they add middle to a sum, give or take slack, and where that leaves the
 * rounded result in no doubt a kernel need not look at them.
 */
typedef struct brim_split_taps {
    uint32_t n_taps; /* a multiple of BRIM_TAP_BLOCK */
    uint32_t shift;
    int32_t middle, slack;
} brim_split_taps;

typedef struct brim_tap_table {
    const uint32_t *start;          /* [n_out] first input pixel of an output */
    const brim_split_taps *outputs; /* [n_out] */
    const int16_t *taps;            /* [n_out][2][stride]: high, then low */
    size_t stride;
    uint32_t origin; /* the input pixel that the planes begin with */
} brim_tap_table;

/* Splits n weights of one output; high and low (zeros so far) have room for whole blocks. */
brim_split_taps brim_split_taps_of(const int32_t *weights, size_t n, int16_t *high, int16_t *low);

typedef struct brim_kernels {
    /* rgb (n,3) into planes (3,plane_stride): bytes become 16-bit numbers. */
    void (*split)(int16_t *planes, size_t plane_stride, const uint8_t *rgb, size_t n);

    /* out (n_out,3) from planes, which are readable BRIM_TAP_BLOCK past the last pixel. Each sum
       of weighted bytes must fit 32 bits. */
    void (*reduce)(uint8_t *out, size_t n_out, const int16_t *planes, size_t plane_stride,
                   const brim_tap_table *table);

    /* acc (n) += sum over r of taps[r] * rows[r * row_stride .. + n]. */
    void (*accumulate)(int32_t *acc, const uint8_t *rows, size_t row_stride,
                       const int32_t taps[BRIM_BATCH_ROWS], size_t n);

    /* out (n) from sums that began at BRIM_ROUNDING: shifted back and kept within 0..255. */
    void (*finish)(uint8_t *out, const int32_t *acc, size_t n);
} brim_kernels;

#define BRIM_ROUNDING (1 << 21) /* half of the last place that survives the shift */

/* The fastest set that this processor runs; static. */
const brim_kernels *brim_kernels_best(void);

/* The set that runs anywhere; static. */
const brim_kernels *brim_kernels_plain(void);

/* NULL where this processor has no AVX2; static. */
const brim_kernels *brim_kernels_avx2(void);

#endif /* BRIM_IMAGE_KERNELS_H */
