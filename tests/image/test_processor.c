/* Tests of src/image/processor.c. */
#include "image/processor.h"

#include "image/pictures.h"

#define CLIP   "{\"image_processor_type\": \"CLIPImageProcessor\"}"
#define SIGLIP "{\"image_processor_type\": \"SiglipImageProcessor\"}"

/* A crop and nothing else: values come out as they are. */
#define CROP_8                                                                                     \
    "{\"do_resize\": false, \"do_center_crop\": true, \"crop_size\": 8, \"do_rescale\": false}"

static brim_processor *processor_of(const char *json)
{
    brim_processor *processor;
    brim_error err = {0};

    if (brim_processor_parse(brim_heap(), json, strlen(json), "p.json", NULL, &processor, &err) !=
        BRIM_OK)
        fail_msg("%s", err.message);
    return processor;
}

/* The tensor of a picture, to be freed; its memory stays within what was foretold. */
static float *apply(const brim_processor *processor, const void *data, size_t bytes,
                    uint32_t *height, uint32_t *width)
{
    counting_alloc mem, reader_mem;
    brim_reader *reader;
    brim_error err = {0};
    size_t foretold;

    counting_alloc_init(&mem);
    counting_alloc_init(&reader_mem);
    assert_int_equal(brim_reader_open(&reader_mem.base, data, bytes, NULL, &reader, &err), BRIM_OK);
    const brim_image_info *info = brim_reader_info(reader);
    assert_int_equal(brim_processor_shape(processor, info, height, width, &err), BRIM_OK);
    assert_int_equal(brim_processor_scratch_bytes(processor, info, &foretold, &err), BRIM_OK);
    float *slot = malloc(3 * sizeof(float) * *height * *width);
    if (brim_processor_apply(processor, &mem.base, reader, BRIM_F32, slot, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    assert_true(mem.peak_bytes <= foretold);
    assert_true(foretold <= mem.peak_bytes + mem.peak_bytes * 3 / 10 + 65536);
    brim_reader_close(reader);
    assert_int_equal(mem.live_bytes, 0);
    assert_int_equal(reader_mem.live_bytes, 0);
    return slot;
}

static float *apply_to(const char *json, const char *picture, uint32_t *height, uint32_t *width)
{
    brim_processor *processor = processor_of(json);
    size_t bytes;
    uint8_t *data = fixture_read(picture, &bytes);
    float *slot = apply(processor, data, bytes, height, width);

    free(data);
    brim_processor_close(processor);
    return slot;
}

static void equals_the_reference(void **state)
{
    size_t n_text, n_expected, at = 0;
    char *text = (char *)fixture_read("tensors.txt", &n_text);
    uint8_t *expected = fixture_read("tensors.bin", &n_expected);

    (void)state;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        char config[64], picture[64];
        uint32_t height, width, h, w;
        size_t n_json;

        assert_int_equal(sscanf(line, "%63s %63s %u %u", config, picture, &h, &w), 4);
        char *json = (char *)fixture_read(config, &n_json);
        float *slot = apply_to(json, picture, &height, &width);
        assert_int_equal(height, h);
        assert_int_equal(width, w);
        size_t bytes = 3 * sizeof(float) * h * w;
        if (memcmp(slot, expected + at, bytes) != 0) fail_msg("other values: %.60s", line);
        at += bytes;
        free(slot);
        free(json);
    }
    assert_int_equal(at, n_expected);
    free(expected);
    free(text);
}

/* Uncompressed PNGs of one colour or of grey values are little effort: zlib's stored blocks. */
static uint32_t crc_of(const uint8_t *p, size_t n)
{
    uint32_t crc = 0xffffffff;

    while (n--) {
        crc ^= *p++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}

static void put_u32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24), p[1] = (uint8_t)(v >> 16), p[2] = (uint8_t)(v >> 8),
    p[3] = (uint8_t)v;
}

static size_t put_chunk(uint8_t *out, const void *type, const void *data, size_t n)
{
    put_u32(out, (uint32_t)n);
    memcpy(out + 4, type, 4);
    memcpy(out + 8, data, n);
    put_u32(out + 8 + n, crc_of(out + 4, n + 4));
    return n + 12;
}

