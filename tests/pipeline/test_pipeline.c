/* Tests of src/pipeline/pipeline.c and stages.c: the walk between a fake source, session and store.
 */
#include "pipeline/pipeline.h"
#include "support/cmocka_all.h"
#include "support/fake_pages.h"
#include "support/fake_walk.h"
#include "support/pictures.h"
#include "support/temp_dir.h"

static const char CONFIG[] =
    "{\"image_processor_type\": \"ViTImageProcessor\", \"do_resize\": false,"
    " \"do_rescale\": false, \"do_normalize\": false}";

/* Plain bytes, so that the file is as large as the picture. */
static void write_grey_pgm(const char *path, unsigned side, unsigned char grey)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    fprintf(file, "P5 %u %u 255\n", side, side);
    for (unsigned i = 0; i < side * side; i++)
        putc(grey, file);
    assert_int_equal(fclose(file), 0);
}

typedef struct walk {
    void **state;
    fake_source source;
    fake_store store;
    fake_session session;
    brim_processor *processor;
    brim_task task;
    brim_budget *budget;
    brim_counters counters;
    atomic_bool stop;
    brim_pipeline_options options;
    char path[4096];
} walk;

/* Pictures 0.png .. 9.png with grey 10 * i; row i uses picture i % 10. */
static const char *path_of(void *ctx, int i)
{
    walk *w = ctx;

    snprintf(w->path, sizeof(w->path), "%s/%d.png", (const char *)*w->state, i % 10);
    return w->path;
}

/* Row i is picture i. */
static const char *own_path_of(void *ctx, int i)
{
    walk *w = ctx;

    snprintf(w->path, sizeof(w->path), "%s/%d.png", (const char *)*w->state, i);
    return w->path;
}

static walk *open_walk(void **state, int n_rows)
{
    walk *w = calloc(1, sizeof(*w));

    w->state = state;
    for (int i = 0; i < 10; i++)
        write_grey_png(path_of(w, i), 4 + (unsigned)i % 2, 4, (unsigned char)(10 * i));
    const char *config = temp_write_text(state, "p.json", CONFIG);
    assert_int_equal(brim_processor_open(brim_heap(), config, NULL, &w->processor, NULL), BRIM_OK);
    assert_int_equal(brim_budget_create(64 << 20, &w->budget, NULL), BRIM_OK);
    w->source =
        (fake_source){.base.ops = &FAKE_SOURCE_OPS, .n_rows = n_rows, .path_of = path_of, .ctx = w};
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
        .batch = 4,
        .n_decoders = 3,
        .timeout_ns = 5000000000u,
        .stop = &w->stop,
    };
    return w;
}

static void close_walk(walk *w)
{
    assert_int_equal(brim_budget_live_bytes(w->budget), 0);
    brim_processor_close(w->processor);
    brim_budget_destroy(w->budget);
    free(w);
}

static void every_row_is_done_once_with_its_own_result(void **state)
{
    walk *w = open_walk(state, 500);

    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(w->store.n_done[i], 1);
        assert_int_equal(w->store.n_failed[i], 0);
        assert_true(w->store.first[i] == (float)(10 * (i % 10)));
    }
    assert_int_equal(w->counters.n_done, 500);
    assert_true(w->session.largest_run == 4);
    close_walk(w);
}

static void failures_shift_no_neighbour(void **state)
{
    walk *w = open_walk(state, 300);

    temp_write_text(state, "3.png", "\x89PNG\r\n\x1a\n broken");
    temp_write_text(state, "5.png", "");
    unlink(temp_path(state, "7.png"));
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < 300; i++) {
        bool bad = i % 10 == 3 || i % 10 == 5 || i % 10 == 7;
        assert_int_equal(w->store.n_failed[i], bad);
        assert_int_equal(w->store.n_done[i], !bad);
        if (!bad) assert_true(w->store.first[i] == (float)(10 * (i % 10)));
    }
    assert_int_equal(w->store.step[3], BRIM_STEP_DECODE);
    assert_int_equal(w->store.step[5], BRIM_STEP_READ);
    assert_string_equal(w->store.reason[5], "empty file");
    assert_int_equal(w->store.step[7], BRIM_STEP_READ);
    assert_non_null(strstr(w->store.reason[7], "No such file"));
    close_walk(w);
}

