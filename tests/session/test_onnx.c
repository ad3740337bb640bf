/* Tests of src/session/onnx.c and of what it stands on. The models:
 * tests/data/models/make_models.py. */
#include "session/onnx.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "session/run_floats.h"
#include "session/scratch.h"
#include "support/failing_alloc.h"

#define MODELS TEST_DATA "/models/"

/* The address space cannot be limited under the sanitizers, which live in terabytes of it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

enum { SIDE = 32, PICTURE = 3 * SIDE * SIDE, MAX_N = 32 };

/* ---- Helpers ---- */

/* The input that make_models.py computed the expected outputs for. */
static float *make_pixels(size_t n_floats)
{
    float *pixels = malloc(n_floats * sizeof(float));
    for (size_t i = 0; i < n_floats; i++)
        pixels[i] = (float)((uint32_t)(i * 2654435761u) >> 8) * 0x1p-23f - 1;
    return pixels;
}

static brim_session *open_with(const brim_onnx_options *options)
{
    brim_session *session = NULL;
    brim_error err = {0};

    if (brim_session_open_onnx(brim_heap(), options, &session, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    return session;
}

static brim_session *open_model(const char *path)
{
    brim_onnx_options options = {.path = path, .n_threads = 2};
    return open_with(&options);
}

static void assert_not_opened(const char *path, const char *layer, brim_status status,
                              const char *words)
{
    brim_onnx_options options = {.path = path, .n_threads = 1, .layer = layer};
    brim_session *session = NULL;
    brim_error err = {0};
    failing_alloc mem;

    failing_alloc_init(&mem, 1000);
    brim_status got = brim_session_open_onnx(&mem.base, &options, &session, &err);
    if (got != status || !strstr(err.message, words))
        fail_msg("%d: %s\nnot %d: %s", got, err.message, status, words);
    assert_non_null(strstr(err.message, strrchr(path, '/') + 1));
    assert_null(strchr(err.message, '\n'));
    assert_null(session);
    assert_int_equal(mem.live_bytes, 0);
}

static brim_output run(brim_session *session, const float *pixels, size_t n)
{
    brim_output out;
    brim_error err = {0};

    if (run_floats(session, pixels, n, SIDE, SIDE, &out, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    return out;
}

static void assert_close(const float *got, const float *expected, size_t n, float limit)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - expected[i]) <= limit))
            fail_msg("value %zu is %g, not %g", i, (double)got[i], (double)expected[i]);
}

static void assert_equals_file(const brim_output *out, const char *path, float limit)
{
    size_t bytes, n = 1;
    float *expected = scratch_read(path, &bytes);

    for (size_t d = 0; d < out->n_dims; d++)
        n *= out->dims[d];
    assert_int_equal(bytes, n * sizeof(float));
    assert_close(out->data, expected, n, limit);
    free(expected);
}

/* ---- What is computed ---- */

