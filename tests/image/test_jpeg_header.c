/* Tests of src/image/jpeg_header.c. */
#include "image/jpeg_header.h"

#include <stdlib.h>

#include "support/cmocka_all.h"

#define SOI "\xff\xd8"
#define SOF "\xff\xc0\0\x11\x08\0\x10\0\x20\3\1\x22\0\2\x11\1\3\x11\1" /* 32 x 16, 4:2:0 */
#define SOS "\xff\xda\0\x0c\3\1\0\2\x11\3\x11\0\x3f\0"
#define EXIF6                                                                                      \
    "\xff\xe1\0\x22"                                                                               \
    "Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0"

static brim_status read_header(const char *data, size_t bytes, brim_jpeg_header *out,
                               brim_error *err)
{
    uint8_t *copy = malloc(bytes);

    memcpy(copy, data, bytes);
    brim_status status = brim_jpeg_read_header(copy, bytes, out, err);
    free(copy);
    return status;
}

#define READ(DATA, OUT, ERR) read_header(DATA, sizeof(DATA) - 1, OUT, ERR)

static void reads_size_sampling_and_orientation(void **state)
{
    brim_jpeg_header h;

    (void)state;
    assert_int_equal(READ(SOI EXIF6 SOF SOS, &h, NULL), BRIM_OK);
    assert_int_equal(h.width, 32);
    assert_int_equal(h.height, 16);
    assert_int_equal(h.orientation, 6);
    assert_int_equal(h.n_components, 3);
    assert_int_equal(h.components[0].h, 2);
    assert_int_equal(h.components[2].v, 1);
    assert_false(h.many_scans);
}

static void passes_over_what_is_no_marker(void **state)
{
    brim_jpeg_header h;

    (void)state;
    assert_int_equal(READ(SOI "garbage\xff\0\xff\xff\xff\xe0\0\4xx" SOF SOS, &h, NULL), BRIM_OK);
    assert_int_equal(h.width, 32);
}

/* One component in the first scan, or none in the file's first frame at all. */
static void sees_pictures_in_many_scans(void **state)
{
    brim_jpeg_header h;

    (void)state;
    assert_int_equal(READ(SOI SOF "\xff\xda\0\x08\1\1\0\0\x3f\0", &h, NULL), BRIM_OK);
    assert_true(h.many_scans);
    assert_false(h.progressive);
    assert_int_equal(brim_jpeg_frame_bytes(&h), 32 * 16 * 2 * 3 / 2);
    h.many_scans = false;
    assert_int_equal(brim_jpeg_frame_bytes(&h), 0);
}

static void names_the_trouble(void **state)
{
    static const struct {
        const char *data, *message;
        size_t bytes;
        brim_status status;
    } CASES[] = {
#define CASE(DATA, STATUS, MESSAGE) {DATA, MESSAGE, sizeof(DATA) - 1, STATUS}
        CASE(SOI, BRIM_E_FORMAT, "truncated JPEG"),
        CASE(SOI SOF, BRIM_E_FORMAT, "truncated JPEG"),
        CASE(SOI SOS, BRIM_E_FORMAT, "broken JPEG: a scan without a frame"),
        CASE(SOI "\xff\xd9", BRIM_E_FORMAT, "broken JPEG: no picture"),
        CASE(SOI SOF SOF SOS, BRIM_E_FORMAT, "broken JPEG: bad frame header"),
        CASE(SOI "\xff\xe0\0\1", BRIM_E_FORMAT, "broken JPEG: bad segment length"),
        CASE(SOI "\xff\xc0\0\x0b\x08\0\0\0\x20\1\1\x11\0" SOS, BRIM_E_FORMAT,
             "broken JPEG: no width or height"),
        CASE(SOI "\xff\xc0\0\x0b\x08\0\x10\0\x20\1\1\x51\0" SOS, BRIM_E_FORMAT,
             "broken JPEG: bad sampling factors"),
        CASE(SOI "\xff\xc0\0\x0e\x08\0\x10\0\x20\2\1\x11\0\1\x11\0" SOS, BRIM_E_UNSUPPORTED,
             "a JPEG with 2 components"),
        CASE(SOI "\xff\xc1\0\x0b\x0c\0\x10\0\x20\1\1\x11\0" SOS, BRIM_E_UNSUPPORTED,
             "a JPEG with 12-bit samples"),
        CASE(SOI "\xff\xc3\0\x0b\x08\0\x10\0\x20\1\1\x11\0" SOS, BRIM_E_UNSUPPORTED,
             "a lossless or hierarchical JPEG"),
#undef CASE
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        brim_jpeg_header h;
        brim_error err = {0};

        assert_int_equal(read_header(CASES[i].data, CASES[i].bytes, &h, &err), CASES[i].status);
        assert_string_equal(err.message, CASES[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_size_sampling_and_orientation),
        cmocka_unit_test(passes_over_what_is_no_marker),
        cmocka_unit_test(sees_pictures_in_many_scans),
        cmocka_unit_test(names_the_trouble),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
