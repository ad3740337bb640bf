/* Tests of src/job/plan_words.c. */
#include <jansson.h>

#include "brimful/plan.h"
#include "support/cmocka_all.h"

static const size_t MIB = (size_t)1 << 20;

static brim_plan some_plan(void)
{
    return (brim_plan){
        .struct_bytes = sizeof(brim_plan),
        .model = "vit-s14",
        .file = "/models/vit-s14/onnx/model.onnx",
        .device = "cpu",
        .weights_bytes = 84 * MIB,
        .budget_bytes = 5222 * MIB,
        .origin = BRIM_BUDGET_MACHINE,
        .work =
            {
                .limit = BRIM_STAGE_DECODING,
                .idle_frac = 0.78,
                .n_rungs = 3,
                .ladder = {{1, 3, 12.51, 41 * MIB, false, false},
                           {8, 40, 20.84, 43 * MIB, true, false},
                           {512, 0, 3.2, 2048 * MIB, false, true}},
                .memory = {41 * MIB, 312 << 10, 0, 0.021, 4096 * MIB, 300},
            },
        .batch = 8,
        .most_items = 210,
        .n_images = 10000,
        .is_counted = true,
        .n_sampled = 512,
        .unreadable_most_frac = 0.00745,
        .images_per_s = 20.84,
        .has_settled = true,
        .load_s = 1.24,
        .probe_s = 7.5,
        .run_s = 481.1,
    };
}