static void gives_what_the_python_package_gives(void **state)
{
    static const struct {
        const char *onnx, *layer, *expected;
        size_t n, height, width, n_dims;
        float limit;
    } CASES[] = {
        {"pooler/onnx/model.onnx", NULL, "pooler/pooler_output.f32", 3, SIDE, SIDE, 2, 1e-5f},
        {"pooler/onnx/model.onnx", "last_hidden_state", "pooler/last_hidden_state.f32", 3, SIDE,
         SIDE, 3, 1e-5f},
        {"hidden/model.onnx", NULL, "hidden/last_hidden_state.f32", 3, SIDE, SIDE, 3, 1e-5f},
        {"embeds/onnx/vision_model.onnx", NULL, "embeds/image_embeds.f32", 3, SIDE, SIDE, 2, 1e-5f},
        {"embeds/onnx/vision_model.onnx", "pooler_output", "embeds/pooler_output.f32", 3, SIDE,
         SIDE, 2, 1e-5f},
        {"fixed4/model.onnx", NULL, "fixed4/pooler_output.f32", 4, SIDE, SIDE, 2, 1e-5f},
        {"dynamic_hw/model.onnx", NULL, "dynamic_hw/embedding.f32", 2, 24, 40, 2, 1e-5f},
        {"logits_only/model.onnx", "logits", "logits_only/logits.f32", 3, SIDE, SIDE, 2, 1e-5f},
        {"external/onnx/model.onnx", NULL, "external/pooler_output.f32", 3, SIDE, SIDE, 2, 1e-5f},
        /* Half has 11 bits: another processor may round a value to its neighbour. */
        {"half/onnx/model_fp16.onnx", NULL, "half/pooler_output.f32", 3, SIDE, SIDE, 2, 2e-3f},
    };
    float *pixels = make_pixels(4 * PICTURE);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char path[PATH_MAX];
        brim_output out;
        brim_error err = {0};

        snprintf(path, sizeof(path), MODELS "%s", CASES[i].onnx);
        brim_onnx_options options = {.path = path, .n_threads = 1, .layer = CASES[i].layer};
        brim_session *session = open_with(&options);
        if (run_floats(session, pixels, CASES[i].n, (uint32_t)CASES[i].height,
                       (uint32_t)CASES[i].width, &out, &err) != BRIM_OK)
            fail_msg("%s", err.message);
        assert_int_equal(out.n_dims, CASES[i].n_dims);
        assert_int_equal(out.dims[0], CASES[i].n);
        snprintf(path, sizeof(path), MODELS "%s", CASES[i].expected);
        assert_equals_file(&out, path, CASES[i].limit);
        brim_session_give_back(session);
        brim_session_give_back(session); /* free of effect */
        brim_session_close(session);
    }
    free(pixels);
}

static void gives_a_picture_the_same_vector_alone_and_among_31_others(void **state)
{
    float *pixels = make_pixels(MAX_N * PICTURE);
    float alone[16];

    (void)state;
    for (uint32_t n_threads = 1; n_threads <= 4; n_threads *= 2) {
        brim_onnx_options options = {.path = MODELS "pooler/onnx/model.onnx",
                                     .n_threads = n_threads};
        brim_session *session = open_with(&options);
        for (size_t i = 0; i < MAX_N; i += 5) {
            memcpy(alone, run(session, pixels + i * PICTURE, 1).data, sizeof(alone));
            brim_output all = run(session, pixels, MAX_N); /* also ends the loan before */
            assert_close(all.data + i * 16, alone, 16, 1e-5f);
        }
        brim_session_close(session);
    }
    free(pixels);
}

static void lets_the_layer_be_changed_before_a_run(void **state)
{
    float *pixels = make_pixels(3 * PICTURE);
    brim_session *session = open_model(MODELS "embeds/onnx/vision_model.onnx");
    brim_output out;
    brim_error err = {0};

    (void)state;
    assert_int_equal(session->n_layers, 4);
    assert_string_equal(session->layers[session->layer].name, "image_embeds");
    session->layer = 2;
    out = run(session, pixels, 3);
    assert_equals_file(&out, MODELS "embeds/pooler_output.f32", 1e-5f);
    session->layer = 1;
    assert_int_equal(run_floats(session, pixels, 3, SIDE, SIDE, &out, &err), BRIM_E_ARG);
    assert_non_null(strstr(err.message, "layer top does not hold floats"));
    brim_session_close(session);
    free(pixels);
}

static void describes_the_ports(void **state)
{
    brim_session *session = open_model(MODELS "fixed4/model.onnx");

    (void)state;
    assert_string_equal(session->image.name, "pixel_values");
    assert_int_equal(session->image.dtype, BRIM_F32);
    assert_int_equal(session->image.dims[2], SIDE);
    assert_int_equal(brim_session_fixed_batch(session), 4);
    brim_session_close(session);

    session = open_model(MODELS "dynamic_hw/model.onnx");
    assert_int_equal(brim_session_fixed_batch(session), 0);
    assert_int_equal(session->image.dims[1], -1);
    assert_int_equal(session->image.dims[3], -1);
    assert_int_equal(session->layers[0].n_dims, 2);
    assert_int_equal(session->layers[0].dims[1], 16);
    brim_session_close(session);

    session = open_model(MODELS "half/onnx/model_fp16.onnx");
    assert_int_equal(session->image.dtype, BRIM_F16);
    brim_session_close(session);
    brim_session_close(NULL);
}

