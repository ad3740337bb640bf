/* Tests of src/job/plan.c, on simulated devices whose figures are known. Real models are tests/e2e.
 */
#include "brimful/plan.h"

#include <math.h>

#include "support/cmocka_all.h"
#include "support/temp_dir.h"

enum { PIXELS = 224 * 224 };
static const size_t MIB = (size_t)1 << 20;

/* 400 img/s from batch 8 on, 100 MiB of weights, 10 MiB fixed and 4 MiB for an image of 224 x 224.
 */
static const char DEVICE[] =
    "{\"name\": \"card\", \"capacity_bytes\": 1073741824, \"weights_bytes\": 104857600,"
    " \"bytes\": {\"fixed\": 10485760, \"per_item\": 4194304},"
    " \"seconds\": {\"per_item\": 0.0025, \"parallel_items\": 8}}";

static const char *device(void **state, const char *text)
{
    static char word[4200];

    snprintf(word, sizeof(word), "sim:%s", temp_write_text(state, "d.json", text));
    return word;
}

static brim_embed_options some_options(void **state, const char *const *inputs, size_t n)
{
    brim_embed_options options = BRIM_OPTIONS(brim_embed_options);

    options.model = "sim";
    options.device = device(state, DEVICE);
    options.inputs = inputs;
    options.n_inputs = n;
    return options;
}

static brim_plan plan_of(const brim_embed_options *options, uint32_t seconds)
{
    brim_plan_options planning = BRIM_OPTIONS(brim_plan_options);
    brim_plan plan = BRIM_OPTIONS(brim_plan);
    brim_error err = {0};

    planning.seconds = seconds;
    if (brim_plan_make(options, &planning, &plan, &err) != BRIM_OK) fail_msg("%s", err.message);
    return plan;
}

static void refused(const brim_embed_options *options, uint32_t seconds, const char *words)
{
    brim_plan_options planning = BRIM_OPTIONS(brim_plan_options);
    brim_plan plan = BRIM_OPTIONS(brim_plan);
    brim_error err = {0};

    planning.seconds = seconds;
    assert_int_equal(brim_plan_make(options, &planning, &plan, &err), BRIM_E_ARG);
    if (!strstr(err.message, words)) fail_msg("%s", err.message);
    assert_int_equal(plan.n_images, 0);
}

static void assert_near(double value, double wanted, double share)
{
    if (!(fabs(value - wanted) <= share * wanted)) fail_msg("%g is not %g", value, wanted);
}

/* ---- What is told ---- */

static void the_device_is_found_as_it_is(void **state)
{
    const char *inputs[] = {"null:100000"};
    brim_embed_options options = some_options(state, inputs, 1);
    brim_plan plan = plan_of(&options, 0);

    assert_string_equal(plan.model, "sim");
    assert_string_equal(plan.file, "card");
    assert_string_equal(plan.device, options.device);
    assert_int_equal(plan.weights_bytes, 100 * MIB);
    assert_int_equal(plan.budget_bytes, 1024 * MIB);
    assert_int_equal(plan.origin, BRIM_BUDGET_DEVICE);
    assert_int_equal(plan.work.memory.room_bytes, 924 * MIB);
    assert_near((double)plan.work.memory.item_bytes, 4.0 * (double)MIB, 0.02);
    assert_near((double)plan.work.memory.fixed_bytes, 10.0 * (double)MIB, 0.1);
    assert_true(plan.work.memory.error_frac > 0 && plan.work.memory.error_frac < 0.05);
    assert_int_equal(plan.work.memory.token_bytes, 0);
    assert_int_equal(plan.work.ladder_px, PIXELS);
    assert_in_range(plan.batch, 8, 64);
    assert_in_range(plan.most_items, 216, 228); /* 914 MiB of 4, less the model's error */
    assert_true(plan.has_settled);
    assert_int_equal(plan.n_images, 100000);
    assert_true(plan.is_counted);
    assert_near(plan.images_per_s, 400, 0.03);
    assert_near(plan.run_s, 250, 0.05);
    assert_int_equal(plan.work.limit, BRIM_STAGE_MODEL);
    assert_true(plan.probe_s < 30);
}

