/* Tests of src/image/png.c. */
#include "image/pictures.h"

static void reads_what_pillow_reads(void **state)
{
    (void)state;
    assert_true(fixture_each(".png", check_picture) >= 30);
}

static void notices_every_cut(void **state)
{
    (void)state;
    fixture_each(".png", check_every_cut);
}

static void survives_mutations(void **state)
{
    (void)state;
    fixture_each(".png", check_mutations);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    fixture_each("palette4.png", check_failed_allocations);
    fixture_each("rgb8_adam7.png", check_failed_allocations);
}

static void checks_depth(const fixture_picture *picture)
{
    brim_reader *reader;

    assert_int_equal(
        brim_reader_open(brim_heap(), picture->data, picture->bytes, NULL, &reader, NULL), BRIM_OK);
    assert_int_equal(brim_reader_info(reader)->depth, 16);
    brim_reader_close(reader);
}

static void tells_that_samples_are_scaled(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("grey16.png", checks_depth), 1);
    assert_int_equal(fixture_each("rgb16.png", checks_depth), 1);
}

/* The first byte of the pixels is changed: the checksum behind them no longer fits. */
static void checks_checksum(const fixture_picture *picture)
{
    brim_error err = {0};

    for (size_t i = 0; i + 12 < picture->bytes; i++) {
        if (memcmp(picture->data + i, "IDAT", 4) == 0) picture->data[i + 8] ^= 1;
    }
    assert_int_equal(decode_all(brim_heap(), picture->data, picture->bytes, 0, NULL, &err),
                     BRIM_E_FORMAT);
    assert_non_null(strstr(err.message, "broken PNG: IDAT"));
}

static void fails_on_a_wrong_checksum(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("rgb8.png", checks_checksum), 1);
}

#define HEADER(SIZE) "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" SIZE "\x08\2\0\0\0crc."

static void refuses_what_is_too_large_before_it_takes_memory(void **state)
{
    static const char HUGE_PNG[] = HEADER("\0\0\xea\x60\0\0\xea\x60") "\0\0\0\4IDATxxxxcrc.";
    brim_reader *reader;
    brim_error err = {0};
    failing_alloc mem;

    (void)state;
    failing_alloc_init(&mem, 0);
    assert_int_equal(brim_reader_open(&mem.base, HUGE_PNG, sizeof(HUGE_PNG) - 1,
                                      &(brim_reader_options){.max_px = 178956970}, &reader, &err),
                     BRIM_E_FORMAT);
    assert_string_equal(err.message, "image too large: 3600000000 pixels, limit 178956970 "
                                     "(--max-pixels)");
    assert_null(reader);
}

static void names_the_trouble(void **state)
{
    static const char ZERO[] = HEADER("\0\0\0\0\0\0\0\1"), APPLE[] =
                                                               "\x89PNG\r\n\x1a\n\0\0\0\4CgBIxxxx"
                                                               "crc.";
    brim_reader *reader;
    brim_error err = {0};

    (void)state;
    assert_int_equal(brim_reader_open(brim_heap(), ZERO, sizeof(ZERO) - 1, NULL, &reader, &err),
                     BRIM_E_FORMAT);
    assert_string_equal(err.message, "broken PNG: bad header");
    assert_int_equal(brim_reader_open(brim_heap(), APPLE, sizeof(APPLE) - 1, NULL, &reader, &err),
                     BRIM_E_UNSUPPORTED);
    assert_int_equal(brim_reader_open(brim_heap(), APPLE, 4, NULL, &reader, &err), BRIM_E_FORMAT);
    assert_string_equal(err.message, "truncated PNG");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pillow_reads),
        cmocka_unit_test(notices_every_cut),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(tells_that_samples_are_scaled),
        cmocka_unit_test(fails_on_a_wrong_checksum),
        cmocka_unit_test(refuses_what_is_too_large_before_it_takes_memory),
        cmocka_unit_test(names_the_trouble),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
