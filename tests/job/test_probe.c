/* Tests of src/job/probe.c: the arithmetic of it. What it runs is tests/job/test_plan.c. */
#include "job/probe.h"

#include <math.h>

#include "support/cmocka_all.h"

static void assert_near(double value, double wanted, double share)
{
    if (!(fabs(value - wanted) <= share * wanted)) fail_msg("%g is not %g", value, wanted);
}

/* ---- Pace ---- */

static void nothing_done_is_no_pace(void **state)
{
    brim_pace pace = {0};

    (void)state;
    assert_true(brim_pace_per_s(&pace) == 0);
    brim_pace_note(&pace, 1.0, 0);
    brim_pace_note(&pace, 2.0, 0);
    assert_true(brim_pace_per_s(&pace) == 0);
    assert_true(brim_pace_last_step_s(&pace) == 0);
}

static void one_batch_is_a_pace_of_all_the_time(void **state)
{
    brim_pace pace = {0};

    (void)state;
    brim_pace_note(&pace, 4.0, 8);
    assert_near(brim_pace_per_s(&pace), 2.0, 1e-9);
    assert_true(brim_pace_last_step_s(&pace) == 0);
}

static void the_beginning_does_not_count(void **state)
{
    brim_pace pace = {0};

    (void)state;
    for (int i = 1; i <= 5; i++) /* cold: 1 a second */
        brim_pace_note(&pace, i, (uint64_t)i);
    for (int i = 1; i <= 10; i++) /* warm: 20 a second, told ten times a second */
        for (int k = 0; k < 10; k++)
            brim_pace_note(&pace, 5 + i + k / 10.0, (uint64_t)(5 + 20 * i));
    assert_near(brim_pace_per_s(&pace), 20.0, 1e-9);
    assert_near(brim_pace_last_step_s(&pace), 1.0, 1e-9);
}

static void there_may_be_any_number_of_points(void **state)
{
    brim_pace pace = {0};

    (void)state;
    for (int i = 1; i <= 100000; i++)
        brim_pace_note(&pace, i / 1000.0, (uint64_t)(i <= 20000 ? i : 7 * i - 6 * 20000));
    assert_true(pace.n_points <= BRIM_PACE_POINTS);
    assert_near(brim_pace_per_s(&pace), 7000.0, 1e-6);
}

/* ---- Calm ---- */

static void a_batch_that_stays_is_found(void **state)
{
    brim_calm calm = {0};
    int i;

    (void)state;
    assert_false(brim_calm_look(&calm, 0, 100, 20.0)); /* nothing is known */
    for (i = 0; i < 100; i++)
        if (brim_calm_look(&calm, 16 + i % 2, (uint64_t)i, i * 0.1)) break;
    assert_int_equal(i, 20); /* 2 seconds */
}

static void few_runs_are_not_enough(void **state)
{
    brim_calm calm = {0};

    (void)state;
    assert_false(brim_calm_look(&calm, 16, 1, 1.0));
    assert_false(brim_calm_look(&calm, 16, 8, 20.0));
    assert_true(brim_calm_look(&calm, 16, 9, 21.0));
}

static void a_change_begins_the_wait_anew_and_makes_it_longer(void **state)
{
    brim_calm calm = {0};
    uint64_t n_runs = 0;
    double at_s;

    (void)state;
    for (at_s = 0; at_s < 12; at_s += 1) /* climbs */
        assert_false(brim_calm_look(&calm, (size_t)1 << (int)(at_s / 1.5), n_runs += 5, at_s));
    while (!brim_calm_look(&calm, 200, n_runs += 5, at_s))
        at_s += 1;
    assert_near(at_s, 18.0, 0.01); /* it began at 12 */
}

static void very_many_runs_need_no_time(void **state)
{
    brim_calm calm = {0};

    (void)state;
    assert_false(brim_calm_look(&calm, 16, 10, 0.01));
    assert_false(brim_calm_look(&calm, 16, 265, 0.02));
    assert_true(brim_calm_look(&calm, 16, 266, 0.03));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_done_is_no_pace),
        cmocka_unit_test(one_batch_is_a_pace_of_all_the_time),
        cmocka_unit_test(the_beginning_does_not_count),
        cmocka_unit_test(there_may_be_any_number_of_points),
        cmocka_unit_test(a_batch_that_stays_is_found),
        cmocka_unit_test(few_runs_are_not_enough),
        cmocka_unit_test(a_change_begins_the_wait_anew_and_makes_it_longer),
        cmocka_unit_test(very_many_runs_need_no_time),
    };
    return cmocka_run_group_tests_name("job/probe", tests, NULL, NULL);
}
