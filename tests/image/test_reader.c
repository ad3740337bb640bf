/* Tests of src/image/reader.c. */
#include "image/icc.h"
#include "image/pictures.h"

#define ASSERT_REFUSED(BYTES, STATUS, MESSAGE)                                                     \
    do {                                                                                           \
        brim_reader *reader;                                                                       \
        brim_error err = {0};                                                                      \
        assert_int_equal(                                                                          \
            brim_reader_open(brim_heap(), BYTES, sizeof(BYTES) - 1, NULL, &reader, &err), STATUS); \
        assert_string_equal(err.message, MESSAGE);                                                 \
        assert_null(reader);                                                                       \
    } while (0)

static void says_what_it_cannot_read(void **state)
{
    (void)state;
    ASSERT_REFUSED("", BRIM_E_FORMAT, "empty file");
    ASSERT_REFUSED("just some words", BRIM_E_FORMAT, "not a picture");
    ASSERT_REFUSED("<html><body>", BRIM_E_FORMAT, "not a picture (looks like HTML)");
    ASSERT_REFUSED("version https://git-lfs.github.com/spec/v1", BRIM_E_FORMAT,
                   "not a picture (looks like a git-LFS pointer)");
    ASSERT_REFUSED("8BPS\0\1", BRIM_E_UNSUPPORTED,
                   "a Photoshop picture: not among the formats read here");
    ASSERT_REFUSED("\xff\xd8", BRIM_E_FORMAT, "truncated JPEG");
}

static void exact_limit(const fixture_picture *picture)
{
    uint64_t n_px = (uint64_t)picture->width * picture->height;
    brim_error err = {0};

    assert_int_equal(decode_all(brim_heap(), picture->data, picture->bytes, n_px, NULL, &err),
                     BRIM_END);
    assert_int_equal(decode_all(brim_heap(), picture->data, picture->bytes, n_px - 1, NULL, &err),
                     BRIM_E_FORMAT);
    assert_non_null(strstr(err.message, "image too large: "));
}

static void holds_the_limit_of_pixels(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("rgb_444.jpg", exact_limit), 1);
    assert_int_equal(fixture_each("grey8.png", exact_limit), 1);
    assert_int_equal(fixture_each("lossy.webp", exact_limit), 1);
}

/* The last word stays: the end after the end, the failure after a failure. */
static void read_on(const fixture_picture *picture)
{
    uint8_t row[3 * 64];
    brim_reader *reader;

    assert_int_equal(
        brim_reader_open(brim_heap(), picture->data, picture->bytes, NULL, &reader, NULL), BRIM_OK);
    while (brim_reader_next_row(reader, row, NULL) == BRIM_OK)
        continue;
    assert_int_equal(brim_reader_next_row(reader, row, NULL), BRIM_END);
    brim_reader_close(reader);

    assert_int_equal(
        brim_reader_open(brim_heap(), picture->data, picture->bytes - 1, NULL, &reader, NULL),
        BRIM_OK);
    while (brim_reader_next_row(reader, row, NULL) == BRIM_OK)
        continue;
    assert_int_equal(brim_reader_next_row(reader, row, NULL), BRIM_E_FORMAT);
    brim_reader_close(reader);
}

static void repeats_its_last_word(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("rgb_444.jpg", read_on), 1);
    assert_int_equal(fixture_each("grey8.png", read_on), 1);
}

/* An open reader holds only itself until the first row. */
static void costs_little(const fixture_picture *picture)
{
    brim_reader *reader;
    counting_alloc mem;

    counting_alloc_init(&mem);
    assert_int_equal(
        brim_reader_open(&mem.base, picture->data, picture->bytes, NULL, &reader, NULL), BRIM_OK);
    assert_true(mem.peak_bytes < 256);
    brim_reader_close(reader);
    assert_int_equal(mem.live_bytes, 0);
}

static void takes_nothing_before_the_first_row(void **state)
{
    (void)state;
    fixture_each("", costs_little);
}

/* Shrinking foretells what it saves; what the reader and its colour transform take stays. */
static void still_counts_itself(const fixture_picture *picture)
{
    brim_reader_options plain = {0}, colored = {.apply_icc = true};
    brim_reader *readers[2];

    for (int i = 0; i < 2; i++) {
        assert_int_equal(brim_reader_open(brim_heap(), picture->data, picture->bytes,
                                          i == 0 ? &plain : &colored, &readers[i], NULL),
                         BRIM_OK);
    }
    for (uint32_t factor = 1; factor <= 8; factor *= 2) {
        const brim_image_info *info = brim_reader_info(readers[0]),
                              *more = brim_reader_info(readers[1]);
        brim_reader_shrink(readers[0], factor);
        brim_reader_shrink(readers[1], factor);
        assert_int_equal(more->scratch_bytes - info->scratch_bytes,
                         BRIM_ICC_BYTES + BRIM_ICC_MAX_PROFILE_BYTES);
        assert_int_equal(more->foreign_bytes - info->foreign_bytes,
                         BRIM_ICC_BYTES + BRIM_ICC_MAX_PROFILE_BYTES);
    }
    brim_reader_close(readers[0]);
    brim_reader_close(readers[1]);
}

static void counts_itself_when_it_shrinks(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("rgb_444.jpg", still_counts_itself), 1);
    assert_int_equal(fixture_each("lossy.webp", still_counts_itself), 1);
    assert_int_equal(fixture_each("grey8.png", still_counts_itself), 1);
}

static void closes_nothing(void **state)
{
    (void)state;
    brim_reader_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_it_cannot_read),
        cmocka_unit_test(holds_the_limit_of_pixels),
        cmocka_unit_test(repeats_its_last_word),
        cmocka_unit_test(takes_nothing_before_the_first_row),
        cmocka_unit_test(counts_itself_when_it_shrinks),
        cmocka_unit_test(closes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