static const uint8_t SIGNATURE[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

/* A grey PNG, to be freed. */
static uint8_t *grey_png(const uint8_t *grey, uint32_t width, uint32_t height, size_t *bytes)
{
    size_t n = (size_t)height * (width + 1);
    uint8_t *out = malloc(n + 200), *idat = malloc(n + 11), header[13] = {0};
    uint32_t a = 1, b = 0;

    assert_true(n < 65536);
    idat[0] = 0x78, idat[1] = 1, idat[2] = 1;
    idat[3] = (uint8_t)n, idat[4] = (uint8_t)(n >> 8);
    idat[5] = (uint8_t)~n, idat[6] = (uint8_t)(~n >> 8);
    for (uint32_t y = 0; y < height; y++) {
        idat[7 + y * (width + 1)] = 0;
        memcpy(idat + 8 + y * (width + 1), grey + (size_t)y * width, width);
    }
    for (size_t i = 0; i < n; i++) {
        a = (a + idat[7 + i]) % 65521;
        b = (b + a) % 65521;
    }
    put_u32(idat + 7 + n, b << 16 | a);
    put_u32(header, width);
    put_u32(header + 4, height);
    header[8] = 8;
    memcpy(out, SIGNATURE, sizeof(SIGNATURE));
    *bytes = 8;
    *bytes += put_chunk(out + *bytes, "IHDR", header, 13);
    *bytes += put_chunk(out + *bytes, "IDAT", idat, n + 11);
    *bytes += put_chunk(out + *bytes, "IEND", "", 0);
    free(idat);
    return out;
}

static float *apply_to_grey(const char *json, const uint8_t *grey, uint32_t w, uint32_t h,
                            uint32_t *height, uint32_t *width)
{
    brim_processor *processor = processor_of(json);
    size_t bytes;
    uint8_t *png = grey_png(grey, w, h, &bytes);
    float *slot = apply(processor, png, bytes, height, width);

    free(png);
    brim_processor_close(processor);
    return slot;
}

static void crops_towards_the_upper_left(void **state)
{
    uint8_t grey[121];
    uint32_t height, width;

    (void)state;
    for (int i = 0; i < 121; i++)
        grey[i] = (uint8_t)i;
    float *slot = apply_to_grey(CROP_8, grey, 11, 11, &height, &width);
    assert_true(slot[0] == 12);
    assert_true(slot[63] == 12 + 11 * 7 + 7);
    free(slot);
}

static void pads_a_picture_smaller_than_the_crop(void **state)
{
    uint8_t grey[9];
    uint32_t height, width;

    (void)state;
    memset(grey, 1, sizeof(grey));
    float *slot = apply_to_grey(CROP_8, grey, 3, 3, &height, &width);
    for (int y = 0; y < 8; y++) {
        for (int x = 0; x < 8; x++)
            assert_true(slot[8 * y + x] == (x >= 3 && x <= 5 && y >= 3 && y <= 5));
    }
    free(slot);
}

static void squashes_white_to_one(void **state)
{
    uint8_t grey[6] = {255, 255, 255, 255, 255, 255};
    uint32_t height, width;

    (void)state;
    for (int round = 0; round < 2; round++) {
        float *slot = apply_to_grey(SIGLIP, grey, 3, 2, &height, &width);
        assert_int_equal(height, 224);
        assert_int_equal(width, 224);
        for (int i = 0; i < 3 * 224 * 224; i++)
            assert_true(slot[i] == (round == 0 ? 1.0f : -1.0f));
        free(slot);
        memset(grey, 0, sizeof(grey));
    }
}

static void takes_a_strip_without_blowing_up(void **state)
{
    uint32_t height, width;
    double sum = 0;

    (void)state;
    float *slot = apply_to(CLIP, "strip.png", &height, &width);
    assert_int_equal(height, 224);
    assert_int_equal(width, 224);
    assert_float_equal(slot[0], 0.0179423, 1e-6);
    assert_float_equal(slot[224 * 224], 0.2139206, 1e-6);
    assert_float_equal(slot[2 * 224 * 224], -1.4802198, 1e-6);
    for (int i = 0; i < 3 * 224 * 224; i++)
        sum += slot[i];
    assert_true(sum > -62648.83 && sum < -62646.83);
    free(slot);
}

/* The same the other way, and with rows enough to guess a colour axis wrong. */
static void takes_strips_of_any_kind(void **state)
{
    uint8_t grey[3000];
    uint32_t height, width;

    (void)state;
    memset(grey, 77, sizeof(grey));
    for (int kind = 0; kind < 3; kind++) {
        uint32_t w = kind == 2 ? 1 : 1000, h = kind == 2 ? 1000 : kind == 1 ? 3 : 1;
        float *slot = apply_to_grey(CLIP, grey, w, h, &height, &width);
        assert_int_equal(height, 224);
        assert_int_equal(width, 224);
        for (int i = 0; i < 224 * 224; i++)
            assert_true(slot[i] == slot[0]);
        free(slot);
    }
}

/* A number for the shorter side, in one file, is a dictionary in another. */
static void reads_numbers_as_dictionaries(void **state)
{
    static const char *const FORMS[] = {
        "{\"feature_extractor_type\": \"CLIPFeatureExtractor\", \"size\": 224, \"crop_size\": 224,"
        " \"resample\": 3}",
        "{\"image_processor_type\": \"CLIPImageProcessor\", \"size\": {\"shortest_edge\": 224},"
        " \"crop_size\": {\"height\": 224, \"width\": 224}, \"resample\": 3}",
    };
    float *slots[2];
    uint8_t *grey = malloc(300 * 200);
    uint32_t height, width;

    (void)state;
    for (int i = 0; i < 300 * 200; i++)
        grey[i] = (uint8_t)(i * 7 + i / 300 * 11);
    for (int i = 0; i < 2; i++) {
        slots[i] = apply_to_grey(FORMS[i], grey, 300, 200, &height, &width);
        assert_int_equal(height, 224);
        assert_int_equal(width, 224);
    }
    assert_memory_equal(slots[0], slots[1], 3 * sizeof(float) * 224 * 224);
    free(slots[1]);
    free(slots[0]);
    free(grey);
}

/* Black around a crop becomes a value as pixels do; zeros at the end do not. */
static void pads_with_zeros_at_the_end(void **state)
{
    static const char PADDED[] =
        "{\"do_resize\": false, \"do_rescale\": false, \"image_mean\": 3, \"image_std\": 1,"
        " \"do_center_crop\": true, \"crop_size\": 4, \"do_pad\": true, \"pad_size\": [5, 6]}";
    uint8_t grey[4] = {9, 9, 9, 9};
    uint32_t height, width;

    (void)state;
    float *slot = apply_to_grey(PADDED, grey, 2, 2, &height, &width);
    assert_int_equal(height, 5);
    assert_int_equal(width, 6);
    for (uint32_t y = 0; y < 5; y++) {
        for (uint32_t x = 0; x < 6; x++) {
            bool inside = x >= 1 && x <= 2 && y >= 1 && y <= 2;
            assert_true(slot[6 * y + x] == (inside ? 6 : x < 4 && y < 4 ? -3 : 0));
        }
    }
    free(slot);
}

static void tells_orders_apart(void **state)
{
    brim_processor *usual, *classic;
    brim_processor_options options = {.order = BRIM_ORDER_CLASSIC};

    (void)state;
    usual = processor_of(CLIP);
    assert_int_equal(
        brim_processor_parse(brim_heap(), CLIP, strlen(CLIP), "p", &options, &classic, NULL),
        BRIM_OK);
    assert_string_not_equal(brim_processor_identity(usual), brim_processor_identity(classic));
    brim_processor_close(classic);
    brim_processor_close(usual);
}

/* Sizes only, of pictures that nobody could hold. */
static void foretells_sizes(void **state)
{
    brim_processor *clip = processor_of(CLIP), *free_size = processor_of("{\"do_resize\": false}");
    brim_image_info info = brim_image_info_of(1000000000, 1, 1);
    uint32_t height, width;
    size_t bytes;
    brim_error err = {0};

    (void)state;
    assert_int_equal(brim_processor_shape(clip, &info, &height, &width, &err), BRIM_E_ARG);
    assert_non_null(strstr(err.message, "become too long"));
    info = brim_image_info_of(1000000, 1, 1);
    assert_int_equal(brim_processor_scratch_bytes(clip, &info, &bytes, &err), BRIM_OK);
    assert_true(bytes < 8 << 20);
    info = brim_image_info_of(20, 30, 6);
    assert_int_equal(brim_processor_shape(free_size, &info, &height, &width, &err), BRIM_OK);
    assert_int_equal(height, 20);
    assert_int_equal(width, 30);
    info = brim_image_info_of(0x7fffffff, 0x7fffffff, 1);
    assert_int_equal(brim_processor_shape(free_size, &info, &height, &width, &err), BRIM_E_ARG);
    brim_processor_close(free_size);
    brim_processor_close(clip);
}

static void tells_processors_apart(void **state)
{
    brim_processor *a = processor_of(CLIP), *b = processor_of(SIGLIP);

    (void)state;
    assert_string_not_equal(brim_processor_identity(a), brim_processor_identity(b));
    brim_processor_close(a);
    brim_processor_close(b);
}

static void passes_failures_on(void **state)
{
    brim_processor *processor = processor_of(SIGLIP);
    float *slot = malloc(3 * sizeof(float) * 224 * 224);
    brim_reader *reader;
    brim_error err = {0};
    failing_alloc mem;
    size_t bytes;
    uint8_t *data = fixture_read("rgb_420.jpg", &bytes);

    (void)state;
    failing_alloc_init(&mem, 100);
    assert_int_equal(brim_reader_open(brim_heap(), data, bytes / 2, NULL, &reader, NULL), BRIM_OK);
    assert_int_equal(brim_processor_apply(processor, &mem.base, reader, BRIM_F32, slot, &err),
                     BRIM_E_FORMAT);
    assert_string_equal(err.message, "truncated JPEG");
    assert_int_equal(mem.live_bytes, 0);
    brim_reader_close(reader);
    brim_processor_close(processor);
    free(slot);
    free(data);
}

static void opens_a_file(void **state)
{
    brim_processor *processor;
    brim_error err = {0};

    (void)state;
    assert_int_equal(
        brim_processor_open(brim_heap(), TEST_DATA "/image/config0.json", NULL, &processor, &err),
        BRIM_OK);
    brim_processor_close(processor);
    assert_int_equal(brim_processor_open(brim_heap(), "/nowhere/p.json", NULL, &processor, &err),
                     BRIM_E_IO);
    assert_string_equal(err.message, "/nowhere/p.json: cannot be opened");
    assert_null(processor);
}

static void survives_every_failed_allocation(void **state)
{
    size_t bytes;
    uint8_t *data = fixture_read("walk6.png", &bytes);
    float *slot = malloc(3 * sizeof(float) * 224 * 224);
    brim_status status = BRIM_E_BUDGET;

    (void)state;
    for (long allowed = 0; status != BRIM_OK; allowed++) {
        brim_processor *processor;
        brim_reader *reader = NULL;
        failing_alloc mem;

        failing_alloc_init(&mem, allowed);
        mem.refusal = BRIM_E_BUDGET;
        status =
            brim_processor_open(&mem.base, TEST_DATA "/image/config0.json", NULL, &processor, NULL);
        if (status == BRIM_OK)
            status = brim_reader_open(&mem.base, data, bytes, NULL, &reader, NULL);
        if (status == BRIM_OK)
            status = brim_processor_apply(processor, &mem.base, reader, BRIM_F32, slot, NULL);
        assert_true(status == BRIM_OK || status == BRIM_E_BUDGET);
        brim_reader_close(reader);
        brim_processor_close(processor);
        assert_int_equal(mem.live_bytes, 0);
    }
    free(slot);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_reference),
        cmocka_unit_test(crops_towards_the_upper_left),
        cmocka_unit_test(pads_a_picture_smaller_than_the_crop),
        cmocka_unit_test(squashes_white_to_one),
        cmocka_unit_test(takes_a_strip_without_blowing_up),
        cmocka_unit_test(takes_strips_of_any_kind),
        cmocka_unit_test(reads_numbers_as_dictionaries),
        cmocka_unit_test(pads_with_zeros_at_the_end),
        cmocka_unit_test(tells_orders_apart),
        cmocka_unit_test(foretells_sizes),
        cmocka_unit_test(tells_processors_apart),
        cmocka_unit_test(passes_failures_on),
        cmocka_unit_test(opens_a_file),
        cmocka_unit_test(survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
