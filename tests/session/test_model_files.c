/* Tests of src/session/model_files.c. */
#include "session/model_files.h"

#include "session/scratch.h"
#include "support/failing_alloc.h"

typedef struct found {
    brim_status status;
    brim_error err;
    char name[PATH_MAX], onnx[PATH_MAX], processor[PATH_MAX]; /* without the scratch folder */
    char said[1024];
} found;

static void keep_words(void *ctx, brim_log_level level, const char *line)
{
    found *self = ctx;
    assert_int_equal(level, BRIM_LOG_NOTE);
    snprintf(self->said, sizeof(self->said), "%s", line);
}

static void keep_below(char out[PATH_MAX], const char *path, const scratch *dir)
{
    size_t n = strlen(dir->root);
    snprintf(out, PATH_MAX, "%s", strncmp(path, dir->root, n) == 0 ? path + n + 1 : path);
}

/* model and processor lie below the scratch folder. */
static found find(scratch *dir, const char *model, const char *precision, const char *processor)
{
    found out = {.status = BRIM_OK};
    brim_log log = {keep_words, &out};
    brim_model_files files;
    failing_alloc mem;
    char processor_path[PATH_MAX];

    failing_alloc_init(&mem, 100);
    if (processor)
        snprintf(processor_path, sizeof(processor_path), "%s", scratch_path(dir, processor));
    out.status = brim_model_files_find(&mem.base, scratch_path(dir, model), precision,
                                       processor ? processor_path : NULL, &log, &files, &out.err);
    if (out.status == BRIM_OK) {
        snprintf(out.name, sizeof(out.name), "%s", files.name);
        keep_below(out.onnx, files.onnx, dir);
        keep_below(out.processor, files.processor, dir);
        assert_non_null(strstr(out.said, out.onnx));
    } else {
        assert_null(files.name);
        assert_null(files.onnx);
        assert_null(files.processor);
        assert_null(strchr(out.err.message, '\n'));
    }
    brim_model_files_fini(&files);
    assert_int_equal(mem.live_bytes, 0);
    return out;
}

static void assert_finds(scratch *dir, const char *model, const char *precision, const char *onnx)
{
    found out = find(dir, model, precision, NULL);
    assert_int_equal(out.status, BRIM_OK);
    assert_string_equal(out.onnx, onnx);
}

static void assert_fails(scratch *dir, const char *model, const char *precision, brim_status status,
                         const char *words)
{
    found out = find(dir, model, precision, NULL);
    assert_int_equal(out.status, status);
    if (!strstr(out.err.message, words)) fail_msg("%s, not: %s", out.err.message, words);
}

static void takes_the_vision_part_before_the_whole(void **state)
{
    scratch *dir = *state;

    scratch_touch(dir, "m/preprocessor_config.json");
    scratch_touch(dir, "m/onnx/model.onnx");
    assert_finds(dir, "m", NULL, "m/onnx/model.onnx");
    scratch_touch(dir, "m/model.onnx");
    assert_finds(dir, "m", NULL, "m/model.onnx");
    scratch_touch(dir, "m/onnx/vision_model.onnx");
    assert_finds(dir, "m", NULL, "m/onnx/vision_model.onnx");
    scratch_touch(dir, "m/vision_model.onnx");
    assert_finds(dir, "m", "fp32", "m/vision_model.onnx");
}

static void chooses_by_precision_and_lists_those_that_are_there(void **state)
{
    scratch *dir = *state;

    scratch_touch(dir, "m/preprocessor_config.json");
    scratch_touch(dir, "m/onnx/model_quantized.onnx");
    scratch_touch(dir, "m/onnx/model_fp16.onnx");
    scratch_touch(dir, "m/onnx/text_model.onnx");
    assert_finds(dir, "m", "fp16", "m/onnx/model_fp16.onnx");
    assert_fails(dir, "m", NULL, BRIM_E_ARG,
                 "m: no precision fp32 here; --precision can be: fp16, quantized");
    scratch_touch(dir, "m/onnx/model.onnx");
    assert_fails(dir, "m", "q4", BRIM_E_ARG, "--precision can be: fp16, fp32, quantized");
    assert_fails(dir, "m", "../x", BRIM_E_ARG, "--precision: ../x is none");
    assert_fails(dir, "m", "", BRIM_E_ARG, "--precision");
    assert_fails(dir, "m/onnx/model.onnx", "fp16", BRIM_E_ARG, "chooses within a folder");
}

