/*
 * Tests of src/session/onnx_memory.c: what models take through it, what is refused, what comes
 * back. The small models: tests/data/models/make_models.py; the others: tools/setup.sh.
 */
#include "session/onnx_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "brimful/arena.h"
#include "session/onnx.h"
#include "session/onnx_runtime.h"
#include "session/run_floats.h"
#include "support/cmocka_all.h"
#include "support/own_maps.h"

#define SMALL TEST_DATA "/models/"
#define LARGE TEST_CACHE "/models/"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HAS_SANITIZER = 1 };
#else
enum { HAS_SANITIZER = 0 };
#endif

static const size_t MIB = 1 << 20;

static bool is_long; /* every k of every model */

typedef struct model {
    const char *path, *layer;
    size_t n;
    uint32_t height, width;
    bool is_large; /* a quick test does not try every k */
} model;

static const model MODELS[] = {
    {SMALL "pooler/onnx/model.onnx", NULL, 3, 32, 32, false},
    {SMALL "embeds/onnx/vision_model.onnx", NULL, 3, 32, 32, false},
    {SMALL "fixed4/model.onnx", NULL, 4, 32, 32, false},
    {SMALL "dynamic_hw/model.onnx", NULL, 2, 24, 40, false},
    {SMALL "half/onnx/model_fp16.onnx", NULL, 3, 32, 32, false},
    {SMALL "external/onnx/model.onnx", NULL, 3, 32, 32, false},
    {SMALL "wide/model.onnx", NULL, 2, 24, 40, false},
    {LARGE "efficientnet-lite0/model.onnx", NULL, 1, 224, 224, true},
    {LARGE "pp-ocr-v4-det/model.onnx", "sigmoid_0.tmp_0", 1, 160, 160, true},
    {LARGE "vit-s14/model.onnx", "output_importance", 1, 224, 224, true},
};
enum { N_MODELS = sizeof(MODELS) / sizeof(MODELS[0]), EFFICIENTNET = 7, DETECTOR = 8, VIT = 9 };

/* ---- Helpers ---- */

/* Only the one that the benchmarks fetch may be missing; it is slow, too. */
static bool is_tested(size_t which)
{
    if (which != VIT) return true;
    if (!is_long) return false;
    if (access(MODELS[which].path, R_OK) == 0) return true;
    print_message("not there, passed over: %s (tools/setup.sh bench)\n", MODELS[which].path);
    return false;
}

static brim_budget *make_budget(size_t limit_bytes)
{
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    brim_budget *budget;
    brim_arena *arena;
    brim_error err;

    options.limit_bytes = limit_bytes;
    if (brim_arena_create(&options, &arena, &err) != BRIM_OK) fail_msg("%s", err.message);
    if (brim_budget_create(limit_bytes, &budget, &err) != BRIM_OK) fail_msg("%s", err.message);
    brim_budget_set_arena(budget, arena);
    return budget;
}

static brim_arena_usage usage_of(const brim_budget *budget)
{
    return brim_arena_usage_now(brim_budget_arena(budget));
}

static void end_budget(brim_budget *budget)
{
    brim_error err;

    assert_int_equal(usage_of(budget).live_bytes, 0);
    for (int i = 0; i < BRIM_N_ACCOUNTS; i++)
        assert_int_equal(brim_budget_usage(budget, (brim_account)i).live_bytes, 0);
    if (brim_arena_check(brim_budget_arena(budget), &err) != BRIM_OK) fail_msg("%s", err.message);
    brim_budget_destroy(budget);
}

static brim_status try_open(const model *m, brim_budget *budget, uint32_t n_threads,
                            brim_session **out, brim_error *err)
{
    brim_onnx_options options = {
        .path = m->path, .layer = m->layer, .n_threads = n_threads, .budget = budget};

    *err = (brim_error){0};
    return brim_session_open_onnx(brim_heap(), &options, out, err);
}

static brim_session *open_model(const model *m, brim_budget *budget, uint32_t n_threads)
{
    brim_session *session;
    brim_error err;

    if (try_open(m, budget, n_threads, &session, &err) != BRIM_OK) fail_msg("%s", err.message);
    return session;
}

/* Free with free(). */
static float *make_pixels(size_t n, uint32_t height, uint32_t width)
{
    size_t n_floats = n * 3 * height * width;
    float *pixels = malloc(n_floats * sizeof(float));

    for (size_t i = 0; i < n_floats; i++)
        pixels[i] = (float)((uint32_t)(i * 2654435761u) >> 8) * 0x1p-23f - 1;
    return pixels;
}

