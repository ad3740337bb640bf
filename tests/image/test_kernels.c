/* Tests of src/image/kernels.c: the set this processor runs best against the plain one. */
#include "image/kernels.h"

#include <stdlib.h>

#include "support/cmocka_all.h"

#define WIDTH  203
#define STRIDE 256
#define N_OUT  17
#define N_TAPS 48

static uint32_t seed = 88172645;

static uint32_t next_random(void)
{
    seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
    return seed;
}

/* Splits and reduces one random line. */
static void reduce(const brim_kernels *k, const uint8_t *rgb, const brim_tap_table *table,
                   uint8_t *out)
{
    static int16_t planes[3 * STRIDE];

    memset(planes, 0, sizeof(planes));
    k->split(planes, STRIDE, rgb, WIDTH);
    k->reduce(out, N_OUT, planes, STRIDE, table);
}

/* Some results lie so close to the next one that every bit of a weight counts. */
static void reduces_alike(void **state)
{
    static int16_t taps[N_OUT * 2 * N_TAPS];
    uint8_t rgb[3 * WIDTH], a[3 * N_OUT], b[3 * N_OUT];
    uint32_t start[N_OUT];
    brim_split_taps outputs[N_OUT];
    brim_tap_table table = {.start = start, .outputs = outputs, .taps = taps, .stride = N_TAPS};

    (void)state;
    for (int round = 0; round < 2000; round++) {
        memset(taps, 0, sizeof(taps));
        for (int i = 0; i < 3 * WIDTH; i++)
            rgb[i] = round == 0 ? 255 : (uint8_t)next_random();
        for (uint32_t i = 0; i < N_OUT; i++) {
            int16_t *high = taps + (size_t)2 * i * N_TAPS;
            uint32_t n = 1 + next_random() % N_TAPS;
            int32_t weights[N_TAPS];

            start[i] = next_random() % (WIDTH - N_TAPS);
            for (uint32_t t = 0; t < n; t++)
                weights[t] = ((int32_t)(next_random() % 160000) - 60000) >> round % 8;
            outputs[i] = brim_split_taps_of(weights, n, high, high + N_TAPS);
            for (uint32_t t = 0; t < n; t++)
                assert_int_equal(high[t] * (1 << outputs[i].shift) + high[t + N_TAPS], weights[t]);
        }
        reduce(brim_kernels_plain(), rgb, &table, a);
        reduce(brim_kernels_best(), rgb, &table, b);
        assert_memory_equal(a, b, sizeof(a));
    }
}

static void accumulates_and_finishes_alike(void **state)
{
    static uint8_t rows[BRIM_BATCH_ROWS * STRIDE];
    static int32_t a[STRIDE], b[STRIDE];
    uint8_t out_a[STRIDE], out_b[STRIDE];

    (void)state;
    for (size_t n = 1; n < STRIDE; n++) {
        int32_t taps[BRIM_BATCH_ROWS];

        for (int i = 0; i < STRIDE; i++)
            a[i] = b[i] = BRIM_ROUNDING;
        for (int batch = 0; batch < 3; batch++) {
            for (size_t i = 0; i < sizeof(rows); i++)
                rows[i] = (uint8_t)next_random();
            for (int r = 0; r < BRIM_BATCH_ROWS; r++)
                taps[r] = (int32_t)(next_random() % 1200000) - 400000;
            brim_kernels_plain()->accumulate(a, rows, STRIDE, taps, n);
            brim_kernels_best()->accumulate(b, rows, STRIDE, taps, n);
        }
        assert_memory_equal(a, b, sizeof(a));
        assert_int_equal(a[n], BRIM_ROUNDING);
        brim_kernels_plain()->finish(out_a, a, n);
        brim_kernels_best()->finish(out_b, b, n);
        assert_memory_equal(out_a, out_b, n);
    }
}

static void keeps_within_a_byte(void **state)
{
    static const int32_t SUMS[] = {-1, 0, 4194303, 4194304, 255 * 4194304, INT32_MAX, INT32_MIN};
    static const uint8_t BYTES[] = {0, 0, 0, 1, 255, 255, 0};
    uint8_t out[7];

    (void)state;
    brim_kernels_plain()->finish(out, SUMS, 7);
    assert_memory_equal(out, BYTES, 7);
    brim_kernels_best()->finish(out, SUMS, 7);
    assert_memory_equal(out, BYTES, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduces_alike),
        cmocka_unit_test(accumulates_and_finishes_alike),
        cmocka_unit_test(keeps_within_a_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
