/* Tests of src/source/null.c. */
#include "source/null.h"

#include "source/rows.h"
#include "support/failing_alloc.h"

static brim_source *open_input(const char *input, const brim_alloc *mem)
{
    brim_source *source = NULL;
    brim_error err = {0};

    if (brim_source_open_null(mem, input, &source, &err) != BRIM_OK) fail_msg("%s", err.message);
    return source;
}

static void refuses(const char *input)
{
    static const char WORDS[] = ": not null:COUNT or null:COUNT:WxH, as null:1000:640x480";
    brim_source *source = (brim_source *)WORDS;
    brim_error err = {0};

    assert_int_equal(brim_source_open_null(brim_heap(), input, &source, &err), BRIM_E_ARG);
    assert_null(source);
    assert_int_equal(strncmp(err.message, input, strlen(input)), 0);
    assert_int_equal(strncmp(err.message + strlen(input), WORDS, strlen(WORDS)), 0);
    assert_null(strchr(err.message, '\n'));
}

static void gives_so_many_rows_of_that_size(void **state)
{
    brim_source *source = open_input("null:1000:640x480", brim_heap());
    rows found = {0};

    (void)state;
    assert_int_equal(rows_take(&found, source, NULL), BRIM_END);
    assert_int_equal(found.n, 1000);
    assert_string_equal(found.all[0]->key, "null:1000:640x480/0000001");
    assert_string_equal(found.all[0]->path, found.all[0]->key);
    assert_string_equal(found.all[999]->key, "null:1000:640x480/0001000");
    for (size_t i = 0; i < found.n; i++) {
        assert_int_equal(found.all[i]->null_width, 640);
        assert_int_equal(found.all[i]->null_height, 480);
    }
    rows_free(&found);
    brim_source_close(source);
}

static void a_size_may_be_left_out(void **state)
{
    brim_source *source = open_input("null:2", brim_heap());
    rows found = {0};

    (void)state;
    assert_int_equal(rows_take(&found, source, NULL), BRIM_END);
    assert_string_equal(rows_keys(&found), "null:2/0000001 null:2/0000002 ");
    assert_int_equal(found.all[0]->null_width, 224);
    assert_int_equal(found.all[0]->null_height, 224);
    rows_free(&found);
    brim_source_close(source);
}

static void the_keys_are_the_same_each_time(void **state)
{
    rows first = {0}, second = {0};

    (void)state;
    brim_source *source = open_input("null:300:9x8", brim_heap());
    assert_int_equal(rows_take(&first, source, NULL), BRIM_END);
    brim_source_close(source);
    source = open_input("null:300:9x8", brim_heap());
    assert_int_equal(rows_take(&second, source, NULL), BRIM_END);
    brim_source_close(source);
    for (size_t i = 0; i < 300; i++)
        assert_string_equal(first.all[i]->key, second.all[i]->key);
    rows_free(&first);
    rows_free(&second);
}

static void large_ones_are_not_kept(void **state)
{
    failing_alloc mem;
    brim_row *row;

    (void)state;
    failing_alloc_init(&mem, 1000000);
    brim_source *source = open_input("null:1000000000000:65535x1", &mem.base);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(brim_source_next(source, &row, NULL), BRIM_OK);
        brim_row_destroy(row);
    }
    assert_true(mem.live_bytes < 1024);
    brim_source_close(source);
    assert_int_equal(mem.live_bytes, 0);
}

static void what_is_none_is_told_in_one_line(void **state)
{
    static const char *const BAD[] = {
        "null:",
        "null:x",
        "null:0",
        "null:-5",
        "null:+5",
        "null: 5",
        "null:05",
        "null:5:",
        "null:5:10",
        "null:5:10x",
        "null:5:x10",
        "null:5:0x10",
        "null:5:10x0",
        "null:5:10x10x",
        "null:5:65536x1",
        "null:5:1x65536",
        "null:5:10X10",
        "null:5 ",
        "null:1000000000001",
        "null:99999999999999999999999999",
        "null:5:10x-1",
        "null:1e3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
        refuses(BAD[i]);
}

static void is_told_from_other_inputs_by_its_beginning(void **state)
{
    (void)state;
    assert_true(brim_null_is_input("null:"));
    assert_false(brim_null_is_input("null"));
    assert_false(brim_null_is_input("./null:5"));
    assert_false(brim_null_is_input(""));
}

/* Among other inputs, and whatever the root. */
static void is_an_input_like_others(void **state)
{
    static const char *const INPUTS[] = {"null:2", "null:1:3x4"};
    brim_source_options options = {.inputs = INPUTS, .n_inputs = 2, .root = "/tmp"};
    brim_source *source = NULL;
    rows found = {0};

    (void)state;
    assert_int_equal(brim_source_open(brim_heap(), &options, &source, NULL), BRIM_OK);
    assert_int_equal(rows_take(&found, source, NULL), BRIM_END);
    assert_string_equal(rows_keys(&found), "null:1:3x4/0000001 null:2/0000001 null:2/0000002 ");
    rows_free(&found);
    brim_source_close(source);
}

static void a_bad_one_among_the_inputs_ends_the_run_before_it_begins(void **state)
{
    static const char *const INPUTS[] = {"null:2", "null:3:4"};
    brim_source_options options = {.inputs = INPUTS, .n_inputs = 2};
    brim_source *source = NULL;
    brim_error err = {0};

    (void)state;
    assert_int_equal(brim_source_open(brim_heap(), &options, &source, &err), BRIM_E_ARG);
    assert_non_null(strstr(err.message, "null:3:4: not null:COUNT"));
}

static void survives_every_failed_allocation(void **state)
{
    brim_status status = BRIM_E_NOMEM;

    (void)state;
    for (long allowed = 0; status != BRIM_OK; allowed++) {
        failing_alloc mem;
        brim_source *source = NULL;
        brim_row *row = NULL;

        failing_alloc_init(&mem, allowed);
        status = brim_source_open_null(&mem.base, "null:1", &source, NULL);
        if (status == BRIM_OK) status = brim_source_next(source, &row, NULL);
        assert_true(status == BRIM_OK || status == BRIM_E_NOMEM);
        brim_row_destroy(row);
        brim_source_close(source);
        assert_int_equal(mem.live_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_so_many_rows_of_that_size),
        cmocka_unit_test(a_size_may_be_left_out),
        cmocka_unit_test(the_keys_are_the_same_each_time),
        cmocka_unit_test(large_ones_are_not_kept),
        cmocka_unit_test(what_is_none_is_told_in_one_line),
        cmocka_unit_test(is_told_from_other_inputs_by_its_beginning),
        cmocka_unit_test(is_an_input_like_others),
        cmocka_unit_test(a_bad_one_among_the_inputs_ends_the_run_before_it_begins),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("source/null", tests, NULL, NULL);
}
