/* Tests of src/base/row.c. */
#include "base/row.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

static void keeps_an_escaped_key_and_the_raw_path(void **state)
{
    failing_alloc mem;
    brim_row *row = NULL;
    char name[] = "p/Mu\xf1oz.png", path[] = "/x/p/Mu\xf1oz.png";

    (void)state;
    failing_alloc_init(&mem, 1);
    assert_int_equal(brim_row_create(&mem.base, name, path, &row), BRIM_OK);
    memset(name, '!', sizeof(name) - 1); /* the row has copies */
    memset(path, '!', sizeof(path) - 1);
    assert_string_equal(row->key, "p/Mu\\xf1oz.png");
    assert_string_equal(row->path, "/x/p/Mu\xf1oz.png");
    assert_int_equal(mem.live_bytes, row->block_bytes);
    brim_row_destroy(row);
    assert_int_equal(mem.live_bytes, 0);
}

/* Every byte grows to four: the texts must still lie side by side. */
static void a_key_that_is_all_escapes_has_room(void **state)
{
    failing_alloc mem;
    brim_row *row = NULL;
    char name[256];

    (void)state;
    memset(name, '\xff', 255);
    name[255] = '\0';
    failing_alloc_init(&mem, 1);
    assert_int_equal(brim_row_create(&mem.base, name, name, &row), BRIM_OK);
    assert_int_equal(strlen(row->key), 4 * 255);
    assert_string_equal(row->path, name);
    assert_true(row->path == row->key + 4 * 255 + 1);
    assert_true(row->path + 256 == (char *)row + row->block_bytes);
    brim_row_destroy(row);
}

static void empty_texts_are_texts(void **state)
{
    failing_alloc mem;
    brim_row *row = NULL;

    (void)state;
    failing_alloc_init(&mem, 1);
    assert_int_equal(brim_row_create(&mem.base, "", "", &row), BRIM_OK);
    assert_string_equal(row->key, "");
    assert_string_equal(row->path, "");
    brim_row_destroy(row);
}

static void a_refusal_of_memory_is_passed_on_as_it_is(void **state)
{
    failing_alloc mem;
    brim_row *row = (brim_row *)&mem;

    (void)state;
    failing_alloc_init(&mem, 0);
    assert_int_equal(brim_row_create(&mem.base, "a", "/a", &row), BRIM_E_NOMEM);
    assert_null(row);
    mem.refusal = BRIM_E_BUDGET;
    assert_int_equal(brim_row_create(&mem.base, "a", "/a", &row), BRIM_E_BUDGET);
    assert_null(row);
    brim_row_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_an_escaped_key_and_the_raw_path),
        cmocka_unit_test(a_key_that_is_all_escapes_has_room),
        cmocka_unit_test(empty_texts_are_texts),
        cmocka_unit_test(a_refusal_of_memory_is_passed_on_as_it_is),
    };
    return cmocka_run_group_tests_name("base/row", tests, NULL, NULL);
}
