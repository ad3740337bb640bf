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

static void counts_bytes_and_durations_are_for_people(void **state)
{
    char out[256];
    brim_line line = brim_line_begin(out, sizeof(out));
    const uint64_t counts[] = {0, 999, 1000, 1234567, 1000000007};
    const uint64_t bytes[] = {0, 300 << 10, 6021119, 84 << 20, (uint64_t)5443 << 20};
    const double seconds[] = {0.4, 59.6, 212, 3900, 183600};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        brim_line_add_count(&line, counts[i]);
        brim_line_add(&line, " ");
    }
    assert_string_equal(out, "0 999 1,000 1,234,567 1,000,000,007 ");
    line = brim_line_begin(out, sizeof(out));
    for (size_t i = 0; i < 5; i++) {
        brim_line_add_bytes(&line, bytes[i]);
        brim_line_add(&line, ", ");
    }
    assert_string_equal(out, "0 MiB, 300 KiB, 5.7 MiB, 84 MiB, 5.3 GiB, ");
    line = brim_line_begin(out, sizeof(out));
    for (size_t i = 0; i < 5; i++) {
        brim_line_add_duration(&line, seconds[i]);
        brim_line_add(&line, ", ");
    }
    assert_string_equal(out, "0 s, 1 min 00 s, 3 min 32 s, 1 h 05 min, 2 d 3 h, ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_a_line),
        cmocka_unit_test(what_has_no_room_is_cut),
        cmocka_unit_test(counts_bytes_and_durations_are_for_people),
    };
    return cmocka_run_group_tests_name("base/line", tests, NULL, NULL);
}
