/* Tests of src/image/resample.c. */
#include "image/resample.h"

#include "image/pictures.h"

/* Collects lines into an upright window. */
typedef struct window {
    const brim_resample_spec *spec;
    uint8_t *pixels;
    uint32_t n_lines;
} window;

static void put(void *ctx, uint32_t idx, const uint8_t *rgb)
{
    window *w = ctx;
    uint32_t width = w->spec->crop_width, height = w->spec->crop_height;

    w->n_lines++;
    if (!brim_orientation_is_transposed(w->spec->orientation)) {
        memcpy(w->pixels + 3 * (size_t)idx * width, rgb, 3 * (size_t)width);
        return;
    }
    for (uint32_t y = 0; y < height; y++)
        memcpy(w->pixels + 3 * ((size_t)y * width + idx), rgb + 3 * (size_t)y, 3);
}

/* Resizes a whole picture into out, with exactly the memory that was foretold. */
static void resize(const brim_resample_spec *spec, const uint8_t *in, uint8_t *out)
{
    window w = {spec, out, 0};
    brim_resampler *resampler;
    counting_alloc mem;
    size_t bytes;

    counting_alloc_init(&mem);
    assert_int_equal(brim_resampler_bytes(spec, &bytes, NULL), BRIM_OK);
    assert_int_equal(brim_resampler_create(&mem.base, spec, put, &w, &resampler, NULL), BRIM_OK);
    assert_int_equal(mem.peak_bytes, bytes);
    for (uint32_t y = 0; y < spec->height; y++) {
        memcpy(brim_resampler_row(resampler), in + 3 * (size_t)y * spec->width,
               3 * (size_t)spec->width);
        brim_resampler_push(resampler);
    }
    brim_resampler_destroy(resampler);
    assert_int_equal(mem.live_bytes, 0);
    assert_int_equal(w.n_lines, brim_orientation_is_transposed(spec->orientation)
                                    ? spec->crop_width
                                    : spec->crop_height);
}

static void equals_pillow_to_the_bit(void **state)
{
    size_t n_text, n_expected, at = 0;
    char *text = (char *)fixture_read("resizes.txt", &n_text);
    uint8_t *expected = fixture_read("resizes.bin", &n_expected);
    int n = 0;

    (void)state;
    for (char *line = text; *line; line = strchr(line, '\n') + 1, n++) {
        brim_resample_spec s = {0};
        unsigned orientation, filter;
        char name[64];
        size_t n_in;

        assert_int_equal(sscanf(line, "%u %u %u %u %u %u %u %u %u %u", &s.width, &s.height,
                                &orientation, &filter, &s.new_width, &s.new_height, &s.crop_x,
                                &s.crop_y, &s.crop_width, &s.crop_height),
                         10);
        s.orientation = (uint8_t)orientation;
        s.filter = (brim_filter)filter;
        snprintf(name, sizeof(name), "source_%ux%u.rgb", s.width, s.height);
        uint8_t *in = fixture_read(name, &n_in);
        size_t n_out = 3 * (size_t)s.crop_width * s.crop_height;
        uint8_t *out = malloc(n_out);
        resize(&s, in, out);
        if (memcmp(out, expected + at, n_out) != 0) fail_msg("other pixels: %.40s", line);
        at += n_out;
        free(out);
        free(in);
    }
    assert_int_equal(at, n_expected);
    assert_int_equal(n, 175);
    free(expected);
    free(text);
}

/* One direction after the other, which leaves no choice of order. */
static void resize_in_steps(const brim_resample_spec *spec, bool vertical_first, const uint8_t *in,
                            uint8_t *out)
{
    brim_resample_spec first = *spec, second = *spec;
    uint8_t *between = malloc(3 * (size_t)spec->width * spec->height);

    if (vertical_first)
        first.new_width = first.crop_width = spec->width;
    else
        first.new_height = first.crop_height = spec->height;
    second.width = first.new_width;
    second.height = first.new_height;
    resize(&first, in, between);
    resize(&second, between, out);
    free(between);
}

