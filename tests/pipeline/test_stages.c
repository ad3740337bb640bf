/* Tests of src/pipeline/stages.c: rows without files, and slots that are stubs. */
#include "pipeline/pipeline.h"
#include "session/sim.h"
#include "support/cmocka_all.h"
#include "support/fake_walk.h"
#include "support/pictures.h"
#include "support/temp_dir.h"

/* What a model sees of a picture is the picture. */
static const char AS_IT_IS[] =
    "{\"image_processor_type\": \"ViTImageProcessor\", \"do_resize\": false,"
    " \"do_rescale\": false, \"do_normalize\": false}";
static const char STUBS[] = "{\"image_processor_type\": \"ViTImageProcessor\","
                            " \"size\": {\"height\": 8, \"width\": 8}}";

/* Rows k0, k1, ...: every third is a file, the others are without one, of two shapes in turn. */
typedef struct mixed_source {
    brim_source base;
    void **state;
    int n_rows, at;
    bool has_files;
    uint32_t side; /* of the rows without a file; every other one is a pixel higher */
} mixed_source;

static brim_status mixed_next(brim_source *base, brim_row **out, brim_error *err)
{
    mixed_source *self = (mixed_source *)base;
    bool is_file = self->has_files && self->at % 3 == 0;
    char name[32];

    (void)err;
    *out = NULL;
    if (self->at == self->n_rows) return BRIM_END;
    snprintf(name, sizeof(name), "k%d", self->at);
    const char *path = is_file ? temp_path(self->state, "p.png") : name;
    assert_int_equal(brim_row_create(brim_heap(), name, path, out), BRIM_OK);
    if (!is_file) {
        (*out)->null_width = self->side;
        (*out)->null_height = self->side + (uint32_t)self->at % 2;
    }
    self->at++;
    return BRIM_OK;
}

static void mixed_close(brim_source *base)
{
    (void)base;
}

static const struct brim_source_ops MIXED_OPS = {mixed_next, mixed_close};

typedef struct walk {
    mixed_source source;
    fake_store store;
    fake_session session;
    brim_session *simulated;
    brim_processor *processor;
    brim_task task;
    brim_budget *budget;
    brim_counters counters;
    atomic_bool stop;
    brim_pipeline_options options;
} walk;

static walk *open_walk(void **state, int n_rows, const char *config)
{
    walk *w = calloc(1, sizeof(*w));

    write_grey_png(temp_path(state, "p.png"), 6, 6, 70);
    const char *path = temp_write_text(state, "p.json", config);
    assert_int_equal(brim_processor_open(brim_heap(), path, NULL, &w->processor, NULL), BRIM_OK);
    assert_int_equal(brim_budget_create(64 << 20, &w->budget, NULL), BRIM_OK);
    w->source = (mixed_source){.base.ops = &MIXED_OPS, .state = state, .n_rows = n_rows, .side = 9};
    w->store.base.ops = &FAKE_STORE_OPS;
    w->session.base.ops = &FAKE_SESSION_OPS;
    w->session.base.image.dims[0] = -1;
    w->task = brim_task_embed(false);
    w->options = (brim_pipeline_options){
        .source = &w->source.base,
        .store = &w->store.base,
        .session = &w->session.base,
        .processor = w->processor,
        .task = &w->task,
        .budget = w->budget,
        .counters = &w->counters,
        .batch = 8,
        .n_decoders = 3,
        .timeout_ns = 5000000000u,
        .stop = &w->stop,
    };
    return w;
}

