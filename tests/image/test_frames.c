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
        cmocka_unit_test(notices_cuts),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
