/* Tests of src/job/room.c. */
#include "job/room.h"

#include "brimful/arena.h"
#include "support/cmocka_all.h"

#define MODEL TEST_DATA "/models/dynamic_hw/model.onnx"

enum { MIB = 1 << 20 };

static void note(void *ctx, brim_log_level level, const char *line)
{
    (void)level;
    strncpy(ctx, line, 199);
}

static void a_limit_is_at_most_what_is_free(void **state)
{
    char said[200] = "";
    brim_log log = {note, said};
    brim_budget *budget;
    size_t free_bytes = brim_memory_free_bytes("");

    (void)state;
    assert_int_equal(brim_room_open((size_t)64 * MIB, &log, &budget, NULL), BRIM_OK);
    assert_int_equal(brim_budget_limit_bytes(budget), (size_t)64 * MIB);
    assert_string_equal(said, "");
    brim_arena_usage usage = brim_arena_usage_now(brim_budget_arena(budget));
    assert_int_equal(usage.limit_bytes, (size_t)64 * MIB);
    brim_budget_destroy(budget);

    assert_int_equal(brim_room_open(SIZE_MAX, &log, &budget, NULL), BRIM_OK);
    assert_true(brim_budget_limit_bytes(budget) < 2 * free_bytes);
    assert_non_null(strstr(said, "--memory is lowered to"));
    brim_budget_destroy(budget);

    assert_int_equal(brim_room_open(0, &log, &budget, NULL), BRIM_OK);
    size_t limit = brim_budget_limit_bytes(budget);
    assert_true(limit > free_bytes / 10 * 6 && limit < free_bytes / 10 * 9);
    brim_budget_destroy(budget);
}

static void a_model_that_would_not_load_is_refused_unread(void **state)
{
    brim_budget *budget;
    brim_error err;

    (void)state;
    assert_int_equal(brim_room_open(BRIM_LEAST_MEMORY_BYTES, NULL, &budget, NULL), BRIM_OK);
    assert_int_equal(brim_room_check_load(budget, MODEL, &err), BRIM_E_BUDGET);
    assert_non_null(strstr(err.message, "loading it takes"));
    assert_non_null(strstr(err.message, "limit 24 MiB (--memory)"));
    brim_budget_destroy(budget);

    assert_int_equal(brim_room_open((size_t)3 * 1024 * MIB, NULL, &budget, NULL), BRIM_OK);
    assert_int_equal(brim_room_check_load(budget, MODEL, &err), BRIM_OK);
    brim_budget_destroy(budget);
}

static void what_is_loaded_is_measured_and_must_leave_room(void **state)
{
    brim_budget *budget;
    brim_error err;

    (void)state;
    assert_int_equal(brim_room_open((size_t)3 * 1024 * MIB, NULL, &budget, NULL), BRIM_OK);
    assert_int_equal(brim_room_check_left(budget, &err), BRIM_OK);
    size_t unrouted = brim_budget_usage(budget, BRIM_ACCOUNT_UNROUTED).live_bytes;
    assert_true(unrouted > 0);
    assert_int_equal(brim_budget_usable_bytes(budget), (size_t)3 * 1024 * MIB - unrouted);
    brim_budget_destroy(budget);

    assert_int_equal(brim_budget_create(unrouted / 2, &budget, NULL), BRIM_OK);
    assert_int_equal(brim_room_check_left(budget, &err), BRIM_E_BUDGET);
    assert_non_null(strstr(err.message, "give more --memory"));
    assert_int_equal(brim_budget_usable_bytes(budget), 0);
    brim_budget_destroy(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_at_most_what_is_free),
        cmocka_unit_test(a_model_that_would_not_load_is_refused_unread),
        cmocka_unit_test(what_is_loaded_is_measured_and_must_leave_room),
    };
    return cmocka_run_group_tests_name("job/room", tests, NULL, NULL);
}
