/*
 * kernels_avx2.c - the loops of kernels.c by hand, where compilers leave half of the speed behind.
 *
 * Sums of products wrap around in 32 bits on their way and are right at the end: the weights of an
 * output add up to about 1, so its sum fits.
 */
#include "image/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "image/axis.h"

#define AVX2        __attribute__((target("avx2")))
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2")))

/* 16 bytes at each place, one in a half. */
AVX2_INLINE __m256i load_halves(const uint8_t *low, const uint8_t *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                   _mm_loadu_si128((const __m128i *)high), 1);
}

/* Both halves shuffled by the same 16 places. */
AVX2_INLINE __m256i shuffle(__m256i v, __m128i places)
{
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(places));
}

#define NONE (-1) /* a zero */

/*
 * 16 pixels are 48 bytes. Half h of `front` holds bytes 24h .. 24h + 15 and half h of `back` bytes
 * 24h + 8 .. 24h + 23, so that the 8 pixels of a half lie in these two.
 */
AVX2_INLINE void split_16(int16_t *r, int16_t *g, int16_t *b, const uint8_t *rgb)
{
    const __m128i r_front = _mm_setr_epi8(0, NONE, 3, NONE, 6, NONE, 9, NONE, 12, NONE, 15, NONE,
                                          NONE, NONE, NONE, NONE);
    const __m128i r_back = _mm_setr_epi8(NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
                                         NONE, NONE, 10, NONE, 13, NONE);
    const __m128i g_front = _mm_setr_epi8(1, NONE, 4, NONE, 7, NONE, 10, NONE, 13, NONE, NONE, NONE,
                                          NONE, NONE, NONE, NONE);
    const __m128i g_back = _mm_setr_epi8(NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
                                         8, NONE, 11, NONE, 14, NONE);
    const __m128i b_front = _mm_setr_epi8(2, NONE, 5, NONE, 8, NONE, 11, NONE, 14, NONE, NONE, NONE,
                                          NONE, NONE, NONE, NONE);
    const __m128i b_back = _mm_setr_epi8(NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
                                         9, NONE, 12, NONE, 15, NONE);
    __m256i front = load_halves(rgb, rgb + 24);
    __m256i back = load_halves(rgb + 8, rgb + 32);

    _mm256_storeu_si256((__m256i *)r,
                        _mm256_or_si256(shuffle(front, r_front), shuffle(back, r_back)));
    _mm256_storeu_si256((__m256i *)g,
                        _mm256_or_si256(shuffle(front, g_front), shuffle(back, g_back)));
    _mm256_storeu_si256((__m256i *)b,
                        _mm256_or_si256(shuffle(front, b_front), shuffle(back, b_back)));
}

/* The last vector may overlap the one before: it writes the same again. */
AVX2 static void split(int16_t *planes, size_t plane_stride, const uint8_t *rgb, size_t n)
{
    int16_t *r = planes, *g = r + plane_stride, *b = g + plane_stride;

    if (n < 16) {
        brim_kernels_plain()->split(planes, plane_stride, rgb, n);
        return;
    }
    for (size_t i = 0; i + 16 <= n; i += 16)
        split_16(r + i, g + i, b + i, rgb + 3 * i);
    split_16(r + n - 16, g + n - 16, b + n - 16, rgb + 3 * (n - 16));
}

AVX2_INLINE __m256i load(const int16_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* sum += the products of 16 numbers each, added up in pairs. */
AVX2_INLINE void multiply_add(__m256i *sum, __m256i a, __m256i b)
{
    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(a, b));
}

/* The partial sums of four outputs become their sums. */
AVX2_INLINE __m128i add_up(const __m256i v[4])
{
    __m256i halves =
        _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));

    return _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

/* Partial sums of the three channels of one output. */
AVX2_INLINE void add_products(__m256i *r_sum, __m256i *g_sum, __m256i *b_sum, const int16_t *r,
                              size_t plane_stride, const int16_t *taps, size_t n_taps)
{
    const int16_t *g = r + plane_stride, *b = g + plane_stride;

    *r_sum = *g_sum = *b_sum = _mm256_setzero_si256();
    for (size_t t = 0; t < n_taps; t += BRIM_TAP_BLOCK) {
        __m256i weights = load(taps + t);

        multiply_add(r_sum, load(r + t), weights);
        multiply_add(g_sum, load(g + t), weights);
        multiply_add(b_sum, load(b + t), weights);
    }
}

/* How four outputs were split, field by field. */
typedef struct four_splits {
    __m128i shift, middle, slack;
} four_splits;

AVX2_INLINE four_splits load_splits(const brim_split_taps *outputs)
{
    const __m128i *at = (const __m128i *)outputs;
    __m128i a = _mm_loadu_si128(at), b = _mm_loadu_si128(at + 1);
    __m128i c = _mm_loadu_si128(at + 2), d = _mm_loadu_si128(at + 3);
    __m128i ab = _mm_unpackhi_epi32(a, b), cd = _mm_unpackhi_epi32(c, d);
    __m128i shift_ab = _mm_unpacklo_epi32(a, b), shift_cd = _mm_unpacklo_epi32(c, d);

    return (four_splits){_mm_unpackhi_epi64(shift_ab, shift_cd), _mm_unpacklo_epi64(ab, cd),
                         _mm_unpackhi_epi64(ab, cd)};
}

/* Rounded to bytes: r r r r g g g g b b b b b b b b. */
AVX2_INLINE __m128i to_bytes(__m128i r, __m128i g, __m128i b)
{
    r = _mm_srai_epi32(r, BRIM_TAP_BITS);
    g = _mm_srai_epi32(g, BRIM_TAP_BITS);
    b = _mm_srai_epi32(b, BRIM_TAP_BITS);
    return _mm_packus_epi16(_mm_packs_epi32(r, g), _mm_packs_epi32(b, b));
}

