/* Tests of src/image/exif.c. */
#include "image/exif.h"

#include <stdlib.h>

#include "support/cmocka_all.h"

#define LITTLE "II*\0\x08\0\0\0"
#define BIG    "MM\0*\0\0\0\x08"

/* Looks at a copy that ends where the block does, so that reading on is seen. */
static int orientation_of(const char *block, size_t bytes)
{
    uint8_t *copy = calloc(bytes ? bytes : 1, 1);

    memcpy(copy, block, bytes);
    uint8_t orientation;
    bool found = brim_exif_find_orientation(copy, bytes, &orientation);
    free(copy);
    assert_true(found || orientation == 1);
    return orientation;
}

#define ORIENTATION(BLOCK) orientation_of(BLOCK, sizeof(BLOCK) - 1)

static void reads_both_byte_orders(void **state)
{
    (void)state;
    assert_int_equal(ORIENTATION(LITTLE "\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"), 6);
    assert_int_equal(ORIENTATION(BIG "\0\1\1\x12\0\3\0\0\0\1\0\x08\0\0"), 8);
    assert_int_equal(ORIENTATION("Exif\0\0" BIG "\0\1\1\x12\0\3\0\0\0\1\0\5\0\0"), 5);
    assert_int_equal(ORIENTATION("Exif\0\0Exif\0\0" BIG "\0\1\1\x12\0\3\0\0\0\1\0\5\0\0"), 5);
}

static void takes_long_numbers_and_the_last_of_two(void **state)
{
    (void)state;
    assert_int_equal(ORIENTATION(LITTLE "\1\0\x12\1\4\0\1\0\0\0\3\0\0\0"), 3);
    assert_int_equal(ORIENTATION(LITTLE "\2\0\x12\1\3\0\1\0\0\0\6\0\0\0"
                                        "\x12\1\3\0\1\0\0\0\2\0\0\0"),
                     2);
}

static void takes_nonsense_for_upright(void **state)
{
    (void)state;
    assert_int_equal(ORIENTATION(""), 1);
    assert_int_equal(ORIENTATION("Exif\0\0"), 1);
    assert_int_equal(ORIENTATION("not a TIFF header"), 1);
    assert_int_equal(ORIENTATION(LITTLE "\1\0\x12\1\3\0\1\0\0\0\0\0\0\0"), 1);   /* 0 */
    assert_int_equal(ORIENTATION(LITTLE "\1\0\x12\1\3\0\1\0\0\0\x09\0\0\0"), 1); /* 9 */
    assert_int_equal(ORIENTATION(LITTLE "\1\0\x12\1\2\0\1\0\0\0\6\0\0\0"), 1);   /* text */
    assert_int_equal(ORIENTATION(LITTLE "\1\0\x12\1\3\0\2\0\0\0\6\0\6\0"), 1);   /* two of them */
    assert_int_equal(ORIENTATION("II*\0\xff\xff\xff\xff\1\0"), 1); /* directory outside */
}

static void keeps_what_stands_before_the_cut(void **state)
{
    static const char BLOCK[] = LITTLE "\xff\xff\x12\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0";

    (void)state;
    for (size_t n = 0; n < sizeof(BLOCK); n++)
        assert_int_equal(orientation_of(BLOCK, n), n < 22 ? 1 : 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_both_byte_orders),
        cmocka_unit_test(takes_long_numbers_and_the_last_of_two),
        cmocka_unit_test(takes_nonsense_for_upright),
        cmocka_unit_test(keeps_what_stands_before_the_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
