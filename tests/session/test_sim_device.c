/* Tests of src/session/sim_device.c: its formulas by the example of docs/simulated-device.md. */
#include "session/sim_device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/cmocka_all.h"

enum { PIXELS = 224 * 224 };

#define CARD                                                                                       \
    "\"capacity_bytes\": 25769803776, \"weights_bytes\": 838860800, \"bytes\": {\"fixed\": "       \
    "524288000, \"per_item\": 4194304, \"per_pixel\": 1500}, \"seconds\": {\"fixed\": 0.004, "     \
    "\"per_item\": 0.0001, \"per_pixel\": 1.2e-08, \"parallel_items\": 24, \"knee_items\": 128, "  \
    "\"knee_slope\": 0.04}"

static brim_sim_device device_of(const char *text)
{
    brim_sim_device device;
    brim_error err = {0};

    if (brim_sim_device_parse(text, strlen(text), "d.json", &device, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    return device;
}

static void refuses(const char *text, const char *message)
{
    brim_sim_device device;
    brim_error err = {0};

    assert_int_equal(brim_sim_device_parse(text, strlen(text), "d.json", &device, &err),
                     BRIM_E_FORMAT);
    assert_string_equal(err.message, message);
}

static void is_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted))) fail_msg("%.17g, not %.17g", value, wanted);
}

static void the_example_of_the_documentation_holds(void **state)
{
    static const struct {
        size_t n;
        double need, seconds;
    } ROWS[] = {{8, 1998815232, 0.020850688},
                {32, 3905814528, 0.026467584},
                {256, 21704474624, 0.19093029888}};
    brim_sim_device device = device_of("{" CARD "}");

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        brim_sim_run run = brim_sim_device_run(&device, ROWS[i].n, PIXELS, 0, 0);
        assert_false(run.refused || run.spilled);
        is_near(run.seconds, ROWS[i].seconds);
        is_near(run.bytes + device.weights_bytes, ROWS[i].need);
    }
    brim_sim_run run = brim_sim_device_run(&device, 307, PIXELS, 0, 0);
    assert_false(run.refused);
    is_near(run.seconds, 0.004 + 307 * 0.000702112 * (1 + 0.04 * log2(307 / 128.0)));
    run = brim_sim_device_run(&device, 308, PIXELS, 0, 0);
    assert_true(run.refused);
    is_near(run.seconds, 0.004);
    assert_int_equal(device.n_batches, 4);
    assert_int_equal(device.n_refusals, 1);
    is_near(device.peak_bytes, 524288000 + 307 * 79458304.0);
}

static void text_counts_by_its_length_and_its_square(void **state)
{
    brim_sim_device device = device_of("{\"capacity_bytes\": 1e9, \"bytes\": {\"per_token\": 7,"
                                       " \"per_token_squared\": 3}}");

    (void)state;
    is_near(brim_sim_device_bytes(&device, 2, PIXELS, 10), 2 * (70 + 300));
}

static void beyond_its_capacity_it_spills_and_slows_down(void **state)
{
    brim_sim_device device =
        device_of("{\"capacity_bytes\": 1000, \"bytes\": {\"per_item\": 10},"
                  " \"seconds\": {\"fixed\": 1}, \"spill\": {\"bytes\": 500, \"slowdown\": 9}}");
    static const struct {
        size_t n;
        double seconds;
    } ROWS[] = {{100, 1}, {105, 5}, {110, 9}, {150, 9}, {100, 1}, {101, 1.8}};

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        brim_sim_run run = brim_sim_device_run(&device, ROWS[i].n, 1, 0, 0);
        is_near(run.seconds, ROWS[i].seconds);
        assert_int_equal(run.spilled, ROWS[i].n > 100);
    }
    assert_true(brim_sim_device_run(&device, 151, 1, 0, 0).refused);
    assert_int_equal(device.n_spills, 4);
    assert_int_equal(device.n_spill_entries, 2);
    is_near(brim_sim_device_free_bytes(&device, 0), 1500);
}

