/* Tests of src/image/xmp.c. */
#include "image/xmp.h"

#include <stdlib.h>

#include "support/cmocka_all.h"

/* Looks at a copy that ends where the packet does, so that reading on is seen. */
static int orientation_of(const char *packet, size_t bytes)
{
    uint8_t *copy = malloc(bytes ? bytes : 1);

    memcpy(copy, packet, bytes);
    int orientation = brim_xmp_orientation(copy, bytes);
    free(copy);
    return orientation;
}

#define ORIENTATION(PACKET) orientation_of(PACKET, sizeof(PACKET) - 1)

static void reads_attribute_and_element(void **state)
{
    (void)state;
    assert_int_equal(ORIENTATION("<rdf:Description tiff:Orientation=\"6\"/>"), 6);
    assert_int_equal(ORIENTATION("<tiff:Orientation>8</tiff:Orientation>"), 8);
    assert_int_equal(ORIENTATION("tiff:Orientation='3' tiff:Orientation=\"5\""), 5);
    assert_int_equal(ORIENTATION("tiff:Orientation=\"2\" tiff:Orientation=\"5\""), 2);
}

static void takes_nonsense_for_upright(void **state)
{
    (void)state;
    assert_int_equal(ORIENTATION(""), 1);
    assert_int_equal(ORIENTATION("<x:xmpmeta/>"), 1);
    assert_int_equal(ORIENTATION("tiff:Orientation=\"0\""), 1);
    assert_int_equal(ORIENTATION("tiff:Orientation=\"9\""), 1);
    assert_int_equal(ORIENTATION("tiff:Orientation=\"left\""), 1);
    assert_int_equal(ORIENTATION("exif:Orientation=\"6\""), 1);
}

static void stops_at_the_end_of_the_packet(void **state)
{
    static const char PACKET[] = "tiff:Orientation=\"6";

    (void)state;
    for (size_t n = 0; n < sizeof(PACKET); n++)
        assert_int_equal(orientation_of(PACKET, n), n < sizeof(PACKET) - 1 ? 1 : 6);
    assert_int_equal(brim_xmp_orientation(NULL, 0), 1);
}

static void exif_counts_first_where_it_says_anything(void **state)
{
    static const uint8_t SIX[] = "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0";
    static const uint8_t NONSENSE[] = "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\x09\0\0\0";
    static const uint8_t OTHER[] = "II*\0\x08\0\0\0\1\0\x13\1\3\0\1\0\0\0\6\0\0\0";
    static const uint8_t XMP[] = "tiff:Orientation=\"3\"";

    (void)state;
    assert_int_equal(brim_orientation_of(SIX, sizeof(SIX) - 1, XMP, sizeof(XMP) - 1), 6);
    assert_int_equal(brim_orientation_of(NONSENSE, sizeof(NONSENSE) - 1, XMP, sizeof(XMP) - 1), 1);
    assert_int_equal(brim_orientation_of(OTHER, sizeof(OTHER) - 1, XMP, sizeof(XMP) - 1), 3);
    assert_int_equal(brim_orientation_of(NULL, 0, XMP, sizeof(XMP) - 1), 3);
    assert_int_equal(brim_orientation_of(NULL, 0, NULL, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_attribute_and_element),
        cmocka_unit_test(takes_nonsense_for_upright),
        cmocka_unit_test(stops_at_the_end_of_the_packet),
        cmocka_unit_test(exif_counts_first_where_it_says_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