static size_t bytes_of(const brim_output *out)
{
    size_t n = 1;
    for (size_t d = 0; d < out->n_dims; d++)
        n *= out->dims[d];
    return n * sizeof(float);
}

/* Runs and hands out a copy of what came, free with free(); nothing stays taken. */
static float *run(brim_session *session, const float *pixels, size_t n, uint32_t height,
                  uint32_t width, size_t *bytes)
{
    brim_output out;
    brim_error err = {0};

    if (run_floats(session, pixels, n, height, width, &out, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    *bytes = bytes_of(&out);
    float *values = malloc(*bytes);
    memcpy(values, out.data, *bytes);
    brim_session_give_back(session);
    return values;
}

static float *run_model(const model *m, brim_session *session, size_t *bytes)
{
    float *pixels = make_pixels(m->n, m->height, m->width);
    float *values = run(session, pixels, m->n, m->height, m->width, bytes);

    free(pixels);
    return values;
}

static void assert_runs_equal(const model *m, brim_session *session, const float *expected)
{
    size_t bytes;
    float *values = run_model(m, session, &bytes);

    assert_memory_equal(values, expected, bytes);
    free(values);
}

static uint64_t n_blocks_so_far(void)
{
    return brim_onnx_memory_count().n_blocks;
}

/* Of the n blocks of a load or a run, every step_of(n)-th is refused; the first and last always. */
static size_t step_of(const model *m, size_t n)
{
    size_t tries = HAS_SANITIZER ? 3 : 10;
    return m->is_large && !is_long && n > tries ? n / tries : 1;
}

static size_t next_k(size_t k, size_t step, size_t n)
{
    return k < n && k + step > n ? n : k + step;
}

/* ---- The k-th allocation is refused ---- */

static void refuse_in_a_load(const model *m)
{
    brim_budget *budget = make_budget(1024 * MIB);
    uint64_t before = n_blocks_so_far(), on_heap = brim_onnx_memory_count().n_on_heap;
    brim_session *session = open_model(m, budget, 1);
    size_t n = (size_t)(n_blocks_so_far() - before), bytes, n_refused = 0, n_tried = 0;
    uint64_t kept = brim_onnx_memory_count().n_on_heap - on_heap;
    float *expected = run_model(m, session, &bytes);

    brim_session_close(session);
    assert_int_equal(brim_onnx_memory_count().n_on_heap, on_heap);
    for (size_t k = 1; k <= n; k = next_k(k, step_of(m, n), n), n_tried++) {
        brim_error err;
        brim_onnx_memory_refuse(k);
        brim_status status = try_open(m, budget, 1, &session, &err);
        brim_onnx_memory_refuse(0);
        if (status == BRIM_OK) { /* the runtime did without */
            assert_runs_equal(m, session, expected);
            brim_session_close(session);
        } else {
            if (status != BRIM_E_BUDGET) fail_msg("k %zu: %d: %s", k, status, err.message);
            assert_non_null(strstr(err.message, strrchr(m->path, '/') + 1));
            assert_null(session);
            n_refused++;
        }
        assert_int_equal(usage_of(budget).live_bytes, 0);
        assert_int_equal(brim_onnx_memory_count().n_on_heap, on_heap);

        session = open_model(m, budget, 1);
        assert_int_equal(brim_onnx_memory_count().n_on_heap - on_heap, kept);
        if (k == 1 || is_long || !m->is_large) assert_runs_equal(m, session, expected);
        brim_session_close(session);
    }
    print_message("%s: a load takes %zu blocks, keeps %zu; refused %zu of %zu\n", m->path, n,
                  (size_t)kept, n_refused, n_tried);
    free(expected);
    end_budget(budget);
}

static void a_load_that_is_refused_anywhere_leaves_nothing_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_MODELS; i++)
        if (is_tested(i)) refuse_in_a_load(&MODELS[i]);
}

