/* Tests of src/session/sim.c. */
#include "session/sim.h"

#include "base/clock.h"
#include "session/scratch.h"
#include "support/failing_alloc.h"

/* 1000 MiB, 100 of them weights; a picture of 224 x 224 takes 1 MiB and 1 ms, a run 10 ms. */
#define CAPACITY "\"capacity_bytes\": 1048576000, \"weights_bytes\": 104857600"
#define COSTS                                                                                      \
    "\"bytes\": {\"per_item\": 1048576}, \"seconds\": {\"fixed\": 0.01, \"per_item\": 0.001}"
#define PLAIN "{" CAPACITY ", " COSTS "}"
#define MIB   ((size_t)1 << 20)

typedef struct said {
    int n;
    char line[600];
} said;

static void keep_words(void *ctx, brim_log_level level, const char *line)
{
    said *self = ctx;

    assert_int_equal(level, BRIM_LOG_NOTE);
    self->n++;
    snprintf(self->line, sizeof(self->line), "%s", line);
}

static brim_session *open_device(scratch *dir, const char *text, size_t ceiling_bytes, said *words)
{
    brim_log log = {keep_words, words};
    brim_session *session = NULL;
    brim_error err = {0};

    scratch_write(dir, "d.json", text, strlen(text));
    brim_sim_options options = {scratch_path(dir, "d.json"), ceiling_bytes, words ? &log : NULL};
    if (brim_session_open_sim(brim_heap(), &options, &session, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    return session;
}

static void refuses(scratch *dir, const char *text, size_t ceiling_bytes, brim_status wanted,
                    const char *words)
{
    brim_session *session = (brim_session *)dir;
    brim_error err = {0};
    failing_alloc mem;

    failing_alloc_init(&mem, 10);
    scratch_write(dir, "d.json", text, strlen(text));
    brim_sim_options options = {scratch_path(dir, "d.json"), ceiling_bytes, NULL};
    assert_int_equal(brim_session_open_sim(&mem.base, &options, &session, &err), wanted);
    if (!strstr(err.message, words)) fail_msg("%s", err.message);
    assert_null(session);
    assert_int_equal(mem.live_bytes, 0);
}

static brim_status run(brim_session *session, size_t n, brim_error *err)
{
    brim_output out;

    brim_status status = brim_session_run(session, NULL, n, 224, 224, &out, err);
    if (status == BRIM_OK) assert_int_equal(out.dims[0], n);
    brim_session_give_back(session);
    return status;
}

static void looks_like_a_model_of_any_shape(void **state)
{
    brim_session *session = open_device(*state, PLAIN, 0, NULL);

    assert_string_equal(session->image.name, "pixels");
    assert_int_equal(session->image.dtype, BRIM_F32);
    assert_int_equal(session->image.n_dims, 4);
    assert_int_equal(session->image.dims[1], 3);
    assert_true(session->image.dims[0] == -1 && session->image.dims[2] == -1);
    assert_int_equal(brim_session_fixed_batch(session), 0);
    assert_int_equal(session->n_layers, 1);
    assert_int_equal(session->layers[0].dims[1], 8);
    assert_int_equal(session->stub_bytes, 8 * 8 * 3 * 4);
    assert_int_equal(session->stub_height, 224);
    brim_session_close(session);
}

static void a_run_takes_what_the_device_says(void **state)
{
    brim_session *session = open_device(*state, PLAIN, 0, NULL);

    assert_int_equal(run(session, 100, NULL), BRIM_OK);
    assert_true(session->run_seconds > 0.10999 && session->run_seconds < 0.11001);
    assert_int_equal(session->run_peak_bytes, 100 * MIB);
    const brim_sim_device *device = brim_session_sim_device(session);
    assert_int_equal(device->n_batches, 1);
    assert_true(device->seconds_run == session->run_seconds);
    brim_session_close(session);
}

static void the_counted_shape_is_what_counts(void **state)
{
    brim_session *session = open_device(
        *state, "{" CAPACITY ", \"bytes\": {\"per_pixel\": 1}, \"seconds\": {\"fixed\": 1}}", 0,
        NULL);
    brim_output out;

    assert_int_equal(brim_session_run(session, NULL, 3, 10, 20, &out, NULL), BRIM_OK);
    assert_int_equal(session->run_peak_bytes, 600);
    brim_session_close(session);
}

static void what_does_not_fit_is_refused_in_one_line_and_fewer_run(void **state)
{
    brim_session *session = open_device(*state, PLAIN, 0, NULL);
    brim_error err = {0};

    assert_int_equal(brim_session_free_bytes(session), 900 * MIB);
    assert_int_equal(run(session, 901, &err), BRIM_E_BUDGET);
    assert_string_equal(err.message, "the simulated device has 900 MiB free, a batch of 901 needs"
                                     " 901 MiB (--memory)");
    assert_true(session->run_seconds == 0.01);
    assert_int_equal(session->run_peak_bytes, 0);
    assert_int_equal(run(session, 900, &err), BRIM_OK);
    assert_int_equal(brim_session_sim_device(session)->n_refusals, 1);
    brim_session_close(session);
}

static void a_batch_without_pixels_is_an_error(void **state)
{
    brim_session *session = open_device(*state, PLAIN, 0, NULL);
    brim_output out;

    assert_int_equal(run(session, 0, NULL), BRIM_E_ARG);
    assert_int_equal(brim_session_run(session, NULL, 1, 0, 5, &out, NULL), BRIM_E_ARG);
    assert_int_equal(brim_session_sim_device(session)->n_batches, 0);
    brim_session_close(session);
}

static void a_ceiling_counts_the_weights_too(void **state)
{
    said words = {0};
    brim_session *session = open_device(*state, PLAIN, 500 * MIB, &words);

    assert_int_equal(words.n, 0);
    assert_int_equal(brim_session_free_bytes(session), 400 * MIB);
    assert_int_equal(run(session, 400, NULL), BRIM_OK);
    assert_int_equal(run(session, 401, NULL), BRIM_E_BUDGET);
    brim_session_close(session);
}

static void a_ceiling_above_what_is_free_is_lowered_with_a_word(void **state)
{
    said words = {0};
    brim_session *session = open_device(*state, PLAIN, 2000 * MIB, &words);

    assert_int_equal(words.n, 1);
    assert_non_null(strstr(words.line, "--memory is lowered to 1000 MiB"));
    assert_int_equal(brim_session_free_bytes(session), 900 * MIB);
    brim_session_close(session);
}

/* Others hold 300 MiB until the second batch is done. */
static void what_others_hold_is_not_free(void **state)
{
    said words = {0};
    brim_session *session = open_device(
        *state,
        "{" CAPACITY ", " COSTS ", \"cotenant\": [{\"after_batches\": 0, \"bytes\": 314572800},"
        " {\"after_batches\": 2, \"bytes\": 0}]}",
        2000 * MIB, &words);

    assert_non_null(strstr(words.line, "--memory is lowered to 700 MiB"));
    assert_int_equal(brim_session_free_bytes(session), 300 * MIB);
    brim_session_close(session);
}

static void weights_that_do_not_fit_are_told_at_once(void **state)
{
    refuses(*state, PLAIN, 100 * MIB, BRIM_E_BUDGET,
            "d.json: the weights take 100 MiB, limit 100 MiB (--memory)");
    refuses(*state, "{\"capacity_bytes\": 1000, \"weights_bytes\": 5000000}", 0, BRIM_E_BUDGET,
            "the weights take 5 MiB, limit 0 MiB");
}

static void what_is_wrong_with_the_file_is_told(void **state)
{
    refuses(*state, "{", 0, BRIM_E_FORMAT, "d.json: line 1");
    refuses(*state, "{}", 0, BRIM_E_FORMAT, "capacity_bytes: missing");
    refuses(*state, "{\"capacity\": 5}", 0, BRIM_E_FORMAT, "capacity: no such setting");
}

static void a_real_clock_is_slept_and_a_virtual_one_is_not(void **state)
{
    brim_session *session = open_device(*state, PLAIN, 0, NULL);
    uint64_t started_ns = brim_now_ns();

    for (int i = 0; i < 1000; i++)
        assert_int_equal(run(session, 500, NULL), BRIM_OK); /* 510 s */
    assert_true(brim_now_ns() - started_ns < 60000000000u);
    brim_session_close(session);

    session = open_device(*state, "{\"clock\": \"real\", " CAPACITY ", " COSTS "}", 0, NULL);
    started_ns = brim_now_ns();
    assert_int_equal(run(session, 50, NULL), BRIM_OK);
    assert_true(brim_now_ns() - started_ns >= 60000000u);
    brim_session_close(session);
}

static void numbers_beyond_all_measure_stay_numbers(void **state)
{
    brim_error err = {0};
    brim_session *session =
        open_device(*state,
                    "{\"capacity_bytes\": 1e18, \"spill\": {\"bytes\": 1e18},"
                    " \"bytes\": {\"per_pixel\": 1e18}, \"seconds\": {\"fixed\": 1e18}}",
                    0, NULL);

    assert_int_equal(brim_session_free_bytes(session), (size_t)2000000000000000000);
    assert_int_equal(run(session, SIZE_MAX, &err), BRIM_E_BUDGET);
    assert_non_null(strstr(err.message, "needs 17592186044416 MiB"));
    assert_true(session->run_seconds == 1e18);
    brim_session_close(session);
}

static void another_session_has_no_device(void **state)
{
    static const struct brim_session_ops OTHER = {0};
    brim_session session = {.ops = &OTHER};

    (void)state;
    assert_null(brim_session_sim_device(&session));
}

static void survives_every_failed_allocation(void **state)
{
    brim_status status = BRIM_E_NOMEM;

    scratch_write(*state, "d.json", PLAIN, strlen(PLAIN));
    brim_sim_options options = {scratch_path(*state, "d.json"), 0, NULL};
    for (long allowed = 0; status != BRIM_OK; allowed++) {
        failing_alloc mem;
        brim_session *session = NULL;

        failing_alloc_init(&mem, allowed);
        status = brim_session_open_sim(&mem.base, &options, &session, NULL);
        assert_true(status == BRIM_OK || status == BRIM_E_NOMEM);
        brim_session_close(session);
        assert_int_equal(mem.live_bytes, 0);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(looks_like_a_model_of_any_shape),
        TEST(a_run_takes_what_the_device_says),
        TEST(the_counted_shape_is_what_counts),
        TEST(what_does_not_fit_is_refused_in_one_line_and_fewer_run),
        TEST(a_batch_without_pixels_is_an_error),
        TEST(a_ceiling_counts_the_weights_too),
        TEST(a_ceiling_above_what_is_free_is_lowered_with_a_word),
        TEST(what_others_hold_is_not_free),
        TEST(weights_that_do_not_fit_are_told_at_once),
        TEST(what_is_wrong_with_the_file_is_told),
        TEST(a_real_clock_is_slept_and_a_virtual_one_is_not),
        TEST(numbers_beyond_all_measure_stay_numbers),
        TEST(another_session_has_no_device),
        TEST(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("session/sim", tests, NULL, NULL);
}
