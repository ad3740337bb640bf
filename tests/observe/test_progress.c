/* Tests of src/observe/progress.c. */
#include <stdio.h>

#include "brimful/observe.h"
#include "support/cmocka_all.h"

static const char *line_of(brim_progress p)
{
    static char out[200];

    size_t length = brim_progress_line(&p, out, sizeof(out));
    assert_int_equal(length, strlen(out));
    return out;
}

static void tells_rows_rate_failures_and_time_left(void **state)
{
    (void)state;
    assert_string_equal(
        line_of((brim_progress){
            .n_total = 10000, .n_done = 1247, .n_failed = 3, .rows_per_s = 41.26, .left_s = 212.0}),
        "1,250 of 10,000 rows, 41.3 rows/s, 3 failed, 3 min 32 s left");
}

static void leaves_out_what_is_not_known(void **state)
{
    (void)state;
    assert_string_equal(line_of((brim_progress){.left_s = -1}), "0 rows, 0 failed");
    assert_string_equal(line_of((brim_progress){.n_done = 7, .left_s = -1}), "7 rows, 0 failed");
    assert_string_equal(line_of((brim_progress){.n_total = 9, .n_done = 7, .left_s = 0}),
                        "7 of 9 rows, 0 failed, 0 s left");
}

static void rows_passed_over_are_behind_us_too(void **state)
{
    (void)state;
    assert_string_equal(line_of((brim_progress){.n_total = 200,
                                                .n_done = 1,
                                                .n_failed = 2,
                                                .n_already = 30,
                                                .n_failed_earlier = 40,
                                                .n_repeats = 50,
                                                .left_s = -1}),
                        "123 of 200 rows, 2 failed");
    /* files came after the count: never "8 of 5" */
    assert_string_equal(line_of((brim_progress){.n_total = 5, .n_done = 8, .left_s = -1}),
                        "8 of 8 rows, 0 failed");
}

static void groups_digits_of_large_counts(void **state)
{
    (void)state;
    assert_string_equal(line_of((brim_progress){.n_done = 999, .left_s = -1}),
                        "999 rows, 0 failed");
    assert_string_equal(line_of((brim_progress){.n_done = 1000, .left_s = -1}),
                        "1,000 rows, 0 failed");
    assert_string_equal(line_of((brim_progress){.n_failed = 1002003, .left_s = -1}),
                        "1,002,003 rows, 1,002,003 failed");
    assert_string_equal(line_of((brim_progress){.n_done = UINT64_MAX, .left_s = -1}),
                        "18,446,744,073,709,551,615 rows, 0 failed");
}

static void says_times_in_two_units(void **state)
{
    static const struct {
        double seconds;
        const char *words;
    } CASES[] = {
        {0.4, "0 s"},           {0.5, "1 s"},         {59.4, "59 s"},
        {59.6, "1 min 00 s"},   {61, "1 min 01 s"},   {3599.4, "59 min 59 s"},
        {3599.6, "1 h 00 min"}, {3661, "1 h 01 min"}, {86399, "23 h 59 min"},
        {86400, "1 d 0 h"},     {183600, "2 d 3 h"},  {1e9, "11574 d 1 h"},
    };
    char wanted[64];

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        snprintf(wanted, sizeof(wanted), "0 rows, 0 failed, %s left", CASES[i].words);
        assert_string_equal(line_of((brim_progress){.left_s = CASES[i].seconds}), wanted);
    }
}

static void large_rates_need_no_decimals(void **state)
{
    (void)state;
    assert_string_equal(line_of((brim_progress){.rows_per_s = 0.04, .left_s = -1}),
                        "0 rows, 0.0 rows/s, 0 failed");
    assert_string_equal(line_of((brim_progress){.rows_per_s = 99.94, .left_s = -1}),
                        "0 rows, 99.9 rows/s, 0 failed");
    assert_string_equal(line_of((brim_progress){.rows_per_s = 1234.5, .left_s = -1}),
                        "0 rows, 1234 rows/s, 0 failed");
}

/* B54: plain text, whatever its length. */
static void is_cut_to_the_room_and_holds_no_control_characters(void **state)
{
    const brim_progress p = {
        .n_total = 1234567, .n_done = 7654, .n_failed = 12, .rows_per_s = 3.5, .left_s = 1e6};
    char whole[200], out[200];
    size_t length = brim_progress_line(&p, whole, sizeof(whole));

    (void)state;
    assert_true(length > 40);
    for (size_t i = 0; i < length; i++)
        assert_true(whole[i] >= ' ' && whole[i] <= '~');
    for (size_t capacity = 1; capacity <= length + 2; capacity++) {
        memset(out, '!', sizeof(out));
        size_t n = brim_progress_line(&p, out, capacity);
        assert_int_equal(n, capacity - 1 < length ? capacity - 1 : length);
        assert_memory_equal(out, whole, n);
        assert_int_equal(out[n], '\0');
        assert_int_equal(out[capacity], '!');
    }
    out[0] = '!';
    assert_int_equal(brim_progress_line(&p, out, 0), 0);
    assert_int_equal(out[0], '!');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_rows_rate_failures_and_time_left),
        cmocka_unit_test(leaves_out_what_is_not_known),
        cmocka_unit_test(rows_passed_over_are_behind_us_too),
        cmocka_unit_test(groups_digits_of_large_counts),
        cmocka_unit_test(says_times_in_two_units),
        cmocka_unit_test(large_rates_need_no_decimals),
        cmocka_unit_test(is_cut_to_the_room_and_holds_no_control_characters),
    };
    return cmocka_run_group_tests_name("observe/progress", tests, NULL, NULL);
}