static void refuse_in_a_run(const model *m)
{
    brim_budget *budget = make_budget(1024 * MIB);
    brim_session *session = open_model(m, budget, 1);
    float *pixels = make_pixels(m->n, m->height, m->width);
    size_t bytes, kept_bytes = 0, n = 0, n_tried = 0;
    float *expected = NULL;

    /* The first run may prepare something for all others. */
    for (int round = 0; round < 2; round++) {
        uint64_t before = n_blocks_so_far();
        free(expected);
        expected = run_model(m, session, &bytes);
        n = (size_t)(n_blocks_so_far() - before);
        if (round == 0) kept_bytes = usage_of(budget).live_bytes;
    }
    assert_int_equal(usage_of(budget).live_bytes, kept_bytes);
    assert_true(n > 0);

    for (size_t k = 1; k <= n; k = next_k(k, step_of(m, n), n), n_tried++) {
        brim_output out;
        brim_error err = {0};
        brim_onnx_memory_refuse(k);
        brim_status status = run_floats(session, pixels, m->n, m->height, m->width, &out, &err);
        brim_onnx_memory_refuse(0);
        if (status != BRIM_E_BUDGET) fail_msg("k %zu of %zu: %d: %s", k, n, status, err.message);
        assert_non_null(strstr(err.message, "the model needs "));
        assert_null(out.data);
        assert_int_equal(usage_of(budget).live_bytes, kept_bytes);
        assert_runs_equal(m, session, expected);
        assert_int_equal(usage_of(budget).live_bytes, kept_bytes);
    }
    print_message("%s: a run takes %zu blocks; refused %zu\n", m->path, n, n_tried);
    brim_session_close(session);
    free(pixels);
    free(expected);
    end_budget(budget);
}

static void a_run_that_is_refused_anywhere_leaves_nothing_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_MODELS; i++)
        if (is_tested(i)) refuse_in_a_run(&MODELS[i]);
}

/* ---- Who asks ---- */

static void with_a_budget_nothing_is_asked_for_off_the_calling_thread(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_MODELS; i++) {
        const model *m = &MODELS[i];
        if (!is_tested(i)) continue;
        for (uint32_t n_threads = 1; n_threads <= 4; n_threads *= 2) {
            brim_budget *budget = make_budget(1024 * MIB);
            brim_session *session = open_model(m, budget, n_threads);
            brim_onnx_memory_counts before = brim_onnx_memory_count();
            for (int round = 0; round < 2; round++) {
                size_t bytes;
                free(run_model(m, session, &bytes));
            }
            brim_session_close(session);
            brim_onnx_memory_counts after = brim_onnx_memory_count();
            assert_true(after.n_blocks > before.n_blocks);
            assert_int_equal(after.n_strayed, before.n_strayed);
            end_budget(budget);
        }
    }
}

static void without_a_budget_the_heap_serves(void **state)
{
    const model *m = &MODELS[DETECTOR];
    brim_budget *budget = make_budget(256 * MIB);
    brim_session *with = open_model(m, budget, 1), *without = open_model(m, NULL, 1);
    size_t bytes;
    float *expected = run_model(m, with, &bytes);
    uint64_t n_live = usage_of(budget).n_blocks;
    brim_onnx_memory_counts before = brim_onnx_memory_count();

    (void)state;
    assert_runs_equal(m, without, expected);
    brim_onnx_memory_counts after = brim_onnx_memory_count();
    assert_true(after.n_strayed > before.n_strayed);
    assert_int_equal(after.n_strayed - before.n_strayed, after.n_blocks - before.n_blocks);
    assert_int_equal(usage_of(budget).n_blocks, n_live);
    brim_session_close(without);
    brim_session_close(with);
    free(expected);
    end_budget(budget);
}

static void more_budgets_than_there_is_room_for_are_refused(void **state)
{
    const model *m = &MODELS[0];
    brim_budget *budget = make_budget(64 * MIB), *bare;
    brim_session *session;
    size_t n = 0, bytes;
    brim_error err;

    (void)state;
    while (brim_onnx_memory_add(budget) == BRIM_OK)
        n++;
    assert_int_equal(n, 64);
    assert_int_equal(try_open(m, budget, 1, &session, &err), BRIM_E_BUSY);
    assert_null(session);
    brim_onnx_memory_remove(budget);
    session = open_model(m, budget, 1);
    free(run_model(m, session, &bytes));
    brim_session_close(session);
    for (; n > 1; n--)
        brim_onnx_memory_remove(budget);
    brim_onnx_memory_remove(budget); /* one too many changes nothing */
    end_budget(budget);

    assert_int_equal(brim_budget_create(64 * MIB, &bare, NULL), BRIM_OK);
    assert_int_equal(brim_onnx_memory_add(bare), BRIM_E_ARG);
    brim_budget_destroy(bare);
}

/* ---- The limit ---- */

