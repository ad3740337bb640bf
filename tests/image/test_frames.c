/*
 * Tests of src/image/frames.c.
 *
 * What is lossless is exact. Lossy files are compared with what Pillow's plugins make of them,
 * which have later versions of the same libraries: they differ by 2 in how halved chroma is made
 * whole and colours are rounded.
 */
#include "image/pictures.h"
#include "image/vips_library.h"

#define TOLERANCE 2

static bool has_loader(const char *name)
{
    const brim_vips *vips;

    if (brim_vips_open("", name, &vips, NULL) == BRIM_OK) return true;
    print_message("this libvips has no %s\n", name);
    return false;
}

static void check_near(const fixture_picture *picture)
{
    size_t n = 3 * (size_t)picture->width * picture->height;
    uint8_t *pixels = malloc(n);
    brim_error err = {0};
    brim_reader *reader;

    if (brim_reader_open(brim_heap(), picture->data, picture->bytes, NULL, &reader, &err) !=
        BRIM_OK)
        fail_msg("%s: %s", picture->name, err.message);
    const brim_image_info *info = brim_reader_info(reader);
    assert_int_equal(info->width, picture->width);
    assert_int_equal(info->height, picture->height);
    assert_int_equal(info->orientation, 1);
    brim_reader_close(reader);
    if (decode_all(brim_heap(), picture->data, picture->bytes, 0, pixels, &err) != BRIM_END)
        fail_msg("%s: %s", picture->name, err.message);
    for (size_t i = 0; i < n; i++) {
        int difference = pixels[i] - picture->pixels[i];

        if (difference < -TOLERANCE || difference > TOLERANCE)
            fail_msg("%s: off by %d", picture->name, difference);
    }
    free(pixels);
}

static void reads_heic(void **state)
{
    (void)state;
    if (!has_loader("heifload_buffer")) skip();
    assert_int_equal(fixture_each_of("foreign", ".heic", check_near), 5);
}

static void reads_avif(void **state)
{
    (void)state;
    if (!has_loader("heifload_buffer")) skip();
    assert_int_equal(fixture_each_of("foreign", ".avif", check_near), 6);
}

static void reads_jpeg_xl(void **state)
{
    (void)state;
    if (!has_loader("jxlload_buffer")) skip();
    assert_int_equal(fixture_each_of("foreign", ".jxl", check_near), 6);
    fixture_each_of("foreign", "lossless.jxl", check_picture);
    fixture_each_of("foreign", "deep.jxl", check_picture);
}

static void reads_jpeg_2000(void **state)
{
    (void)state;
    if (!has_loader("jp2kload_buffer")) skip();
    assert_int_equal(fixture_each_of("foreign", ".jp2", check_picture), 6);
    assert_int_equal(fixture_each_of("foreign", ".j2k", check_picture), 1);
}

/* Writes a big-endian number `at` bytes behind the first place where the file says `mark`. */
static void patch(uint8_t *data, size_t bytes, const char *mark, size_t at, uint32_t value)
{
    uint8_t *p = memmem(data, bytes, mark, strlen(mark));

    assert_non_null(p);
    for (size_t i = 0; i < 4; i++)
        p[at + i] = (uint8_t)(value >> (24 - 8 * i));
}

static brim_status read_rows(const uint8_t *data, size_t bytes, const brim_reader_options *options,
                             uint8_t *pixels, size_t *n, brim_error *err)
{
    brim_reader *reader;

    *n = 0;
    brim_status status = brim_reader_open(brim_heap(), data, bytes, options, &reader, err);
    if (status != BRIM_OK) return status;
    size_t row_bytes = 3 * (size_t)brim_reader_info(reader)->width;
    while ((status = brim_reader_next_row(reader, pixels + *n, err)) == BRIM_OK)
        *n += row_bytes;
    brim_reader_close(reader);
    return status;
}

