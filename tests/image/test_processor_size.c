/*
 * Tests of src/image/processor_size.c: sizes that the references find for many shapes, see
 * tests/data/image/processors/make_processors.py.
 */
#include "image/processor_size.h"

#include "image/pictures.h"

static brim_processor_config config_of(const char *rule)
{
    static const struct {
        const char *name;
        brim_processor_config config;
    } RULES[] = {
        {"bounded",
         {.resize = BRIM_RESIZE_BOUNDED_EDGE, .shortest_edge = 800, .longest_edge = 1333}},
        {"yolos", {.resize = BRIM_RESIZE_YOLOS_EDGE, .shortest_edge = 800, .longest_edge = 1333}},
        {"max", {.resize = BRIM_RESIZE_MAX_SIDES, .height = 224, .width = 300}},
        {"inside", {.resize = BRIM_RESIZE_INSIDE, .height = 224, .width = 300}},
        {"outside", {.resize = BRIM_RESIZE_OUTSIDE, .height = 224, .width = 300}},
        {"patches", {.resize = BRIM_RESIZE_PATCHES, .patch_size = 16, .max_patches = 256}},
    };

    for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
        if (strcmp(rule, RULES[i].name) == 0) return RULES[i].config;
    }
    fail_msg("no rule %s", rule);
    return RULES[0].config;
}

static void equals_the_references(void **state)
{
    size_t n_text;
    char *text = (char *)fixture_read("processors/sizes.txt", &n_text);

    (void)state;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        char rule[16];
        uint32_t width, height, new_width, new_height;
        brim_placement p;

        assert_int_equal(
            sscanf(line, "%15s %u %u %u %u", rule, &width, &height, &new_width, &new_height), 5);
        brim_processor_config config = config_of(rule);
        brim_image_info info = brim_image_info_of(height, width, 6); /* lies on its side */
        brim_status status = brim_placement_plan(&config, BRIM_ORDER_PILLOW13, &info, &p, NULL);
        assert_int_equal(status, new_width > 0 ? BRIM_OK : BRIM_E_ARG);
        if (status != BRIM_OK) continue;
        if (p.width != new_width || p.height != new_height)
            fail_msg("%s %u x %u: %u x %u, not %u x %u", rule, width, height, p.width, p.height,
                     new_width, new_height);
    }
    free(text);
}

static void says_why_a_picture_has_no_size(void **state)
{
    brim_processor_config config = config_of("max");
    brim_image_info info = brim_image_info_of(1000, 1, 1);
    brim_placement p;
    brim_error err = {0};

    (void)state;
    assert_int_equal(brim_placement_plan(&config, BRIM_ORDER_PILLOW13, &info, &p, &err),
                     BRIM_E_ARG);
    assert_string_equal(err.message, "1000 x 1 pixels become none when resized");
    config = config_of("bounded");
    config.pad_height = config.pad_width = 900;
    info = brim_image_info_of(640, 480, 1);
    assert_int_equal(brim_placement_plan(&config, BRIM_ORDER_PILLOW13, &info, &p, &err),
                     BRIM_E_ARG);
    assert_string_equal(err.message,
                        "1066 x 800 pixels cannot be padded to 900 x 900: raise pad_size");
    config = config_of("patches");
    config.patch_size = 65535;
    config.max_patches = 65535;
    assert_int_equal(brim_placement_plan(&config, BRIM_ORDER_PILLOW13, &info, &p, &err), BRIM_OK);
}

/* torchvision rounds the half of an odd number to even, transformers rounds it down. */
static void crops_as_either_library(void **state)
{
    brim_processor_config config = {.do_center_crop = true, .crop_width = 8, .crop_height = 20};
    brim_image_info info = brim_image_info_of(11, 17, 1);
    brim_placement p;

    (void)state;
    assert_int_equal(brim_placement_plan(&config, BRIM_ORDER_PILLOW13, &info, &p, NULL), BRIM_OK);
    assert_int_equal(p.spec.crop_x, 1);
    assert_int_equal(p.top, 2);
    config.crop_rounds_half_even = true;
    assert_int_equal(brim_placement_plan(&config, BRIM_ORDER_PILLOW13, &info, &p, NULL), BRIM_OK);
    assert_int_equal(p.spec.crop_x, 2);
    assert_int_equal(p.top, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_references),
        cmocka_unit_test(says_why_a_picture_has_no_size),
        cmocka_unit_test(crops_as_either_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
