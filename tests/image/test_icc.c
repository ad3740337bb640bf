/* Tests of src/image/icc.c, and of how the formats hand profiles to it. Case B10. */
#include "image/icc.h"

#include <lcms2.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "image/pictures.h"

static const uint8_t RED[3] = {250, 10, 20}, GREEN[3] = {10, 250, 20};

static void assert_near(const uint8_t *rgb, const uint8_t wanted[3])
{
    for (int c = 0; c < 3; c++) {
        if (abs(rgb[c] - wanted[c]) > 2)
            fail_msg("%u %u %u, not %u %u %u", rgb[0], rgb[1], rgb[2], wanted[0], wanted[1],
                     wanted[2]);
    }
}

/* The last pixel of a file of 8 x 8 pixels. */
static void read_last(const char *name, const uint8_t *data, size_t bytes, bool apply_icc,
                      uint8_t rgb[3])
{
    brim_reader_options options = {.apply_icc = apply_icc};
    uint8_t pixels[8 * 8 * 3];
    counting_alloc mem;
    brim_error err = {0};

    counting_alloc_init(&mem);
    if (decode_as(&mem.base, data, bytes, &options, pixels, &err) != BRIM_END)
        fail_msg("%s: %s", name, err.message);
    assert_int_equal(mem.live_bytes, 0);
    memcpy(rgb, pixels + 63 * 3, 3);
}

static void applies_profiles_where_it_is_asked_to(void **state)
{
    static const char *const NAMES[] = {"profiles/swapped.png", "profiles/swapped.jpg",
                                        "profiles/swapped.webp", "profiles/swapped.tif",
                                        "profiles/swapped.avif"};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        uint8_t rgb[3];
        size_t bytes;
        uint8_t *data = fixture_read(NAMES[i], &bytes);
        read_last(NAMES[i], data, bytes, false, rgb);
        assert_near(rgb, RED);
        read_last(NAMES[i], data, bytes, true, rgb);
        assert_near(rgb, GREEN);
        free(data);
    }
}

/* Every third byte of the file in turn is another one: what was readable stays so, whatever its
 * colours.
 */
static void a_broken_profile_breaks_no_picture(void **state)
{
    size_t bytes;
    uint8_t *data = fixture_read("profiles/swapped.webp", &bytes);

    (void)state;
    for (size_t i = 12; i < bytes; i += 3) {
        for (int bit = 0; bit < 8; bit += 7) {
            brim_reader_options plain = {.max_px = 4096}, icc = {.max_px = 4096, .apply_icc = true};
            data[i] ^= (uint8_t)(1u << bit);
            assert_int_equal(decode_as(brim_heap(), data, bytes, &icc, NULL, NULL),
                             decode_as(brim_heap(), data, bytes, &plain, NULL, NULL));
            data[i] ^= (uint8_t)(1u << bit);
        }
    }
    free(data);
}

static brim_icc *open_profile(cmsHPROFILE profile, bool grey_picture)
{
    cmsUInt32Number bytes = 0;

    assert_true(cmsSaveProfileToMem(profile, NULL, &bytes));
    void *data = malloc(bytes);
    assert_true(cmsSaveProfileToMem(profile, data, &bytes));
    cmsCloseProfile(profile);
    brim_icc *icc = brim_icc_open(data, bytes, grey_picture);
    free(data);
    return icc;
}

static void grey_profiles_make_greys(void **state)
{
    cmsToneCurve *curve = cmsBuildGamma(NULL, 1.0);
    brim_icc *icc = open_profile(cmsCreateGrayProfile(cmsD50_xyY(), curve), true);
    enum { N = 700 };
    uint8_t rgb[3 * N];

    (void)state;
    cmsFreeToneCurve(curve);
    assert_non_null(icc);
    for (size_t i = 0; i < sizeof(rgb); i++)
        rgb[i] = (uint8_t)(i / 3);
    brim_icc_apply(icc, rgb, N);
    for (size_t i = 0; i < N; i++) {
        uint8_t middle = 188; /* of sRGB's curve, for half of the light */
        assert_true(abs(rgb[3 * i] - rgb[3 * i + 1]) <= 1 && abs(rgb[3 * i] - rgb[3 * i + 2]) <= 1);
        if (i % 256 == 128) assert_true(abs(rgb[3 * i] - middle) <= 2);
    }
    brim_icc_close(icc);
}

