/* Tests of src/governor/governor.c: decisions on simulated devices, and as they were recorded. */
#include "governor/governor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "session/sim_device.h"
#include "support/cmocka_all.h"

static const brim_shape PHOTO = {.pixels = 224 * 224};

static brim_sim_device device_of(const char *name)
{
    brim_sim_device device;
    char path[1024];
    brim_error err = {0};

    snprintf(path, sizeof(path), TEST_DATA "/../../bench/devices/%s.json", name);
    if (brim_sim_device_load(path, &device, &err) != BRIM_OK) fail_msg("%s", err.message);
    return device;
}

static brim_observation observe(brim_governor *governor, brim_sim_device *device, size_t n)
{
    brim_sim_run run = brim_sim_device_run(device, n, PHOTO.pixels, 0, 0.0);
    brim_observation seen = {.n_items = n,
                             .shape = PHOTO,
                             .seconds = run.seconds,
                             .peak_bytes = run.refused ? 0 : (size_t)run.bytes,
                             .refused = run.refused};

    brim_governor_observe(governor, &seen);
    return seen;
}

/* Runs n_runs of what is offered; returns the last size. */
static size_t drive(brim_governor *governor, brim_sim_device *device, size_t n_runs)
{
    size_t n = 0;

    for (size_t i = 0; i < n_runs; i++) {
        n = brim_governor_offer(governor, PHOTO, (size_t)brim_sim_device_free_bytes(device, 0.0));
        observe(governor, device, n);
    }
    return n;
}

/* ---- Recorded decisions ---- */

static void replay(const char *name)
{
    static brim_governor governor;
    brim_governor_options options = {0};
    char path[1024], line[BRIM_OBSERVATION_LINE_BYTES];
    size_t n_offers = 0, n_line = 0;

    snprintf(path, sizeof(path), TEST_DATA "/governor/%s.log", name);
    FILE *log = fopen(path, "r");
    assert_non_null(log);
    brim_governor_init(&governor, &options);
    while (fgets(line, sizeof(line), log)) {
        brim_observation seen;
        brim_offer offer;
        n_line++;
        if (brim_offer_read(line, &offer)) {
            governor.options.max_batch = offer.most_items;
            size_t n = brim_governor_offer(&governor, offer.shape, offer.budget_bytes);
            if (n != offer.n_items)
                fail_msg("%s:%zu: %zu instead of %zu", path, n_line, n, offer.n_items);
            n_offers++;
        } else if (brim_observation_read(line, &seen)) {
            brim_governor_observe(&governor, &seen);
        } else {
            fail_msg("%s:%zu: not a line of a log", path, n_line);
        }
    }
    fclose(log);
    assert_true(n_offers > 50);
}

static void recorded_logs_give_the_same_decisions(void **state)
{
    (void)state;
    replay("card-24gb");
    replay("laptop-spill");
    replay("edge");
    replay("cloud-noisy");
    replay("text-quadratic");
}

static void an_observation_is_read_as_it_was_written(void **state)
{
    brim_observation seen = {.n_items = 7,
                             .shape = {640 * 480, 77},
                             .seconds = 0.1234567890123456,
                             .peak_bytes = 123456789,
                             .has_pressure = true};
    brim_observation read;
    char line[BRIM_OBSERVATION_LINE_BYTES];

    (void)state;
    brim_observation_write(&seen, line, sizeof(line));
    assert_true(brim_observation_read(line, &read));
    assert_true(read.seconds == seen.seconds && read.n_items == 7 && read.has_pressure);
    assert_true(read.peak_bytes == seen.peak_bytes && read.shape.tokens == 77);
    seen.refused = true;
    brim_observation_write(&seen, line, sizeof(line));
    assert_true(brim_observation_read(line, &read) && read.refused);
    assert_false(brim_observation_read("offer 1 2 3 4 = 5", &read));
    assert_false(brim_observation_read("ran 1 2", &read));
}

/* ---- The default policy ---- */

static void finds_the_knee(void **state)
{
    brim_sim_device device = device_of("cpu-knee");
    static brim_governor governor;
    brim_governor_options options = {0};

    (void)state;
    brim_governor_init(&governor, &options);
    assert_int_equal(drive(&governor, &device, 200), 4);
}