static void a_batch_that_does_not_fit_is_halved(void **state)
{
    walk *w = open_walk(state, 100);

    w->session.max_batch = 1;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(w->store.n_done[i], 1);
    close_walk(w);
}

static void one_poisonous_picture_fails_alone(void **state)
{
    walk *w = open_walk(state, 100);

    w->session.poison = 40.0f;
    w->session.poison_status = BRIM_E_RUNTIME;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(w->store.n_done[i], i % 10 != 4);
        assert_int_equal(w->store.n_failed[i], i % 10 == 4);
    }
    assert_int_equal(w->store.step[4], BRIM_STEP_MODEL);
    assert_string_equal(w->store.reason[4], "a poisonous picture");
    close_walk(w);
}

static void a_fixed_batch_is_filled_up_and_the_filling_dropped(void **state)
{
    walk *w = open_walk(state, 10);

    w->session.base.image.dims[0] = 4;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    assert_int_equal(w->session.n_runs, 4); /* two widths of 5 rows each: 4 + 1 filled up */
    for (int i = 0; i < 10; i++) {
        assert_int_equal(w->store.n_done[i], 1);
        assert_true(w->store.first[i] == (float)(10 * i));
    }
    close_walk(w);
}

static void a_store_that_breaks_ends_the_run(void **state)
{
    walk *w = open_walk(state, 400);
    brim_error err;

    w->store.break_at = 3;
    assert_int_equal(brim_pipeline_run(&w->options, &err), BRIM_E_IO);
    assert_string_equal(err.message, "the disk is full");
    int n_done = 0;
    for (int i = 0; i < 400; i++)
        n_done += w->store.n_done[i];
    assert_int_equal(n_done, w->counters.n_done);
    assert_int_equal(w->store.n_commits, 3); /* nothing is written after the break */
    close_walk(w);
}

static void a_source_that_breaks_ends_the_run(void **state)
{
    walk *w = open_walk(state, 50);
    brim_error err;

    w->source.fail_at = 20;
    assert_int_equal(brim_pipeline_run(&w->options, &err), BRIM_E_IO);
    assert_string_equal(err.message, "the source broke");
    close_walk(w);
}

static void stop_after_some(void *ctx)
{
    walk *w = ctx;

    if (atomic_load(&w->counters.n_done) > 0) atomic_store(&w->stop, true);
}

static void a_stop_stores_what_was_begun_and_no_failure(void **state)
{
    walk *w = open_walk(state, FAKE_MAX_ROWS);

    w->options.tick = stop_after_some;
    w->options.tick_ctx = w;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    uint64_t n_done = 0;
    for (int i = 0; i < FAKE_MAX_ROWS; i++) {
        assert_true(w->store.n_done[i] <= 1);
        assert_int_equal(w->store.n_failed[i], 0);
        n_done += (uint64_t)w->store.n_done[i];
    }
    assert_int_equal(n_done, w->counters.n_done);
    assert_true(n_done > 0);
    close_walk(w);
}

static void rows_that_are_done_are_passed_over_and_a_limit_is_kept(void **state)
{
    walk *w = open_walk(state, 100);

    w->store.done_before = 30;
    w->options.limit = 20;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(w->store.n_done[i], i >= 30 && i < 50);
    assert_int_equal(w->counters.n_already, 30);
    close_walk(w);
}

static void nothing_to_do_ends_at_once(void **state)
{
    walk *w = open_walk(state, 0);

    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    assert_int_equal(w->session.n_runs, 0);
    close_walk(w);
}

