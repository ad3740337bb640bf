/* Tests of src/image/tiff.c, and with it of vips_picture.c. */
#include "image/pictures.h"

#include <malloc.h>

/* Whole numbers of a 1 x n picture. */
#define ASSERT_GREYS(NAME, OPTIONS, ...)                                                           \
    do {                                                                                           \
        const uint8_t greys[] = {__VA_ARGS__};                                                     \
        uint8_t row[3 * sizeof(greys)];                                                            \
        brim_image_info info;                                                                      \
        assert_int_equal(read_first_row(NAME, OPTIONS, &info, row, NULL), BRIM_OK);                \
        assert_int_equal(info.width, sizeof(greys));                                               \
        for (size_t i = 0; i < sizeof(row); i++)                                                   \
            assert_int_equal(row[i], greys[i / 3]);                                                \
    } while (0)

static brim_status read_first_row(const char *name, const brim_reader_options *options,
                                  brim_image_info *info, uint8_t *row, brim_error *err)
{
    size_t bytes;
    uint8_t *data = fixture_read(name, &bytes);
    brim_reader *reader;

    brim_status status = brim_reader_open(brim_heap(), data, bytes, options, &reader, err);
    if (status == BRIM_OK) {
        *info = *brim_reader_info(reader);
        status = brim_reader_next_row(reader, row, err);
        brim_reader_close(reader);
    }
    free(data);
    return status;
}

/* Its uncompressed YCbCr is one off in places: Pillow's tables are not quite the formula. */
static bool is_near(const fixture_picture *picture)
{
    return strcmp(picture->name, "ycbcr.tif") == 0;
}

static void check_exact(const fixture_picture *picture)
{
    if (!is_near(picture)) check_picture(picture);
}

static void reads_what_pillow_reads(void **state)
{
    (void)state;
    assert_int_equal(fixture_each_of("foreign", ".tif", check_exact), 50);
}

static void check_near(const fixture_picture *picture)
{
    size_t n = 3 * (size_t)picture->width * picture->height;
    uint8_t *pixels = malloc(n);

    assert_int_equal(decode_all(brim_heap(), picture->data, picture->bytes, 0, pixels, NULL),
                     BRIM_END);
    for (size_t i = 0; i < n; i++)
        assert_in_range(pixels[i] + 1, picture->pixels[i], picture->pixels[i] + 2);
    free(pixels);
}

static void reads_plain_ycbcr(void **state)
{
    (void)state;
    assert_int_equal(fixture_each_of("foreign", "ycbcr.tif", check_near), 1);
}

static void scales_or_clamps_deep_grey(void **state)
{
    const brim_reader_options clamp = {.depth = BRIM_DEPTH_CLAMP};

    (void)state;
    ASSERT_GREYS("grey16_le.tif", NULL, 0, 0, 1, 16, 128, 255);
    ASSERT_GREYS("grey16_be.tif", NULL, 0, 0, 1, 16, 128, 255);
    ASSERT_GREYS("grey16_le.tif", &clamp, 0, 255, 255, 255, 255, 255);
    ASSERT_GREYS("grey16_be.tif", &clamp, 0, 255, 255, 255, 255, 255);
    ASSERT_GREYS("b09_float.tif", NULL, 0, 0, 1, 255, 0);
}

static void takes_three_of_many_bands(void **state)
{
    const brim_reader_options chosen = {.bands = {5, 1, 3}}, wrong = {.bands = {1, 2, 6}};
    brim_image_info info;
    brim_error err = {0};
    uint8_t row[6];

    (void)state;
    assert_int_equal(read_first_row("b09_bands.tif", NULL, &info, row, &err), BRIM_E_UNSUPPORTED);
    assert_string_equal(err.message, "5 bands, uint16: choose three with --bands 1,2,3");
    assert_int_equal(read_first_row("b09_bands.tif", &wrong, &info, row, &err), BRIM_E_ARG);
    assert_string_equal(err.message, "--bands 1,2,6: the picture has 5");
    assert_int_equal(read_first_row("b09_bands.tif", &chosen, &info, row, &err), BRIM_OK);
    assert_int_equal(info.ignored_bands, 2);
    const uint8_t right[] = {16000 >> 8, 0, 8000 >> 8, 17000 >> 8, 1000 >> 8, 9000 >> 8};
    assert_memory_equal(row, right, sizeof(right));
}

