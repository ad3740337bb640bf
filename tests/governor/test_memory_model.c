/*
 * Tests of src/governor/memory_model.c, most of them on what three real models held: each log is
 * replayed in many orders, and what is forecast is compared with what was held then.
 */
#include "governor/memory_model.h"

#include <math.h>
#include <stdio.h>

#include "support/cmocka_all.h"

enum { MOST_RUNS = 256, N_ORDERS = 200 };

typedef struct run_log {
    brim_observation runs[MOST_RUNS];
    size_t n;
} run_log;

/* Of forecasts of what was not seen before; relative, above 0 is too much. */
typedef struct errors {
    size_t n, n_within;      /* 3 % */
    size_t n_under;          /* bytes more than 1 % too low */
    size_t n_over_upper;     /* upper_bytes more than 1 % too low */
    double worst, sum_above; /* of bytes; of upper_bytes, where it is above */
} errors;

static void read_log(const char *name, run_log *log)
{
    char path[1024], line[BRIM_OBSERVATION_LINE_BYTES];

    snprintf(path, sizeof(path), TEST_DATA "/governor/real-%s.log", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (log->n = 0; log->n < MOST_RUNS && fgets(line, sizeof(line), file); log->n++)
        assert_true(brim_observation_read(line, &log->runs[log->n]));
    fclose(file);
    assert_true(log->n >= 100);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 8;
}

static void shuffle(run_log *log, uint64_t *random)
{
    for (size_t i = log->n; i > 1; i--) {
        size_t k = next_random(random) % i;
        brim_observation swapped = log->runs[i - 1];
        log->runs[i - 1] = log->runs[k];
        log->runs[k] = swapped;
    }
}

/*
 * Of a model that takes pictures of one shape alone, a size that was not run; of others, a shape
 * that was in no run of any size.
 */
static bool is_new(const run_log *log, size_t n_seen, const brim_observation *run,
                   bool has_one_shape)
{
    for (size_t k = 0; k < n_seen; k++)
        if (brim_shape_is_same(log->runs[k].shape, run->shape) &&
            (!has_one_shape || log->runs[k].n_items == run->n_items))
            return false;
    return true;
}

static void note(errors *sum, const brim_memory_model *model, const brim_observation *run)
{
    brim_bytes_forecast forecast = brim_memory_model_forecast(model, run->shape, run->n_items);
    double error = (double)forecast.bytes / (double)run->peak_bytes - 1.0;
    double upper = (double)forecast.upper_bytes / (double)run->peak_bytes - 1.0;

    sum->n++;
    sum->n_within += fabs(error) <= 0.03;
    sum->n_under += error < -0.01;
    sum->n_over_upper += upper < -0.01;
    sum->worst = fmax(sum->worst, fabs(error));
    sum->sum_above += fmax(upper, 0.0);
}

static void say(const char *name, const char *when, const errors *sum)
{
    double percent = 100.0 / (double)sum->n;

    print_message(
        "%s, %s: %zu forecasts, %.2f %% within 3 %%, worst %.1f %%, %.2f %% under by more "
        "than 1 %%; upper bound: %.2f %%, on average %.1f %% above\n",
        name, when, sum->n, percent * (double)sum->n_within, 100.0 * sum->worst,
        percent * (double)sum->n_under, percent * (double)sum->n_over_upper,
        percent * sum->sum_above);
}

/*
 * After 4 runs of an order, all that is new in the rest of it is forecast; after 20, each new run
 * when it comes.
 */
static void replay(const char *name, bool has_one_shape, errors *after_4, errors *after_20)
{
    static run_log log;
    uint64_t random = 88172645463325252u;

    *after_4 = *after_20 = (errors){0};
    read_log(name, &log);
    for (int order = 0; order < N_ORDERS; order++) {
        brim_memory_model model = {0};
        shuffle(&log, &random);
        for (size_t i = 0; i < log.n; i++) {
            const brim_observation *run = &log.runs[i];
            for (size_t k = i; i == 4 && k < log.n; k++)
                if (is_new(&log, 4, &log.runs[k], has_one_shape))
                    note(after_4, &model, &log.runs[k]);
            if (i >= 20 && is_new(&log, i, run, has_one_shape)) note(after_20, &model, run);
            brim_memory_model_observe(&model, run->shape, run->n_items, run->peak_bytes);
        }
    }
    say(name, "after 4 runs", after_4);
    say(name, "after 20 runs", after_20);
    assert_true(after_4->n > 1000 && after_20->n > 500);
}

static void a_convolutional_model_of_any_shape_is_known_after_four_runs(void **state)
{
    errors after_4, after_20;

    (void)state;
    replay("pp-ocr-v4-det", false, &after_4, &after_20);
    assert_int_equal(after_4.n_within, after_4.n);
    assert_int_equal(after_20.n_under, 0);
}

static void a_model_of_one_shape_is_known_after_four_runs(void **state)
{
    errors after_4, after_20;

    (void)state;
    replay("efficientnet-lite0", true, &after_4, &after_20);
    assert_int_equal(after_4.n_within, after_4.n);
    assert_int_equal(after_20.n_under, 0);
}

/*
 * 16 MiB + 6 MiB n up to a batch of 8, 8 MiB n above. Four runs on one side of it tell nothing of
 * the other: no model knows then what comes, and a quarter of the forecasts is off by more.
 */
static void a_model_whose_largest_node_changes_is_known_after_twenty_runs(void **state)
{
    errors after_4, after_20;

    (void)state;
    replay("vit-s14", true, &after_4, &after_20);
    assert_true(after_4.n_within * 100 > after_4.n * 75);
    assert_int_equal(after_20.n_within, after_20.n);
    assert_int_equal(after_20.n_under, 0);
}

/* ---- What no model of the three shows ---- */

static const brim_shape PHOTO = {.pixels = 224 * 224};

static void nothing_seen_is_nothing_known(void **state)
{
    brim_memory_model model = {0};

    (void)state;
    assert_int_equal(brim_memory_model_forecast(&model, PHOTO, 8).upper_bytes, 0);
    assert_true(brim_memory_model_most_items(&model, PHOTO, 1) == SIZE_MAX);
    brim_memory_model_observe(&model, PHOTO, 8, 0);
    brim_memory_model_observe(&model, PHOTO, 0, 8);
    assert_int_equal(model.n_seen, 0);
}

static void one_run_says_that_bytes_go_with_pixels(void **state)
{
    brim_memory_model model = {0};
    brim_shape larger = {.pixels = 4 * PHOTO.pixels};

    (void)state;
    brim_memory_model_observe(&model, PHOTO, 8, 80u << 20);
    double bytes = (double)brim_memory_model_forecast(&model, larger, 16).bytes;
    assert_true(fabs(bytes / (double)(640u << 20) - 1.0) < 0.05);
}

static size_t bytes_of_two_nodes(brim_shape shape, size_t n)
{
    double pixels = (double)n * (double)shape.pixels;

    return (size_t)fmax(24e6 + 100.0 * pixels, 1e5 * (double)n + 150.0 * pixels);
}

static void two_nodes_are_told_apart_over_many_shapes(void **state)
{
    brim_memory_model model = {0};
    uint64_t random = 88172645463325252u;
    size_t n_off = 0, n_low = 0;

    (void)state;
    for (size_t i = 0; i < 400; i++) {
        brim_shape shape = {.pixels = (160 + 32 * (next_random(&random) % 16)) *
                                      (160 + 32 * (next_random(&random) % 16))};
        size_t n = 1 + next_random(&random) % 12, bytes = bytes_of_two_nodes(shape, n);
        brim_bytes_forecast forecast = brim_memory_model_forecast(&model, shape, n);
        if (i >= 20) n_off += fabs((double)forecast.bytes / (double)bytes - 1.0) > 0.03;
        if (i >= 20) n_low += (double)forecast.upper_bytes < 0.99 * (double)bytes;
        brim_memory_model_observe(&model, shape, n, bytes);
    }
    print_message("two nodes: of 380 forecasts %zu off by more than 3 %%, %zu upper bounds low\n",
                  n_off, n_low);
    assert_true(n_off <= 3 && n_low <= 3);
}

static void the_most_items_are_just_within_the_bytes(void **state)
{
    brim_memory_model model = {0};

    (void)state;
    for (size_t n = 1; n <= 32; n *= 2)
        brim_memory_model_observe(&model, PHOTO, n, bytes_of_two_nodes(PHOTO, n));
    assert_true(model.has_pieces);
    for (size_t bytes = 40u << 20; bytes < (size_t)1 << 33; bytes += bytes / 3) {
        size_t n = brim_memory_model_most_items(&model, PHOTO, bytes);
        assert_true(brim_memory_model_forecast(&model, PHOTO, n).upper_bytes <= bytes);
        assert_true(brim_memory_model_forecast(&model, PHOTO, n + 1).upper_bytes > bytes);
    }
    assert_int_equal(brim_memory_model_most_items(&model, PHOTO, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_seen_is_nothing_known),
        cmocka_unit_test(one_run_says_that_bytes_go_with_pixels),
        cmocka_unit_test(two_nodes_are_told_apart_over_many_shapes),
        cmocka_unit_test(the_most_items_are_just_within_the_bytes),
        cmocka_unit_test(a_convolutional_model_of_any_shape_is_known_after_four_runs),
        cmocka_unit_test(a_model_of_one_shape_is_known_after_four_runs),
        cmocka_unit_test(a_model_whose_largest_node_changes_is_known_after_twenty_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
