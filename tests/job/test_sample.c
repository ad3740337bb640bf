/* Tests of src/job/sample.c. */
#include "job/sample.h"

#include "base/clock.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/temp_dir.h"

static const char *last_input; /* of one() */

static brim_source_options one(const char *input)
{
    last_input = input;
    return (brim_source_options){.inputs = &last_input, .n_inputs = 1};
}

static brim_sample draw(const brim_source_options *options, uint64_t limit)
{
    brim_sample sample;
    brim_error err = {0};

    if (brim_sample_draw(brim_heap(), options, limit, UINT64_MAX, &sample, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    return sample;
}

static size_t n_with_prefix(const brim_sample *sample, const char *prefix)
{
    size_t n = 0;

    for (size_t i = 0; i < sample->n_rows; i++)
        n += strncmp(sample->rows[i]->key, prefix, strlen(prefix)) == 0;
    return n;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(brim_row *const *)a)->key, (*(brim_row *const *)b)->key);
}

static void assert_no_row_twice(brim_sample *sample)
{
    qsort(sample->rows, sample->n_rows, sizeof(sample->rows[0]), compare_keys);
    for (size_t i = 1; i < sample->n_rows; i++)
        assert_string_not_equal(sample->rows[i - 1]->key, sample->rows[i]->key);
}

static void of_few_all_are_taken(void **state)
{
    brim_source_options options = one("null:100:50x40");
    brim_sample sample = draw(&options, 0);

    (void)state;
    assert_int_equal(sample.n_images, 100);
    assert_int_equal(sample.n_rows, 100);
    assert_true(sample.is_counted);
    assert_string_not_equal(sample.rows[0]->key, "null:100:50x40/0000001"); /* shuffled */
    assert_no_row_twice(&sample);
    brim_sample_fini(&sample);
}

/* Half of each input, but for chance: four deviations are 128 rows. */
static void of_many_each_has_the_same_chance(void **state)
{
    const char *inputs[] = {"null:20000", "null:20000:9x9"};
    brim_source_options options = {.inputs = inputs, .n_inputs = 2};
    brim_sample sample = draw(&options, 0);

    (void)state;
    assert_int_equal(sample.n_images, 40000);
    assert_int_equal(sample.n_rows, BRIM_SAMPLE_ROWS);
    assert_true(sample.is_counted);
    size_t n = n_with_prefix(&sample, "null:20000/");
    assert_in_range(n, BRIM_SAMPLE_ROWS / 2 - 128, BRIM_SAMPLE_ROWS / 2 + 128);
    assert_no_row_twice(&sample);
    brim_sample_fini(&sample);
}

static void the_same_inputs_give_the_same_sample(void **state)
{
    const char *inputs[] = {"null:5000", "null:5000:9x9"};
    brim_source_options options = {.inputs = inputs, .n_inputs = 2};
    brim_sample first = draw(&options, 0), second = draw(&options, 0);

    (void)state;
    assert_int_equal(first.n_rows, second.n_rows);
    for (size_t i = 0; i < first.n_rows; i++)
        assert_string_equal(first.rows[i]->key, second.rows[i]->key);
    brim_sample_fini(&first);
    brim_sample_fini(&second);
}

static void what_is_known_is_not_walked(void **state)
{
    brim_source_options options = one("null:1000000000000");
    brim_sample sample = draw(&options, 0);

    (void)state;
    assert_true(sample.is_counted);
    assert_true(sample.n_images == 1000000000000);
    assert_int_equal(sample.n_rows, BRIM_SAMPLE_ROWS);
    brim_sample_fini(&sample);
    sample = draw(&options, 70000);
    assert_true(sample.is_counted);
    assert_int_equal(sample.n_images, 70000);
    brim_sample_fini(&sample);
}

static void a_limit_ends_the_count(void **state)
{
    const char *inputs[] = {"null:50", "null:50:9x9"};
    brim_source_options options = {.inputs = inputs, .n_inputs = 2};
    brim_sample sample = draw(&options, 60);

    (void)state;
    assert_int_equal(sample.n_images, 60);
    assert_true(sample.is_counted);
    assert_int_equal(n_with_prefix(&sample, "null:50/"), 50);
    brim_sample_fini(&sample);
}