/* "needs N MiB, limit M MiB": what is needed is more than there is, and no fantasy. */
static void assert_tells_the_need(const brim_error *err, size_t limit_bytes, size_t most_bytes)
{
    const char *words = strstr(err->message, "needs ");
    size_t needed = 0, limit = 0;

    if (!words || sscanf(words, "needs %zu MiB, limit %zu MiB", &needed, &limit) != 2 ||
        limit != limit_bytes / MIB || needed <= limit || needed > most_bytes / MIB + 1)
        fail_msg("limit %zu, at most %zu: %s", limit_bytes, most_bytes, err->message);
}

static void a_load_takes_nothing_from_the_arena(void **state)
{
    const model *m = &MODELS[EFFICIENTNET]; /* puts 5 MB of its weights into another order */
    brim_budget *budget = make_budget(4 * MIB);
    uint64_t before = brim_onnx_memory_count().n_on_heap;
    brim_session *session = open_model(m, budget, 1);

    (void)state;
    assert_int_equal(usage_of(budget).live_bytes, 0);
    assert_true(brim_onnx_memory_count().n_on_heap > before);
    brim_session_close(session);
    assert_int_equal(brim_onnx_memory_count().n_on_heap, before);
    end_budget(budget);
}

/* From what the batch needs downwards, at limits that are no multiple of a page either. */
static void below_its_need_a_run_is_refused_and_a_smaller_batch_fits(void **state)
{
    enum { N = 4 };
    const model *m = &MODELS[DETECTOR];
    const uint32_t side = 320;
    brim_budget *roomy = make_budget(1024 * MIB);
    brim_session *session = open_model(m, roomy, 1);
    float *pixels = make_pixels(N, side, side);
    size_t bytes, n_tried = 0;
    float *expected = run(session, pixels, 1, side, side, &bytes);
    size_t one_bytes = usage_of(roomy).peak_reserved_bytes;
    brim_output out;
    brim_error err = {0};

    (void)state;
    assert_int_equal(run_floats(session, pixels, N, side, side, &out, &err), BRIM_OK);
    size_t need_bytes = session->run_peak_bytes;
    assert_true(need_bytes <= usage_of(roomy).peak_live_bytes);
    assert_true(one_bytes < need_bytes);
    brim_session_close(session);
    end_budget(roomy);

    for (size_t limit = need_bytes - 1; limit > need_bytes / 2; limit -= need_bytes / 23) {
        brim_budget *tight = make_budget(limit);
        session = open_model(m, tight, 1);
        for (int round = 0; round < 2; round++) {
            assert_int_equal(run_floats(session, pixels, N, side, side, &out, &err), BRIM_E_BUDGET);
            assert_tells_the_need(&err, limit, 2 * need_bytes);
            float *values = run(session, pixels, 1, side, side, &bytes);
            assert_memory_equal(values, expected, bytes);
            free(values);
        }
        assert_true(usage_of(tight).peak_reserved_bytes <= limit);
        assert_true(brim_budget_peak_bytes(tight) <= limit);
        assert_int_equal(brim_budget_usage(tight, BRIM_ACCOUNT_ACTIVATIONS).n_refusals, 2);
        n_tried++;
        brim_session_close(session);
        end_budget(tight);
    }
    assert_true(n_tried >= 10);
    free(expected);
    free(pixels);
}

/* ---- Two at once ---- */

typedef struct runner {
    pthread_t thread;
    pthread_barrier_t *start;
    const model *m;
    brim_budget *budget;
    size_t account_peak_bytes;
    float *values;
    size_t bytes;
} runner;

static void *open_run_close(void *arg)
{
    runner *self = arg;
    enum { N_ROUNDS = 3 };

    if (self->start) pthread_barrier_wait(self->start);
    for (int round = 0; round < N_ROUNDS; round++) {
        brim_session *session = open_model(self->m, self->budget, 1);
        for (int i = 0; i < N_ROUNDS; i++) {
            free(self->values);
            self->values = run_model(self->m, session, &self->bytes);
        }
        brim_session_close(session);
    }
    self->account_peak_bytes = brim_budget_usage(self->budget, BRIM_ACCOUNT_ACTIVATIONS).peak_bytes;
    return NULL;
}

