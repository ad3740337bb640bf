/* Tests of src/image/bmp.c, bmp_header.c and bmp_rle.c. */
#include "image/pictures.h"

static int each(const char *suffix, fixture_visit visit)
{
    return fixture_each_of("bmps/pictures", suffix, visit);
}

static void reads_what_pillow_reads(void **state)
{
    (void)state;
    assert_int_equal(each(".bmp", check_picture), 89);
    assert_int_equal(each(".dib", check_picture), 3);
}

/* Rows without padding: the lack of that is none. */
static void notices_every_cut(void **state)
{
    (void)state;
    each("rgb32.bmp", check_every_cut);
    each("short_palette.bmp", check_every_cut);
    each("masks565.bmp", check_every_cut);
    each("core32.bmp", check_every_cut);
    each("rle8_odd.bmp", check_every_cut);
}

static void keeps_the_rows_before_a_cut(const fixture_picture *picture)
{
    uint32_t n_rows = check_accepted_cuts(picture);

    if (strcmp(picture->name, "bmps/rgb32_down.bmp") == 0) assert_int_equal(n_rows, 3);
    if (strcmp(picture->name, "bmps/rgb32.bmp") == 0) assert_int_equal(n_rows, 0);
}

static void accepts_cuts_where_it_is_told_to(void **state)
{
    (void)state;
    each(".bmp", keeps_the_rows_before_a_cut);
}

/* Bottom up, the missing rows are the upper ones, and black. */
static void cut_one_row(const fixture_picture *picture)
{
    static const brim_reader_options ACCEPT = {.accept_truncated = true};
    size_t row_bytes = 3 * (size_t)picture->width, n = row_bytes * picture->height;
    uint8_t *pixels = malloc(n), black[3 * 64] = {0};

    assert_int_equal(
        decode_as(brim_heap(), picture->data, picture->bytes - 1, &ACCEPT, pixels, NULL), BRIM_END);
    assert_memory_equal(pixels, black, row_bytes);
    assert_memory_equal(pixels + row_bytes, picture->pixels + row_bytes, n - row_bytes);
    free(pixels);
}

static void blackens_what_is_missing(void **state)
{
    (void)state;
    assert_int_equal(each("rgb32.bmp", cut_one_row), 1);
}

static void survives_mutations(void **state)
{
    (void)state;
    each(".bmp", check_mutations);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    each("rgb24.bmp", check_failed_allocations);
    each("rle8_plain.bmp", check_failed_allocations);
}

#define FILE_HEADER "BM\0\0\0\0\0\0\0\0\x36\0\0\0"
/* 40 bytes: sizes, planes, bits, compression, and all behind it 0. */
#define INFO(WIDTH, HEIGHT, BITS, COMPRESSION, COLORS)                                             \
    FILE_HEADER "\x28\0\0\0" WIDTH HEIGHT "\1\0" BITS "\0" COMPRESSION                             \
                "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" COLORS "\0\0\0\0"
#define ONE  "\1\0\0\0"
#define NONE "\0\0\0\0"

static void refused(const char *data, size_t bytes, brim_status expected, const char *words)
{
    brim_error err = {0};

    assert_int_equal(decode_as(brim_heap(), (const uint8_t *)data, bytes, NULL, NULL, &err),
                     expected);
    assert_string_equal(err.message, words);
}

#define BROKEN(DATA, WORDS)      refused(DATA, sizeof(DATA) - 1, BRIM_E_FORMAT, WORDS)
#define UNSUPPORTED(DATA, WORDS) refused(DATA, sizeof(DATA) - 1, BRIM_E_UNSUPPORTED, WORDS)