/* ---- What is refused ---- */

static void refuses_shapes_that_the_model_does_not_take(void **state)
{
    float *pixels = make_pixels(4 * PICTURE);
    brim_session *session = open_model(MODELS "fixed4/model.onnx");
    brim_output out;
    brim_error err = {0};

    (void)state;
    assert_int_equal(run_floats(session, pixels, 3, SIDE, SIDE, &out, &err), BRIM_E_ARG);
    assert_non_null(strstr(err.message, "wants a batch of 4, not of 3"));
    assert_int_equal(run_floats(session, pixels, 4, 16, SIDE, &out, &err), BRIM_E_ARG);
    assert_non_null(strstr(err.message, "wants pictures 32 pixels high, not 16"));
    assert_int_equal(run_floats(session, pixels, 4, SIDE, 64, &out, &err), BRIM_E_ARG);
    assert_non_null(strstr(err.message, "wants pictures 32 pixels wide, not 64"));
    assert_int_equal(run_floats(session, pixels, 0, SIDE, SIDE, &out, &err), BRIM_E_ARG);
    assert_null(out.data);
    out = run(session, pixels, 4);
    assert_equals_file(&out, MODELS "fixed4/pooler_output.f32", 1e-5f);
    brim_session_close(session);
    free(pixels);
}

/* The model's own ports promise any size, but its first layer needs 4 pixels. */
static void goes_on_after_a_run_that_failed(void **state)
{
    float *pixels = make_pixels(2 * 3 * 24 * 40);
    brim_session *session = open_model(MODELS "dynamic_hw/model.onnx");
    brim_output out;
    brim_error err = {0};

    (void)state;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(run_floats(session, pixels, 2, 2, 3, &out, &err), BRIM_E_RUNTIME);
        assert_non_null(strstr(err.message, "model.onnx: "));
        assert_null(strchr(err.message, '\n'));
        assert_null(out.data);
        assert_int_equal(run_floats(session, pixels, 2, 24, 40, &out, NULL), BRIM_OK);
        assert_equals_file(&out, MODELS "dynamic_hw/embedding.f32", 1e-5f);
        assert_int_equal(run_floats(session, pixels, SIZE_MAX / 8, UINT32_MAX, 1, &out, &err),
                         BRIM_E_ARG);
    }
    brim_session_close(session);
    free(pixels);
}

static void refuses_models_that_want_more_than_a_picture_or_none(void **state)
{
    (void)state;
    assert_not_opened(
        MODELS "two_inputs/onnx/model.onnx", NULL, BRIM_E_ARG,
        "model.onnx wants input_ids as well: cut out its vision part, vision_model.onnx");
    assert_not_opened(MODELS "text_only/model.onnx", NULL, BRIM_E_ARG,
                      "no image input (float [batch, 3, height, width]); its inputs: "
                      "input_ids int64 [?, ?]");
}

static void lists_the_layers_where_none_fits(void **state)
{
    (void)state;
    assert_not_opened(MODELS "logits_only/model.onnx", NULL, BRIM_E_ARG,
                      "choose one with --layer: logits float32 [?, 10]");
    assert_not_opened(
        MODELS "pooler/onnx/model.onnx", "poler", BRIM_E_ARG,
        "no layer poler; it has: last_hidden_state float32 [?, 16, 16], pooler_output");
    assert_not_opened(MODELS "embeds/onnx/vision_model.onnx", "top", BRIM_E_ARG,
                      "layer top holds int64, not floats");
}