static void two_budgets_at_once_each_get_their_own_bytes(void **state)
{
    pthread_barrier_t start;
    runner alone[2], both[2];

    (void)state;
    pthread_barrier_init(&start, NULL, 2);
    for (size_t i = 0; i < 2; i++) {
        alone[i] = (runner){.m = &MODELS[EFFICIENTNET + i], .budget = make_budget(256 * MIB)};
        both[i] = (runner){.m = alone[i].m, .budget = make_budget(256 * MIB), .start = &start};
        open_run_close(&alone[i]);
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&both[i].thread, NULL, open_run_close, &both[i]), 0);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(both[i].thread, NULL);
        assert_int_equal(both[i].account_peak_bytes, alone[i].account_peak_bytes);
        assert_memory_equal(both[i].values, alone[i].values, alone[i].bytes);
        assert_int_equal(usage_of(both[i].budget).n_blocks, usage_of(alone[i].budget).n_blocks);
        end_budget(both[i].budget);
        end_budget(alone[i].budget);
        free(both[i].values);
        free(alone[i].values);
    }
    pthread_barrier_destroy(&start);
}

/* What one session lends is given back while another is in the midst of its life. */
static void loans_go_back_to_the_budget_they_came_from(void **state)
{
    const model *m = &MODELS[DETECTOR];
    float *pixels = make_pixels(1, m->height, m->width);
    brim_budget *budgets[2] = {make_budget(256 * MIB), make_budget(256 * MIB)};
    brim_session *first = open_model(m, budgets[0], 1), *second = open_model(m, budgets[1], 1);
    brim_session *third = open_model(m, budgets[0], 1);
    size_t kept[2] = {usage_of(budgets[0]).live_bytes, usage_of(budgets[1]).live_bytes};
    brim_output out, later;

    (void)state;
    assert_int_equal(run_floats(first, pixels, 1, m->height, m->width, &out, NULL), BRIM_OK);
    size_t lent = usage_of(budgets[0]).live_bytes - kept[0];
    assert_true(lent >= bytes_of(&out));
    assert_true(brim_arena_owns(brim_budget_arena(budgets[0]), out.data));
    assert_int_equal(run_floats(second, pixels, 1, m->height, m->width, &later, NULL), BRIM_OK);
    assert_true(brim_arena_owns(brim_budget_arena(budgets[1]), later.data));
    assert_memory_equal(out.data, later.data, bytes_of(&out));
    brim_session_close(third); /* its budget stays known */
    brim_session_close(first);
    assert_int_equal(usage_of(budgets[0]).live_bytes, 0);
    assert_int_equal(usage_of(budgets[1]).live_bytes, kept[1] + lent);
    end_budget(budgets[0]);
    brim_session_close(second);
    end_budget(budgets[1]);
    free(pixels);
}

/* ---- Rounds ---- */

enum { N_SIZES = 40, SIZE_STEP = 32, MAX_SIDE = 320, MAX_N = 4 };

/* One round of the same random sizes. Returns a digest of what came out. */
static uint64_t run_round(brim_session *session, const float *pixels)
{
    uint64_t digest = 14695981039346656037u;
    unsigned seed = 11;

    for (int i = 0; i < N_SIZES; i++) {
        size_t n = (size_t)rand_r(&seed) % (is_long ? MAX_N : MAX_N / 2) + 1, bytes;
        uint32_t height = SIZE_STEP * (5 + (uint32_t)rand_r(&seed) % 6);
        uint32_t width = SIZE_STEP * (5 + (uint32_t)rand_r(&seed) % 6);
        float *values = run(session, pixels, n, height, width, &bytes);
        for (size_t v = 0; v < bytes / sizeof(float); v += 17) {
            uint32_t bits;
            memcpy(&bits, &values[v], sizeof(bits));
            digest = (digest ^ bits) * 1099511628211u;
        }
        free(values);
    }
    return digest;
}

static void rounds_over_the_same_sizes_take_no_more_memory(void **state)
{
    const int n_rounds = is_long ? 10 : HAS_SANITIZER ? 2 : 3;
    const size_t limit = 170 * MIB;
    brim_budget *budget = make_budget(limit);
    brim_session *session = open_model(&MODELS[DETECTOR], budget, 2);
    float *pixels = make_pixels(MAX_N, MAX_SIDE, MAX_SIDE);
    size_t first_resident = 0;
    uint64_t first_digest = 0;
    brim_arena_usage first = {0};

    (void)state;
    for (int round = 1; round <= n_rounds; round++) {
        brim_arena_usage before = usage_of(budget);
        uint64_t digest = run_round(session, pixels);
        brim_arena_usage now = usage_of(budget);
        size_t resident = own_resident_bytes();
        print_message("round %d: resident %.1f MiB, reserved %.1f MiB, moves %llu, fresh %llu\n",
                      round, (double)resident / (double)MIB,
                      (double)now.reserved_bytes / (double)MIB,
                      (unsigned long long)(now.n_moves - before.n_moves),
                      (unsigned long long)(now.n_fresh_pages - before.n_fresh_pages));
        assert_true(now.peak_reserved_bytes <= limit);
        assert_int_equal(now.n_refusals, 0);
        if (round == 1) {
            first_resident = resident;
            first_digest = digest;
            first = now;
            continue;
        }
        assert_int_equal(digest, first_digest);
        assert_int_equal(now.n_fresh_pages, first.n_fresh_pages);
        assert_int_equal(now.n_released_pages, 0);
        assert_int_equal(now.live_bytes, first.live_bytes);
        if (HAS_SANITIZER) continue;
        assert_true(resident <= first_resident + first_resident / 50);
        assert_true(resident + first_resident / 50 >= first_resident);
    }
    brim_session_close(session);
    free(pixels);
    end_budget(budget);
}