/* Wilson's bound where none of n failed: z^2 / (n + z^2). */
static void none_of_a_sample_is_a_bound_for_all(void **state)
{
    const char *inputs[] = {"null:100000"};
    brim_embed_options options = some_options(state, inputs, 1);
    brim_plan plan = plan_of(&options, 0);
    double n = (double)plan.n_sampled;

    assert_in_range(plan.n_sampled, 100, 4096);
    assert_int_equal(plan.n_unreadable, 0);
    assert_string_equal(plan.unreadable, "");
    assert_true(plan.unreadable_least_frac == 0);
    assert_near(plan.unreadable_most_frac, 1.96 * 1.96 / (n + 1.96 * 1.96), 1e-9);
}

/* Each is counted once, however often the probe comes by, and of all of them the share is exact. */
static void unreadable_pictures_are_counted_once(void **state)
{
    const char *inputs[] = {"null:17", *state};
    char name[16];

    temp_write_text(state, "list.txt", "no picture by its name");
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%d.jpg", i);
        temp_write_text(state, name, "no picture\n");
    }
    brim_embed_options options = some_options(state, inputs, 2);
    brim_plan plan = plan_of(&options, 0);
    assert_int_equal(plan.n_images, 20);
    assert_int_equal(plan.n_sampled, 20);
    assert_int_equal(plan.n_unreadable, 3);
    assert_non_null(strstr(plan.unreadable, ".jpg: "));
    assert_near(plan.unreadable_least_frac, 0.15, 1e-9);
    assert_near(plan.unreadable_most_frac, 0.15, 1e-9);
    assert_int_equal(plan.n_skipped, 2); /* and the device's file */
    assert_true(plan.has_settled);
}

static void where_nothing_can_be_read_it_ends_at_once(void **state)
{
    const char *inputs[] = {*state};

    temp_write_text(state, "a.jpg", "no picture");
    brim_embed_options options = some_options(state, inputs, 1);
    brim_plan plan = plan_of(&options, 0);
    assert_int_equal(plan.n_images, 1);
    assert_int_equal(plan.n_unreadable, 1);
    assert_int_equal(plan.work.n_rungs, 0);
    assert_int_equal(plan.batch, 0);
    assert_true(plan.run_s < 0);
    assert_true(plan.probe_s < 10);
}

static void without_pictures_there_is_nothing_to_try(void **state)
{
    const char *inputs[] = {temp_mkdir(state, "empty")};
    brim_embed_options options = some_options(state, inputs, 1);
    brim_plan plan = plan_of(&options, 0);

    assert_int_equal(plan.n_images, 0);
    assert_true(plan.is_counted);
    assert_true(plan.run_s < 0);
}

static void a_limit_is_heeded(void **state)
{
    const char *inputs[] = {"null:100000"};
    brim_embed_options options = some_options(state, inputs, 1);

    options.limit = 4000;
    brim_plan plan = plan_of(&options, 0);
    assert_int_equal(plan.n_images, 4000);
    assert_near(plan.run_s, 10, 0.05);
}

static void memory_and_batch_are_those_asked_for(void **state)
{
    const char *inputs[] = {"null:100000"};
    brim_embed_options options = some_options(state, inputs, 1);

    options.memory_bytes = 150 * MIB;
    brim_plan plan = plan_of(&options, 0);
    assert_int_equal(plan.origin, BRIM_BUDGET_ASKED);
    assert_int_equal(plan.budget_bytes, 150 * MIB);
    assert_in_range(plan.most_items, 8, 10); /* 40 MiB of 4 */
    options.memory_bytes = 4096 * MIB;
    options.batch = 5;
    plan = plan_of(&options, 0);
    assert_int_equal(plan.origin, BRIM_BUDGET_LOWERED);
    assert_int_equal(plan.budget_bytes, 1024 * MIB);
    assert_int_equal(plan.batch, 5);
    assert_near(plan.images_per_s, 250, 0.03);
}

static void every_policy_can_be_planned(void **state)
{
    const char *inputs[] = {"null:100000"};
    brim_embed_options options = some_options(state, inputs, 1);

    options.memory_bytes = 220 * MIB; /* 27 fit */
    for (int i = 0; i < BRIM_N_POLICIES; i++) {
        options.governor.policy = (brim_policy)i;
        brim_plan plan = plan_of(&options, 5);
        assert_in_range(plan.batch, 1, 64);
        assert_true(plan.most_items >= 8); /* where all runs were of one size, a mere belief */
        assert_true(plan.images_per_s > 100 && plan.images_per_s < 410);
    }
}