static void a_noisy_device_has_no_wall_in_ten_thousand_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        brim_sim_device device = device_of("cloud-noisy");
        static brim_governor governor;
        brim_governor_options options = {0};
        device.noise_state += seed;
        brim_governor_init(&governor, &options);
        drive(&governor, &device, 10000);
        assert_int_equal(brim_governor_count(&governor).n_spills, 0);
        assert_null(brim_governor_take_word(&governor));
    }
}

static void a_spill_is_left_at_once_and_entered_rarely(void **state)
{
    brim_sim_device device = device_of("laptop-spill");
    static brim_governor governor;
    brim_governor_options options = {0};
    size_t in_a_row = 0, longest = 0;

    (void)state;
    brim_governor_init(&governor, &options);
    for (size_t i = 0; i < 2000; i++) {
        uint64_t before = device.n_spills;
        drive(&governor, &device, 1);
        in_a_row = device.n_spills > before ? in_a_row + 1 : 0;
        if (in_a_row > longest) longest = in_a_row;
    }
    assert_true(longest <= 2);
    assert_in_range(device.n_spill_entries, 1, 3);
}

/* The first batch and the second already spill: nothing tells, before a smaller one is run. */
static void a_device_that_spills_from_the_start_is_found_out(void **state)
{
    static const char FILE[] =
        "{\"capacity_bytes\": 500, \"seconds\": {\"fixed\": 0.001, \"per_item\": 0.0002,"
        " \"parallel_items\": 5}, \"bytes\": {\"fixed\": 100, \"per_item\": 100},"
        " \"spill\": {\"bytes\": 1000, \"slowdown\": 15}}";
    brim_sim_device device;
    static brim_governor governor;
    brim_governor_options options = {0};

    (void)state;
    assert_int_equal(brim_sim_device_parse(FILE, sizeof(FILE) - 1, "small", &device, NULL),
                     BRIM_OK);
    brim_governor_init(&governor, &options);
    drive(&governor, &device, 100);
    assert_int_equal(drive(&governor, &device, 100), 4);
}

static void a_smaller_size_that_is_dear_is_no_wall(void **state)
{
    static brim_governor governor;
    brim_governor_options options = {0};
    size_t budget = (size_t)1 << 33;

    (void)state;
    brim_governor_init(&governor, &options);
    for (size_t n = 8; n <= 32; n *= 2)
        for (int i = 0; i < 4; i++) {
            brim_observation seen = {n, PHOTO, 0.01 * (double)n, n << 20, false, false};
            brim_governor_observe(&governor, &seen);
        }
    for (int i = 0; i < 4; i++) {
        brim_observation seen = {2, PHOTO, 0.1, 2 << 20, false, false};
        brim_governor_observe(&governor, &seen);
    }
    assert_int_equal(brim_governor_count(&governor).n_spills, 0);
    assert_true(brim_governor_limit(&governor, PHOTO, budget) >= 8);
}

static void a_run_many_times_too_slow_is_a_wall_and_told_when_a_counter_agrees(void **state)
{
    static brim_governor governor;
    brim_governor_options options = {0};
    size_t budget = (size_t)1 << 33;

    (void)state;
    brim_governor_init(&governor, &options);
    for (size_t i = 0; i < 30; i++) {
        brim_observation good = {20, PHOTO, 20 * 0.01 + 0.02, 200u << 20, false, false};
        good.n_items = i % 2 ? 20 : 24;
        good.seconds = (double)good.n_items * 0.01 + 0.02;
        good.peak_bytes = good.n_items * (10u << 20);
        brim_governor_observe(&governor, &good);
    }
    brim_observation slow = {48, PHOTO, 48 * 0.08, 480u << 20, false, true};
    brim_governor_observe(&governor, &slow);
    assert_int_equal(brim_governor_count(&governor).n_spills, 1);
    assert_true(brim_governor_offer(&governor, PHOTO, budget) <= 24);
    assert_true(brim_governor_limit(&governor, PHOTO, budget) <= 24);
    const char *word = brim_governor_take_word(&governor);
    assert_non_null(word);
    assert_non_null(strstr(word, "the device spills into system memory above batch 24: "));
    assert_null(brim_governor_take_word(&governor));
}

