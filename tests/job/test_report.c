/* Tests of src/job/report.c. */
#include <float.h>
#include <jansson.h>

#include "brimful/job.h"
#include "support/cmocka_all.h"

static const size_t MIB = (size_t)1 << 20;

static brim_report some_report(void)
{
    brim_report report = BRIM_OPTIONS(brim_report);

    report.limit_bytes = 2048 * MIB;
    report.peak_bytes = 310 * MIB;
    report.peak_live_bytes = 300 * MIB;
    report.peak_resident_bytes = 290 * MIB;
    report.unrouted_bytes = 95 * MIB;
    report.accounts[BRIM_ACCOUNT_ACTIVATIONS].peak_bytes = 121 * MIB;
    report.accounts[BRIM_ACCOUNT_TENSORS].peak_bytes = 36 * MIB + MIB / 2 - 1;
    report.accounts[BRIM_ACCOUNT_DECODERS].peak_bytes = 63 * MIB + MIB / 2;
    report.accounts[BRIM_ACCOUNT_DECODERS].n_refusals = 17;
    report.accounts[BRIM_ACCOUNT_SPOOL].peak_bytes = MIB / 2 - 1;
    report.accounts[BRIM_ACCOUNT_UNROUTED].peak_bytes = 95 * MIB;
    report.arena = (brim_arena_usage){
        .page_bytes = 2 * MIB,
        .live_bytes = 1,
        .reserved_bytes = 160 * MIB,
        .peak_live_bytes = 157 * MIB,
        .peak_reserved_bytes = 164 * MIB,
        .largest_free_bytes = 158 * MIB,
        .waste_frac = 0.0427,
        .n_moves = 701,
        .n_moved_pages = 900,
        .n_fresh_pages = 82,
        .n_released_pages = 2,
        .n_refusals = 3,
    };
    report.huge_frac = 0.75;
    report.load_s = 0.25;
    report.counts = (brim_progress){.n_done = 9,
                                    .n_failed = 1,
                                    .n_batches = 4,
                                    .n_refusals = 3,
                                    .n_splits = 2,
                                    .n_set_aside = 1,
                                    .n_trims = 5};
    report.work = (brim_work){
        .device_s = 12.5,
        .idle_frac = 0.775,
        .n_spills = 7,
        .n_decoders = 6,
        .limit = BRIM_STAGE_DECODING,
        .stages = {[BRIM_STAGE_READING] = {0.5, 0.25},
                   [BRIM_STAGE_DECODING] = {40.0, 0.875},
                   [BRIM_STAGE_MODEL] = {4.5, 0.25},
                   [BRIM_STAGE_STORING] = {0.25, 0.125}},
        .n_sizes = 2,
        .sizes = {{8, 3}, {32, 610}},
        .n_other_runs = 4,
        .ladder_px = 50176,
        .n_rungs = 2,
        .ladder = {{8, 3, 40.5, MIB, true, false}, {64, 0, 0, 8 * MIB, false, true}},
        .memory = {3 * MIB, 5 * MIB, 70, 0.25, 900 * MIB, 179},
    };
    return report;
}

static json_t *as_json(const brim_report *report)
{
    char line[BRIM_REPORT_JSON_BYTES];
    json_error_t trouble;

    assert_int_equal(brim_report_json(report, line, sizeof(line)), BRIM_OK);
    assert_null(strchr(line, '\n'));
    json_t *all = json_loads(line, 0, &trouble);
    if (!all) fail_msg("%s: %s", trouble.text, line);
    return all;
}

/* The number at a path of keys, as "memory.arena.live". */
static double number(const json_t *all, const char *path)
{
    char key[64];

    for (;;) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof(key), "%.*s", (int)n, path);
        all = json_object_get(all, key);
        if (path[n] == '\0') break;
        path += n + 1;
    }
    if (!json_is_number(all)) fail_msg("%s is no number", path);
    return json_number_value(all);
}