/* The same over a simulated device. */
static walk *open_simulated(void **state, int n_rows, const char *device)
{
    walk *w = open_walk(state, n_rows, STUBS);
    brim_error err = {0};
    brim_sim_options options = {.path = temp_write_text(state, "d.json", device)};

    if (brim_session_open_sim(brim_heap(), &options, &w->simulated, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    w->task = brim_task_sim(true);
    w->options.session = w->simulated;
    return w;
}

static void close_walk(walk *w)
{
    assert_int_equal(brim_budget_live_bytes(w->budget), 0);
    brim_session_close(w->simulated);
    brim_processor_close(w->processor);
    brim_budget_destroy(w->budget);
    free(w);
}

static void all_are_done_once(walk *w)
{
    for (int i = 0; i < w->source.n_rows; i++) {
        assert_int_equal(w->store.n_done[i], 1);
        assert_int_equal(w->store.n_failed[i], 0);
    }
}

static void a_model_is_shown_grey_for_a_row_without_a_file(void **state)
{
    walk *w = open_walk(state, 300, AS_IT_IS);

    w->source.has_files = true;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    all_are_done_once(w);
    for (int i = 0; i < 300; i++)
        assert_true(w->store.first[i] == (i % 3 == 0 ? 70.0f : 128.0f));
    close_walk(w);
}

static void one_that_is_too_large_is_a_failure(void **state)
{
    walk *w = open_walk(state, 10, AS_IT_IS);

    w->options.reading.max_px = 81;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(w->store.n_done[i], i % 2 == 0);
        assert_int_equal(w->store.n_failed[i], i % 2 == 1);
    }
    assert_string_equal(w->store.reason[1], "image too large: 90 pixels, limit 81 (--max-pixels)");
    assert_int_equal(w->store.step[1], BRIM_STEP_DECODE);
    close_walk(w);
}

static void it_has_no_tiles(void **state)
{
    walk *w = open_walk(state, 30, AS_IT_IS);

    w->options.tile = 4;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    all_are_done_once(w);
    close_walk(w);
}

/* 9 x 9 takes 81 bytes, 9 x 10 takes 90: were they in one batch, or stubs counted, less or more. */
static void a_device_is_told_the_counted_shape(void **state)
{
    walk *w = open_simulated(state, 160,
                             "{\"capacity_bytes\": 1e9, \"bytes\": {\"per_pixel\": 1},"
                             " \"seconds\": {\"per_pixel\": 1}}");
    const brim_sim_device *device = brim_session_sim_device(w->simulated);

    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    all_are_done_once(w);
    assert_true(device->seconds_run == 80 * 81 + 80 * 90);
    assert_int_equal(device->n_refusals, 0);
    close_walk(w);
}

static void real_pictures_are_decoded_and_count_as_224(void **state)
{
    walk *w =
        open_simulated(state, 30, "{\"capacity_bytes\": 1e9, \"seconds\": {\"per_pixel\": 1}}");

    w->source.has_files = true;
    w->source.side = 1; /* 1 and 2 pixels */
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    all_are_done_once(w);
    assert_true(brim_session_sim_device(w->simulated)->seconds_run == 10 * 50176 + 10 + 2 * 10);
    close_walk(w);
}

static void a_broken_file_fails_on_a_simulated_device_too(void **state)
{
    walk *w = open_simulated(state, 30, "{\"capacity_bytes\": 1e9}");

    w->source.has_files = true;
    temp_write_text(state, "p.png", "\x89PNG\r\n\x1a\n broken");
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(w->store.n_failed[i], i % 3 == 0);
        assert_int_equal(w->store.n_done[i], i % 3 != 0);
    }
    close_walk(w);
}

static void what_the_device_refuses_is_split_or_fails_by_itself(void **state)
{
    walk *w =
        open_simulated(state, 100, "{\"capacity_bytes\": 250, \"bytes\": {\"per_pixel\": 1}}");

    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    all_are_done_once(w);
    assert_true(brim_session_sim_device(w->simulated)->n_refusals > 0);
    close_walk(w);

    w = open_simulated(state, 20, "{\"capacity_bytes\": 85, \"bytes\": {\"per_pixel\": 1}}");
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(w->store.n_done[i], i % 2 == 0);
        assert_int_equal(w->store.n_failed[i], i % 2 == 1);
    }
    assert_non_null(strstr(w->store.reason[1], "the simulated device has 0 MiB free"));
    assert_int_equal(w->store.step[1], BRIM_STEP_MODEL);
    close_walk(w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_model_is_shown_grey_for_a_row_without_a_file),
        TEST(one_that_is_too_large_is_a_failure),
        TEST(it_has_no_tiles),
        TEST(a_device_is_told_the_counted_shape),
        TEST(real_pictures_are_decoded_and_count_as_224),
        TEST(a_broken_file_fails_on_a_simulated_device_too),
        TEST(what_the_device_refuses_is_split_or_fails_by_itself),
    };
    return cmocka_run_group_tests_name("pipeline/stages", tests, NULL, NULL);
}
