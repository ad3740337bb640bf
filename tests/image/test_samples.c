/* Tests of src/image/samples.c. */
#include "image/samples.h"

#include "support/cmocka_all.h"

static brim_status settle(brim_pixel pixel, brim_reader_options options, brim_samples *out,
                          brim_error *err)
{
    return brim_samples_settle(&pixel, &options, out, err);
}

static void converts_each_type(void **state)
{
    static const uint16_t u16[] = {0, 255, 256, 4096, 65535};
    static const int16_t s16[] = {-32768, -1, 7, 255, 256};
    static const int32_t s32[] = {INT32_MIN, 0, 9, 300, INT32_MAX};
    static const float f32[] = {0.5f, 254.99f, 1e30f, -1e30f, 0.0f / 1.0f};
    static const struct {
        brim_sample_type type;
        const void *row;
        uint8_t right[5];
    } CASES[] = {
        {BRIM_SAMPLE_U16, u16, {0, 0, 1, 16, 255}},
        {BRIM_SAMPLE_S16, s16, {0, 0, 7, 255, 255}},
        {BRIM_SAMPLE_S32, s32, {0, 0, 9, 255, 255}},
        {BRIM_SAMPLE_F32, f32, {0, 254, 255, 0, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        brim_samples samples;
        uint8_t rgb[15];

        assert_int_equal(settle((brim_pixel){CASES[i].type, BRIM_COLOUR_GREY, 1, 0, 0},
                                (brim_reader_options){0}, &samples, NULL),
                         BRIM_OK);
        brim_samples_to_rgb(&samples, CASES[i].row, rgb, 5);
        for (size_t j = 0; j < 15; j++)
            assert_int_equal(rgb[j], CASES[i].right[j / 3]);
    }
}

static void clamps_grey_alone(void **state)
{
    static const uint16_t row[] = {300, 200, 0x1234};
    const brim_reader_options clamp = {.depth = BRIM_DEPTH_CLAMP};
    brim_samples samples;
    uint8_t rgb[9];

    (void)state;
    assert_int_equal(
        settle((brim_pixel){BRIM_SAMPLE_U16, BRIM_COLOUR_GREY, 1, 0, 0}, clamp, &samples, NULL),
        BRIM_OK);
    brim_samples_to_rgb(&samples, row, rgb, 3);
    assert_memory_equal(rgb, ((uint8_t[]){255, 255, 255, 200, 200, 200, 255, 255, 255}), 9);
    assert_int_equal(
        settle((brim_pixel){BRIM_SAMPLE_U16, BRIM_COLOUR_RGB, 3, 0, 0}, clamp, &samples, NULL),
        BRIM_OK);
    brim_samples_to_rgb(&samples, row, rgb, 1);
    assert_memory_equal(rgb, ((uint8_t[]){1, 0, 0x12}), 3);
}

/* A row of inks longer than what is converted at a time; the numbers are Pillow's. */
static void mixes_inks(void **state)
{
    uint8_t row[4 * 600], rgb[3 * 600];
    brim_samples samples;

    (void)state;
    for (size_t i = 0; i < 600; i++)
        memcpy(row + 4 * i, (uint8_t[]){10, 100, 255, 60}, 4);
    assert_int_equal(settle((brim_pixel){BRIM_SAMPLE_U8, BRIM_COLOUR_CMYK, 4, 0, 0},
                            (brim_reader_options){0}, &samples, NULL),
                     BRIM_OK);
    brim_samples_to_rgb(&samples, row, rgb, 600);
    for (size_t i = 0; i < 600; i++)
        assert_memory_equal(rgb + 3 * i, ((uint8_t[]){187, 119, 0}), 3);
}

/* Whatever was stored: divided as libvips does it, then put right. */
static void undoes_a_division(void **state)
{
    brim_samples samples;
    uint8_t rgb[3];

    (void)state;
    assert_int_equal(settle((brim_pixel){BRIM_SAMPLE_U8, BRIM_COLOUR_RGB, 4, 1, 3},
                            (brim_reader_options){0}, &samples, NULL),
                     BRIM_OK);
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned v = 0; v < 256; v++) {
            double divided = a ? v * (255.0 / a) : 0;
            uint8_t u = (uint8_t)(divided > 255 ? 255 : divided);
            uint8_t right = (uint8_t)(a == 0 ? 0 : v * 255 / a > 255 ? 255 : v * 255 / a);

            brim_samples_to_rgb(&samples, (uint8_t[]){u, u, u, (uint8_t)a}, rgb, 1);
            assert_int_equal(rgb[0], right);
        }
    }
}

static void asks_which_bands(void **state)
{
    const brim_reader_options none = {0}, zero = {.bands = {1, 2, 0}};
    brim_samples samples;
    brim_error err = {0};

    (void)state;
    assert_int_equal(
        settle((brim_pixel){BRIM_SAMPLE_U8, BRIM_COLOUR_BANDS, 2, 0, 0}, none, &samples, &err),
        BRIM_E_UNSUPPORTED);
    assert_string_equal(err.message, "2 bands, uint8: choose with --bands 1,1,1");
    assert_int_equal(
        settle((brim_pixel){BRIM_SAMPLE_F32, BRIM_COLOUR_RGB, 3, 0, 0}, none, &samples, &err),
        BRIM_E_UNSUPPORTED);
    assert_string_equal(err.message, "3 bands, float32: choose three with --bands 1,2,3");
    assert_int_equal(
        settle((brim_pixel){BRIM_SAMPLE_U8, BRIM_COLOUR_RGB, 2, 0, 0}, none, &samples, &err),
        BRIM_E_FORMAT);
    assert_int_equal(
        settle((brim_pixel){BRIM_SAMPLE_U8, BRIM_COLOUR_RGB, 3, 0, 0}, zero, &samples, &err),
        BRIM_E_ARG);
    assert_int_equal(settle((brim_pixel){BRIM_SAMPLE_U8, BRIM_COLOUR_RGB, 5, 1, 0},
                            (brim_reader_options){.bands = {2, 2, 2}}, &samples, &err),
                     BRIM_OK);
    assert_int_equal(samples.ignored_bands, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converts_each_type), cmocka_unit_test(clamps_grey_alone),
        cmocka_unit_test(mixes_inks),         cmocka_unit_test(undoes_a_division),
        cmocka_unit_test(asks_which_bands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
