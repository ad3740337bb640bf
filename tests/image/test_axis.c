/* Tests of src/image/axis.c. */
#include "image/axis.h"

#include <stdlib.h>

#include "support/cmocka_all.h"

static brim_axis whole(uint32_t n_in, uint32_t n_out, brim_filter filter)
{
    return (brim_axis){.n_in = n_in, .n_out = n_out, .n_wanted = n_out, .filter = filter};
}

static void weights_add_up_to_one(void **state)
{
    static const uint32_t SIZES[] = {1, 2, 3, 7, 50, 224, 1000};

    (void)state;
    for (int filter = BRIM_FILTER_LANCZOS; filter <= BRIM_FILTER_HAMMING; filter++) {
        for (int in = 0; in < 7; in++) {
            for (int out = 0; out < 7; out++) {
                brim_axis axis = whole(SIZES[in], SIZES[out], (brim_filter)filter);
                assert_int_equal(brim_axis_init(&axis, NULL), BRIM_OK);
                int32_t *taps = calloc(axis.max_taps, sizeof(int32_t));
                for (uint32_t i = 0; i < axis.n_wanted; i++) {
                    uint32_t start, n_taps;
                    int64_t sum = 0;

                    brim_axis_bounds(&axis, i, &start, &n_taps);
                    assert_true(n_taps >= 1 && n_taps <= axis.max_taps);
                    assert_true(start >= axis.in_first && start + n_taps <= axis.in_end);
                    assert_true(axis.in_end <= axis.n_in);
                    brim_axis_taps(&axis, i, taps);
                    for (uint32_t t = 0; t < n_taps; t++)
                        sum += taps[t];
                    assert_true(llabs(sum - (1 << BRIM_TAP_BITS)) <= n_taps);
                }
                free(taps);
            }
        }
    }
}

static void flips_by_reversing(void **state)
{
    brim_axis plain = whole(37, 11, BRIM_FILTER_BICUBIC), flipped = plain;
    int32_t a[37], b[37];

    (void)state;
    flipped.flipped = true;
    assert_int_equal(brim_axis_init(&plain, NULL), BRIM_OK);
    assert_int_equal(brim_axis_init(&flipped, NULL), BRIM_OK);
    for (uint32_t i = 0; i < 11; i++) {
        uint32_t start_a, start_b, n_a, n_b;

        brim_axis_bounds(&plain, i, &start_a, &n_a);
        brim_axis_bounds(&flipped, i, &start_b, &n_b);
        assert_int_equal(n_a, n_b);
        assert_int_equal(start_b, 37 - start_a - n_a);
        brim_axis_taps(&plain, i, a);
        brim_axis_taps(&flipped, i, b);
        for (uint32_t t = 0; t < n_a; t++)
            assert_int_equal(a[t], b[n_a - 1 - t]);
    }
}

static void needs_only_what_the_window_does(void **state)
{
    brim_axis axis = {.n_in = 1000,
                      .n_out = 224000,
                      .first = 111888,
                      .n_wanted = 224,
                      .filter = BRIM_FILTER_BICUBIC};

    (void)state;
    assert_int_equal(brim_axis_init(&axis, NULL), BRIM_OK);
    assert_true(axis.in_end - axis.in_first <= 6);
    assert_int_equal(axis.max_taps, 5);
}

static void takes_equal_sizes_as_they_are(void **state)
{
    brim_axis axis = whole(9, 9, BRIM_FILTER_LANCZOS);
    uint32_t start, n_taps;
    int32_t tap;

    (void)state;
    assert_int_equal(brim_axis_init(&axis, NULL), BRIM_OK);
    brim_axis_bounds(&axis, 4, &start, &n_taps);
    brim_axis_taps(&axis, 4, &tap);
    assert_int_equal(start, 4);
    assert_int_equal(n_taps, 1);
    assert_int_equal(tap, 1 << BRIM_TAP_BITS);
}

/* The sums of rounding errors, made the slow way. */
static void picks_where_repeated_addition_ends(void **state)
{
    static const uint32_t SIZES[] = {1, 2, 3, 7, 10, 49, 224, 256, 999, 4000, 6016, 30011};
    const int n = (int)(sizeof(SIZES) / sizeof(SIZES[0]));

    (void)state;
    for (int in = 0; in < n; in++) {
        for (int out = 0; out < n; out++) {
            brim_axis axis = whole(SIZES[in], SIZES[out], BRIM_FILTER_NEAREST);
            double step = (double)SIZES[in] / SIZES[out], at = step * 0.5;

            assert_int_equal(brim_axis_init(&axis, NULL), BRIM_OK);
            assert_int_equal(axis.max_taps, 1);
            for (uint32_t i = 0; i < SIZES[out]; i++, at += step) {
                uint32_t start, n_taps;

                brim_axis_bounds(&axis, i, &start, &n_taps);
                if (start != (uint32_t)at || n_taps != 1)
                    fail_msg("%u to %u: output %u is input %u, not %u", SIZES[in], SIZES[out], i,
                             start, (uint32_t)at);
            }
        }
    }
}

static void refuses_sums_beyond_32_bits(void **state)
{
    brim_axis axis = whole(100000, 1, BRIM_FILTER_BILINEAR);
    brim_error err = {0};

    (void)state;
    assert_int_equal(brim_axis_init(&axis, &err), BRIM_E_UNSUPPORTED);
    assert_string_equal(err.message, "cannot resample 100000 pixels to 1");
}

static void names_its_filters(void **state)
{
    (void)state;
    assert_string_equal(brim_filter_name(3), "bicubic");
    assert_string_equal(brim_filter_name(0), "nearest");
    assert_null(brim_filter_name(-1));
    assert_null(brim_filter_name(6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_add_up_to_one),
        cmocka_unit_test(flips_by_reversing),
        cmocka_unit_test(needs_only_what_the_window_does),
        cmocka_unit_test(takes_equal_sizes_as_they_are),
        cmocka_unit_test(picks_where_repeated_addition_ends),
        cmocka_unit_test(refuses_sums_beyond_32_bits),
        cmocka_unit_test(names_its_filters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
