/* Tests of src/image/processor_config.c and the table in processor_classes.c. */
#include "image/processor_config.h"

#include <stdio.h>

#include "support/cmocka_all.h"

static char logged[2000];

static void keep_line(void *ctx, brim_log_level level, const char *line)
{
    (void)ctx, (void)level;
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof(logged) - used, "%s\n", line);
}

static const brim_log LOG = {keep_line, NULL};

static brim_status parse(const char *json, brim_processor_config *out, brim_error *err)
{
    logged[0] = '\0';
    return brim_processor_config_parse(json, strlen(json), "p.json", &LOG, out, err);
}

/* Two forms of one config: the texts that tell it apart are equal. */
static void assert_same(const char *a, const char *b)
{
    brim_processor_config config;
    char text_a[600], text_b[600];

    assert_int_equal(parse(a, &config, NULL), BRIM_OK);
    assert_true(brim_processor_config_write(&config, BRIM_ORDER_PILLOW13, text_a, sizeof(text_a)) >
                0);
    assert_int_equal(parse(b, &config, NULL), BRIM_OK);
    assert_true(brim_processor_config_write(&config, BRIM_ORDER_PILLOW13, text_b, sizeof(text_b)) >
                0);
    assert_string_equal(text_a, text_b);
}

static void reads_old_forms_as_new_ones(void **state)
{
    (void)state;
    assert_same("{\"feature_extractor_type\": \"CLIPFeatureExtractor\", \"size\": 224,"
                " \"crop_size\": 224, \"resample\": 3}",
                "{\"image_processor_type\": \"CLIPImageProcessor\","
                " \"size\": {\"shortest_edge\": 224},"
                " \"crop_size\": {\"height\": 224, \"width\": 224},"
                " \"do_rescale\": true, \"rescale_factor\": 0.00392156862745098}");
    assert_same("{\"image_processor_type\": \"ViTFeatureExtractor\", \"size\": 384}",
                "{\"image_processor_type\": \"ViTImageProcessorFast\","
                " \"size\": {\"height\": 384, \"width\": 384}}");
    assert_same("{\"image_processor_type\": \"SiglipImageProcessor\", \"size\": [256, 192]}",
                "{\"image_processor_type\": \"SiglipImageProcessor\","
                " \"size\": {\"height\": 256, \"width\": 192}}");
    assert_same("{\"size\": 64, \"do_center_crop\": true, \"crop_size\": 32}",
                "{\"size\": {\"shortest_edge\": 64}, \"do_center_crop\": true,"
                " \"crop_size\": {\"height\": 32, \"width\": 32}}");
    assert_same("{\"size\": 64}", "{\"size\": {\"height\": 64, \"width\": 64}}");
    assert_same("{\"image_processor_type\": \"ViTImageProcessor\", \"size\": 64,"
                " \"default_to_square\": false}",
                "{\"image_processor_type\": \"ViTImageProcessor\","
                " \"size\": {\"shortest_edge\": 64}}");
    assert_same("{\"size\": null, \"do_resize\": null, \"image_mean\": 0.5, \"image_std\": 0.5}",
                "{\"image_mean\": [0.5, 0.5, 0.5], \"image_std\": [0.5, 0.5, 0.5]}");
}