static const char *text_of(const brim_plan *plan)
{
    static char text[BRIM_PLAN_TEXT_BYTES];

    size_t length = brim_plan_text(plan, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    return text;
}

static void has(const brim_plan *plan, const char *words)
{
    if (!strstr(text_of(plan), words)) fail_msg("%s\nis not in\n%s", words, text_of(plan));
}

static void has_not(const brim_plan *plan, const char *words)
{
    if (strstr(text_of(plan), words)) fail_msg("%s\nis in\n%s", words, text_of(plan));
}

static json_t *as_json(const brim_plan *plan)
{
    char text[BRIM_PLAN_JSON_BYTES];

    assert_int_equal(brim_plan_json(plan, text, sizeof(text)), BRIM_OK);
    assert_null(strchr(text, '\n'));
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(all);
    return all;
}

static double number(const json_t *of, const char *name)
{
    const json_t *value = json_object_get(of, name);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void assert_text(const json_t *of, const char *name, const char *wanted)
{
    assert_string_equal(json_string_value(json_object_get(of, name)), wanted);
}

static void a_plan_is_a_page(void **state)
{
    brim_plan plan = some_plan();

    (void)state;
    assert_string_equal(
        text_of(&plan),
        "model     vit-s14 (model.onnx, 84 MiB of weights) on cpu\n"
        "memory    312 KiB per image +- 2.1 %, 41 MiB fixed, while the model runs\n"
        "budget    5.1 GiB: 80 % of what is free; 4.0 GiB of it for a run of the model\n"
        "batch     8 is chosen, at most 210 fit\n"
        "ladder     batch     img/s     memory   runs\n"
        "               1      12.5     41 MiB      3\n"
        "               8      20.8     43 MiB     40  chosen\n"
        "             512       3.2    2.0 GiB      -  too large\n"
        "stages    decoding limits: the model waited 78 % of the time\n"
        "images    10,000; unreadable: 0 of 512 sampled (at most 0.74 %)\n"
        "time      about 8 min 01 s at 20.8 img/s, with 1.2 s to load\n");
}

static void what_came_up_is_told(void **state)
{
    brim_plan plan = some_plan();

    (void)state;
    plan.n_unreadable = 3;
    plan.unreadable_least_frac = 0.002;
    plan.unreadable_most_frac = 0.0171;
    snprintf(plan.unreadable, sizeof(plan.unreadable), "a/b.jpg: empty file");
    plan.n_failed = 2;
    plan.n_skipped = 7;
    plan.n_incomplete = 1;
    plan.has_settled = false;
    plan.work.memory.token_bytes = 2048;
    plan.work.memory.fixed_bytes = 0;
    has(&plan, "unreadable: 3 of 512 sampled (0.2 to 1.7 %)\n          a/b.jpg: empty file\n");
    has(&plan, "          2 of the sample failed in the model\n");
    has(&plan, "          7 files are no pictures by their names\n");
    has(&plan, "          1 inputs could not be read to their end\n");
    has(&plan, "at most 210 fit (it had not settled)\n");
    has(&plan, "312 KiB per image +- 2.1 %, 2 KiB per token, while the model runs\n");
}

static void an_unfinished_count_is_at_least(void **state)
{
    brim_plan plan = some_plan();

    (void)state;
    plan.is_counted = false;
    has(&plan, "images    at least 10,000; ");
    has(&plan, "time      more than 8 min 01 s ");
}

static void a_whole_is_no_sample(void **state)
{
    brim_plan plan = some_plan();

    (void)state;
    plan.n_images = 512;
    has(&plan, "images    512; unreadable: 0 of 512, which are all\n");
    plan.is_counted = false;
    has(&plan, "images    at least 512; unreadable: 0 of 512 sampled ");
}

static void what_is_not_known_is_left_out(void **state)
{
    brim_plan plan = some_plan();

    (void)state;
    plan.work = (brim_work){0};
    plan.batch = plan.most_items = 0;
    plan.n_sampled = 0;
    plan.images_per_s = 0;
    plan.run_s = -1;
    has(&plan, "\nbudget    5.1 GiB: 80 % of what is free\nimages    10,000\n");
    has_not(&plan, "memory");
    has_not(&plan, "batch");
    has_not(&plan, "time");
    json_t *all = as_json(&plan);
    assert_true(json_is_null(json_object_get(all, "run_s")));
    assert_true(json_is_null(json_object_get(all, "images_per_s")));
    json_decref(all);
}

static void each_origin_has_its_words(void **state)
{
    static const char *const WORDS[] = {
        "as --memory says",          "less than --memory",
        "80 % of what is free",      "80 % of what the control group leaves",
        "80 % of the address space", "all of the simulated device"};
    brim_plan plan = some_plan();

    (void)state;
    for (int i = 0; i <= BRIM_BUDGET_DEVICE; i++) {
        plan.origin = (brim_budget_origin)i;
        has(&plan, WORDS[i]);
        assert_string_not_equal(brim_budget_origin_name(plan.origin), "unknown");
    }
    assert_string_equal(brim_budget_origin_name((brim_budget_origin)77), "unknown");
}

static void programs_find_the_same(void **state)
{
    brim_plan plan = some_plan();

    (void)state;
    json_t *all = as_json(&plan);
    const json_t *model = json_object_get(all, "model"), *budget = json_object_get(all, "budget");
    assert_text(model, "name", "vit-s14");
    assert_text(model, "file", "/models/vit-s14/onnx/model.onnx");
    assert_text(model, "device", "cpu");
    assert_true(number(model, "weights_bytes") == 84 << 20);
    assert_text(budget, "from", "free");
    assert_true(number(budget, "bytes") == 5222.0 * (1 << 20));
    assert_true(number(budget, "run_bytes") == 4096.0 * (1 << 20));
    assert_true(number(json_object_get(all, "run_memory"), "per_image") == 312 << 10);
    assert_true(number(all, "batch") == 8 && number(all, "largest_batch") == 210);
    assert_int_equal(json_array_size(json_object_get(all, "ladder")), 3);
    assert_text(json_object_get(all, "limit"), "stage", "decoding");
    assert_true(number(all, "images") == 10000);
    assert_true(json_is_true(json_object_get(all, "counted")));
    assert_true(json_is_true(json_object_get(all, "settled")));
    const json_t *unreadable = json_object_get(all, "unreadable");
    assert_true(number(unreadable, "sampled") == 512 && number(unreadable, "failed") == 0);
    assert_true(number(unreadable, "most") == 0.00745 && number(unreadable, "least") == 0);
    assert_true(json_is_null(json_object_get(unreadable, "example")));
    assert_true(number(all, "images_per_s") == 20.84 && number(all, "run_s") == 481.1);
    assert_true(number(all, "load_s") == 1.24 && number(all, "probe_s") == 7.5);
    json_decref(all);
}

static void json_is_never_cut_and_text_is(void **state)
{
    brim_plan plan = some_plan();
    char out[BRIM_PLAN_JSON_BYTES], text[16];

    (void)state;
    assert_int_equal(brim_plan_json(&plan, out, 100), BRIM_E_ARG);
    assert_string_equal(out, "");
    assert_int_equal(brim_plan_text(&plan, text, sizeof(text)), 15);
    assert_string_equal(text, "model     vit-s");
    assert_int_equal(brim_plan_text(&plan, text, 0), 0);
}

static void the_largest_numbers_fit(void **state)
{
    brim_plan plan = some_plan();
    char text[BRIM_PLAN_TEXT_BYTES];

    (void)state;
    memset(plan.model, 'm', sizeof(plan.model) - 1);
    memset(plan.file, 'f', sizeof(plan.file) - 1);
    memset(plan.device, 'd', sizeof(plan.device) - 1);
    memset(plan.unreadable, '\\', sizeof(plan.unreadable) - 1);
    plan.n_unreadable = plan.n_failed = plan.n_skipped = plan.n_incomplete = INT64_MAX;
    plan.n_images = plan.n_sampled = INT64_MAX;
    plan.work.n_rungs = BRIM_WORK_RUNGS;
    for (size_t i = 0; i < BRIM_WORK_RUNGS; i++)
        plan.work.ladder[i] = (brim_work_rung){INT64_MAX, INT64_MAX, 1e300, INT64_MAX, true, true};
    plan.work.memory.room_bytes = SIZE_MAX;
    json_t *all = as_json(&plan);
    assert_true(number(json_object_get(all, "budget"), "run_bytes") > 9e18);
    json_decref(all);
    brim_plan_text(&plan, text, sizeof(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_a_page),
        cmocka_unit_test(what_came_up_is_told),
        cmocka_unit_test(an_unfinished_count_is_at_least),
        cmocka_unit_test(a_whole_is_no_sample),
        cmocka_unit_test(what_is_not_known_is_left_out),
        cmocka_unit_test(each_origin_has_its_words),
        cmocka_unit_test(programs_find_the_same),
        cmocka_unit_test(json_is_never_cut_and_text_is),
        cmocka_unit_test(the_largest_numbers_fit),
    };
    return cmocka_run_group_tests_name("job/plan_words", tests, NULL, NULL);
}