static void names_a_file_that_is_no_model(void **state)
{
    scratch *dir = *state;
    size_t n;
    char *model = scratch_read(MODELS "pooler/onnx/model.onnx", &n);

    assert_not_opened(MODELS "nowhere.onnx", NULL, BRIM_E_IO, "No such file or directory");
    assert_not_opened(MODELS "pooler", NULL, BRIM_E_ARG, "not a file");
    scratch_write(dir, "empty.onnx", "", 0);
    assert_not_opened(scratch_path(dir, "empty.onnx"), NULL, BRIM_E_FORMAT, "the file is empty");
    scratch_write(dir, "words.onnx", "<html>404</html>", 16);
    assert_not_opened(scratch_path(dir, "words.onnx"), NULL, BRIM_E_FORMAT, "not an ONNX model");
    for (size_t part = 1; part < 16; part++) {
        scratch_write(dir, "cut.onnx", model, n * part / 16);
        assert_not_opened(scratch_path(dir, "cut.onnx"), NULL, BRIM_E_FORMAT, "or cut short");
    }
    assert_int_equal(mkfifo(scratch_path(dir, "pipe.onnx"), 0600), 0);
    assert_not_opened(dir->path, NULL, BRIM_E_ARG, "not a file");
    free(model);
}

static void says_that_a_pointer_of_git_lfs_is_one(void **state)
{
    static const char POINTER[] =
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    scratch *dir = *state;
    size_t n;

    scratch_write(dir, "model.onnx", POINTER, sizeof(POINTER) - 1);
    assert_not_opened(scratch_path(dir, "model.onnx"), NULL, BRIM_E_FORMAT,
                      "model.onnx: only a git-LFS pointer; fetch the file itself: git lfs pull");

    char *model = scratch_read(MODELS "external/onnx/model.onnx", &n);
    scratch_write(dir, "model.onnx", model, n);
    scratch_write(dir, "model.onnx_data", POINTER, sizeof(POINTER) - 1);
    assert_not_opened(scratch_path(dir, "model.onnx"), NULL, BRIM_E_FORMAT,
                      "model.onnx_data: only a git-LFS pointer");
    free(model);
}

static void names_a_data_file_that_is_missing_or_too_short(void **state)
{
    scratch *dir = *state;
    size_t n;
    char *model = scratch_read(MODELS "external/onnx/model.onnx", &n);

    scratch_write(dir, "model.onnx", model, n);
    assert_not_opened(scratch_path(dir, "model.onnx"), NULL, BRIM_E_IO,
                      "model.onnx: its data file is missing or cut short");
    scratch_write(dir, "model.onnx_data", model, 100);
    assert_not_opened(scratch_path(dir, "model.onnx"), NULL, BRIM_E_IO,
                      "model.onnx: its data file is missing or cut short");
    free(model);
}

static void names_an_operator_or_opset_beyond_the_runtime(void **state)
{
    (void)state;
    assert_not_opened(MODELS "broken/unknown_op.onnx", NULL, BRIM_E_UNSUPPORTED, "Frobnicate");
    assert_not_opened(MODELS "broken/unknown_opset.onnx", NULL, BRIM_E_UNSUPPORTED, "999");
}

static void refuses_no_threads(void **state)
{
    brim_onnx_options options = {.path = MODELS "pooler/onnx/model.onnx"};
    brim_session *session = NULL;

    (void)state;
    assert_int_equal(brim_session_open_onnx(brim_heap(), &options, &session, NULL), BRIM_E_ARG);
}

/* ---- Memory ---- */

/* Opening and running with float16 on both sides, which needs the most memory of ours. */
static void survives_every_failed_allocation_with(brim_status refusal)
{
    brim_onnx_options options = {.path = MODELS "half/onnx/model_fp16.onnx", .n_threads = 1};
    float *pixels = make_pixels(3 * PICTURE);
    brim_status status = refusal;
    long allowed = 0;

    for (; status != BRIM_OK; allowed++) {
        failing_alloc mem;
        brim_session *session = NULL;
        brim_output out;
        brim_error err = {0};

        failing_alloc_init(&mem, allowed);
        mem.refusal = refusal;
        status = brim_session_open_onnx(&mem.base, &options, &session, &err);
        if (status == BRIM_OK) status = run_floats(session, pixels, 3, SIDE, SIDE, &out, &err);
        assert_true(status == BRIM_OK || status == refusal);
        if (status != BRIM_OK) assert_non_null(strstr(err.message, "no memory for"));
        brim_session_close(session);
        assert_int_equal(mem.live_bytes, 0);
        assert_true(allowed < 100);
    }
    assert_true(allowed > 7);
    free(pixels);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    survives_every_failed_allocation_with(BRIM_E_NOMEM);
    survives_every_failed_allocation_with(BRIM_E_BUDGET);
}

