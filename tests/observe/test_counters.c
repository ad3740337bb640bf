/* Tests of src/observe/counters.c. */
#include <pthread.h>

#include "observe/counters.h"
#include "support/cmocka_all.h"

static const uint64_t S = 1000000000u;

static void before_the_start_nothing_is_known(void **state)
{
    brim_counters counters = {0};

    (void)state;
    counters.n_done = 3;
    counters.n_total = 10;
    brim_progress p = brim_counters_snapshot(&counters, 7 * S);
    assert_int_equal(p.n_done, 3);
    assert_int_equal(p.n_total, 10);
    assert_true(p.elapsed_s == 0 && p.rows_per_s == 0 && p.left_s < 0);
    counters.started_ns = 7 * S;
    p = brim_counters_snapshot(&counters, 7 * S); /* the very moment: no division by nothing */
    assert_true(p.elapsed_s == 0 && p.rows_per_s == 0 && p.left_s < 0);
    p = brim_counters_snapshot(&counters, 6 * S);
    assert_true(p.elapsed_s == 0 && p.rows_per_s == 0 && p.left_s < 0);
}

static void copies_every_count_to_its_place(void **state)
{
    brim_counters counters = {.n_total = 100,
                              .n_done = 1,
                              .n_failed = 2,
                              .n_already = 3,
                              .n_failed_earlier = 4,
                              .n_repeats = 5,
                              .n_batches = 6,
                              .n_refusals = 7,
                              .n_splits = 8,
                              .n_set_aside = 9,
                              .n_trims = 10};

    (void)state;
    brim_progress p = brim_counters_snapshot(&counters, 0);
    assert_int_equal(p.n_total, 100);
    assert_int_equal(p.n_done, 1);
    assert_int_equal(p.n_failed, 2);
    assert_int_equal(p.n_already, 3);
    assert_int_equal(p.n_failed_earlier, 4);
    assert_int_equal(p.n_repeats, 5);
    assert_int_equal(p.n_batches, 6);
    assert_int_equal(p.n_refusals, 7);
    assert_int_equal(p.n_splits, 8);
    assert_int_equal(p.n_set_aside, 9);
    assert_int_equal(p.n_trims, 10);
    assert_int_equal(p.n_skipped, 0); /* the source's to tell */
    assert_int_equal(p.n_incomplete, 0);
}

static void the_rate_counts_results_and_failures_of_this_run(void **state)
{
    brim_counters counters = {
        .n_done = 30, .n_failed = 10, .n_already = 1000, .n_repeats = 5, .started_ns = 100 * S};

    (void)state;
    brim_progress p = brim_counters_snapshot(&counters, 104 * S);
    assert_true(p.elapsed_s == 4.0);
    assert_true(p.rows_per_s == 10.0);
    assert_true(p.left_s < 0); /* not counted yet: not known */
}

static void the_time_left_is_that_of_the_rows_still_to_come(void **state)
{
    brim_counters counters = {.n_done = 30,
                              .n_failed = 10,
                              .n_already = 100,
                              .n_failed_earlier = 50,
                              .n_repeats = 10,
                              .started_ns = 1 * S};

    (void)state;
    counters.n_total = 300; /* 200 passed, 100 left at 10 a second */
    assert_true(brim_counters_snapshot(&counters, 5 * S).left_s == 10.0);
    counters.n_total = 200;
    assert_true(brim_counters_snapshot(&counters, 5 * S).left_s == 0.0);
    counters.n_total = 150; /* files came while it ran: never below nothing */
    assert_true(brim_counters_snapshot(&counters, 5 * S).left_s == 0.0);
    counters.n_total = 300;
    counters.n_done = counters.n_failed = 0; /* nothing finished: no rate to judge by */
    brim_progress p = brim_counters_snapshot(&counters, 5 * S);
    assert_true(p.left_s < 0 && p.rows_per_s == 0 && p.elapsed_s == 4.0);
}

static brim_counters shared;

static void *add_often(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        brim_count(&shared.n_done, 2);
        brim_count(&shared.n_failed, 1);
    }
    return arg;
}

static void no_count_of_any_thread_is_lost(void **state)
{
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_often, NULL), 0);
    for (int i = 0; i < 1000; i++)
        assert_true(brim_counters_snapshot(&shared, S).n_done <= 160000);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    brim_progress p = brim_counters_snapshot(&shared, S);
    assert_int_equal(p.n_done, 160000);
    assert_int_equal(p.n_failed, 80000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_start_nothing_is_known),
        cmocka_unit_test(copies_every_count_to_its_place),
        cmocka_unit_test(the_rate_counts_results_and_failures_of_this_run),
        cmocka_unit_test(the_time_left_is_that_of_the_rows_still_to_come),
        cmocka_unit_test(no_count_of_any_thread_is_lost),
    };
    return cmocka_run_group_tests_name("observe/counters", tests, NULL, NULL);
}
