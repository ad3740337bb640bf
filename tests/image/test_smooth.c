/* Tests of src/image/smooth.c; test_processor_classes.c compares it with its reference. */
#include "image/smooth.h"

#include <math.h>

#include "image/pictures.h"

enum { MAX_OUT = 40 };

typedef struct canvas {
    bool is_transposed;
    uint32_t width, height;
    int seen[MAX_OUT];                   /* lines */
    float pixels[MAX_OUT * MAX_OUT * 3]; /* upright [height][width][3] */
} canvas;

static void keep_line(void *ctx, uint32_t idx, const float *rgb)
{
    canvas *out = ctx;
    uint32_t n = out->is_transposed ? out->height : out->width;

    out->seen[idx]++;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = out->is_transposed ? idx : i, y = out->is_transposed ? i : idx;
        memcpy(&out->pixels[3 * (y * out->width + x)], rgb + 3 * i, 3 * sizeof(float));
    }
}

/* Pixel (x, y) of an upright picture. */
static uint8_t pixel(uint32_t x, uint32_t y, uint32_t c)
{
    return (uint8_t)((x * 37 + y * 91 + c * 50 + x * y) % 256);
}

/* Where orientation o has stored it. */
static void write_stored_row(uint8_t *row, uint32_t r, const brim_smooth_spec *spec)
{
    uint8_t o = spec->orientation;
    bool transposed = brim_orientation_is_transposed(o);
    uint32_t width = transposed ? spec->height : spec->width;
    uint32_t height = transposed ? spec->width : spec->height;

    for (uint32_t i = 0; i < spec->width; i++) {
        uint32_t x = transposed ? r : i, y = transposed ? i : r;
        if (o == 2 || o == 3 || o == 6 || o == 7) x = width - 1 - x;
        if (o == 3 || o == 4 || o == 7 || o == 8) y = height - 1 - y;
        for (uint32_t c = 0; c < 3; c++)
            row[3 * i + c] = pixel(x, y, c);
    }
}

static void smooth(const brim_smooth_spec *spec, canvas *out)
{
    brim_smooth *self;
    brim_error err = {0};
    counting_alloc mem;
    size_t foretold;

    counting_alloc_init(&mem);
    *out = (canvas){.is_transposed = brim_orientation_is_transposed(spec->orientation),
                    .width = spec->new_width,
                    .height = spec->new_height};
    assert_int_equal(brim_smooth_bytes(spec, &foretold, &err), BRIM_OK);
    assert_int_equal(brim_smooth_create(&mem.base, spec, keep_line, out, &self, &err), BRIM_OK);
    assert_int_equal(mem.peak_bytes, foretold);
    for (uint32_t r = 0; r < spec->height; r++) {
        write_stored_row(brim_smooth_row(self), r, spec);
        brim_smooth_push(self);
    }
    brim_smooth_destroy(self);
    assert_int_equal(mem.live_bytes, 0);
    for (uint32_t i = 0; i < (out->is_transposed ? out->width : out->height); i++)
        assert_int_equal(out->seen[i], 1);
}

/* Upright width x height to new_width x new_height, however it is stored. */
static void check(uint32_t width, uint32_t height, bool square, uint32_t new_width,
                  uint32_t new_height, const float *values)
{
    static canvas upright, turned;

    for (uint8_t o = 1; o <= 8; o++) {
        bool transposed = brim_orientation_is_transposed(o);
        brim_smooth_spec spec = {
            .width = transposed ? height : width,
            .height = transposed ? width : height,
            .orientation = o,
            .side = square ? (width > height ? width : height) : 0,
            .new_width = new_width,
            .new_height = new_height,
            .values = values,
        };
        smooth(&spec, o == 1 ? &upright : &turned);
        for (uint32_t i = 0; o > 1 && i < 3 * new_width * new_height; i++)
            assert_true(fabsf(turned.pixels[i] - upright.pixels[i]) < 4e-7f);
    }
}

static void turns_pictures_upright(void **state)
{
    float values[256];

    (void)state;
    for (int v = 0; v < 256; v++)
        values[v] = (float)v / 255;
    check(30, 20, true, 11, 11, values);
    check(20, 30, true, 11, 13, values);
    check(30, 20, false, 11, 7, values);
    check(200, 3, true, 9, 9, values);
    check(3, 200, true, 9, 9, values);
    check(1, 50, true, 9, 9, values);
    check(5, 4, true, 40, 40, values);
    check(5, 4, false, 15, 12, values);
    check(1, 1, true, 7, 7, values);
    check(3, 2, false, 1, 1, values);
    check(9, 9, true, 9, 9, values);
    check(7, 150, true, 40, 3, values);
}

/* As much of a flat picture's weight falls on every output as on any other. */
static void keeps_what_is_flat(void **state)
{
    static canvas out;
    float values[256];
    brim_smooth_spec spec = {.width = 31,
                             .height = 12,
                             .orientation = 1,
                             .new_width = 10,
                             .new_height = 17,
                             .values = values};

    (void)state;
    for (int v = 0; v < 256; v++)
        values[v] = 1;
    smooth(&spec, &out);
    for (int i = 0; i < 3 * 10 * 17; i++)
        assert_true(fabsf(out.pixels[i] - 1) < 2e-7f);
}

static void survives_a_failed_allocation(void **state)
{
    float values[256] = {0};
    brim_smooth_spec spec = {.width = 9,
                             .height = 9,
                             .orientation = 1,
                             .new_width = 3,
                             .new_height = 3,
                             .values = values};
    brim_smooth *self;
    failing_alloc mem;

    (void)state;
    failing_alloc_init(&mem, 0);
    assert_int_equal(brim_smooth_create(&mem.base, &spec, keep_line, NULL, &self, NULL),
                     BRIM_E_NOMEM);
    assert_null(self);
    assert_int_equal(mem.live_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_pictures_upright),
        cmocka_unit_test(keeps_what_is_flat),
        cmocka_unit_test(survives_a_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
