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

static void keeps_the_rows_before_a_cut(const fixture_picture *picture)
{
    uint32_t n_rows = check_accepted_cuts(picture);

    if (picture->bytes > 1000 && !strstr(picture->name, "adam7") && n_rows < picture->height / 5)
        fail_msg("%s: only %u rows as they were", picture->name, n_rows);
}

static void accepts_cuts_where_it_is_told_to(void **state)
{
    (void)state;
    fixture_each(".png", keeps_the_rows_before_a_cut);
}

/* B03, the numbers as Pillow 13 gives them. */
static void scales_or_clamps_deep_grey(void **state)
{
    static const char GREY[] =
        "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\6\0\0\0\1\x10\0\0\0\0\x88\x32\\o\0\0\0\x15"
        "IDATx\x9c\x63``\x60\xf8\xcf\xc8 \xc0\xd0\xc0\xf0\xff?\0\x0ei\x03\x8f\x66\xb6\xa7\x9b"
        "\0\0\0\0IEND\xae\x42`\x82";
    static const uint8_t SCALED[6] = {0, 0, 1, 16, 128, 255},
                         CLAMPED[6] = {0, 255, 255, 255, 255, 255};
    uint8_t pixels[18];

    (void)state;
    for (int depth = BRIM_DEPTH_SCALE; depth <= BRIM_DEPTH_CLAMP; depth++) {
        brim_reader_options options = {.depth = (brim_depth)depth};
        assert_int_equal(
            decode_as(brim_heap(), (const uint8_t *)GREY, sizeof(GREY) - 1, &options, pixels, NULL),
            BRIM_END);
        for (size_t i = 0; i < 18; i++)
            assert_int_equal(pixels[i], depth == BRIM_DEPTH_CLAMP ? CLAMPED[i / 3] : SCALED[i / 3]);
    }
}

/* Colours keep their upper byte either way: clamping them would be nobody's way. */
static void clamps_like_a_scaled_one(const fixture_picture *picture)
{
    brim_reader_options clamp = {.depth = BRIM_DEPTH_CLAMP};
    size_t n = 3 * (size_t)picture->width * picture->height;
    uint8_t *pixels = malloc(n);

    assert_int_equal(decode_as(brim_heap(), picture->data, picture->bytes, &clamp, pixels, NULL),
                     BRIM_END);
    assert_memory_equal(pixels, picture->pixels, n);
    free(pixels);
}

static void clamps_nothing_but_deep_grey(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("rgb16.png", clamps_like_a_scaled_one), 1);
    assert_int_equal(fixture_each("rgb8.png", clamps_like_a_scaled_one), 1);
    assert_int_equal(fixture_each("palette4.png", clamps_like_a_scaled_one), 1);
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
        cmocka_unit_test(accepts_cuts_where_it_is_told_to),
        cmocka_unit_test(scales_or_clamps_deep_grey),
        cmocka_unit_test(clamps_nothing_but_deep_grey),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(tells_that_samples_are_scaled),
        cmocka_unit_test(fails_on_a_wrong_checksum),
        cmocka_unit_test(refuses_what_is_too_large_before_it_takes_memory),
        cmocka_unit_test(names_the_trouble),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