static void tells_what_it_drops(void **state)
{
    brim_image_info info;
    uint8_t row[3 * 64];

    (void)state;
    assert_int_equal(read_first_row("b09_nir.tif", NULL, &info, row, NULL), BRIM_OK);
    assert_int_equal(info.ignored_bands, 1);
    assert_int_equal(read_first_row("rgba.tif", NULL, &info, row, NULL), BRIM_OK);
    assert_int_equal(info.ignored_bands, 0);
    assert_int_equal(read_first_row("rgb16_be.tif", NULL, &info, row, NULL), BRIM_OK);
    assert_int_equal(info.depth, 16);
    assert_int_equal(read_first_row("bilevel.tif", NULL, &info, row, NULL), BRIM_OK);
    assert_int_equal(info.depth, 1);
}

/* Cut anywhere, it fails in words of one line, or loses nothing but what stands behind all else. */
static void cut_anywhere(const fixture_picture *picture)
{
    for (size_t n = 0; n < picture->bytes; n += 1 + n / 64) {
        uint8_t *copy = malloc(n + 1);
        failing_alloc mem;
        brim_error err = {0};

        memcpy(copy, picture->data, n);
        failing_alloc_init(&mem, 1000000);
        brim_status status = decode_all(&mem.base, copy, n, 0, NULL, &err);
        assert_true(status == BRIM_E_FORMAT || (status == BRIM_END && n > picture->bytes / 2));
        assert_true(status == BRIM_END || strlen(err.message) > 0);
        assert_int_equal(mem.live_bytes, 0);
        free(copy);
    }
}

static void notices_cuts(void **state)
{
    (void)state;
    fixture_each_of("foreign", ".tif", cut_anywhere);
}

static void lacks_its_last_strip(const fixture_picture *picture)
{
    uint8_t *pixels = calloc(3, (size_t)picture->width * picture->height);
    size_t half = 3 * (size_t)picture->width * (picture->height / 2);
    brim_error err = {0};
    brim_reader *reader;

    /* tifffile writes the directory first. */
    assert_int_equal(decode_all(brim_heap(), picture->data, picture->bytes - 100, 0, NULL, &err),
                     BRIM_E_FORMAT);
    assert_string_equal(err.message, "truncated TIFF");
    assert_int_equal(brim_reader_open(brim_heap(), picture->data, picture->bytes - 100,
                                      &(brim_reader_options){.accept_truncated = true}, &reader,
                                      &err),
                     BRIM_OK);
    for (size_t y = 0; y < picture->height; y++)
        assert_int_equal(brim_reader_next_row(reader, pixels + 3 * y * picture->width, &err),
                         BRIM_OK);
    assert_int_equal(brim_reader_next_row(reader, pixels, &err), BRIM_END);
    brim_reader_close(reader);
    assert_memory_equal(pixels + 3 * picture->width, picture->pixels + 3 * picture->width,
                        half - 3 * picture->width);
    free(pixels);
}

static void accepts_a_cut_where_asked_to(void **state)
{
    (void)state;
    assert_int_equal(fixture_each_of("foreign", "rgb_le.tif", lacks_its_last_strip), 1);
    assert_int_equal(fixture_each_of("foreign", "deflate.tif", lacks_its_last_strip), 1);
}

static void survives_mutations(void **state)
{
    (void)state;
    fixture_each_of("foreign", ".tif", check_mutations);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    fixture_each_of("foreign", "lzw.tif", check_failed_allocations);
    fixture_each_of("foreign", "tiled.tif", check_failed_allocations);
}