static void says_how_to_export_safetensors(void **state)
{
    scratch *dir = *state;

    scratch_touch(dir, "m/preprocessor_config.json");
    scratch_touch(dir, "m/model.safetensors");
    assert_fails(
        dir, "m", NULL, BRIM_E_UNSUPPORTED,
        "m: only safetensors here; export it first: optimum-cli export onnx --model /tmp/");
    scratch_touch(dir, "p/pytorch_model.bin");
    assert_fails(dir, "p", NULL, BRIM_E_UNSUPPORTED, "p: only PyTorch weights here");
}

static void names_what_is_missing(void **state)
{
    scratch *dir = *state;

    assert_fails(dir, "nowhere", NULL, BRIM_E_IO,
                 "nowhere: no such folder (nothing is fetched from a hub)");
    assert_fails(dir, "nowhere.onnx", NULL, BRIM_E_IO, "nowhere.onnx: no such file");
    scratch_touch(dir, "photo.jpg");
    assert_fails(dir, "photo.jpg", NULL, BRIM_E_ARG, "a model is a folder or a .onnx file");
    assert_fails(dir, "photo.jpg/model", NULL, BRIM_E_IO, "Not a directory");
    scratch_touch(dir, "empty/README.md");
    assert_fails(dir, "empty", NULL, BRIM_E_ARG, "empty: no model.onnx or vision_model.onnx here");
    scratch_touch(dir, "other/yolo.onnx");
    scratch_touch(dir, "other/b.onnx");
    assert_fails(dir, "other", NULL, BRIM_E_ARG, "give the file itself, as ");
    assert_fails(dir, "other", NULL, BRIM_E_ARG, "/other/b.onnx");
}

static void finds_the_processor_of_a_folder(void **state)
{
    scratch *dir = *state;

    scratch_touch(dir, "preprocessor_config.json"); /* above MODEL: another model's */
    scratch_touch(dir, "m/model.onnx");
    assert_fails(dir, "m", NULL, BRIM_E_ARG,
                 "m: no preprocessor_config.json with it; say where one is: --processor FILE");
    assert_string_equal(find(dir, "m", NULL, "preprocessor_config.json").processor,
                        "preprocessor_config.json");
    scratch_touch(dir, "m/onnx/preprocessor_config.json");
    assert_string_equal(find(dir, "m", NULL, NULL).processor, "m/onnx/preprocessor_config.json");
    scratch_touch(dir, "m/preprocessor_config.json");
    assert_string_equal(find(dir, "m/", NULL, NULL).processor, "m/preprocessor_config.json");

    found out = find(dir, "m", NULL, "no.json");
    assert_int_equal(out.status, BRIM_E_IO);
    assert_non_null(strstr(out.err.message, "--processor "));
    assert_non_null(strstr(out.err.message, "no.json: no such file"));
}

static void finds_the_processor_of_a_file_beside_it_or_one_folder_up(void **state)
{
    scratch *dir = *state;

    scratch_touch(dir, "m/onnx/any name.onnx");
    assert_fails(dir, "m/onnx/any name.onnx", NULL, BRIM_E_ARG, "--processor FILE");
    scratch_touch(dir, "m/preprocessor_config.json");
    assert_string_equal(find(dir, "m/onnx/any name.onnx", NULL, NULL).processor,
                        "m/onnx/../preprocessor_config.json");
    scratch_touch(dir, "m/onnx/preprocessor_config.json");
    assert_string_equal(find(dir, "m/onnx/any name.onnx", NULL, NULL).processor,
                        "m/onnx/preprocessor_config.json");
}

