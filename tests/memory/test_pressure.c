/* Tests of src/memory/pressure.c, on made-up trees. */
#include "memory/pressure.h"

#include "support/cmocka_all.h"
#include "support/fake_system.h"

static void counters_are_read_where_there_are_any(void **state)
{
    brim_pressure now = brim_pressure_now(*state);

    assert_int_equal(now.n_swapped_in, 0);
    assert_int_equal(now.stalled_us, 0);
    fake_file(state, "proc/vmstat", "nr_free_pages 5\npswpin 12345\npswpout 99\n");
    fake_file(state, "proc/pressure/memory",
              "some avg10=1.00 avg60=2.00 avg300=0.10 total=67890\n"
              "full avg10=1.00 avg60=2.00 avg300=0.10 total=11\n");
    now = brim_pressure_now(*state);
    assert_int_equal(now.n_swapped_in, 12345);
    assert_int_equal(now.stalled_us, 67890);
    fake_file(state, "proc/pressure/memory", "nonsense total=5\n");
    fake_file(state, "proc/vmstat", "pswpin\n");
    now = brim_pressure_now(*state);
    assert_int_equal(now.n_swapped_in, 0);
    assert_int_equal(now.stalled_us, 0);
}

static void the_real_machine_answers(void **state)
{
    brim_pressure before = brim_pressure_now(""), after = brim_pressure_now("");

    (void)state;
    assert_true(after.n_major_faults >= before.n_major_faults);
    assert_true(after.n_swapped_in >= before.n_swapped_in);
    assert_true(after.stalled_us >= before.stalled_us);
}

static void only_a_meaningful_rise_counts(void **state)
{
    static const struct {
        brim_pressure after;
        double seconds;
        bool rose;
    } CASES[] = {
        {{1000, 2000, 3000}, 1.0, false},
        {{1064, 2064, 3000 + 50000}, 1.0, false}, /* a little of each */
        {{1065, 2000, 3000}, 1.0, true},
        {{1000, 2065, 3000}, 1.0, true},
        {{1000, 2000, 3000 + 50001}, 1.0, true},
        {{1000, 2000, 3000 + 50001}, 2.0, false},
        {{0, 0, 0}, 1.0, false}, /* a counter that began anew */
    };
    brim_pressure before = {1000, 2000, 3000};

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
        if (brim_pressure_rose(&before, &CASES[i].after, CASES[i].seconds) != CASES[i].rose)
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counters_are_read_where_there_are_any, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test(the_real_machine_answers),
        cmocka_unit_test(only_a_meaningful_rise_counts),
    };
    return cmocka_run_group_tests_name("memory/pressure", tests, NULL, NULL);
}