/* A picture with opacity that calls itself CMYK, which libvips does not tell. */
static void reads_inks_in_jpeg_2000(void **state)
{
    static uint8_t rgb[1 << 16], alpha[1 << 16], inks[1 << 16];
    const brim_reader_options fourth = {.bands = {4, 4, 4}};
    size_t bytes, n;

    (void)state;
    if (!has_loader("jp2kload_buffer")) skip();
    uint8_t *data = fixture_read("alpha.jp2", &bytes);
    assert_int_equal(read_rows(data, bytes, NULL, rgb, &n, NULL), BRIM_END);
    assert_int_equal(read_rows(data, bytes, &fourth, alpha, &n, NULL), BRIM_END);
    patch(data, bytes, "colr", 7, 12);
    assert_int_equal(read_rows(data, bytes, NULL, inks, &n, NULL), BRIM_END);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        double exact = (255 - rgb[i]) * (255 - alpha[i]) / 255.0;
        assert_true(inks[i] <= exact + 1 && inks[i] >= exact - 1);
    }
    free(data);
}

/* Either would be decoded in wrong colours or with gigabytes of tables. */
static void refuses_some_jpeg_2000(void **state)
{
    brim_error err = {0};
    size_t bytes, n;
    brim_reader *reader;

    (void)state;
    if (!has_loader("jp2kload_buffer")) skip();
    uint8_t *data = fixture_read("lossless.jp2", &bytes);
    patch(data, bytes, "colr", 7, 18);
    assert_int_equal(read_rows(data, bytes, NULL, NULL, &n, &err), BRIM_E_UNSUPPORTED);
    assert_string_equal(err.message, "a JPEG 2000 picture in YCC colours that are not subsampled");
    patch(data, bytes, "colr", 7, 16);
    for (size_t at = 6; at <= 10; at += 4)
        patch(data, bytes, "\xff\x4f\xff\x51", 2 + at, 200);
    for (size_t at = 22; at <= 26; at += 4)
        patch(data, bytes, "\xff\x4f\xff\x51", 2 + at, 1);
    assert_int_equal(brim_reader_open(brim_heap(), data, bytes, NULL, &reader, &err),
                     BRIM_E_UNSUPPORTED);
    assert_string_equal(err.message,
                        "a JPEG 2000 picture of 40000 tiles with 3 components: too many");
    free(data);
}

/* Every eighth cut: what is missing is said in one line, at the latest with the rows. */
static void cut_anywhere(const fixture_picture *picture)
{
    for (size_t n = 16; n < picture->bytes; n += 8) {
        uint8_t *copy = malloc(n);
        failing_alloc mem;
        brim_error err = {0};

        memcpy(copy, picture->data, n);
        failing_alloc_init(&mem, 1000000);
        brim_status status = decode_all(&mem.base, copy, n, 0, NULL, &err);
        if (status != BRIM_E_FORMAT)
            fail_msg("%s cut to %zu: %d %s", picture->name, n, (int)status, err.message);
        assert_int_equal(mem.live_bytes, 0);
        free(copy);
    }
}

static void notices_cuts(void **state)
{
    (void)state;
    if (!has_loader("heifload_buffer") || !has_loader("jp2kload_buffer")) skip();
    fixture_each_of("foreign", ".heic", cut_anywhere);
    fixture_each_of("foreign", ".avif", cut_anywhere);
    fixture_each_of("foreign", ".jp2", cut_anywhere);
    fixture_each_of("foreign", ".j2k", cut_anywhere);
}

static void survives_mutations(void **state)
{
    (void)state;
    if (!has_loader("heifload_buffer") || !has_loader("jp2kload_buffer")) skip();
    fixture_each_of("foreign", "colour.heic", check_mutations);
    fixture_each_of("foreign", "colour.avif", check_mutations);
    fixture_each_of("foreign", "tiled.jp2", check_mutations);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    if (!has_loader("heifload_buffer") || !has_loader("jp2kload_buffer")) skip();
    fixture_each_of("foreign", "colour.heic", check_failed_allocations);
    fixture_each_of("foreign", "lossless.jp2", check_failed_allocations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_heic),
        cmocka_unit_test(reads_avif),
        cmocka_unit_test(reads_jpeg_xl),
        cmocka_unit_test(reads_jpeg_2000),
        cmocka_unit_test(reads_inks_in_jpeg_2000),
        cmocka_unit_test(refuses_some_jpeg_2000),
        cmocka_unit_test(notices_cuts),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