static void names_a_model_by_its_own_name(void **state)
{
    scratch *dir = *state;

    scratch_touch(dir, "siglip/preprocessor_config.json");
    scratch_touch(dir, "siglip/model.onnx");
    assert_string_equal(find(dir, "siglip", NULL, NULL).name, "siglip");
    assert_string_equal(find(dir, "siglip//", NULL, NULL).name, "siglip");
    assert_string_equal(find(dir, "siglip/.", NULL, NULL).name, "siglip");
    assert_string_equal(find(dir, "siglip/model.onnx", NULL, NULL).name, "model.onnx");
}

static void refuses_a_path_too_long_to_be_one(void **state)
{
    char model[PATH_MAX + 100];
    brim_model_files files;
    brim_error err;

    (void)state;
    memset(model, 'm', sizeof(model) - 1);
    model[sizeof(model) - 1] = '\0';
    assert_int_equal(brim_model_files_find(brim_heap(), model, NULL, NULL, NULL, &files, &err),
                     BRIM_E_IO);
}

static void survives_every_failed_allocation(void **state)
{
    scratch *dir = *state;
    brim_status status = BRIM_E_NOMEM;

    scratch_touch(dir, "m/preprocessor_config.json");
    scratch_touch(dir, "m/model.onnx");
    const char *model = scratch_path(dir, "m");
    for (long allowed = 0; status != BRIM_OK; allowed++) {
        brim_model_files files;
        failing_alloc mem;

        failing_alloc_init(&mem, allowed);
        status = brim_model_files_find(&mem.base, model, NULL, NULL, NULL, &files, NULL);
        assert_true(status == BRIM_OK || status == BRIM_E_NOMEM);
        brim_model_files_fini(&files);
        assert_int_equal(mem.live_bytes, 0);
        assert_true(allowed < 100);
    }
}

static void write_text(scratch *dir, const char *below, const char *text)
{
    scratch_write(dir, below, text, strlen(text));
}

/* Any folder has a config.json; timm's says how pictures are prepared. */
static void takes_a_config_of_timm_where_there_is_no_other(void **state)
{
    scratch *dir = *state;

    scratch_touch(dir, "m/model.onnx");
    write_text(dir, "m/config.json", "{\"architectures\": [\"ViTModel\"], \"image_size\": 8}");
    assert_fails(dir, "m", NULL, BRIM_E_ARG, "no preprocessor_config.json with it");
    write_text(dir, "m/config.json", "not JSON");
    assert_fails(dir, "m", NULL, BRIM_E_ARG, "no preprocessor_config.json with it");
    write_text(dir, "m/config.json", "{\"architecture\": \"resnet18\", \"input_size\": [3, 8, 8]}");
    assert_string_equal(find(dir, "m", NULL, NULL).processor, "m/config.json");
    write_text(dir, "m/config.json", "{\"pretrained_cfg\": {}}");
    assert_string_equal(find(dir, "m/model.onnx", NULL, NULL).processor, "m/config.json");
    scratch_touch(dir, "m/onnx/preprocessor_config.json");
    assert_string_equal(find(dir, "m", NULL, NULL).processor, "m/onnx/preprocessor_config.json");
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_folder(takes_the_vision_part_before_the_whole),
        in_a_folder(chooses_by_precision_and_lists_those_that_are_there),
        in_a_folder(says_how_to_export_safetensors),
        in_a_folder(names_what_is_missing),
        in_a_folder(finds_the_processor_of_a_folder),
        in_a_folder(finds_the_processor_of_a_file_beside_it_or_one_folder_up),
        in_a_folder(names_a_model_by_its_own_name),
        in_a_folder(takes_a_config_of_timm_where_there_is_no_other),
        cmocka_unit_test(refuses_a_path_too_long_to_be_one),
        in_a_folder(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("session/model_files", tests, NULL, NULL);
}
