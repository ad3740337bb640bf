/*
 * kernels.c - the inner loops of resampling, written so that compilers turn them into vectors.
 *
 * Every loop is a static inline body; thin functions compile it for the processor they are named
 * after.
 */
#include "image/kernels.h"

#include "image/axis.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint8_t clip(int64_t sum)
{
    sum >>= BRIM_TAP_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

INLINE void split_body(int16_t *restrict planes, size_t plane_stride, const uint8_t *restrict rgb,
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

INLINE uint8_t join(int32_t high, int32_t low)
{
    return clip((int64_t)high * 256 + low + BRIM_ROUNDING);
}

INLINE void reduce_body(uint8_t *restrict out, size_t n_out, const int16_t *restrict planes,
                        size_t plane_stride, const brim_tap_table *table)
{
    for (size_t i = 0; i < n_out; i++) {
        const int16_t *restrict r = planes + table->start[i];
        const int16_t *restrict g = r + plane_stride;
        const int16_t *restrict b = g + plane_stride;
        const int16_t *restrict high = table->taps + 2 * i * table->stride;
        const int16_t *restrict low = high + table->stride;
        size_t n_taps = table->n_taps[i] / BRIM_TAP_BLOCK * BRIM_TAP_BLOCK;
        int32_t r_high = 0, g_high = 0, b_high = 0, r_low = 0, g_low = 0, b_low = 0;

        for (size_t t = 0; t < n_taps; t++) {
            r_high += (int32_t)r[t] * high[t];
            g_high += (int32_t)g[t] * high[t];
            b_high += (int32_t)b[t] * high[t];
            r_low += (int32_t)r[t] * low[t];
            g_low += (int32_t)g[t] * low[t];
            b_low += (int32_t)b[t] * low[t];
        }
        out[3 * i] = join(r_high, r_low);
        out[3 * i + 1] = join(g_high, g_low);
        out[3 * i + 2] = join(b_high, b_low);
    }
}

INLINE void accumulate_body(int32_t *restrict acc, const uint8_t *restrict rows, size_t row_stride,
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

INLINE void finish_body(uint8_t *restrict out, const int32_t *restrict acc, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t v = acc[i] >> BRIM_TAP_BITS;
        out[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

/* The four functions of one set, compiled with the given attribute. */
#define KERNEL_SET(SUFFIX, ATTRIBUTE)                                                              \
    ATTRIBUTE static void split_##SUFFIX(int16_t *planes, size_t plane_stride, const uint8_t *rgb, \
                                         size_t n)                                                 \
    {                                                                                              \
        split_body(planes, plane_stride, rgb, n);                                                  \
    }                                                                                              \
    ATTRIBUTE static void reduce_##SUFFIX(uint8_t *out, size_t n_out, const int16_t *planes,       \
                                          size_t plane_stride, const brim_tap_table *table)        \
    {                                                                                              \
        reduce_body(out, n_out, planes, plane_stride, table);                                      \
    }                                                                                              \
    ATTRIBUTE static void accumulate_##SUFFIX(int32_t *acc, const uint8_t *rows,                   \
                                              size_t row_stride,                                   \
                                              const int32_t taps[BRIM_BATCH_ROWS], size_t n)       \
    {                                                                                              \
        accumulate_body(acc, rows, row_stride, taps, n);                                           \
    }                                                                                              \
    ATTRIBUTE static void finish_##SUFFIX(uint8_t *out, const int32_t *acc, size_t n)              \
    {                                                                                              \
        finish_body(out, acc, n);                                                                  \
    }                                                                                              \
    static const brim_kernels KERNELS_##SUFFIX = {                                                 \
        split_##SUFFIX,                                                                            \
        reduce_##SUFFIX,                                                                           \
        accumulate_##SUFFIX,                                                                       \
        finish_##SUFFIX,                                                                           \
    }

KERNEL_SET(plain, );

const brim_kernels *brim_kernels_plain(void)
{
    return &KERNELS_plain;
}

#if defined(__x86_64__)
KERNEL_SET(avx2, __attribute__((target("avx2"))));

const brim_kernels *brim_kernels_best(void)
{
    return __builtin_cpu_supports("avx2") ? &KERNELS_avx2 : &KERNELS_plain;
}
#else
const brim_kernels *brim_kernels_best(void)
{
    return &KERNELS_plain;
}
#endif
