/* Tests of src/base/line.c. */
#include "base/line.h"
#include "support/cmocka_all.h"

static void pieces_make_a_line(void **state)
{
    char out[32];
    brim_line line = brim_line_begin(out, sizeof(out));

    (void)state;
    assert_string_equal(out, "");
    brim_line_add(&line, "%d of ", 3);
    brim_line_add(&line, "%s", "");
    brim_line_add(&line, "%s", "seven");
    assert_string_equal(out, "3 of seven");
    assert_int_equal(line.length, 10);
}

static void what_has_no_room_is_cut(void **state)
{
    char out[8];
    brim_line line = brim_line_begin(out, 6);

    (void)state;
    out[6] = '#';
    brim_line_add(&line, "abc");
    brim_line_add(&line, "defg");
    assert_string_equal(out, "abcde");
    assert_int_equal(line.length, 5);
    brim_line_add(&line, "h");
    assert_string_equal(out, "abcde");
    assert_int_equal(out[6], '#');

    line = brim_line_begin(out, 1);
    brim_line_add(&line, "abc");
    assert_string_equal(out, "");
    assert_int_equal(line.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_a_line),
        cmocka_unit_test(what_has_no_room_is_cut),
    };
    return cmocka_run_group_tests_name("base/line", tests, NULL, NULL);
}