static void fills_in_what_the_class_does(void **state)
{
    brim_processor_config c;
    char text[600];

    (void)state;
    assert_int_equal(parse("{\"image_processor_type\": \"CLIPImageProcessor\"}", &c, NULL),
                     BRIM_OK);
    assert_int_equal(c.resize, BRIM_RESIZE_SHORTEST_EDGE);
    assert_int_equal(c.filter, BRIM_FILTER_BICUBIC);
    assert_int_equal(c.crop_width, 224);
    brim_processor_config_write(&c, BRIM_ORDER_PILLOW13, text, sizeof(text));
    assert_string_equal(text, "{\"crop\":{\"height\":224,\"width\":224},"
                              "\"mean\":[0.48145465999999998,0.4578275,0.40821073000000002],"
                              "\"resample\":\"bicubic\",\"rescale\":0.0039215686274509803,"
                              "\"resize\":{\"shortest_edge\":224},"
                              "\"std\":[0.26862954,0.26130258000000001,0.27577710999999999]}");
    assert_int_equal(parse("{\"image_processor_type\": \"ViTImageProcessor\"}", &c, NULL), BRIM_OK);
    assert_int_equal(c.filter, BRIM_FILTER_BILINEAR);
    assert_false(c.do_center_crop);
    assert_string_equal(logged, "");
}

