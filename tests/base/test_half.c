/* Tests of src/session/half.c. */
#include "base/half.h"

#include <math.h>

#include "support/cmocka_all.h"

/* Made by half_hashes.py out of what numpy computes. */
#define NUMPY_WIDENED  0xa7a575fd4882f925u
#define NUMPY_NARROWED 0xa0f9af2bf6ca9b99u
#define FNV_START      0xCBF29CE484222325u

static uint64_t fnv1a(uint64_t state, const void *data, size_t bytes)
{
    for (const unsigned char *p = data; bytes > 0; bytes--)
        state = (state ^ *p++) * 0x100000001B3u;
    return state;
}

static float widen(uint16_t half)
{
    float out;
    brim_half_to_float(&out, &half, 1);
    return out;
}

static uint16_t narrow(float value)
{
    uint16_t out;
    brim_half_from_float(&out, &value, 1);
    return out;
}

static int is_nan_half(uint16_t half)
{
    return (half & 0x7FFFu) > 0x7C00u;
}

static void widens_every_value_as_numpy_does(void **state)
{
    uint64_t hash = FNV_START;

    (void)state;
    for (uint32_t half = 0; half < 65536; half++) {
        float value = widen((uint16_t)half);
        if (is_nan_half((uint16_t)half))
            assert_true(isnan(value));
        else
            hash = fnv1a(hash, &value, sizeof(value));
    }
    assert_true(hash == NUMPY_WIDENED);
}

/* A second opinion, out of the definition. */
static void widens_every_value_as_defined(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 65536; half++) {
        int exponent = half >> 10 & 31, fraction = half & 1023;
        double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
        if (exponent == 31) continue;
        assert_true((double)widen((uint16_t)half) == (half & 0x8000 ? -size : size));
    }
    assert_true(widen(0x7C00) == INFINITY && widen(0xFC00) == -INFINITY);
    assert_true(signbit(widen(0x8000)));
}

static void comes_back_unchanged(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 65536; half++) {
        uint16_t back = narrow(widen((uint16_t)half));
        if (is_nan_half((uint16_t)half))
            assert_true(is_nan_half(back));
        else
            assert_int_equal(back, half);
    }
}

/* The middle between two neighbours goes to the even one, the float32 on either side to its own. */
static void rounds_to_the_nearest_and_ties_to_even_as_numpy_does(void **state)
{
    uint64_t hash = FNV_START;

    (void)state;
    for (int negative = 0; negative < 2; negative++) {
        for (uint16_t half = 0; half < 0x7BFF; half++) {
            float middle = (widen(half) + widen((uint16_t)(half + 1))) / 2;
            float cases[] = {nextafterf(middle, 0), middle, nextafterf(middle, INFINITY)};
            uint16_t expected[] = {half, (uint16_t)(half + (half & 1)), (uint16_t)(half + 1)};
            for (int i = 0; i < 3; i++) {
                uint16_t got = narrow(negative ? -cases[i] : cases[i]);
                assert_int_equal(got, expected[i] | (negative ? 0x8000 : 0));
                hash = fnv1a(hash, &got, sizeof(got));
            }
        }
    }
    assert_true(hash == NUMPY_NARROWED);
}

static void saturates_to_infinity_and_sinks_to_zero(void **state)
{
    (void)state;
    assert_int_equal(narrow(65504.0f), 0x7BFF);
    assert_int_equal(narrow(nextafterf(65520.0f, 0)), 0x7BFF);
    assert_int_equal(narrow(65520.0f), 0x7C00);
    assert_int_equal(narrow(-INFINITY), 0xFC00);
    assert_int_equal(narrow(0x1p-25f), 0);
    assert_int_equal(narrow(nextafterf(0x1p-25f, 1)), 1);
    assert_int_equal(narrow(-0x1p-149f), 0x8000);
    assert_true(is_nan_half(narrow(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widens_every_value_as_numpy_does),
        cmocka_unit_test(widens_every_value_as_defined),
        cmocka_unit_test(comes_back_unchanged),
        cmocka_unit_test(rounds_to_the_nearest_and_ties_to_even_as_numpy_does),
        cmocka_unit_test(saturates_to_infinity_and_sinks_to_zero),
    };
    return cmocka_run_group_tests_name("session/half", tests, NULL, NULL);
}