static void what_never_fits_has_failed_in_the_model(void **state)
{
    const char *inputs[] = {"null:10:9999x9999"};
    brim_embed_options options = some_options(state, inputs, 1);

    options.device = device(state, "{\"capacity_bytes\": 1000, \"bytes\": {\"per_pixel\": 1}}");
    brim_plan plan = plan_of(&options, 0);
    assert_int_equal(plan.n_sampled, 10);
    assert_int_equal(plan.n_failed, 10);
    assert_int_equal(plan.n_unreadable, 0);
    assert_true(plan.run_s < 0);
}

/* Seconds that are slept. */
static void a_real_clock_is_waited_for(void **state)
{
    const char *inputs[] = {"null:1000"};
    brim_embed_options options = some_options(state, inputs, 1);

    options.device = device(state, "{\"capacity_bytes\": 1000000, \"clock\": \"real\","
                                   " \"seconds\": {\"fixed\": 0.02, \"per_item\": 0.01}}");
    brim_plan plan = plan_of(&options, 3);
    assert_true(plan.probe_s >= 1 && plan.probe_s < 20);
    assert_true(plan.images_per_s > 5 && plan.images_per_s <= 101);
    assert_near(plan.run_s, plan.load_s + 1000 / plan.images_per_s, 1e-9);
}

/* ---- What is refused ---- */

static void seconds_are_few(void **state)
{
    const char *inputs[] = {"null:5"};
    brim_embed_options options = some_options(state, inputs, 1);

    refused(&options, 31, "seconds 31 is beyond 30");
}

static void what_can_be_read_only_once_is_not_used_up(void **state)
{
    char pipe[4100];
    const char *inputs[] = {"null:5", "@-"};
    brim_embed_options options = some_options(state, inputs, 2);

    refused(&options, 0, "@-: can be read only once, and a plan would use it up");
    assert_int_equal(mkfifo(temp_path(state, "pipe"), 0600), 0);
    snprintf(pipe, sizeof(pipe), "@%s", temp_path(state, "pipe"));
    inputs[1] = pipe;
    refused(&options, 0, "can be read only once");
    inputs[1] = "@/no/such/list";
    refused(&options, 0, "/no/such/list: no such file or folder");
}

static void options_are_checked_as_those_of_a_run(void **state)
{
    const char *inputs[] = {"null:5"};
    brim_embed_options options = some_options(state, inputs, 1);

    options.model = NULL;
    refused(&options, 0, "no model");
    options = (brim_embed_options){0};
    refused(&options, 0, "BRIM_OPTIONS");
}

static void an_older_caller_gets_as_much_as_it_knows(void **state)
{
    const char *inputs[] = {"null:5"};
    brim_embed_options options = some_options(state, inputs, 1);
    brim_plan plan = {.struct_bytes = offsetof(brim_plan, weights_bytes), .n_images = 77};

    assert_int_equal(brim_plan_make(&options, NULL, &plan, NULL), BRIM_OK);
    assert_string_equal(plan.model, "sim");
    assert_int_equal(plan.weights_bytes, 0);
    assert_int_equal(plan.n_images, 77);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, temp_dir_setup, temp_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(the_device_is_found_as_it_is),
        IN_A_FOLDER(none_of_a_sample_is_a_bound_for_all),
        IN_A_FOLDER(unreadable_pictures_are_counted_once),
        IN_A_FOLDER(where_nothing_can_be_read_it_ends_at_once),
        IN_A_FOLDER(without_pictures_there_is_nothing_to_try),
        IN_A_FOLDER(a_limit_is_heeded),
        IN_A_FOLDER(memory_and_batch_are_those_asked_for),
        IN_A_FOLDER(every_policy_can_be_planned),
        IN_A_FOLDER(what_never_fits_has_failed_in_the_model),
        IN_A_FOLDER(a_real_clock_is_waited_for),
        IN_A_FOLDER(seconds_are_few),
        IN_A_FOLDER(what_can_be_read_only_once_is_not_used_up),
        IN_A_FOLDER(options_are_checked_as_those_of_a_run),
        IN_A_FOLDER(an_older_caller_gets_as_much_as_it_knows),
    };
    return cmocka_run_group_tests_name("job/plan", tests, NULL, NULL);
}