static void a_refusal_halves_at_once_and_is_approached_again(void **state)
{
    static brim_governor governor;
    brim_governor_options options = {0};
    size_t budget = (size_t)1 << 40, largest = 0;

    (void)state;
    brim_governor_init(&governor, &options);
    brim_observation first = {16, PHOTO, 0.2, 16u << 20, false, false};
    brim_governor_observe(&governor, &first);
    brim_observation refused = {64, PHOTO, 0.01, 0, true, false};
    brim_governor_observe(&governor, &refused);
    assert_true(brim_governor_offer(&governor, PHOTO, budget) <= 32);
    for (size_t i = 0; i < 400; i++) {
        size_t n = brim_governor_offer(&governor, PHOTO, budget);
        brim_observation ran = {n, PHOTO, 0.1 + 0.001 * (double)n, n << 20, false, false};
        if (n > largest) largest = n;
        brim_governor_observe(&governor, &ran);
    }
    assert_true(largest >= 64);
}

static void offers_keep_within_the_budget(void **state)
{
    brim_sim_device device = device_of("card-24gb");
    static brim_governor governor;
    brim_governor_options options = {0};

    (void)state;
    brim_governor_init(&governor, &options);
    drive(&governor, &device, 100);
    size_t budget = (size_t)4 << 30;
    size_t n = brim_governor_offer(&governor, PHOTO, budget);
    assert_true(brim_sim_device_bytes(&device, n, PHOTO.pixels, 0) <= (double)budget);
    double real = brim_sim_device_bytes(&device, 50, PHOTO.pixels, 0);
    brim_bytes_forecast forecast = brim_governor_forecast(&governor, PHOTO, 50);
    assert_true(fabs((double)forecast.bytes / real - 1.0) < 0.05);
    assert_true(forecast.upper_bytes >= forecast.bytes);
}

/* ---- The others ---- */

static void aimd_doubles_after_three_and_halves_on_refusal(void **state)
{
    static brim_governor governor;
    brim_governor_options options = {.policy = BRIM_POLICY_AIMD};
    brim_observation ran = {32, PHOTO, 0.1, 1u << 20, false, false};
    brim_observation refused = {64, PHOTO, 0.1, 0, true, false};

    (void)state;
    brim_governor_init(&governor, &options);
    assert_int_equal(brim_governor_offer(&governor, PHOTO, SIZE_MAX), 32);
    for (int i = 0; i < 3; i++)
        brim_governor_observe(&governor, &ran);
    assert_int_equal(brim_governor_offer(&governor, PHOTO, SIZE_MAX), 64);
    brim_governor_observe(&governor, &refused);
    assert_int_equal(brim_governor_offer(&governor, PHOTO, SIZE_MAX), 32);
}

static void estimate_and_fixed_look_at_one_number(void **state)
{
    static brim_governor governor;
    brim_governor_options estimate = {.policy = BRIM_POLICY_ESTIMATE};
    brim_governor_options fixed = {.policy = BRIM_POLICY_FIXED, .start_batch = 17};
    size_t item = 224 * 224 * 12;

    (void)state;
    brim_governor_init(&governor, &estimate);
    assert_int_equal(brim_governor_offer(&governor, PHOTO, item * 100), 40); /* x 0.8 x 0.5 */
    assert_int_equal(brim_governor_offer(&governor, PHOTO, item * 1000), 64);
    brim_governor_init(&governor, &fixed);
    assert_int_equal(brim_governor_offer(&governor, PHOTO, 1), 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_logs_give_the_same_decisions),
        cmocka_unit_test(an_observation_is_read_as_it_was_written),
        cmocka_unit_test(finds_the_knee),
        cmocka_unit_test(a_noisy_device_has_no_wall_in_ten_thousand_batches),
        cmocka_unit_test(a_spill_is_left_at_once_and_entered_rarely),
        cmocka_unit_test(a_device_that_spills_from_the_start_is_found_out),
        cmocka_unit_test(a_smaller_size_that_is_dear_is_no_wall),
        cmocka_unit_test(a_run_many_times_too_slow_is_a_wall_and_told_when_a_counter_agrees),
        cmocka_unit_test(a_refusal_halves_at_once_and_is_approached_again),
        cmocka_unit_test(offers_keep_within_the_budget),
        cmocka_unit_test(aimd_doubles_after_three_and_halves_on_refusal),
        cmocka_unit_test(estimate_and_fixed_look_at_one_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