/* Shrinks from width x height to new_width x new_height and tells by the pixels which was first. */
static bool goes_vertically_first(uint32_t width, uint32_t height, uint32_t new_width,
                                  uint32_t new_height, brim_resample_order order)
{
    size_t n_in = 3 * (size_t)width * height, n_out = 3 * (size_t)new_width * new_height;
    uint8_t *in = malloc(n_in), *out = malloc(3 * n_out);
    brim_resample_spec spec = {.width = width,
                               .height = height,
                               .orientation = 1,
                               .new_width = new_width,
                               .new_height = new_height,
                               .crop_width = new_width,
                               .crop_height = new_height,
                               .filter = BRIM_FILTER_BICUBIC,
                               .order = order};

    for (size_t i = 0; i < n_in; i++)
        in[i] = (uint8_t)(i * i % 251 * 7);
    resize(&spec, in, out);
    resize_in_steps(&spec, true, in, out + n_out);
    resize_in_steps(&spec, false, in, out + 2 * n_out);
    assert_memory_not_equal(out + n_out, out + 2 * n_out, n_out);
    bool vertically = memcmp(out, out + n_out, n_out) == 0;
    if (!vertically) assert_memory_equal(out, out + 2 * n_out, n_out);
    free(out);
    free(in);
    return vertically;
}

static void keeps_to_the_order_asked_for(void **state)
{
    (void)state;
    assert_true(goes_vertically_first(40, 101, 20, 60, BRIM_ORDER_PILLOW13));
    assert_false(goes_vertically_first(40, 100, 20, 60, BRIM_ORDER_PILLOW13));
    assert_false(goes_vertically_first(40, 101, 20, 60, BRIM_ORDER_CLASSIC));
    assert_false(goes_vertically_first(3, 300, 2, 80, BRIM_ORDER_CLASSIC));
    assert_true(goes_vertically_first(3, 301, 2, 80, BRIM_ORDER_CLASSIC));
}

/* A picture that is not blended is held by its row. */
static void picks_with_two_lines_of_memory(void **state)
{
    brim_resample_spec spec = {.width = 600,
                               .height = 400,
                               .orientation = 1,
                               .new_width = 90,
                               .new_height = 70000,
                               .crop_width = 90,
                               .crop_height = 70000,
                               .filter = BRIM_FILTER_NEAREST};
    size_t bytes;

    (void)state;
    assert_int_equal(brim_resampler_bytes(&spec, &bytes, NULL), BRIM_OK);
    assert_true(bytes < 4096);
}

static void picks_the_middle(void **state)
{
    static const uint8_t COLUMN[] = {10, 20, 30, 40, 50, 60, 70};
    static const uint8_t THREE[] = {20, 40, 60};
    uint8_t in[3 * 7], out[3 * 14];
    brim_resample_spec spec = {.width = 1,
                               .height = 7,
                               .orientation = 1,
                               .new_width = 1,
                               .new_height = 3,
                               .crop_width = 1,
                               .crop_height = 3,
                               .filter = BRIM_FILTER_NEAREST};

    (void)state;
    for (int i = 0; i < 21; i++)
        in[i] = COLUMN[i / 3];
    resize(&spec, in, out);
    for (int i = 0; i < 9; i++)
        assert_int_equal(out[i], THREE[i / 3]);
    spec.orientation = 3;
    spec.new_height = spec.crop_height = 14;
    resize(&spec, in, out);
    for (int i = 0; i < 42; i++)
        assert_int_equal(out[i], COLUMN[6 - i / 6]);
}

/* Grey, size x size, to new_size x new_size; tells the first channel. */
static void resize_grey(const uint8_t *grey, uint32_t size, uint32_t new_size, brim_filter filter,
                        uint8_t *out)
{
    uint8_t in[3 * 64], rgb[3 * 64];
    brim_resample_spec spec = {.width = size,
                               .height = size,
                               .orientation = 1,
                               .new_width = new_size,
                               .new_height = new_size,
                               .crop_width = new_size,
                               .crop_height = new_size,
                               .filter = filter};

    for (uint32_t i = 0; i < 3 * size * size; i++)
        in[i] = grey[i / 3];
    resize(&spec, in, rgb);
    for (uint32_t i = 0; i < new_size * new_size; i++)
        out[i] = rgb[3 * i];
}

