/*
 * Tests of every class of processor against the reference's own tensors: see
 * tests/data/image/processors/make_processors.py.
 */
#include "image/processor.h"

#include <math.h>

#include "base/half.h"
#include "image/pictures.h"

/* Of a tensor's values, whatever the class. */
#define NEAR 1e-6

/* A tensor or the sums of one, as a line of the lists says. */
typedef struct expectation {
    char config[32], picture[32];
    uint32_t sides[3]; /* 3, height, width, or patches, values, 1 */
} expectation;

static brim_processor *open_processor(const char *config)
{
    char path[4096];
    brim_processor *processor;
    brim_error err = {0};

    snprintf(path, sizeof(path), "%s/image/processors/%s", TEST_DATA, config);
    if (brim_processor_open(brim_heap(), path, NULL, &processor, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    return processor;
}

static void check_shape(const brim_processor *processor, const brim_image_info *info,
                        const expectation *e)
{
    brim_patch_grid grid;
    uint32_t height, width;

    if (e->sides[2] == 1) {
        assert_int_equal(brim_processor_slot_layout(processor), BRIM_LAYOUT_PATCHES);
        assert_int_equal(brim_processor_patches(processor, info, &grid, NULL), BRIM_OK);
        assert_int_equal(grid.max_patches, e->sides[0]);
        assert_int_equal(3 * grid.patch_size * grid.patch_size, e->sides[1]);
        assert_true(grid.n_high * grid.n_wide <= grid.max_patches);
        assert_int_equal(brim_processor_shape(processor, info, &height, &width, NULL),
                         BRIM_E_UNSUPPORTED);
        return;
    }
    assert_int_equal(brim_processor_slot_layout(processor), BRIM_LAYOUT_PLANES);
    assert_int_equal(brim_processor_shape(processor, info, &height, &width, NULL), BRIM_OK);
    if (height != e->sides[1] || width != e->sides[2])
        fail_msg("%s %s: %u x %u, not %u x %u", e->config, e->picture, width, height, e->sides[2],
                 e->sides[1]);
    assert_int_equal(brim_processor_patches(processor, info, &grid, NULL), BRIM_E_UNSUPPORTED);
}

/* A picture's tensor, to be freed; it takes the memory that was foretold, and no more. */
static void *tensor_of(const expectation *e, brim_dtype dtype, size_t *n)
{
    char path[64];
    counting_alloc mem;
    brim_reader *reader;
    brim_error err = {0};
    size_t bytes, foretold, each = dtype == BRIM_F32 ? sizeof(float) : sizeof(uint16_t);

    snprintf(path, sizeof(path), "processors/%s", e->picture);
    uint8_t *data = fixture_read(path, &bytes);
    brim_processor *processor = open_processor(e->config);
    assert_int_equal(brim_reader_open(brim_heap(), data, bytes, NULL, &reader, &err), BRIM_OK);
    const brim_image_info *info = brim_reader_info(reader);
    check_shape(processor, info, e);
    assert_int_equal(brim_processor_scratch_bytes(processor, info, &foretold, &err), BRIM_OK);
    *n = (size_t)e->sides[0] * e->sides[1] * e->sides[2];
    void *slot = malloc(*n * each);
    assert_non_null(slot);
    memset(slot, 0xff, *n * each); /* not a number */
    counting_alloc_init(&mem);
    if (brim_processor_apply(processor, &mem.base, reader, dtype, slot, &err) != BRIM_OK)
        fail_msg("%s %s: %s", e->config, e->picture, err.message);
    assert_int_equal(mem.peak_bytes, foretold);
    assert_int_equal(mem.live_bytes, 0);
    brim_reader_close(reader);
    brim_processor_close(processor);
    free(data);
    return slot;
}

static void assert_near(const expectation *e, const float *slot, const float *expected, size_t n)
{
    double worst = 0;

    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)slot[i] - expected[i]);
        if (!(difference <= worst)) worst = isnan(difference) ? INFINITY : difference;
    }
    if (getenv("BRIM_SHOW_DIFFERENCES")) printf("%s %s: %.3g\n", e->config, e->picture, worst);
    if (!(worst <= NEAR)) fail_msg("%s %s: %g", e->config, e->picture, worst);
}

/* Calls visit with every expectation and its tensor. */
static void each_tensor(void (*visit)(const expectation *e, const float *expected, size_t n))
{
    size_t n_text, n_expected, at = 0;
    char *text = (char *)fixture_read("processors/tensors.txt", &n_text);
    uint8_t *expected = fixture_read("processors/tensors.bin", &n_expected);

    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        expectation e;

        assert_int_equal(sscanf(line, "%31s %31s %*s %u %u %u", e.config, e.picture, &e.sides[0],
                                &e.sides[1], &e.sides[2]),
                         5);
        size_t n = (size_t)e.sides[0] * e.sides[1] * e.sides[2];
        assert_true(at + n * sizeof(float) <= n_expected);
        visit(&e, (const float *)(const void *)(expected + at), n);
        at += n * sizeof(float);
    }
    assert_int_equal(at, n_expected);
    free(expected);
    free(text);
}