/* A budget in which hardly anything fits: rows fail with numbers, and nothing hangs. */
static void a_tiny_budget_ends_every_row_all_the_same(void **state)
{
    for (size_t kib = 8; kib <= 512; kib *= 2) {
        walk *w = open_walk(state, 40);
        brim_budget_destroy(w->budget);
        assert_int_equal(brim_budget_create(kib << 10, &w->budget, NULL), BRIM_OK);
        w->options.budget = w->budget;
        brim_error err = {0};
        brim_status status = brim_pipeline_run(&w->options, &err);
        if (status == BRIM_OK)
            for (int i = 0; i < 40; i++)
                assert_int_equal(w->store.n_done[i] + w->store.n_failed[i], 1);
        else
            assert_int_equal(status, BRIM_E_BUDGET);
        close_walk(w);
    }
}

/* ---- With an arena ---- */

enum { TINY = 32 << 10, MIB = 1 << 20 };

/* A budget over an arena of tiny pages instead of the walk's own. */
static void give_arena(walk *w, size_t limit_bytes, size_t bytes_per_px)
{
    static fake_pages fake;
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    brim_arena *arena;

    brim_budget_destroy(w->budget);
    assert_int_equal(brim_budget_create(limit_bytes, &w->budget, NULL), BRIM_OK);
    fake_pages_init(&fake, SIZE_MAX, false);
    options.limit_bytes = limit_bytes;
    options.page_bytes = TINY;
    options.pages = &fake.base;
    assert_int_equal(brim_arena_create(&options, &arena, NULL), BRIM_OK);
    brim_budget_set_arena(w->budget, arena);
    w->options.budget = w->session.budget = w->budget;
    w->session.bytes_per_px = bytes_per_px;
}

/* What rows, items and vectors have reserved, with n decoders: a run that needs nothing else. */
static size_t fixed_bytes(void **state, size_t n_decoders)
{
    walk *w = open_walk(state, 0);

    w->options.n_decoders = n_decoders;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    size_t bytes = brim_budget_usage(w->budget, BRIM_ACCOUNT_RESULTS).peak_bytes;
    close_walk(w);
    return bytes;
}

static void check_all_done(const walk *w, int n)
{
    for (int i = 0; i < n; i++) {
        if (w->store.n_failed[i]) fail_msg("row %d: %s", i, w->store.reason[i]);
        assert_int_equal(w->store.n_done[i], 1);
        assert_true(w->store.first[i] == (float)(10 * (i % 10)));
    }
}

/*
 * Pictures of 200 x 200: the tensor of one takes 15 pages, its activations 20. The limit holds one
 * of each, one decoder's scratch and what is fixed; files have an eighth of it.
 */
static void room_for_one_picture_and_one_decoder_is_enough(void **state)
{
    size_t fixed = fixed_bytes(state, 4);
    walk *w = open_walk(state, 1000);
    size_t most = brim_budget_limit_bytes(w->budget), least = fixed;

    for (int i = 0; i < 10; i++)
        write_grey_png(path_of(w, i), 200, 200, (unsigned char)(10 * i));
    w->options.n_decoders = 4;
    w->options.batch = 8;
    w->source.n_rows = 1;
    /* The least limit with which one picture alone goes through, to a page. */
    while (most - least > TINY) {
        give_arena(w, least + (most - least) / 2, 16);
        w->source.at = 0;
        memset(&w->store.n_done, 0, sizeof(w->store.n_done));
        brim_status status = brim_pipeline_run(&w->options, NULL);
        bool fits = status == BRIM_OK && w->store.n_done[0] == 1;
        *(fits ? &most : &least) = brim_budget_limit_bytes(w->budget);
    }
    /* It is a limit that tells: 35 pages, and little for the scratch. */
    size_t room = most - most / 8 - fixed;
    assert_true(room >= 35 * TINY && room < 45 * TINY);
    memset(&w->store, 0, sizeof(w->store));
    w->store.base.ops = &FAKE_STORE_OPS;
    memset(&w->counters, 0, sizeof(w->counters));
    w->source.at = 0;
    w->source.n_rows = 1000;
    give_arena(w, most, 16);
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    check_all_done(w, 1000);
    assert_true(brim_budget_peak_bytes(w->budget) <= most);
    close_walk(w);
}

