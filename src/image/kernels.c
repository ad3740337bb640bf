/*
 * kernels.c - the inner loops of resampling as plain C, written so that compilers turn them into
 * vectors: on arm64 gcc makes NEON of all four. They are what the hand-written ones are held
 * against.
 */
#include "image/kernels.h"

#include <stdlib.h>

#include "image/axis.h"

/* The least shift that leaves 16 bits. */
static uint32_t shift_of(const int32_t *weights, size_t n)
{
    int32_t most = 0;
    uint32_t shift = 0;

    for (size_t t = 0; t < n; t++)
        if (abs(weights[t]) > most) most = abs(weights[t]);
    while ((most >> shift) >= INT16_MAX)
        shift++;
    return shift;
}

brim_split_taps brim_split_taps_of(const int32_t *weights, size_t n, int16_t *high, int16_t *low)
{
    brim_split_taps split = {
        .n_taps = (uint32_t)((n + BRIM_TAP_BLOCK - 1) / BRIM_TAP_BLOCK * BRIM_TAP_BLOCK),
        .shift = shift_of(weights, n)};
    int32_t unit = 1 << split.shift;

    /* A byte is 128, give or take 128. */
    for (size_t t = 0; t < n; t++) {
        high[t] = (int16_t)((weights[t] + unit / 2) >> split.shift);
        low[t] = (int16_t)(weights[t] - high[t] * unit);
        split.middle += 128 * low[t];
        split.slack += 128 * abs(low[t]);
    }
    return split;
}

static uint8_t clip(int64_t sum)
{
    sum >>= BRIM_TAP_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

static void split(int16_t *restrict planes, size_t plane_stride, const uint8_t *restrict rgb,
                  size_t n)
{
    int16_t *restrict r = planes;
    int16_t *restrict g = planes + plane_stride;
    int16_t *restrict b = planes + 2 * plane_stride;

    for (size_t i = 0; i < n; i++) {
        r[i] = rgb[3 * i];
        g[i] = rgb[3 * i + 1];
        b[i] = rgb[3 * i + 2];
    }
}

static uint8_t join(int32_t high, int32_t low, uint32_t shift)
{
    return clip((int64_t)high * (1 << shift) + low + BRIM_ROUNDING);
}

static void reduce(uint8_t *restrict out, size_t n_out, const int16_t *restrict planes,
                   size_t plane_stride, const brim_tap_table *table)
{
    for (size_t i = 0; i < n_out; i++) {
        const int16_t *restrict r = planes + (table->start[i] - table->origin);
        const int16_t *restrict g = r + plane_stride;
        const int16_t *restrict b = g + plane_stride;
        const int16_t *restrict high = table->taps + 2 * i * table->stride;
        const int16_t *restrict low = high + table->stride;
        uint32_t shift = table->outputs[i].shift;
        size_t n_taps = table->outputs[i].n_taps / BRIM_TAP_BLOCK * BRIM_TAP_BLOCK;
        int32_t r_high = 0, g_high = 0, b_high = 0, r_low = 0, g_low = 0, b_low = 0;

        for (size_t t = 0; t < n_taps; t++) {
            r_high += (int32_t)r[t] * high[t];
            g_high += (int32_t)g[t] * high[t];
            b_high += (int32_t)b[t] * high[t];
            r_low += (int32_t)r[t] * low[t];
            g_low += (int32_t)g[t] * low[t];
            b_low += (int32_t)b[t] * low[t];
        }
        out[3 * i] = join(r_high, r_low, shift);
        out[3 * i + 1] = join(g_high, g_low, shift);
        out[3 * i + 2] = join(b_high, b_low, shift);
    }
}

static void accumulate(int32_t *restrict acc, const uint8_t *restrict rows, size_t row_stride,
                       const int32_t taps[BRIM_BATCH_ROWS], size_t n)
{
    const uint8_t *restrict r0 = rows;
    const uint8_t *restrict r1 = rows + row_stride;
    const uint8_t *restrict r2 = rows + 2 * row_stride;
    const uint8_t *restrict r3 = rows + 3 * row_stride;
    int32_t t0 = taps[0], t1 = taps[1], t2 = taps[2], t3 = taps[3];

    for (size_t i = 0; i < n; i++)
        acc[i] += t0 * r0[i] + t1 * r1[i] + t2 * r2[i] + t3 * r3[i];
}

static void finish(uint8_t *restrict out, const int32_t *restrict acc, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t v = acc[i] >> BRIM_TAP_BITS;
        out[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

static const brim_kernels KERNELS = {split, reduce, accumulate, finish};

const brim_kernels *brim_kernels_plain(void)
{
    return &KERNELS;
}

const brim_kernels *brim_kernels_best(void)
{
    const brim_kernels *avx2 = brim_kernels_avx2();

    return avx2 ? avx2 : &KERNELS;
}