static void without_time_it_is_no_count(void **state)
{
    brim_source_options options = one("null:100");
    brim_sample sample;

    (void)state;
    assert_int_equal(brim_sample_draw(brim_heap(), &options, 0, brim_now_ns(), &sample, NULL),
                     BRIM_OK);
    assert_false(sample.is_counted);
    assert_int_equal(sample.n_images, sample.n_rows);
    brim_sample_fini(&sample);
}

static void what_is_passed_over_is_told(void **state)
{
    temp_write_text(state, "a.jpg", "x");
    temp_write_text(state, "b.txt", "x");
    brim_source_options options = one(*state);
    brim_sample sample = draw(&options, 0);

    assert_int_equal(sample.n_images, 1);
    assert_int_equal(sample.n_skipped, 1);
    brim_sample_fini(&sample);
}

/* Opening a pipe that nobody writes to would wait for ever. */
static void what_can_be_read_only_once_is_left_alone(void **state)
{
    char input[4100];
    brim_sample sample;

    assert_int_equal(mkfifo(temp_path(state, "pipe"), 0600), 0);
    snprintf(input, sizeof(input), "@%s", temp_path(state, "pipe"));
    brim_source_options options = one(input);
    assert_int_equal(brim_sample_draw(brim_heap(), &options, 0, UINT64_MAX, &sample, NULL),
                     BRIM_E_UNSUPPORTED);
    assert_null(sample.rows);
}

static void its_source_begins_anew_at_the_end(void **state)
{
    brim_source_options options = one("null:3:50x40");
    brim_sample sample = draw(&options, 0);
    brim_source *source;
    brim_row *row;

    (void)state;
    assert_int_equal(brim_sample_open_source(brim_heap(), &sample, &source, NULL), BRIM_OK);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(brim_source_next(source, &row, NULL), BRIM_OK);
        assert_string_equal(row->key, i < 3 ? sample.rows[i]->key : "");
        assert_string_equal(row->path, sample.rows[i % 3]->path);
        assert_int_equal(row->null_width, 50);
        assert_int_equal(row->null_height, 40);
        brim_row_destroy(row);
    }
    brim_source_close(source);
    brim_sample_fini(&sample);
}

static void an_empty_one_ends(void **state)
{
    brim_source_options options = one(*state);
    brim_sample sample = draw(&options, 0);
    brim_source *source;
    brim_row *row;

    assert_int_equal(sample.n_images, 0);
    assert_int_equal(brim_sample_open_source(brim_heap(), &sample, &source, NULL), BRIM_OK);
    assert_int_equal(brim_source_next(source, &row, NULL), BRIM_END);
    assert_null(row);
    brim_source_close(source);
    brim_sample_fini(&sample);
}

/* Draws, and takes more rows than there are. */
static brim_status use(const brim_alloc *mem, const brim_source_options *options)
{
    brim_sample sample;
    brim_source *source = NULL;

    brim_status status = brim_sample_draw(mem, options, 0, UINT64_MAX, &sample, NULL);
    if (status == BRIM_OK) status = brim_sample_open_source(mem, &sample, &source, NULL);
    for (int i = 0; status == BRIM_OK && i < 5; i++) {
        brim_row *row;
        status = brim_source_next(source, &row, NULL);
        brim_row_destroy(row);
    }
    brim_source_close(source);
    brim_sample_fini(&sample);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    brim_source_options options = one("null:3");
    brim_status status = BRIM_E_NOMEM;
    long calls;

    (void)state;
    for (calls = 0; status != BRIM_OK; calls++) {
        failing_alloc mem;
        failing_alloc_init(&mem, calls);
        status = use(&mem.base, &options);
        assert_true(status == BRIM_OK || status == BRIM_E_NOMEM);
        assert_int_equal(mem.live_bytes, 0);
    }
    assert_true(calls > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_few_all_are_taken),
        cmocka_unit_test(of_many_each_has_the_same_chance),
        cmocka_unit_test(the_same_inputs_give_the_same_sample),
        cmocka_unit_test(what_is_known_is_not_walked),
        cmocka_unit_test(a_limit_ends_the_count),
        cmocka_unit_test(without_time_it_is_no_count),
        cmocka_unit_test_setup_teardown(what_is_passed_over_is_told, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test_setup_teardown(what_can_be_read_only_once_is_left_alone, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test(its_source_begins_anew_at_the_end),
        cmocka_unit_test_setup_teardown(an_empty_one_ends, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("job/sample", tests, NULL, NULL);
}
