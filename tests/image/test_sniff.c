/* Tests of src/image/sniff.c. */
#include "image/sniff.h"

#include "support/cmocka_all.h"

#define ASSERT_SNIFFED(BYTES, NAME, IS_PICTURE)                                                    \
    do {                                                                                           \
        bool is_picture;                                                                           \
        const char *name = brim_sniff((const uint8_t *)(BYTES), sizeof(BYTES) - 1, &is_picture);   \
        assert_non_null(name);                                                                     \
        assert_string_equal(name, NAME);                                                           \
        assert_int_equal(is_picture, IS_PICTURE);                                                  \
    } while (0)

static void names_other_pictures(void **state)
{
    (void)state;
    ASSERT_SNIFFED("GIF89a....", "a GIF picture", true);
    ASSERT_SNIFFED("II*\0\x08\0\0\0", "a TIFF picture", true);
    ASSERT_SNIFFED("MM\0*\0\0\0\x08", "a TIFF picture", true);
    ASSERT_SNIFFED("\0\0\0\x18"
                   "ftypheic",
                   "a HEIC picture", true);
    ASSERT_SNIFFED("\0\0\0\x20"
                   "ftypavif",
                   "an AVIF picture", true);
    ASSERT_SNIFFED("\xff\x0a.", "a JPEG XL picture", true);
    ASSERT_SNIFFED("\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000 picture", true);
    ASSERT_SNIFFED("P6\n3 2\n", "a Netpbm picture", true);
    ASSERT_SNIFFED("8BPS\0\1", "a Photoshop picture", true);
    ASSERT_SNIFFED(" <svg width=", "an SVG drawing", true);
}

static void names_what_is_no_picture(void **state)
{
    (void)state;
    ASSERT_SNIFFED("\n\n<!DOCTYPE HTML><title>404", "HTML", false);
    ASSERT_SNIFFED("\xef\xbb\xbf<Html>", "HTML", false);
    ASSERT_SNIFFED("version https://git-lfs.github.com/spec/v1\n", "a git-LFS pointer", false);
    ASSERT_SNIFFED("\0\0\0\x18"
                   "ftypmp42",
                   "an MP4 video", false);
    ASSERT_SNIFFED("%PDF-1.7", "a PDF document", false);
    ASSERT_SNIFFED("\0\5\x16\7\0\2", "AppleDouble", false);
    ASSERT_SNIFFED("{\"error\": 404}", "JSON", false);
}

static void stays_silent_about_the_rest(void **state)
{
    bool is_picture;

    (void)state;
    assert_null(brim_sniff((const uint8_t *)"", 0, &is_picture));
    assert_null(brim_sniff((const uint8_t *)"GIF8", 4, &is_picture));
    assert_null(brim_sniff((const uint8_t *)"BMW is a brand", 14, &is_picture));
    assert_null(brim_sniff((const uint8_t *)"Pack my box", 11, &is_picture));
    assert_false(is_picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_other_pictures),
        cmocka_unit_test(names_what_is_no_picture),
        cmocka_unit_test(stays_silent_about_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