/* Cases B31: the batch does not fit but smaller ones do, one picture does not even alone, and
 * afterwards there are small ones again. */
static void a_refusal_is_an_ordinary_event(void **state)
{
    enum { N_BIG = 40, IMPOSSIBLE = 17, N = 400 };
    size_t fixed = fixed_bytes(state, 3);
    walk *w = open_walk(state, N);
    char path[4096];

    /* Rows 0 to 39 are large, one of them enormous, the others small. */
    for (int i = 0; i < N; i++) {
        unsigned side = i == IMPOSSIBLE ? 600 : i < N_BIG ? 200 : 40;
        snprintf(path, sizeof(path), "%s/%d.png", (const char *)*state, i);
        write_grey_png(path, side, side, (unsigned char)(i % 250));
    }
    w->source.path_of = own_path_of;
    w->options.batch = 8;
    give_arena(w, fixed + 12 * MIB, 64); /* 2.4 MiB for a large one, 22 for the enormous one */
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(w->store.n_failed[i], i == IMPOSSIBLE);
        assert_int_equal(w->store.n_done[i], i != IMPOSSIBLE);
        if (i != IMPOSSIBLE) assert_true(w->store.first[i] == (float)(i % 250));
    }
    assert_non_null(strstr(w->store.reason[IMPOSSIBLE], "needs"));
    assert_int_equal(w->store.step[IMPOSSIBLE], BRIM_STEP_MODEL);
    assert_true(w->counters.n_set_aside >= 1);
    assert_true(w->counters.n_refusals > 0);
    assert_true(w->counters.n_splits > 0);
    assert_true(w->session.n_runs_of[8] >= 3); /* it has grown again, sooner or later */
    assert_true(brim_budget_peak_bytes(w->budget) <= fixed + 12 * MIB);
    close_walk(w);
}

/* The enormous picture has room in the batch's memory only when nothing else holds any. */
static void a_picture_that_fits_only_alone_is_set_aside_and_done(void **state)
{
    enum { N = 60, LARGE = 20 };
    size_t fixed = fixed_bytes(state, 3);
    walk *w = open_walk(state, N);
    char path[4096];

    for (int i = 0; i < N; i++) {
        unsigned side = i % LARGE == 5 ? 300 : 60;
        snprintf(path, sizeof(path), "%s/%d.png", (const char *)*state, i);
        write_grey_png(path, side, side, (unsigned char)i);
    }
    w->source.path_of = own_path_of;
    w->options.batch = 8;
    give_arena(w, fixed + 12 * MIB, 90); /* activations of a large one: 7.7 MiB */
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < N; i++) {
        if (w->store.n_failed[i]) fail_msg("row %d: %s", i, w->store.reason[i]);
        assert_int_equal(w->store.n_done[i], 1);
        assert_true(w->store.first[i] == (float)i);
    }
    close_walk(w);
}

/* The model needs all there is for each picture; their neighbours in a batch must not stand in the
 * way. */
static void pictures_that_fit_one_by_one_are_all_done_whatever_the_batch(void **state)
{
    size_t fixed = fixed_bytes(state, 3);

    for (size_t batch = 1; batch <= 8; batch *= 2)
        for (size_t room = 210; room <= 330; room += 40) { /* pages; a picture needs 15 + 128 */
            walk *w = open_walk(state, 64);
            for (int i = 0; i < 10; i++)
                write_grey_png(path_of(w, i), 200, 200, (unsigned char)(10 * i));
            w->options.batch = batch;
            give_arena(w, fixed + room * TINY, 104);
            assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
            check_all_done(w, 64);
            close_walk(w);
        }
}

/* ---- Tiles ---- */

enum { N_TILED = 12, LARGE_SIDE = 1700, SMALL_SIDE = 500, TILE = 300 };

/* Every third picture is a file larger than its room, all cut into tiles that mostly fit only one
 * at a time. */