static void blends_as_pillow_not_as_opencv(void **state)
{
    static const struct {
        brim_filter filter;
        uint8_t row[6];
        uint8_t board[9];
    } CASES[] = {
        {BRIM_FILTER_BICUBIC,
         {0, 0, 31, 224, 255, 255},
         {126, 127, 129, 127, 127, 127, 129, 127, 126}},
        {BRIM_FILTER_BILINEAR,
         {0, 0, 43, 212, 255, 255},
         {127, 128, 128, 128, 128, 128, 128, 128, 127}},
        {BRIM_FILTER_LANCZOS, {7, 0, 33, 222, 255, 248}, {0}},
    };
    uint8_t half[16], board[64], out[64];

    (void)state;
    for (int i = 0; i < 16; i++)
        half[i] = i % 4 < 2 ? 0 : 255;
    for (int i = 0; i < 64; i++)
        board[i] = (i / 8 + i) % 2 ? 255 : 0;
    for (int i = 0; i < 3; i++) {
        resize_grey(half, 4, 6, CASES[i].filter, out);
        assert_memory_equal(out, CASES[i].row, 6);
        resize_grey(board, 8, 3, CASES[i].filter, out);
        if (CASES[i].filter != BRIM_FILTER_LANCZOS) assert_memory_equal(out, CASES[i].board, 9);
    }
}

/* 1 x 1000 pixels to 224 x 224000, of which 224 x 224 are wanted. */
static void computes_the_window_only(void **state)
{
    brim_resample_spec spec = {.width = 1000,
                               .height = 1,
                               .orientation = 1,
                               .new_width = 224000,
                               .new_height = 224,
                               .crop_x = 111888,
                               .crop_width = 224,
                               .crop_height = 224,
                               .filter = BRIM_FILTER_BICUBIC};
    size_t bytes;

    (void)state;
    for (uint8_t orientation = 1; orientation <= 8; orientation++) {
        spec.orientation = orientation;
        spec.width = orientation < 5 ? 1000 : 1;
        spec.height = orientation < 5 ? 1 : 1000;
        assert_int_equal(brim_resampler_bytes(&spec, &bytes, NULL), BRIM_OK);
        assert_true(bytes < 4 << 20);
    }
}

/* Memory stays in the range of a few rows, whatever the height. */
static void holds_a_few_rows(void **state)
{
    brim_resample_spec spec = {.width = 6000,
                               .height = 400000,
                               .orientation = 1,
                               .new_width = 224,
                               .new_height = 224,
                               .crop_width = 224,
                               .crop_height = 224,
                               .filter = BRIM_FILTER_BICUBIC};
    size_t bytes;

    (void)state;
    assert_int_equal(brim_resampler_bytes(&spec, &bytes, NULL), BRIM_OK);
    assert_true(bytes < 2 << 20);
}

static void refuses_sizes_that_overflow(void **state)
{
    brim_resample_spec spec = {.width = 0x7fffffff,
                               .height = 0x7fffffff,
                               .orientation = 1,
                               .new_width = 1,
                               .new_height = 1,
                               .crop_width = 1,
                               .crop_height = 1,
                               .filter = BRIM_FILTER_BICUBIC};
    brim_resampler *resampler;
    failing_alloc mem;

    (void)state;
    failing_alloc_init(&mem, 0);
    assert_int_equal(brim_resampler_create(&mem.base, &spec, put, NULL, &resampler, NULL),
                     BRIM_E_UNSUPPORTED);
    assert_null(resampler);
}

static void survives_every_failed_allocation(void **state)
{
    brim_resample_spec spec = {.width = 9,
                               .height = 9,
                               .orientation = 6,
                               .new_width = 4,
                               .new_height = 4,
                               .crop_width = 4,
                               .crop_height = 4,
                               .filter = BRIM_FILTER_BILINEAR};
    brim_status status = BRIM_E_BUDGET;

    (void)state;
    for (long allowed = 0; status != BRIM_OK; allowed++) {
        brim_resampler *resampler;
        failing_alloc mem;

        failing_alloc_init(&mem, allowed);
        mem.refusal = BRIM_E_BUDGET;
        status = brim_resampler_create(&mem.base, &spec, put, NULL, &resampler, NULL);
        assert_true(status == BRIM_OK || status == BRIM_E_BUDGET);
        brim_resampler_destroy(resampler);
        assert_int_equal(mem.live_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_pillow_to_the_bit),
        cmocka_unit_test(keeps_to_the_order_asked_for),
        cmocka_unit_test(picks_with_two_lines_of_memory),
        cmocka_unit_test(picks_the_middle),
        cmocka_unit_test(blends_as_pillow_not_as_opencv),
        cmocka_unit_test(computes_the_window_only),
        cmocka_unit_test(holds_a_few_rows),
        cmocka_unit_test(refuses_sizes_that_overflow),
        cmocka_unit_test(survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