static void gives_back_what_a_run_took(void **state)
{
    brim_onnx_options options = {.path = MODELS "half/onnx/model_fp16.onnx", .n_threads = 1};
    float *pixels = make_pixels(MAX_N * PICTURE);
    brim_session *session = NULL;
    failing_alloc mem;

    (void)state;
    failing_alloc_init(&mem, 1000);
    assert_int_equal(brim_session_open_onnx(&mem.base, &options, &session, NULL), BRIM_OK);
    size_t idle_bytes = mem.live_bytes;
    for (size_t n = 1; n <= MAX_N; n += 7) {
        run(session, pixels, n);
        assert_int_equal(mem.live_bytes, idle_bytes + n * 16 * sizeof(float)); /* the loan */
        brim_session_give_back(session);
        assert_int_equal(mem.live_bytes, idle_bytes);
    }
    brim_session_close(session);
    free(pixels);
}

/* In a process of its own, whose address space ends a little above what it holds. */
static int run_without_room(void)
{
    enum { HUGE_SIDE = 4096 };
    struct rlimit limit;
    brim_output out;
    brim_error err = {0};
    unsigned long pages = 0;

    brim_onnx_options options = {.path = MODELS "dynamic_hw/model.onnx", .n_threads = 1};
    brim_session *session = open_with(&options);
    float *pixels = make_pixels((size_t)3 * HUGE_SIDE * HUGE_SIDE);
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1) return 2;
    fclose(file);
    limit.rlim_cur = limit.rlim_max = pages * (rlim_t)getpagesize() + (32 << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 3;

    /* A small run first: the runtime's own arena takes all the room there is when it next grows. */
    for (int round = 0; round < 3; round++) {
        if (run_floats(session, pixels, 2, 24, 40, &out, &err) != BRIM_OK) return 4;
        assert_equals_file(&out, MODELS "dynamic_hw/embedding.f32", 1e-5f);
        brim_session_give_back(session);
        if (run_floats(session, pixels, 1, HUGE_SIDE, HUGE_SIDE, &out, &err) != BRIM_E_BUDGET)
            return 5;
    }
    brim_session_close(session);
    free(pixels);
    return 0;
}

static void calls_a_lack_of_memory_the_budget_and_goes_on(void **state)
{
    int how = 0;

    (void)state;
    if (HAS_SANITIZER) skip();
    pid_t child = fork();
    if (child == 0) _exit(run_without_room());
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

/* ---- The process around it ---- */

static int open_and_run_quietly(const char *words_path)
{
    float *pixels = make_pixels(3 * PICTURE);
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof(one), &one);
    int fd = open(words_path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0) return 2;
    for (int round = 0; round < 2; round++) {
        brim_onnx_options options = {.path = MODELS "pooler/onnx/model.onnx", .n_threads = 4};
        brim_session *session = open_with(&options);
        brim_session *second = NULL;
        options.path = MODELS "broken/unknown_op.onnx";
        if (brim_session_open_onnx(brim_heap(), &options, &second, NULL) == BRIM_OK) return 3;
        run(session, pixels, 3);
        brim_session_close(session);
    }
    free(pixels);
    return 0;
}

/* Case B34: pinned to one CPU, with more threads than that; and with a model that is refused. */
static void prints_nothing_even_on_one_cpu_of_many(void **state)
{
    scratch *dir = *state;
    size_t n = 0;
    int how = 0;

    scratch_path(dir, "words");
    pid_t child = fork();
    if (child == 0) _exit(open_and_run_quietly(dir->path));
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    char *words = scratch_read(dir->path, &n);
    words[n] = '\0';
    assert_string_equal(words, "");
    free(words);
}

static void count_details(void *ctx, brim_log_level level, const char *line)
{
    assert_int_equal(level, BRIM_LOG_DETAIL);
    assert_non_null(strstr(line, "ONNX Runtime: "));
    assert_null(strchr(line, '\n'));
    ++*(size_t *)ctx;
}