static void refuses_what_it_cannot_do(void **state)
{
    static const struct {
        const char *json;
        brim_status status;
        const char *message;
    } CASES[] = {
        {"{\"size\": {\"longest_edge\": 800}}", BRIM_E_UNSUPPORTED,
         "p.json: size.longest_edge: not supported without shortest_edge"},
        {"{\"image_processor_type\": \"DetrImageProcessor\", \"size\": {\"shortest_edge\": 8}}",
         BRIM_E_ARG, "p.json: size.longest_edge: missing"},
        {"{\"image_processor_type\": \"SamImageProcessor\"}", BRIM_E_UNSUPPORTED,
         "p.json: image_processor_type: SamImageProcessor is not supported yet"},
        {"{\"image_processor_type\": \"CLIPImageProcessor\", \"crop_pct\": 0.9}",
         BRIM_E_UNSUPPORTED, "p.json: crop_pct: not supported yet"},
        {"{\"image_processor_type\": \"ConvNextImageProcessor\", \"size\": [8, 8]}", BRIM_E_ARG,
         "p.json: size: ConvNext takes shortest_edge only"},
        {"{\"image_processor_type\": \"ConvNextImageProcessor\", \"size\": 8, \"crop_pct\": 0}",
         BRIM_E_ARG, "p.json: crop_pct: no share of a picture"},
        {"{\"image_processor_type\": \"ConvNextImageProcessor\", \"do_center_crop\": true,"
         " \"crop_size\": 8}",
         BRIM_E_UNSUPPORTED, "p.json: do_center_crop: not supported with ConvNext"},
        {"{\"image_processor_type\": \"Owlv2ImageProcessor\", \"do_resize\": false}",
         BRIM_E_UNSUPPORTED, "p.json: do_resize: Owlv2 needs it"},
        {"{\"image_processor_type\": \"Owlv2ImageProcessor\", \"rescale\": false}",
         BRIM_E_UNSUPPORTED, "p.json: do_rescale: Owlv2 needs it"},
        {"{\"image_processor_type\": \"Owlv2ImageProcessor\", \"size\": {\"shortest_edge\": 8}}",
         BRIM_E_ARG, "p.json: size: Owlv2 takes height and width only"},
        {"{\"image_processor_type\": \"Siglip2ImageProcessor\", \"do_resize\": false}",
         BRIM_E_UNSUPPORTED, "p.json: do_resize: patches need it"},
        {"{\"image_processor_type\": \"Siglip2ImageProcessor\", \"patch_size\": -1}", BRIM_E_ARG,
         "p.json: patch_size: not a number between 1 and 65535"},
        {"{\"size\": 8, \"do_pad\": true, \"pad_size\": {\"height\": 9}}", BRIM_E_ARG,
         "p.json: pad_size: not height and width"},
        {"{\"pretrained_cfg\": {\"input_size\": [1, 8, 8]}}", BRIM_E_UNSUPPORTED,
         "p.json: input_size: only 3 channels are supported"},
        {"{\"pretrained_cfg\": {\"input_size\": 8}}", BRIM_E_ARG,
         "p.json: input_size: not 3 numbers"},
        {"{\"pretrained_cfg\": {\"interpolation\": \"random\"}}", BRIM_E_ARG,
         "p.json: interpolation: neither nearest, bilinear, bicubic, lanczos, box nor hamming"},
        {"{\"pretrained_cfg\": {\"crop_pct\": -1}}", BRIM_E_ARG,
         "p.json: crop_pct: no share of a picture"},
        {"{\"pretrained_cfg\": {\"crop_mode\": \"five\"}}", BRIM_E_ARG,
         "p.json: crop_mode: neither center, squash nor border"},
        {"{\"pretrained_cfg\": {\"std\": [1, 0, 1]}}", BRIM_E_ARG, "p.json: std: it is 0"},
        {"{\"size\": 8, \"resample\": 7}", BRIM_E_ARG,
         "p.json: resample: not a number from 0 to 5, as Pillow counts its filters"},
        {"{\"size\": 8, \"resample\": \"bicubic\"}", BRIM_E_ARG,
         "p.json: resample: not a number from 0 to 5, as Pillow counts its filters"},
        {"{\"size\": 0}", BRIM_E_ARG, "p.json: size: not a number of pixels between 1 and 65535"},
        {"{\"size\": 1e300}", BRIM_E_ARG,
         "p.json: size: not a number of pixels between 1 and 65535"},
        {"{\"size\": \"224\"}", BRIM_E_ARG, "p.json: size: neither a number nor height and width"},
        {"{\"size\": {\"height\": 3}}", BRIM_E_ARG,
         "p.json: size: neither height and width nor shortest_edge"},
        {"{\"size\": [1, 2, 3]}", BRIM_E_ARG, "p.json: size: not 2 numbers"},
        {"{\"do_resize\": true}", BRIM_E_ARG, "p.json: size: missing"},
        {"{\"do_resize\": \"yes\"}", BRIM_E_ARG, "p.json: do_resize: neither true nor false"},
        {"{\"do_center_crop\": true}", BRIM_E_ARG, "p.json: crop_size: missing"},
        {"{\"do_center_crop\": true, \"crop_size\": {\"height\": 1}}", BRIM_E_ARG,
         "p.json: crop_size: not height and width"},
        {"{\"image_mean\": [1, 2], \"image_std\": [1, 2]}", BRIM_E_ARG,
         "p.json: image_mean: not 3 numbers"},
        {"{\"image_mean\": 0, \"image_std\": [1, 0, 1]}", BRIM_E_ARG,
         "p.json: image_std: missing or 0"},
        {"{\"rescale_factor\": \"1/255\"}", BRIM_E_ARG, "p.json: rescale_factor: not a number"},
        {"[]", BRIM_E_FORMAT, "p.json: not a JSON object"},
        {"{\"size\": ", BRIM_E_FORMAT, "p.json: line 1: unexpected token near end of file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        brim_processor_config config;
        brim_error err = {0};

        if (parse(CASES[i].json, &config, &err) != CASES[i].status)
            fail_msg("%s: %s", CASES[i].json, err.message);
        assert_string_equal(err.message, CASES[i].message);
    }
}

static void assert_written(const char *json, brim_resample_order order, const char *part)
{
    brim_processor_config config;
    char text[600];

    assert_int_equal(parse(json, &config, NULL), BRIM_OK);
    assert_true(brim_processor_config_write(&config, order, text, sizeof(text)) > 0);
    if (!strstr(text, part)) fail_msg("%s: no %s", text, part);
}

/* Whatever changes pixels shows; test_processor.c holds what is written of plain ones. */
static void writes_what_changes_the_pixels(void **state)
{
    (void)state;
    assert_written("{\"size\": 8, \"resample\": 2}", BRIM_ORDER_CLASSIC,
                   "\"mean\":null,\"order\":\"classic\",\"resample\":\"bilinear\"");
    assert_written("{\"size\": 8, \"resample\": 0}", BRIM_ORDER_CLASSIC,
                   "\"mean\":null,\"resample\":\"nearest\"");
    assert_written("{\"do_resize\": false}", BRIM_ORDER_CLASSIC, "\"mean\":null,\"resample\":null");
    assert_written("{\"image_processor_type\": \"DetrImageProcessor\", \"pad_size\": 900}",
                   BRIM_ORDER_PILLOW13, "\"pad\":{\"height\":900,\"width\":900}");
    assert_written("{\"image_processor_type\": \"DetrImageProcessor\", \"size\": 900}",
                   BRIM_ORDER_PILLOW13, "\"resize\":{\"longest_edge\":1333,\"shortest_edge\":900}");
    assert_written("{\"image_processor_type\": \"YolosImageProcessor\"}", BRIM_ORDER_PILLOW13,
                   "{\"longest_edge\":1333,\"multiple\":16,\"shortest_edge\":800}");
    assert_written("{\"size\": {\"max_height\": 8, \"max_width\": 9}}", BRIM_ORDER_PILLOW13,
                   "{\"max_height\":8,\"max_width\":9}");
    assert_written("{\"image_processor_type\": \"EfficientNetImageProcessor\","
                   " \"rescale_offset\": true}",
                   BRIM_ORDER_PILLOW13, "\"rescale_offset\":true,\"resize\"");
    assert_written("{\"image_processor_type\": \"EfficientNetImageProcessor\"}",
                   BRIM_ORDER_PILLOW13, "\"std_again\":[0.5,0.5,0.5]");
    assert_written("{\"image_processor_type\": \"Owlv2ImageProcessor\"}", BRIM_ORDER_CLASSIC,
                   "\"resample\":\"gaussian\",\"rescale\":0.0039215686274509803,"
                   "\"resize\":{\"height\":960,\"pad_square\":true,\"width\":960}");
    assert_written("{\"image_processor_type\": \"Siglip2ImageProcessor\"}", BRIM_ORDER_PILLOW13,
                   "\"resize\":{\"max_num_patches\":256,\"patch_size\":16}");
    assert_written("{\"pretrained_cfg\": {\"crop_mode\": \"border\"}}", BRIM_ORDER_PILLOW13,
                   "\"crop_fill\":[124,116,104],\"crop_rounding\":\"half_even\"");
    assert_written("{\"pretrained_cfg\": {\"crop_mode\": \"border\"}}", BRIM_ORDER_PILLOW13,
                   "\"resize\":{\"inside\":{\"height\":256,\"width\":256}}");
    assert_written("{\"pretrained_cfg\": {\"input_size\": [3, 7, 14]}}", BRIM_ORDER_PILLOW13,
                   "\"resize\":{\"outside\":{\"height\":8,\"width\":16}}");
}

static void reads_a_config_of_timm_in_either_form(void **state)
{
    (void)state;
    assert_same("{\"architecture\": \"resnet18\", \"pretrained_cfg\": {\"input_size\": [3, 9, 9],"
                " \"crop_pct\": 0.9, \"interpolation\": \"bilinear\", \"tag\": \"a1_in1k\","
                " \"test_input_size\": [3, 288, 288], \"test_crop_pct\": 1.0}}",
                "{\"architecture\": \"resnet18\", \"input_size\": [3, 9, 9], \"crop_pct\": 0.9,"
                " \"interpolation\": \"bilinear\", \"mean\": [0.485, 0.456, 0.406],"
                " \"std\": [0.229, 0.224, 0.225]}");
    assert_same("{\"image_processor_type\": \"TimmWrapperImageProcessor\","
                " \"data_config\": {\"input_size\": [3, 9, 9], \"crop_mode\": \"squash\"}}",
                "{\"pretrained_cfg\": {\"input_size\": [3, 9, 9], \"crop_mode\": \"squash\"}}");
    assert_string_equal(logged, "");
}

/* What detection models have beside the pixels' own keys. */
static void passes_over_what_is_about_annotations(void **state)
{
    (void)state;
    assert_same("{\"feature_extractor_type\": \"DetrFeatureExtractor\", \"size\": 800,"
                " \"max_size\": 1333, \"format\": \"coco_detection\"}",
                "{\"image_processor_type\": \"GroundingDinoImageProcessor\", \"do_pad\": true,"
                " \"do_convert_annotations\": true, \"pad_and_return_pixel_mask\": true,"
                " \"reduce_labels\": false, \"size_divisor\": null,"
                " \"size\": {\"shortest_edge\": 800, \"longest_edge\": 1333}}");
    assert_string_equal(logged, "");
}

static void takes_no_other_file_for_a_processor(void **state)
{
    brim_processor_config config;
    brim_error err;

    (void)state;
    assert_int_equal(parse("{}", &config, &err), BRIM_E_ARG);
    assert_int_equal(parse("{\"hidden_size\": 768, \"model_type\": \"vit\"}", &config, &err),
                     BRIM_E_ARG);
    assert_non_null(strstr(err.message, "p.json: not the configuration of an image processor"));
}

/* processor_config.json, as newer versions write it. */
static void finds_the_image_processor_beside_the_tokenizer(void **state)
{
    brim_processor_config nested, plain;

    (void)state;
    assert_int_equal(
        parse("{\"tokenizer\": {\"size\": 1}, \"image_processor\": {\"size\": 8}}", &nested, NULL),
        BRIM_OK);
    assert_int_equal(parse("{\"size\": 8}", &plain, NULL), BRIM_OK);
    assert_int_equal(nested.resize, plain.resize);
    assert_int_equal(nested.height, 8);
}

static void ignores_what_is_switched_off(void **state)
{
    brim_processor_config config;

    (void)state;
    assert_int_equal(
        parse("{\"do_pad\": false, \"max_size\": null, \"crop_pct\": null, \"size_divisor\": 0,"
              " \"do_convert_rgb\": true, \"processor_class\": \"CLIPProcessor\"}",
              &config, NULL),
        BRIM_OK);
    assert_string_equal(logged, "");
}

static void warns_once_about_unknown_keys(void **state)
{
    brim_processor_config config;

    (void)state;
    assert_int_equal(
        parse("{\"frobnicate\": 1, \"wobble\": {\"a\": 2}, \"do_resize\": false}", &config, NULL),
        BRIM_OK);
    assert_string_equal(logged, "p.json: keys not known here are ignored: frobnicate, wobble\n");
    assert_int_equal(parse("{\"image_processor_type\": \"NewImageProcessor\"}", &config, NULL),
                     BRIM_OK);
    assert_string_equal(logged, "p.json: NewImageProcessor is not known here: taken as resize, "
                                "crop, rescale, normalise\n");
}

static void writes_nothing_where_it_does_not_fit(void **state)
{
    brim_processor_config config;
    char text[40];

    (void)state;
    assert_int_equal(parse("{\"size\": 8}", &config, NULL), BRIM_OK);
    assert_int_equal(brim_processor_config_write(&config, BRIM_ORDER_PILLOW13, text, sizeof(text)),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_old_forms_as_new_ones),
        cmocka_unit_test(fills_in_what_the_class_does),
        cmocka_unit_test(refuses_what_it_cannot_do),
        cmocka_unit_test(writes_what_changes_the_pixels),
        cmocka_unit_test(reads_a_config_of_timm_in_either_form),
        cmocka_unit_test(passes_over_what_is_about_annotations),
        cmocka_unit_test(takes_no_other_file_for_a_processor),
        cmocka_unit_test(finds_the_image_processor_beside_the_tokenizer),
        cmocka_unit_test(ignores_what_is_switched_off),
        cmocka_unit_test(warns_once_about_unknown_keys),
        cmocka_unit_test(writes_nothing_where_it_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