static void refuses_raw_files(void **state)
{
    static const char *const NAMES[][2] = {{"raw.dng", "DNG"}, {"raw.nef", "NEF"},
                                           {"raw.arw", "ARW"}, {"raw.cr2", "CR2"},
                                           {"raw.orf", "ORF"}, {"raw.rw2", "RW2"}};
    brim_image_info info;

    (void)state;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        char words[200];
        brim_error err = {0};

        snprintf(words, sizeof(words),
                 "a camera raw file (%s): its first picture is only a thumbnail; develop it to "
                 "TIFF or JPEG first",
                 NAMES[i][1]);
        assert_int_equal(read_first_row(NAMES[i][0], NULL, &info, NULL, &err), BRIM_E_UNSUPPORTED);
        assert_string_equal(err.message, words);
    }
}

/* What was really taken between two rows; the sanitizers' allocators tell nothing. */
static void stays_within_its_prediction(const uint8_t *data, size_t bytes, bool is_large)
{
    brim_reader *reader;
    size_t most = 0;

    assert_int_equal(brim_reader_open(brim_heap(), data, bytes, NULL, &reader, NULL), BRIM_OK);
    const brim_image_info *info = brim_reader_info(reader);
    uint8_t *row = malloc(3 * (size_t)info->width);
    struct mallinfo2 before = mallinfo2();
    while (brim_reader_next_row(reader, row, NULL) == BRIM_OK) {
        struct mallinfo2 now = mallinfo2();
        size_t taken = now.uordblks + now.hblkhd - before.uordblks - before.hblkhd;
        if (taken > most) most = taken;
    }
    if (most > info->scratch_bytes)
        fail_msg("%zu bytes taken, %zu predicted", most, info->scratch_bytes);
    if (is_large && most > 0) assert_true(info->scratch_bytes <= most + most / 2 + (4 << 20));
    brim_reader_close(reader);
    free(row);
}

static void predict_one(const fixture_picture *picture)
{
    stays_within_its_prediction(picture->data, picture->bytes, false);
}

/* Uncompressed RGB in strips of 16 rows: only the part of it that libvips caches is ever held. */
static void predicts_its_memory(void **state)
{
    enum { WIDTH = 3000, HEIGHT = 2000, STRIPS = HEIGHT / 16, TAGS = 8 };
    static const uint16_t entries[TAGS][4] = {
        {256, 4, 1, WIDTH}, {257, 4, 1, HEIGHT}, {258, 3, 1, 8},  {262, 3, 1, 2},
        {273, 4, 0, 0},     {277, 3, 1, 3},      {278, 4, 1, 16}, {279, 4, 0, 0},
    };
    size_t lists = 8 + 2 + 12 * TAGS + 4, pixels = lists + 8 * STRIPS;
    size_t bytes = pixels + 3 * (size_t)WIDTH * HEIGHT;
    uint8_t *data = calloc(1, bytes);

    fixture_each_of("foreign", ".tif", predict_one);
    (void)state;
    memcpy(data, "II*\0\10\0\0\0\10\0", 10);
    for (size_t i = 0; i < TAGS; i++) {
        bool is_list = entries[i][2] == 0;
        uint32_t n = is_list ? STRIPS : 1;
        uint32_t v = is_list ? (uint32_t)(lists + (i == 4 ? 0 : 4 * STRIPS)) : entries[i][3];

        memcpy(data + 10 + 12 * i, entries[i], 4);
        memcpy(data + 14 + 12 * i, &n, 4);
        memcpy(data + 18 + 12 * i, &v, 4);
    }
    for (uint32_t i = 0; i < STRIPS; i++) {
        uint32_t at = (uint32_t)pixels + i * 48 * WIDTH, n = 48 * WIDTH;

        memcpy(data + lists + 4 * i, &at, 4);
        memcpy(data + lists + 4 * (STRIPS + i), &n, 4);
    }
    stays_within_its_prediction(data, bytes, true);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pillow_reads),
        cmocka_unit_test(reads_plain_ycbcr),
        cmocka_unit_test(scales_or_clamps_deep_grey),
        cmocka_unit_test(takes_three_of_many_bands),
        cmocka_unit_test(tells_what_it_drops),
        cmocka_unit_test(notices_cuts),
        cmocka_unit_test(accepts_a_cut_where_asked_to),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(refuses_raw_files),
        cmocka_unit_test(predicts_its_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
