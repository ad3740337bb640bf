/* Tests of src/image/boxes.c. */
#include "image/boxes.h"

#include "support/cmocka_all.h"

#define BYTES(TEXT) (const uint8_t *)(TEXT), sizeof(TEXT) - 1

static void walks_boxes_of_all_sizes(void **state)
{
    static const uint8_t data[] = "\0\0\0\x0c"
                                  "one .123"
                                  "\0\0\0\1"
                                  "two \0\0\0\0\0\0\0\x12"
                                  "45"
                                  "\0\0\0\0"
                                  "last6789";
    size_t at = 0, bytes = sizeof(data) - 1;
    brim_box box;

    (void)state;
    assert_true(brim_box_next(data, bytes, &at, &box));
    assert_memory_equal(box.name, "one ", 4);
    assert_int_equal(box.bytes, 4);
    assert_true(brim_box_next(data, bytes, &at, &box));
    assert_memory_equal(box.name, "two ", 4);
    assert_int_equal(box.bytes, 2);
    assert_true(brim_box_next(data, bytes, &at, &box));
    assert_memory_equal(box.data, "6789", 4);
    assert_false(brim_box_next(data, bytes, &at, &box));
}

static void notices_a_cut(void **state)
{
    (void)state;
    assert_true(brim_boxes_are_cut(BYTES("\0\0\0\x0c"
                                         "ftyp....\0\0\0\x20"
                                         "mdat...")));
    assert_false(brim_boxes_are_cut(BYTES("\0\0\0\x0c"
                                          "ftyp....\xff\xff\xff\xff\1\2\3\4")));
    assert_false(brim_boxes_are_cut(BYTES("\0\0\0\x0c"
                                          "ftyp....\0\0\0\2"
                                          "xxxx")));
    assert_false(brim_boxes_are_cut(BYTES("")));
}

static void finds_brands(void **state)
{
    static const char FILE_TYPE[] = "\0\0\0\x18"
                                    "ftypmif1\0\0\0\0miafavif";

    (void)state;
    assert_true(brim_box_has_brand(BYTES(FILE_TYPE), "mif1"));
    assert_true(brim_box_has_brand(BYTES(FILE_TYPE), "avif"));
    assert_false(brim_box_has_brand(BYTES(FILE_TYPE), "heic"));
    assert_false(brim_box_has_brand(BYTES("\0\0\0\x0c"
                                          "freeavif"),
                                    "avif"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_boxes_of_all_sizes),
        cmocka_unit_test(notices_a_cut),
        cmocka_unit_test(finds_brands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