/* The four outputs from i on, exactly. */
AVX2 __attribute__((noinline)) static __m128i add_low(__m128i r, __m128i g, __m128i b,
                                                      const int16_t *planes, size_t plane_stride,
                                                      const brim_tap_table *table, size_t i)
{
    __m256i r_sums[4], g_sums[4], b_sums[4];

    for (size_t j = 0; j < 4; j++)
        add_products(&r_sums[j], &g_sums[j], &b_sums[j],
                     planes + (table->start[i + j] - table->origin), plane_stride,
                     table->taps + (2 * (i + j) + 1) * table->stride, table->outputs[i + j].n_taps);
    return to_bytes(_mm_add_epi32(r, add_up(r_sums)), _mm_add_epi32(g, add_up(g_sums)),
                    _mm_add_epi32(b, add_up(b_sums)));
}

/* The low weights decide for an output in some twenty. */
AVX2_INLINE void reduce_4(uint8_t *out, const int16_t *planes, size_t plane_stride,
                          const brim_tap_table *table, size_t i)
{
    const __m128i interleave =
        _mm_setr_epi8(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, NONE, NONE, NONE, NONE);
    const __m128i rounding = _mm_set1_epi32(BRIM_ROUNDING);
    four_splits splits = load_splits(table->outputs + i);
    __m256i r_sums[4], g_sums[4], b_sums[4];

#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++)
        add_products(&r_sums[j], &g_sums[j], &b_sums[j],
                     planes + (table->start[i + j] - table->origin), plane_stride,
                     table->taps + 2 * (i + j) * table->stride, table->outputs[i + j].n_taps);
    __m128i r = _mm_add_epi32(_mm_sllv_epi32(add_up(r_sums), splits.shift), rounding);
    __m128i g = _mm_add_epi32(_mm_sllv_epi32(add_up(g_sums), splits.shift), rounding);
    __m128i b = _mm_add_epi32(_mm_sllv_epi32(add_up(b_sums), splits.shift), rounding);
    __m128i low = _mm_sub_epi32(splits.middle, splits.slack);
    __m128i high = _mm_add_epi32(splits.middle, splits.slack);
    __m128i least = to_bytes(_mm_add_epi32(r, low), _mm_add_epi32(g, low), _mm_add_epi32(b, low));
    __m128i most = to_bytes(_mm_add_epi32(r, high), _mm_add_epi32(g, high), _mm_add_epi32(b, high));

    if (_mm_movemask_epi8(_mm_cmpeq_epi8(least, most)) != 0xffff)
        least = add_low(r, g, b, planes, plane_stride, table, i);
    least = _mm_shuffle_epi8(least, interleave);
    int32_t last = _mm_extract_epi32(least, 2);
    _mm_storel_epi64((__m128i *)out, least);
    memcpy(out + 8, &last, 4);
}

/* The last four may overlap those before. */
AVX2 static void reduce(uint8_t *out, size_t n_out, const int16_t *planes, size_t plane_stride,
                        const brim_tap_table *table)
{
    if (n_out < 4) {
        brim_kernels_plain()->reduce(out, n_out, planes, plane_stride, table);
        return;
    }
    for (size_t i = 0; i + 4 <= n_out; i += 4)
        reduce_4(out + 3 * i, planes, plane_stride, table, i);
    if (n_out % 4 != 0) reduce_4(out + 3 * (n_out - 4), planes, plane_stride, table, n_out - 4);
}

/* 8 bytes times a weight. */
AVX2_INLINE __m256i weighted(const uint8_t *row, __m256i tap)
{
    return _mm256_mullo_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)row)), tap);
}

AVX2 static void accumulate(int32_t *acc, const uint8_t *rows, size_t row_stride,
                            const int32_t taps[BRIM_BATCH_ROWS], size_t n)
{
    const uint8_t *r0 = rows, *r1 = r0 + row_stride, *r2 = r1 + row_stride, *r3 = r2 + row_stride;
    __m256i t0 = _mm256_set1_epi32(taps[0]), t1 = _mm256_set1_epi32(taps[1]);
    __m256i t2 = _mm256_set1_epi32(taps[2]), t3 = _mm256_set1_epi32(taps[3]);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        __m256i *at = (__m256i *)(acc + i);
        __m256i first = _mm256_add_epi32(weighted(r0 + i, t0), weighted(r1 + i, t1));
        __m256i last = _mm256_add_epi32(weighted(r2 + i, t2), weighted(r3 + i, t3));

        _mm256_storeu_si256(
            at, _mm256_add_epi32(_mm256_loadu_si256(at), _mm256_add_epi32(first, last)));
    }
    if (i < n) brim_kernels_plain()->accumulate(acc + i, rows + i, row_stride, taps, n - i);
}

AVX2 static void finish(uint8_t *out, const int32_t *acc, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(acc + i));
        v = _mm256_srai_epi32(v, BRIM_TAP_BITS);
        __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        _mm_storel_epi64((__m128i *)(out + i), _mm_packus_epi16(words, words));
    }
    if (i < n) brim_kernels_plain()->finish(out + i, acc + i, n - i);
}

static const brim_kernels KERNELS = {split, reduce, accumulate, finish};

const brim_kernels *brim_kernels_avx2(void)
{
    return __builtin_cpu_supports("avx2") ? &KERNELS : NULL;
}

#else

const brim_kernels *brim_kernels_avx2(void)
{
    return NULL;
}

#endif