static void hands_the_runtime_s_warnings_to_the_log(void **state)
{
    size_t n_lines = 0;
    brim_log log = {count_details, &n_lines};
    brim_onnx_options options = {
        .path = MODELS "dynamic_hw/model.onnx", .n_threads = 1, .log = &log};
    brim_session *session = open_with(&options);
    float *pixels = make_pixels(24);
    brim_output out;

    (void)state;
    assert_int_equal(run_floats(session, pixels, 1, 2, 3, &out, NULL), BRIM_E_RUNTIME);
    assert_true(n_lines > 0);
    brim_session_close(session);
    free(pixels);
}

typedef struct worker {
    pthread_t thread;
    const float *pixels;
    float vectors[3 * 16];
    bool failed;
} worker;

static void *open_run_close(void *arg)
{
    worker *self = arg;

    for (int round = 0; round < 5; round++) {
        brim_onnx_options options = {.path = MODELS "pooler/onnx/model.onnx", .n_threads = 2};
        brim_session *session = NULL;
        brim_output out;
        if (brim_session_open_onnx(brim_heap(), &options, &session, NULL) != BRIM_OK ||
            run_floats(session, self->pixels, 3, SIDE, SIDE, &out, NULL) != BRIM_OK)
            self->failed = true;
        else
            memcpy(self->vectors, out.data, sizeof(self->vectors));
        brim_session_close(session);
    }
    return NULL;
}

static void lives_beside_other_sessions_in_other_threads(void **state)
{
    enum { N_WORKERS = 4 };
    worker workers[N_WORKERS] = {{0}};
    float *pixels = make_pixels(3 * PICTURE);

    (void)state;
    for (size_t i = 0; i < N_WORKERS; i++) {
        workers[i].pixels = pixels;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, open_run_close, &workers[i]), 0);
    }
    for (size_t i = 0; i < N_WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_false(workers[i].failed);
        assert_close(workers[i].vectors, workers[0].vectors, 3 * 16, 1e-5f);
    }
    free(pixels);
}

static void outlives_a_session_closed_before_it(void **state)
{
    float *pixels = make_pixels(3 * PICTURE);
    brim_session *first = open_model(MODELS "hidden/model.onnx");
    brim_session *second = open_model(MODELS "pooler/onnx/model.onnx");

    (void)state;
    brim_session_close(first);
    brim_output out = run(second, pixels, 3);
    assert_equals_file(&out, MODELS "pooler/pooler_output.f32", 1e-5f);
    brim_session_close(second);
    free(pixels);
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: they fork, and no thread of the runtime is about yet. */
        cmocka_unit_test(calls_a_lack_of_memory_the_budget_and_goes_on),
        in_a_folder(prints_nothing_even_on_one_cpu_of_many),
        cmocka_unit_test(gives_what_the_python_package_gives),
        cmocka_unit_test(gives_a_picture_the_same_vector_alone_and_among_31_others),
        cmocka_unit_test(lets_the_layer_be_changed_before_a_run),
        cmocka_unit_test(describes_the_ports),
        cmocka_unit_test(refuses_shapes_that_the_model_does_not_take),
        cmocka_unit_test(goes_on_after_a_run_that_failed),
        cmocka_unit_test(refuses_models_that_want_more_than_a_picture_or_none),
        cmocka_unit_test(lists_the_layers_where_none_fits),
        in_a_folder(names_a_file_that_is_no_model),
        in_a_folder(says_that_a_pointer_of_git_lfs_is_one),
        in_a_folder(names_a_data_file_that_is_missing_or_too_short),
        cmocka_unit_test(names_an_operator_or_opset_beyond_the_runtime),
        cmocka_unit_test(refuses_no_threads),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(gives_back_what_a_run_took),
        cmocka_unit_test(hands_the_runtime_s_warnings_to_the_log),
        cmocka_unit_test(lives_beside_other_sessions_in_other_threads),
        cmocka_unit_test(outlives_a_session_closed_before_it),
    };
    return cmocka_run_group_tests_name("session/onnx", tests, NULL, NULL);
}