static void the_summary_tells_what_happened(void **state)
{
    static const struct {
        const char *path;
        double value;
    } WANTED[] = {
        {"images", 9},
        {"failed", 1},
        {"n_batches", 4},
        {"batches.8", 3},
        {"batches.32", 610},
        {"batches.other", 4},
        {"spill_events", 7},
        {"device_seconds", 12.5},
        {"device_idle", 0.775},
        {"n_decoders", 6},
        {"limit.share", 0.875},
        {"stages.reading.busy_s", 0.5},
        {"stages.decoding.busy_s", 40},
        {"stages.decoding.busy", 0.875},
        {"stages.model.busy_s", 4.5},
        {"stages.storing.busy", 0.125},
        {"ladder_pixels", 50176},
        {"refusals", 3},
        {"splits", 2},
        {"set_aside", 1},
        {"trims", 5},
        {"load_s", 0.25},
        {"memory_limit_bytes", 2147483648.0},
        {"peak_reserved_bytes", 310.0 * (1 << 20)},
        {"peak_live_bytes", 300.0 * (1 << 20)},
        {"peak_resident_bytes", 290.0 * (1 << 20)},
        {"memory.limit", 2147483648.0},
        {"memory.unrouted", 95.0 * (1 << 20)},
        {"memory.accounts.activations.peak", 121.0 * (1 << 20)},
        {"memory.accounts.activations.refusals", 0},
        {"memory.accounts.decoders.refusals", 17},
        {"memory.accounts.spool.peak", (1 << 19) - 1},
        {"memory.accounts.other.peak", 0},
        {"memory.arena.live", 1},
        {"memory.arena.reserved", 160.0 * (1 << 20)},
        {"memory.arena.peak_live", 157.0 * (1 << 20)},
        {"memory.arena.peak_reserved", 164.0 * (1 << 20)},
        {"memory.arena.largest_free", 158.0 * (1 << 20)},
        {"memory.arena.waste", 0.0427},
        {"memory.arena.moves", 701},
        {"memory.arena.moved_pages", 900},
        {"memory.arena.fresh_pages", 82},
        {"memory.arena.released_pages", 2},
        {"memory.arena.refusals", 3},
        {"memory.arena.page_bytes", 2 << 20},
        {"memory.arena.huge_frac", 0.75},
    };
    brim_report report = some_report();

    (void)state;
    json_t *all = as_json(&report);
    for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
        if (number(all, WANTED[i].path) != WANTED[i].value)
            fail_msg("%s is %g", WANTED[i].path, number(all, WANTED[i].path));
    assert_int_equal(json_object_size(json_object_get(json_object_get(all, "memory"), "accounts")),
                     BRIM_N_ACCOUNTS);
    json_decref(all);
}

static void the_summary_has_the_ladder(void **state)
{
    brim_report report = some_report();

    (void)state;
    json_t *all = as_json(&report);
    assert_string_equal(json_string_value(json_object_get(json_object_get(all, "limit"), "stage")),
                        "decoding");
    const json_t *ladder = json_object_get(all, "ladder");
    assert_int_equal(json_array_size(ladder), 2);
    const json_t *low = json_array_get(ladder, 0), *high = json_array_get(ladder, 1);
    assert_true(number(low, "items") == 8 && number(low, "runs") == 3);
    assert_true(number(low, "items_per_s") == 40.5 && number(low, "bytes") == 1 << 20);
    assert_true(json_is_true(json_object_get(low, "chosen")));
    assert_true(json_is_false(json_object_get(low, "walled")));
    assert_true(json_is_null(json_object_get(high, "items_per_s")));
    assert_true(json_is_true(json_object_get(high, "walled")));
    const json_t *memory = json_object_get(all, "run_memory");
    assert_true(number(memory, "fixed") == 3 << 20 && number(memory, "per_image") == 5 << 20);
    assert_true(number(memory, "per_token") == 70 && number(memory, "error") == 0.25);
    json_decref(all);
}

static void what_is_not_known_is_null(void **state)
{
    brim_report report = some_report();

    (void)state;
    report.huge_frac = -1;
    json_t *all = as_json(&report);
    assert_true(json_is_null(
        json_object_get(json_object_get(json_object_get(all, "memory"), "arena"), "huge_frac")));
    json_decref(all);
}

