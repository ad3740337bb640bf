/* Tests of src/image/tiff_header.c. */
#include "image/tiff_header.h"

#include "image/pictures.h"

static brim_status read_header(const void *data, size_t bytes, brim_tiff_header *out,
                               brim_error *err)
{
    static const brim_reader_options PLAIN = {0};
    brim_encoded file = {data, bytes, &PLAIN, -1, NULL};

    return brim_tiff_read_header(&file, out, err);
}

static void reads_what_is_there(const fixture_picture *picture)
{
    brim_tiff_header h;

    assert_int_equal(read_header(picture->data, picture->bytes, &h, NULL), BRIM_OK);
    assert_int_equal(h.width, picture->width);
    assert_int_equal(h.height, picture->height);
    assert_true(h.n_blocks > 0 && !h.truncated);
}

static void reads_every_header(void **state)
{
    brim_tiff_header h;
    size_t bytes;
    uint8_t *data = fixture_read("tiled.tif", &bytes);

    (void)state;
    fixture_each_of("foreign", ".tif", reads_what_is_there);
    assert_int_equal(read_header(data, bytes, &h, NULL), BRIM_OK);
    assert_true(h.tiled);
    assert_int_equal(h.block_width, 32);
    assert_int_equal(h.block_height, 16);
    assert_int_equal(h.n_blocks, 4);
    free(data);
}

/* Every byte of a small file set to 0 and to 255: the walk ends, and reads no byte beyond. */
static void survives_any_byte(void **state)
{
    static const char *const NAMES[] = {"palette4.tif", "b12_be.tif", "big_be.tif"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        size_t bytes;
        uint8_t *data = fixture_read(NAMES[i], &bytes);

        for (size_t at = 4; at < bytes; at++) {
            brim_tiff_header h;
            uint8_t was = data[at];

            data[at] = 0xff;
            read_header(data, bytes, &h, NULL);
            data[at] = 0;
            read_header(data, bytes, &h, NULL);
            data[at] = was;
        }
        free(data);
    }
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *bytes, *words;
        size_t n;
    } CASES[] = {
        {"II*\0\10\0", "truncated TIFF", 6},
        {"II*\0\0\0\0\0", "broken TIFF: no picture in it", 8},
        {"II*\0\xff\xff\xff\xff", "truncated TIFF", 8},
        {"II*\0\10\0\0\0\0\0", "broken TIFF: a bad number of tags", 10},
        {"II*\0\10\0\0\0\1\0\0\0\0\0", "truncated TIFF", 14},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        brim_tiff_header h;
        brim_error err = {0};

        assert_int_equal(read_header((const uint8_t *)CASES[i].bytes, CASES[i].n, &h, &err),
                         BRIM_E_FORMAT);
        assert_string_equal(err.message, CASES[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_header),
        cmocka_unit_test(survives_any_byte),
        cmocka_unit_test(says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
