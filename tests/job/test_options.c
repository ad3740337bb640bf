/* Tests of src/job/options.c: what is refused before anything is opened. */
#include "job/options.h"

#include <math.h>

#include "support/cmocka_all.h"

static brim_embed_options some_options(void)
{
    brim_embed_options options = BRIM_OPTIONS(brim_embed_options);

    options.model = "/no/such/model";
    options.store = "/no/such/store.db";
    return options;
}

static void refused(const brim_embed_options *options, const char *words)
{
    brim_embed_options taken = {0};
    brim_error err = {0};

    assert_int_equal(brim_options_take(&taken, options, &err), BRIM_E_ARG);
    if (!strstr(err.message, words)) fail_msg("%s", err.message);
}

static brim_embed_options taken(const brim_embed_options *options)
{
    brim_embed_options out = {0};
    brim_error err = {0};

    if (brim_options_take(&out, options, &err) != BRIM_OK) fail_msg("%s", err.message);
    return out;
}

static void defaults_are_filled_in(void **state)
{
    brim_embed_options options = some_options();

    (void)state;
    brim_embed_options out = taken(&options);
    assert_int_equal(out.max_px, 178956970);
    assert_int_equal(out.file_timeout_s, 30);
    assert_true(out.n_threads >= 1);
    assert_int_equal(out.governor.policy, BRIM_POLICY_KNEE);
    assert_int_equal(out.governor.start_batch, 0);
}

static void a_batch_is_the_fixed_policy(void **state)
{
    brim_embed_options options = some_options();

    (void)state;
    options.batch = 12;
    options.governor.policy = BRIM_POLICY_AIMD;
    options.governor.start_batch = 7;
    brim_embed_options out = taken(&options);
    assert_int_equal(out.governor.policy, BRIM_POLICY_FIXED);
    assert_int_equal(out.governor.start_batch, 12);
}

static void the_memory_of_a_simulated_device_may_be_small(void **state)
{
    brim_embed_options options = some_options();

    (void)state;
    options.memory_bytes = 1000;
    refused(&options, "--memory: at least 24 MiB");
    options.model = "sim";
    options.device = "sim:d.json";
    assert_int_equal(taken(&options).memory_bytes, 1000);
}

static void pictures_without_files_have_no_tiles(void **state)
{
    static const char *const INPUTS[] = {"photos", "null:5"};
    brim_embed_options options = some_options();

    (void)state;
    options.inputs = INPUTS;
    options.n_inputs = 2;
    taken(&options);
    options.tile = 64;
    refused(&options, "null:5: has no pictures to cut into tiles (--tile)");
}

static void numbers_of_the_governor_have_their_ranges(void **state)
{
    static const struct {
        size_t offset;
        double bad;
        const char *words;
    } CASES[] = {
        {offsetof(brim_governor_options, within_frac), 1.5, "--within 1.5: not from 0 to 1"},
        {offsetof(brim_governor_options, explore_frac), -0.1, "--explore -0.1"},
        {offsetof(brim_governor_options, spill_factor), 0.5, "--spill-factor 0.5: not from 1"},
        {offsetof(brim_governor_options, estimate_frac), 2, "--estimate-frac 2"},
        {offsetof(brim_governor_options, margin_frac), NAN, "--margin-frac nan"},
        {offsetof(brim_governor_options, bytes_per_pixel), INFINITY, "--bytes-per-pixel inf"},
        {offsetof(brim_governor_options, bytes_per_token), -1, "--bytes-per-token -1"},
        {offsetof(brim_governor_options, low_frac), 1.1, "--low-frac 1.1"},
        {offsetof(brim_governor_options, high_frac), 1.1, "--high-frac 1.1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        brim_embed_options options = some_options();
        memcpy((char *)&options.governor + CASES[i].offset, &CASES[i].bad, sizeof(double));
        refused(&options, CASES[i].words);
    }
}

static void what_the_governor_cannot_be_is_refused(void **state)
{
    brim_embed_options options = some_options();

    (void)state;
    options.governor.policy = BRIM_N_POLICIES;
    refused(&options, "policy 5: out of range");
    options = some_options();
    options.governor.max_batch = 65537;
    refused(&options, "at most 65536");
    options = some_options();
    options.governor.low_frac = options.governor.high_frac = 0.4;
    refused(&options, "--low-frac 0.4: not below --high-frac 0.4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(a_batch_is_the_fixed_policy),
        cmocka_unit_test(the_memory_of_a_simulated_device_may_be_small),
        cmocka_unit_test(pictures_without_files_have_no_tiles),
        cmocka_unit_test(numbers_of_the_governor_have_their_ranges),
        cmocka_unit_test(what_the_governor_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("job/options", tests, NULL, NULL);
}