/* The largest numbers there are, everywhere. */
static void the_longest_summary_has_room(void **state)
{
    brim_report report = some_report();
    char line[BRIM_REPORT_JSON_BYTES];

    (void)state;
    for (size_t *n = &report.limit_bytes; n <= &report.unrouted_bytes; n++)
        *n = INT64_MAX;
    for (size_t i = 0; i < BRIM_N_ACCOUNTS; i++)
        report.accounts[i] = (brim_account_usage){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    for (size_t *n = &report.arena.page_bytes; n <= &report.arena.largest_free_bytes; n++)
        *n = INT64_MAX;
    for (uint64_t *n = &report.arena.n_blocks; n <= &report.arena.n_failed_moves; n++)
        *n = INT64_MAX;
    for (uint64_t *n = &report.counts.n_total; n <= &report.counts.n_trims; n++)
        *n = INT64_MAX;
    report.work.device_s = report.work.idle_frac = -DBL_MAX;
    report.work.n_spills = report.work.n_other_runs = report.work.ladder_px = INT64_MAX;
    report.work.n_decoders = UINT32_MAX;
    for (size_t i = 0; i < BRIM_N_STAGES; i++)
        report.work.stages[i] = (brim_stage_use){-DBL_MAX, -DBL_MAX};
    report.work.n_sizes = BRIM_WORK_SIZES;
    for (size_t i = 0; i < BRIM_WORK_SIZES; i++)
        report.work.sizes[i] = (brim_size_count){INT64_MAX - i, INT64_MAX};
    report.work.n_rungs = BRIM_WORK_RUNGS;
    for (size_t i = 0; i < BRIM_WORK_RUNGS; i++)
        report.work.ladder[i] =
            (brim_work_rung){INT64_MAX, INT64_MAX, DBL_MAX, INT64_MAX, false, false};
    report.load_s = report.counts.elapsed_s = report.counts.rows_per_s = -DBL_MAX;
    report.huge_frac = DBL_MIN;
    report.arena.waste_frac = -DBL_MIN;
    json_decref(as_json(&report));
    assert_int_equal(brim_report_json(&report, line, sizeof(line)), BRIM_OK);
    assert_true(strlen(line) < BRIM_REPORT_JSON_BYTES * 3 / 4);
}

static void a_summary_is_never_cut(void **state)
{
    brim_report report = some_report();
    char line[BRIM_REPORT_JSON_BYTES], again[BRIM_REPORT_JSON_BYTES];

    (void)state;
    assert_int_equal(brim_report_json(&report, line, sizeof(line)), BRIM_OK);
    size_t length = strlen(line);
    assert_int_equal(brim_report_json(&report, again, length), BRIM_E_ARG);
    assert_string_equal(again, "");
    assert_int_equal(brim_report_json(&report, again, length + 1), BRIM_OK);
    assert_string_equal(again, line);
    assert_int_equal(brim_report_json(&report, again, 0), BRIM_E_ARG);
}

static const char *memory_line(const brim_report *report)
{
    static char line[400];

    size_t length = brim_report_memory_line(report, line, sizeof(line));
    assert_int_equal(length, strlen(line));
    return line;
}

static void people_get_a_line_about_memory(void **state)
{
    brim_report report = some_report();

    (void)state;
    assert_string_equal(
        memory_line(&report),
        "memory: limit 2.0 GiB, held at most 310 MiB (peaks in MiB: activations 121,"
        " tensors 36, decoders 64, unrouted 95); arena 157 of 164 MiB live, waste"
        " 4 %; 3 refusals, 2 splits, 1 picture run alone");
    report.counts.n_refusals = 1;
    report.counts.n_splits = 1;
    report.counts.n_set_aside = 2;
    assert_non_null(
        strstr(memory_line(&report), "waste 4 %; 1 refusal, 1 split, 2 pictures run alone"));
}

static void the_line_leaves_out_what_was_not_there(void **state)
{
    brim_report report = BRIM_OPTIONS(brim_report);
    char line[20];

    (void)state;
    report.limit_bytes = 300 * MIB;
    assert_string_equal(memory_line(&report),
                        "memory: limit 300 MiB, held at most 0 MiB; 0 refusals, 0 splits");
    assert_int_equal(brim_report_memory_line(&report, line, sizeof(line)), sizeof(line) - 1);
    assert_string_equal(line, "memory: limit 300 M");
    assert_int_equal(brim_report_memory_line(&report, line, 0), 0);
}

static void people_are_told_what_limits(void **state)
{
    brim_report report = some_report();
    char line[100], cut[10];

    (void)state;
    size_t length = brim_report_limit_line(&report, line, sizeof(line));
    assert_string_equal(line, "decoding limits: the model waited 78 % of the time");
    assert_int_equal(length, strlen(line));
    report.work.limit = BRIM_STAGE_MODEL;
    report.work.stages[BRIM_STAGE_MODEL].busy_frac = 0.97;
    brim_report_limit_line(&report, line, sizeof(line));
    assert_string_equal(line, "the model limits: it was busy 97 % of the time");
    assert_int_equal(brim_report_limit_line(&report, cut, sizeof(cut)), sizeof(cut) - 1);
    assert_int_equal(brim_report_limit_line(&report, cut, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_tells_what_happened),
        cmocka_unit_test(the_summary_has_the_ladder),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(the_longest_summary_has_room),
        cmocka_unit_test(a_summary_is_never_cut),
        cmocka_unit_test(people_get_a_line_about_memory),
        cmocka_unit_test(people_are_told_what_limits),
        cmocka_unit_test(the_line_leaves_out_what_was_not_there),
    };
    return cmocka_run_group_tests_name("job/report", tests, NULL, NULL);
}