static void memory_comes_back_when_the_session_closes(void **state)
{
    const model *m = &MODELS[DETECTOR];
    brim_budget *budget = make_budget(512 * MIB);
    float *pixels = make_pixels(MAX_N, MAX_SIDE, MAX_SIDE);
    float *expected = NULL;

    (void)state;
    for (int round = 0; round < 3; round++) { /* the environment is made and ended in each */
        brim_session *session = open_model(m, budget, 2);
        size_t bytes;
        float *values = run(session, pixels, MAX_N, MAX_SIDE, MAX_SIDE, &bytes);
        if (expected) assert_memory_equal(values, expected, bytes);
        free(expected);
        expected = values;
        brim_session_close(session);

        brim_arena_usage usage = usage_of(budget);
        size_t before = own_resident_bytes();
        assert_int_equal(usage.live_bytes, 0);
        assert_int_equal(usage.idle_bytes, usage.reserved_bytes);
        assert_true(usage.reserved_bytes > 16 * MIB);
        assert_int_equal(brim_budget_trim(budget), usage.reserved_bytes);
        assert_int_equal(usage_of(budget).reserved_bytes, 0);
        if (!HAS_SANITIZER)
            assert_true(before - own_resident_bytes() >= usage.reserved_bytes / 10 * 9);
    }
    free(expected);
    free(pixels);
    end_budget(budget);
}

static void the_environment_can_be_made_again(void **state)
{
    const model *m = &MODELS[0];
    brim_budget *budget = make_budget(64 * MIB);
    float *expected = NULL;

    (void)state;
    for (int round = 0; round < 5; round++) {
        const OrtApi *api;
        OrtEnv *env;
        size_t bytes;
        assert_int_equal(brim_onnx_runtime_acquire(&api, &env, NULL), BRIM_OK);
        if (round % 2) brim_onnx_runtime_release(); /* without a session in its life */
        brim_session *session = open_model(m, budget, 1);
        if (!expected) expected = run_model(m, session, &bytes);
        assert_runs_equal(m, session, expected);
        brim_session_close(session);
        if (round % 2 == 0) brim_onnx_runtime_release();
        assert_int_equal(usage_of(budget).live_bytes, 0);
    }
    free(expected);
    end_budget(budget);
}

/* "long": every k of every model, and ten rounds. */
int main(int argc, char **argv)
{
    is_long = argc > 1 && strcmp(argv[1], "long") == 0;
    const struct CMUnitTest tests[] = {
        /* First: what it measures is the whole process. */
        cmocka_unit_test(rounds_over_the_same_sizes_take_no_more_memory),
        cmocka_unit_test(a_load_that_is_refused_anywhere_leaves_nothing_behind),
        cmocka_unit_test(a_run_that_is_refused_anywhere_leaves_nothing_behind),
        cmocka_unit_test(with_a_budget_nothing_is_asked_for_off_the_calling_thread),
        cmocka_unit_test(without_a_budget_the_heap_serves),
        cmocka_unit_test(more_budgets_than_there_is_room_for_are_refused),
        cmocka_unit_test(a_load_takes_nothing_from_the_arena),
        cmocka_unit_test(below_its_need_a_run_is_refused_and_a_smaller_batch_fits),
        cmocka_unit_test(two_budgets_at_once_each_get_their_own_bytes),
        cmocka_unit_test(loans_go_back_to_the_budget_they_came_from),
        cmocka_unit_test(memory_comes_back_when_the_session_closes),
        cmocka_unit_test(the_environment_can_be_made_again),
    };

    return cmocka_run_group_tests_name(is_long ? "session/onnx_memory_long" : "session/onnx_memory",
                                       tests, NULL, NULL);
}