static void co_tenants_come_and_go_with_the_batches(void **state)
{
    static const double FREE[] = {1000, 1000, 400, 400, 900};
    brim_sim_device device = device_of(
        "{\"capacity_bytes\": 1000, \"cotenant\": [{\"after_batches\": 2, \"bytes\": 600},"
        " {\"after_batches\": 4, \"bytes\": 100}]}");

    (void)state;
    for (size_t i = 0; i < sizeof(FREE) / sizeof(FREE[0]); i++) {
        is_near(brim_sim_device_free_bytes(&device, 0), FREE[i]);
        is_near(brim_sim_device_free_bytes(&device, 1100), FREE[i]);
        brim_sim_device_run(&device, 1, 1, 0, 0);
    }
}

static void a_ceiling_is_a_second_capacity(void **state)
{
    brim_sim_device device = device_of("{\"capacity_bytes\": 1000, \"weights_bytes\": 100,"
                                       " \"bytes\": {\"per_item\": 10}}");

    (void)state;
    assert_false(brim_sim_device_run(&device, 40, 1, 0, 500).refused);
    assert_true(brim_sim_device_run(&device, 41, 1, 0, 500).refused);
    is_near(brim_sim_device_free_bytes(&device, 500), 400);
    is_near(brim_sim_device_free_bytes(&device, 50), 0);
}

static void noise_is_the_same_for_the_same_seed_and_has_median_1(void **state)
{
    static const char TEXT[] = "{\"capacity_bytes\": 10, \"seconds\": {\"fixed\": 1},"
                               " \"noise\": {\"seed\": 5, \"sigma\": 0.3}}";
    brim_sim_device one = device_of(TEXT), other = device_of(TEXT);
    double sum = 0, squares = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        double seconds = brim_sim_device_run(&one, 1, 1, 0, 0).seconds;
        assert_true(seconds == brim_sim_device_run(&other, 1, 1, 0, 0).seconds);
        sum += log(seconds);
        squares += log(seconds) * log(seconds);
    }
    assert_true(fabs(sum / 10000) < 0.01);
    assert_true(fabs(sqrt(squares / 10000) - 0.3) < 0.01);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    refuses("{}", "d.json: capacity_bytes: missing");
    refuses("[]", "d.json: not a JSON object");
    refuses("{\"capacity_bytes\": 0.5}", "d.json: capacity_bytes: not a number from 1 to 1e+18");
    refuses("{\"capacity_bytes\": 5, \"x\": 1}", "d.json: x: no such setting");
    refuses("{\"capacity_bytes\": 5, \"seconds\": {\"x\": 1}}",
            "d.json: seconds.x: no such setting");
    refuses("{\"capacity_bytes\": 5, \"seconds\": {\"parallel_items\": 0}}",
            "d.json: parallel_items: not a number from 1 to 1e+18");
    refuses("{\"capacity_bytes\": 5, \"noise\": {\"sigma\": 10.5}}",
            "d.json: sigma: not a number from 0 to 10");
    refuses("{\"capacity_bytes\": 5, \"spill\": 1}", "d.json: spill: not an object");
    refuses("{\"capacity_bytes\": 5, \"clock\": 1}",
            "d.json: clock: neither \"virtual\" nor \"real\"");
    refuses("{\"capacity_bytes\": 5, \"cotenant\": {}}",
            "d.json: cotenant: not a list of at most 64");
    refuses("{\"capacity_bytes\": 5, \"name\": 1}",
            "d.json: name: not a text of less than 64 bytes");
}

static void a_file_that_is_not_there_is_told(void **state)
{
    brim_sim_device device;
    brim_error err = {0};

    (void)state;
    assert_int_equal(brim_sim_device_load("/no/such.json", &device, &err), BRIM_E_IO);
    assert_string_equal(err.message, "/no/such.json: cannot be read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_documentation_holds),
        cmocka_unit_test(text_counts_by_its_length_and_its_square),
        cmocka_unit_test(beyond_its_capacity_it_spills_and_slows_down),
        cmocka_unit_test(co_tenants_come_and_go_with_the_batches),
        cmocka_unit_test(a_ceiling_is_a_second_capacity),
        cmocka_unit_test(noise_is_the_same_for_the_same_seed_and_has_median_1),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(a_file_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests_name("session/sim_device", tests, NULL, NULL);
}