static walk *open_tiled_walk(void **state)
{
    size_t fixed = fixed_bytes(state, 3);
    walk *w = open_walk(state, N_TILED);

    for (int i = 0; i < N_TILED; i++)
        write_grey_pgm(own_path_of(w, i), i % 3 == 0 ? LARGE_SIDE : SMALL_SIDE,
                       (unsigned char)(10 * i));
    w->source.path_of = own_path_of;
    w->options.tile = TILE;
    give_arena(w, fixed + 14 * MIB, 110); /* activations of a tile: 9.4 MiB, its tensor 1 */
    assert_true(brim_budget_limit_bytes(w->budget) / 8 < LARGE_SIDE * LARGE_SIDE);
    return w;
}

static void every_tile_is_done_once_where_only_one_fits_at_a_time(void **state)
{
    walk *w = open_tiled_walk(state);

    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < N_TILED; i++) {
        if (w->store.n_failed[i]) fail_msg("row %d: %s", i, w->store.reason[i]);
        assert_int_equal(w->store.n_done[i], i % 3 == 0 ? 36 : 4);
        assert_int_equal(w->store.n_tiled[i], 1);
        assert_true(w->store.first[i] == (float)(10 * i));
    }
    assert_true(w->counters.n_set_aside > 0);
    close_walk(w);
}

static void stop_after_a_refusal(void *ctx)
{
    walk *w = ctx;

    if (atomic_load(&w->counters.n_refusals) > 0) atomic_store(&w->stop, true);
}

/* Tiles that wait to run alone belong to a picture whose file is in the way of that. */
static void a_stop_comes_to_an_end_with_tiles_set_aside(void **state)
{
    walk *w = open_tiled_walk(state);

    w->options.tick = stop_after_a_refusal;
    w->options.tick_ctx = w;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    for (int i = 0; i < N_TILED; i++) {
        assert_int_equal(w->store.n_failed[i], 0);
        assert_true(w->store.n_done[i] <= (i % 3 == 0 ? 36 : 4));
        assert_true(w->store.n_tiled[i] == 0 || w->store.n_done[i] == (i % 3 == 0 ? 36 : 4));
    }
    close_walk(w);
}

static void the_arena_is_trimmed_now_and_then(void **state)
{
    walk *w = open_walk(state, 100);

    give_arena(w, 64 * MIB, 1000);
    w->options.trim_every = 5;
    assert_int_equal(brim_pipeline_run(&w->options, NULL), BRIM_OK);
    check_all_done(w, 100);
    assert_true(w->counters.n_trims >= 100 / 4 / 5);
    assert_true(brim_arena_usage_now(brim_budget_arena(w->budget)).n_released_pages > 0);
    close_walk(w);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_row_is_done_once_with_its_own_result),
        TEST(failures_shift_no_neighbour),
        TEST(a_batch_that_does_not_fit_is_halved),
        TEST(one_poisonous_picture_fails_alone),
        TEST(a_fixed_batch_is_filled_up_and_the_filling_dropped),
        TEST(a_store_that_breaks_ends_the_run),
        TEST(a_source_that_breaks_ends_the_run),
        TEST(a_stop_stores_what_was_begun_and_no_failure),
        TEST(rows_that_are_done_are_passed_over_and_a_limit_is_kept),
        TEST(nothing_to_do_ends_at_once),
        TEST(a_tiny_budget_ends_every_row_all_the_same),
        TEST(room_for_one_picture_and_one_decoder_is_enough),
        TEST(a_refusal_is_an_ordinary_event),
        TEST(a_picture_that_fits_only_alone_is_set_aside_and_done),
        TEST(pictures_that_fit_one_by_one_are_all_done_whatever_the_batch),
        TEST(every_tile_is_done_once_where_only_one_fits_at_a_time),
        TEST(a_stop_comes_to_an_end_with_tiles_set_aside),
        TEST(the_arena_is_trimmed_now_and_then),
    };
    return cmocka_run_group_tests_name("pipeline/pipeline", tests, NULL, NULL);
}