static void compare(const expectation *e, const float *expected, size_t n)
{
    size_t n_slot;
    float *slot = tensor_of(e, BRIM_F32, &n_slot);

    assert_int_equal(n_slot, n);
    assert_near(e, slot, expected, n);
    free(slot);
}

/* The tensor of half precision is the other one rounded. */
static void compare_halves(const expectation *e, const float *expected, size_t n)
{
    size_t n_slot;
    float *slot = tensor_of(e, BRIM_F32, &n_slot);
    uint16_t *halves = tensor_of(e, BRIM_F16, &n_slot);
    uint16_t *rounded = malloc(n * sizeof(*rounded));

    (void)expected;
    brim_half_from_float(rounded, slot, n);
    assert_memory_equal(halves, rounded, n * sizeof(*rounded));
    free(rounded);
    free(halves);
    free(slot);
}

static void equals_the_references(void **state)
{
    (void)state;
    each_tensor(compare);
}

static void equals_them_in_half_precision(void **state)
{
    (void)state;
    each_tensor(compare_halves);
}

/* Sums over whole planes, of tensors at the sizes that models have. */
static void equals_the_references_at_full_size(void **state)
{
    size_t n_text, n;
    char *text = (char *)fixture_read("processors/statistics.txt", &n_text);

    (void)state;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        expectation e = {.sides = {3}};
        double sums[3], squares[3];

        assert_int_equal(sscanf(line, "%31s %31s %u %u %lf %lf %lf %lf %lf %lf", e.config,
                                e.picture, &e.sides[1], &e.sides[2], &sums[0], &squares[0],
                                &sums[1], &squares[1], &sums[2], &squares[2]),
                         10);
        float *slot = tensor_of(&e, BRIM_F32, &n);
        for (size_t c = 0; c < 3; c++) {
            double sum = 0, square = 0;
            for (size_t i = c * n / 3; i < (c + 1) * n / 3; i++) {
                sum += slot[i];
                square += (double)slot[i] * slot[i];
            }
            /* Per value, as far as the list's nine digits tell. */
            if (fabs(sum - sums[c]) > NEAR * (double)n / 3 ||
                fabs(square - squares[c]) > 4 * NEAR * (double)n / 3)
                fail_msg("%s: %g, not %g; %g, not %g", e.config, sum, sums[c], square, squares[c]);
        }
        free(slot);
    }
    free(text);
}

/* Every allocation refused in turn, in each of the three ways a slot is filled. */
static void survives_every_failed_allocation(void **state)
{
    static const char *const CONFIGS[] = {
        "{\"image_processor_type\": \"DetrImageProcessor\", \"size\": 9, \"pad_size\": 30}",
        "{\"image_processor_type\": \"Owlv2ImageProcessor\", \"size\": 9}",
        "{\"image_processor_type\": \"Siglip2ImageProcessor\", \"patch_size\": 2}",
    };
    size_t bytes;
    uint8_t *data = fixture_read("processors/turned.png", &bytes);
    float *slot = malloc(sizeof(float) * 256 * 12);

    (void)state;
    for (size_t i = 0; i < sizeof(CONFIGS) / sizeof(CONFIGS[0]); i++) {
        brim_status status = BRIM_E_BUDGET;
        for (long allowed = 0; status != BRIM_OK; allowed++) {
            brim_processor *processor;
            brim_reader *reader = NULL;
            failing_alloc mem;

            failing_alloc_init(&mem, allowed);
            mem.refusal = BRIM_E_BUDGET;
            status = brim_processor_parse(&mem.base, CONFIGS[i], strlen(CONFIGS[i]), "p", NULL,
                                          &processor, NULL);
            if (status == BRIM_OK)
                status = brim_reader_open(&mem.base, data, bytes, NULL, &reader, NULL);
            if (status == BRIM_OK)
                status = brim_processor_apply(processor, &mem.base, reader, BRIM_F32, slot, NULL);
            assert_true(status == BRIM_OK || status == BRIM_E_BUDGET);
            brim_reader_close(reader);
            brim_processor_close(processor);
            assert_int_equal(mem.live_bytes, 0);
        }
    }
    free(slot);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_references),
        cmocka_unit_test(equals_them_in_half_precision),
        cmocka_unit_test(equals_the_references_at_full_size),
        cmocka_unit_test(survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