static void names_the_trouble(void **state)
{
    (void)state;
    BROKEN(FILE_HEADER, "truncated BMP");
    BROKEN(FILE_HEADER "\x28\0\0\0\1", "truncated BMP");
    BROKEN(INFO(ONE, ONE, "\x18", "\0", NONE) "ab", "truncated BMP");
    BROKEN(INFO(ONE, ONE, "\x10", "\3", NONE) "\0\x7c\0\0", "truncated BMP");
    BROKEN(INFO(NONE, ONE, "\x18", "\0", NONE), "broken BMP: a size of 0 x 1 pixels");
    BROKEN(INFO(ONE, NONE, "\x18", "\0", NONE), "broken BMP: a size of 1 x 0 pixels");
    BROKEN(INFO(ONE, "\0\0\0\x80", "\x18", "\0", NONE),
           "broken BMP: a size of 1 x 2147483648 pixels");
    BROKEN(INFO("\0\0\0\xff", ONE, "\x18", "\0", NONE),
           "broken BMP: a size of 4278190080 x 1 pixels");
    BROKEN(INFO(ONE, ONE, "\x18", "\1", NONE), "broken BMP: runs of 24-bit pixels");
    BROKEN(INFO(ONE, ONE, "\4", "\0", "\0\0\1\1"), "broken BMP: a palette of 16842752 colours");
    UNSUPPORTED(FILE_HEADER "\x10\0\0\0", "a BMP with a header of 16 bytes");
    UNSUPPORTED(INFO(ONE, ONE, "\2", "\0", NONE), "a BMP of 2 bits a pixel");
    UNSUPPORTED(INFO(ONE, ONE, "\0", "\4", NONE), "a BMP that wraps a JPEG");
    UNSUPPORTED(INFO(ONE, ONE, "\0", "\5", NONE), "a BMP that wraps a PNG");
    UNSUPPORTED(INFO(ONE, ONE, "\x18", "\6", NONE), "a BMP of compression 6");
    UNSUPPORTED(INFO(ONE, ONE, "\x8", "\3", NONE), "a BMP with unusual colour masks");
    UNSUPPORTED(INFO(ONE, ONE, "\x10", "\3", NONE) "\xf\0\0\0\xf0\0\0\0\0\xf\0\0",
                "a BMP with unusual colour masks");
}

/* Greys of 4 bits, which Pillow takes for bytes: there are too few of them. */
static void refuses_greys_that_do_not_fit(void **state)
{
    char data[14 + 40 + 64 + 4] =
        INFO("\x08\0\0\0", ONE, "\4", "\0", NONE); /* the rest is filled below */

    (void)state;
    data[10] = 14 + 40 + 64;
    for (int i = 0; i < 16; i++)
        memset(data + 54 + (size_t)i * 4, i, 3);
    refused(data, sizeof(data), BRIM_E_FORMAT, "broken BMP: a palette of greys for 4-bit pixels");
}

/* 2^62 indices are not asked for before the limit of pixels is. */
static void counts_before_it_unpacks(void **state)
{
    static const char HUGE_RUNS[] = INFO("\xff\xff\xff\x7f", "\xff\xff\xff\x7f", "\x8", "\1", ONE),
                      HUGE_ROWS[] =
                          INFO("\xff\xff\xff\x7f", "\xff\xff\xff\x7f", "\x20", "\0", NONE);
    brim_reader *reader;
    brim_error err = {0};

    (void)state;
    assert_int_equal(brim_reader_open(brim_heap(), HUGE_RUNS, sizeof(HUGE_RUNS) - 1,
                                      &(brim_reader_options){.max_px = 1000000}, &reader, &err),
                     BRIM_E_FORMAT);
    assert_non_null(strstr(err.message, "image too large: 4611686014132420609 pixels"));
    assert_int_equal(
        brim_reader_open(brim_heap(), HUGE_ROWS, sizeof(HUGE_ROWS) - 1, NULL, &reader, &err),
        BRIM_OK);
    assert_true(brim_reader_info(reader)->scratch_bytes < 4096);
    assert_int_equal(brim_reader_next_row(reader, NULL, &err), BRIM_E_FORMAT);
    assert_string_equal(err.message, "truncated BMP");
    brim_reader_close(reader);
}

/* The end of the picture before its last pixel: Pillow refuses it, the format does not. */
static void fills_what_runs_leave_out(void **state)
{
    static const char DATA[] =
        INFO("\3\0\0\0", "\2\0\0\0", "\x8", "\1", "\2\0\0\0") "\1\2\3\0\4\5\6\0\2\1\0\1";
    static const uint8_t EXPECTED[] = {3, 2, 1, 3, 2, 1, 3, 2, 1, 6, 5, 4, 6, 5, 4, 3, 2, 1};
    uint8_t pixels[sizeof(EXPECTED)];
    brim_error err = {0};

    (void)state;
    assert_int_equal(
        decode_as(brim_heap(), (const uint8_t *)DATA, sizeof(DATA) - 1, NULL, pixels, &err),
        BRIM_END);
    assert_memory_equal(pixels, EXPECTED, sizeof(pixels));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pillow_reads),
        cmocka_unit_test(notices_every_cut),
        cmocka_unit_test(accepts_cuts_where_it_is_told_to),
        cmocka_unit_test(blackens_what_is_missing),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(names_the_trouble),
        cmocka_unit_test(refuses_greys_that_do_not_fit),
        cmocka_unit_test(counts_before_it_unpacks),
        cmocka_unit_test(fills_what_runs_leave_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
