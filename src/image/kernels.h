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
 * Weights along a line. Each is split in two numbers of 16 bits, weight = 256 * high + low with low
 * in -128..127, because processors multiply and add pairs of those in one step.
 */
typedef struct brim_tap_table {
    const uint32_t *start;  /* [n_out] first input pixel of an output */
    const uint32_t *n_taps; /* [n_out] multiples of BRIM_TAP_BLOCK */
    const int16_t *taps;    /* [n_out][2][stride]: high, then low */
    size_t stride;
    uint32_t origin; /* the input pixel that the planes begin with */
} brim_tap_table;

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