/* Applied, it would make grey of them. */
static void grey_profiles_are_not_for_colours(void **state)
{
    cmsToneCurve *curve = cmsBuildGamma(NULL, 1.0);

    (void)state;
    assert_null(open_profile(cmsCreateGrayProfile(cmsD50_xyY(), curve), false));
    cmsFreeToneCurve(curve);
}

static void tells_grey_from_colours(void **state)
{
    static const struct {
        const char *name;
        bool grey;
    } PICTURES[] = {{"grey.jpg", true},        {"rgb_420.jpg", false},
                    {"cmyk.jpg", false},       {"grey8.png", true},
                    {"grey_alpha8.png", true}, {"rgb8.png", false},
                    {"palette8.png", false},   {"lossy.webp", false},
                    {"grey16_le.tif", true},   {"profiles/swapped.tif", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(PICTURES) / sizeof(PICTURES[0]); i++) {
        size_t bytes;
        uint8_t *data = fixture_read(PICTURES[i].name, &bytes);
        brim_reader *reader;

        assert_int_equal(brim_reader_open(brim_heap(), data, bytes, NULL, &reader, NULL), BRIM_OK);
        assert_int_equal(brim_reader_info(reader)->grey, PICTURES[i].grey);
        brim_reader_close(reader);
        free(data);
    }
}

static void put_u32(uint8_t *p, uint32_t v)
{
    for (size_t i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* An RGB profile that is one table of 69 x 69 x 69 colours: nearly as large as is taken. */
static uint8_t *make_table_profile(size_t *bytes)
{
    enum { HEADER = 128, TAG = HEADER + 16, TABLE = 48, CURVES = 3 * 256, GRID = 69 };
    size_t n_tag = TABLE + CURVES + 3 * GRID * GRID * GRID + CURVES;

    *bytes = TAG + n_tag;
    uint8_t *p = calloc(1, *bytes), *tag = p + TAG;
    put_u32(p, (uint32_t)*bytes);
    put_u32(p + 8, 0x02100000);
    memcpy(p + 12, "scnrRGB Lab ", 12);
    memcpy(p + 36, "acsp", 4);
    put_u32(p + HEADER, 1);
    memcpy(p + HEADER + 4, "A2B0", 4);
    put_u32(p + HEADER + 8, TAG);
    put_u32(p + HEADER + 12, (uint32_t)n_tag);
    memcpy(tag, "mft1", 4);
    memcpy(tag + 8, "\3\3", 2);
    tag[10] = GRID;
    for (size_t i = 0; i < 9; i += 4)
        put_u32(tag + 12 + 4 * i, 0x10000);
    for (size_t i = 0; i < CURVES; i++)
        tag[TABLE + i] = tag[n_tag - CURVES + i] = (uint8_t)i;
    return p;
}

/* The system's own high-water mark, of which sanitizers take more. */
static void predicts_what_a_table_takes(void **state)
{
    struct rusage before, after;
    size_t bytes;
    uint8_t *profile = make_table_profile(&bytes);

    (void)state;
    assert_in_range(bytes, BRIM_ICC_MAX_PROFILE_BYTES / 8 * 7, BRIM_ICC_MAX_PROFILE_BYTES);
    getrusage(RUSAGE_SELF, &before);
    brim_icc *icc = brim_icc_open(profile, bytes, false);
    getrusage(RUSAGE_SELF, &after);
    assert_non_null(icc);
    brim_icc_close(icc);
    free(profile);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(1024 * (size_t)(after.ru_maxrss - before.ru_maxrss) <= BRIM_ICC_BYTES);
#endif
}

static void other_colours_and_nonsense_are_passed_over(void **state)
{
    static const uint8_t NOTHING[200] = {0};

    (void)state;
    assert_null(open_profile(cmsCreateLab4Profile(NULL), false));
    assert_null(brim_icc_open(NULL, 0, false));
    assert_null(brim_icc_open(NULL, 588, false));
    assert_null(brim_icc_open(NOTHING, sizeof(NOTHING), false));
    assert_null(brim_icc_open(NOTHING, BRIM_ICC_MAX_PROFILE_BYTES + 1, false));
    brim_icc_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(applies_profiles_where_it_is_asked_to),
        cmocka_unit_test(a_broken_profile_breaks_no_picture),
        cmocka_unit_test(grey_profiles_make_greys),
        cmocka_unit_test(grey_profiles_are_not_for_colours),
        cmocka_unit_test(tells_grey_from_colours),
        cmocka_unit_test(predicts_what_a_table_takes),
        cmocka_unit_test(other_colours_and_nonsense_are_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
