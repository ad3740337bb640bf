/* Tests of src/job/model.c: devices and simulated models. Real ones are tests/e2e. */
#include "job/model.h"

#include <unistd.h>

#include "session/sim.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/temp_dir.h"

static char folder_before[4096];

/* The tests stand in their folder, where a device lies. */
static int setup(void **state)
{
    if (temp_dir_setup(state) != 0 || !getcwd(folder_before, sizeof(folder_before))) return -1;
    temp_write_text(state, "d.json", "{\"capacity_bytes\": 1048576000}");
    return chdir(*state);
}

static int teardown(void **state)
{
    return chdir(folder_before) == 0 ? temp_dir_teardown(state) : -1;
}

static void checks(const char *model, const char *device, brim_status wanted, const char *message)
{
    brim_error err = {0};

    assert_int_equal(brim_embed_check_device(model, device, &err), wanted);
    if (wanted != BRIM_OK) assert_string_equal(err.message, message);
}

static void a_device_and_its_model_go_together(void **state)
{
    (void)state;
    checks("vit", NULL, BRIM_OK, "");
    checks("vit", "cpu", BRIM_OK, "");
    checks("sim", "sim:d.json", BRIM_OK, "");
    checks("./sim", "cpu", BRIM_OK, "");
    checks("sim", NULL, BRIM_E_ARG, "-m sim goes with --device sim:FILE.json");
    checks("sim", "cpu", BRIM_E_ARG, "-m sim goes with --device sim:FILE.json");
    checks("vit", "sim:d.json", BRIM_E_ARG,
           "--device sim:d.json goes with -m sim, not with -m vit");
    checks("./sim", "sim:d.json", BRIM_E_ARG,
           "--device sim:d.json goes with -m sim, not with -m ./sim");
    checks("sim", "sim:", BRIM_E_ARG, "--device sim:: names no file, as sim:card.json");
    mkdir("sim", 0777);
    checks("sim", NULL, BRIM_E_ARG,
           "-m sim goes with --device sim:FILE.json (the folder is meant by -m ./sim)");
}

static void other_devices_are_not_there(void **state)
{
    (void)state;
    checks("vit", "cuda", BRIM_E_UNSUPPORTED, "--device cuda: this build runs on the CPU");
    checks("vit", "cuda:1", BRIM_E_UNSUPPORTED, "--device cuda:1: this build runs on the CPU");
    checks("vit", "gpu", BRIM_E_ARG, "--device gpu: neither cpu nor sim:FILE.json");
    checks("vit", "cudax", BRIM_E_ARG, "--device cudax: neither cpu nor sim:FILE.json");
    checks("vit", "", BRIM_E_ARG, "--device : neither cpu nor sim:FILE.json");
    checks("sim", "simulated", BRIM_E_ARG, "--device simulated: neither cpu nor sim:FILE.json");
}

static brim_embed_options simulated(void)
{
    brim_embed_options options = BRIM_OPTIONS(brim_embed_options);

    options.model = "sim";
    options.device = "sim:d.json";
    return options;
}

typedef struct said {
    char line[600];
} said;

static void keep_words(void *ctx, brim_log_level level, const char *line)
{
    (void)level;
    snprintf(((said *)ctx)->line, sizeof(((said *)ctx)->line), "%s", line);
}

static void a_simulated_model_needs_no_budget_and_no_files(void **state)
{
    brim_embed_options options = simulated();
    char hash[BRIM_HASH_BYTES], other[BRIM_HASH_BYTES];
    brim_model model;

    assert_int_equal(brim_model_open(brim_heap(), &options, NULL, &model, NULL), BRIM_OK);
    assert_true(model.is_simulated);
    assert_non_null(brim_session_sim_device(model.session));
    assert_string_equal(brim_model_name(&model), "sim");
    assert_int_equal(brim_model_slot_bytes(&model), 768);
    assert_int_equal(brim_model_identify(&model, NULL, hash, NULL), BRIM_OK);
    brim_model_close(&model);

    temp_write_text(state, "d.json", "{\"capacity_bytes\": 5, \"name\": \"another\"}");
    assert_int_equal(brim_model_open(brim_heap(), &options, NULL, &model, NULL), BRIM_OK);
    assert_int_equal(brim_model_identify(&model, NULL, other, NULL), BRIM_OK);
    assert_string_equal(hash, other); /* the device changes no result */
    brim_model_close(&model);
    brim_model_close(&model); /* a zero one is fine */
}

static void a_folder_of_that_name_is_mentioned(void **state)
{
    brim_embed_options options = simulated();
    said words = {0};
    brim_log log = {keep_words, &words};
    brim_model model;

    (void)state;
    options.log = &log;
    mkdir("sim", 0777);
    assert_int_equal(brim_model_open(brim_heap(), &options, NULL, &model, NULL), BRIM_OK);
    assert_string_equal(words.line,
                        "-m sim is the simulated device: the folder is meant by -m ./sim");
    brim_model_close(&model);
}

static void what_only_a_model_has_is_refused(void **state)
{
    brim_embed_options options = simulated();
    brim_error err = {0};
    brim_model model;

    (void)state;
    options.layer = "pooler_output";
    assert_int_equal(brim_model_open(brim_heap(), &options, NULL, &model, &err), BRIM_E_ARG);
    assert_string_equal(err.message, "-m sim is no model: --layer is of no use with it");
    assert_null(model.session);
}

static void survives_every_failed_allocation(void **state)
{
    brim_embed_options options = simulated();
    brim_status status = BRIM_E_NOMEM;

    (void)state;
    for (long allowed = 0; status != BRIM_OK; allowed++) {
        failing_alloc mem;
        brim_model model;

        failing_alloc_init(&mem, allowed);
        status = brim_model_open(&mem.base, &options, NULL, &model, NULL);
        assert_true(status == BRIM_OK || status == BRIM_E_NOMEM);
        brim_model_close(&model);
        assert_int_equal(mem.live_bytes, 0);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_device_and_its_model_go_together),
        TEST(other_devices_are_not_there),
        TEST(a_simulated_model_needs_no_budget_and_no_files),
        TEST(a_folder_of_that_name_is_mentioned),
        TEST(what_only_a_model_has_is_refused),
        TEST(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("job/model", tests, NULL, NULL);
}
