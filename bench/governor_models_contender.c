/*
 * governor_models_contender.c - the governor on a real model: noise in, seconds and bytes out.
 *
 *   bench_governor_models MODEL.onnx LAYER THREADS LIMIT_MIB record SEED COUNT MEGAPIXELS
 *   bench_governor_models MODEL.onnx LAYER THREADS LIMIT_MIB talk HEIGHTxWIDTH...
 *
 * record runs COUNT batches of random size, of random pictures where the model leaves height and
 * width open, with at most MEGAPIXELS in a batch, and prints an observation each
 * (governor/observation.h). talk reads lines of "POLICY SECONDS", a policy's name or a fixed batch,
 * goes on with that policy for so long, and answers with a line of JSON. The governor of a name
 * lives as long as the process. Of several shapes, each gets the same number of pictures, in
 * batches of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "governor/governor.h"
#include "job/room.h"
#include "memory/pressure.h"
#include "session/onnx.h"

enum {
    MOST_SHAPES = 16,
    MOST_FLOATS = 32 << 20, /* of a batch */
    SIDE_STEP = 32,
    LEAST_SIDE = 160,
    MOST_SIDE = 960,
    N_SHAPES_RECORDED = 24,
};

typedef struct picture {
    uint32_t height, width;
    uint64_t n_done; /* in the talk so far */
} picture;

typedef struct tally {
    uint64_t n_items, n_pixels, n_runs, n_refusals;
    size_t peak_bytes, last_batch;
    double seconds;
} tally;

static brim_budget *BUDGET;
static brim_session *SESSION;
static float *PIXELS;
static picture PICTURES[MOST_SHAPES];
static size_t N_PICTURES;
static brim_governor GOVERNORS[BRIM_N_POLICIES];

_Noreturn static void die(const char *why)
{
    fprintf(stderr, "bench_governor_models: %s\n", why);
    exit(1);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 8;
}

static uint64_t pixels_of(const picture *p)
{
    return (uint64_t)p->height * p->width;
}

static size_t most_in_buffer(const picture *p)
{
    return MOST_FLOATS / (3 * pixels_of(p));
}

/* ---- Running ---- */

/* Noise, touched before anything is measured. */
static void make_pixels(void)
{
    uint32_t state = 1;

    PIXELS = malloc(MOST_FLOATS * sizeof(float));
    if (!PIXELS) die("no memory for the input");
    for (size_t i = 0; i < MOST_FLOATS; i++) {
        state = state * 1664525u + 1013904223u;
        PIXELS[i] = (float)(state >> 8) / (float)(1u << 23) - 1.0f;
    }
}

static void open_model(const char *path, const char *layer, const char *n_threads,
                       const char *limit_mib)
{
    brim_error err = {0};
    brim_onnx_options options = {
        .path = path, .n_threads = (uint32_t)strtoul(n_threads, NULL, 10), .layer = layer};

    if (brim_room_open(strtoul(limit_mib, NULL, 10) << 20, NULL, &BUDGET, &err) != BRIM_OK)
        die(err.message);
    options.budget = BUDGET;
    if (brim_session_open_onnx(brim_heap(), &options, &SESSION, &err) != BRIM_OK) die(err.message);
    make_pixels();
    if (brim_room_check_left(BUDGET, &err) != BRIM_OK) die(err.message);
}

static brim_observation run_once(const picture *p, size_t n)
{
    brim_error err = {0};
    brim_output out;
    brim_pressure before = brim_pressure_now("");

    brim_status status = brim_session_run(SESSION, PIXELS, n, p->height, p->width, &out, &err);
    brim_pressure after = brim_pressure_now("");
    if (status != BRIM_OK && status != BRIM_E_BUDGET) die(err.message);
    brim_observation seen = {.n_items = n,
                             .shape = {.pixels = pixels_of(p)},
                             .seconds = SESSION->run_seconds,
                             .peak_bytes = status == BRIM_OK ? SESSION->run_peak_bytes : 0,
                             .refused = status == BRIM_E_BUDGET};
    seen.has_pressure = brim_pressure_rose(&before, &after, seen.seconds);
    brim_session_give_back(SESSION);
    return seen;
}

/* ---- Recording ---- */

static uint32_t random_side(uint64_t *random, int64_t wanted)
{
    uint32_t n_steps = (MOST_SIDE - LEAST_SIDE) / SIDE_STEP + 1;

    if (wanted > 0) return (uint32_t)wanted;
    return LEAST_SIDE + SIDE_STEP * (uint32_t)(next_random(random) % n_steps);
}

/* Small batches as often as large ones: each doubling is as likely as any other. */
static size_t random_batch(uint64_t *random, size_t most)
{
    size_t n_doublings = 1;

    while (most >> n_doublings > 0)
        n_doublings++;
    size_t low = (size_t)1 << next_random(random) % n_doublings;
    size_t n = low + next_random(random) % low;
    return n < most ? n : 1 + next_random(random) % most;
}

static void record(uint64_t seed, unsigned long count, double megapixels)
{
    uint64_t random = 88172645463325252u + seed * 2654435761u;
    picture pictures[N_SHAPES_RECORDED];
    char line[BRIM_OBSERVATION_LINE_BYTES];

    for (size_t i = 0; i < N_SHAPES_RECORDED; i++)
        pictures[i] = (picture){.height = random_side(&random, SESSION->image.dims[2]),
                                .width = random_side(&random, SESSION->image.dims[3])};
    for (unsigned long i = 0; i < count; i++) {
        const picture *p = &pictures[next_random(&random) % N_SHAPES_RECORDED];
        size_t most = (size_t)(megapixels * 1e6) / pixels_of(p);
        if (most > most_in_buffer(p)) most = most_in_buffer(p);
        brim_observation seen = run_once(p, random_batch(&random, most > 0 ? most : 1));
        brim_observation_write(&seen, line, sizeof(line));
        puts(line);
    }
}

/* ---- A policy for a while ---- */

/* The shape of which the fewest pictures were done in this stretch. */
static picture *next_picture(void)
{
    picture *found = &PICTURES[0];

    for (size_t i = 1; i < N_PICTURES; i++)
        if (PICTURES[i].n_done < found->n_done) found = &PICTURES[i];
    return found;
}

static void count(tally *sum, const picture *p, const brim_observation *seen)
{
    sum->n_runs++;
    sum->seconds += seen->seconds;
    sum->n_refusals += seen->refused;
    sum->last_batch = seen->n_items;
    if (seen->refused) return;
    sum->n_items += seen->n_items;
    sum->n_pixels += seen->n_items * pixels_of(p);
    if (seen->peak_bytes > sum->peak_bytes) sum->peak_bytes = seen->peak_bytes;
}

/* A batch, in pieces as large as may run now; what is refused is halved. */
static void run_batch(brim_governor *governor, picture *p, size_t n, tally *sum)
{
    brim_shape shape = {.pixels = pixels_of(p)};
    size_t most = n;

    while (n > 0) {
        size_t piece = brim_governor_limit(governor, shape, brim_budget_usable_bytes(BUDGET));
        piece = piece < most ? piece : most;
        piece = piece < n ? piece : n;
        brim_observation seen = run_once(p, piece);
        brim_governor_observe(governor, &seen);
        count(sum, p, &seen);
        if (seen.refused && piece == 1) die("not even one picture fits");
        if (seen.refused)
            most = piece / 2;
        else
            n -= piece, p->n_done += piece;
    }
}

static tally play(brim_governor *governor, double seconds)
{
    tally sum = {0};
    uint64_t start_ns = brim_now_ns();

    while ((double)(brim_now_ns() - start_ns) / 1e9 < seconds) {
        picture *p = next_picture();
        brim_shape shape = {.pixels = pixels_of(p)};
        governor->options.max_batch = (uint32_t)most_in_buffer(p);
        size_t n = brim_governor_offer(governor, shape, brim_budget_usable_bytes(BUDGET));
        n = n < most_in_buffer(p) ? n : most_in_buffer(p);
        run_batch(governor, p, n, &sum);
    }
    return sum;
}

static brim_governor *find_governor(const char *name)
{
    brim_governor_options options = {.policy = BRIM_POLICY_FIXED};

    for (int i = 0; i < BRIM_N_POLICIES; i++)
        if (strcmp(name, brim_policy_name((brim_policy)i)) == 0) return &GOVERNORS[i];
    options.start_batch = (uint32_t)strtoul(name, NULL, 10);
    if (options.start_batch == 0) die("neither a policy nor a batch");
    brim_governor_init(&GOVERNORS[BRIM_POLICY_FIXED], &options);
    return &GOVERNORS[BRIM_POLICY_FIXED];
}

static void answer(const char *name, const tally *sum)
{
    printf("{\"policy\": \"%s\", \"items\": %llu, \"pixels\": %llu, \"seconds\": %.6f, \"runs\": "
           "%llu, \"refusals\": %llu, \"last_batch\": %zu, \"peak_live_bytes\": %zu}\n",
           name, (unsigned long long)sum->n_items, (unsigned long long)sum->n_pixels, sum->seconds,
           (unsigned long long)sum->n_runs, (unsigned long long)sum->n_refusals, sum->last_batch,
           sum->peak_bytes);
}

static void talk(void)
{
    char line[256], name[32];
    double seconds;

    for (int i = 0; i < BRIM_N_POLICIES; i++)
        brim_governor_init(&GOVERNORS[i], &(brim_governor_options){.policy = (brim_policy)i});
    while (fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "%31s %lf", name, &seconds) != 2) die("not POLICY SECONDS");
        for (size_t i = 0; i < N_PICTURES; i++)
            PICTURES[i].n_done = 0;
        tally sum = play(find_governor(name), seconds);
        answer(name, &sum);
    }
}

static void read_pictures(int n, char **words)
{
    if (n > MOST_SHAPES) die("too many shapes");
    for (int i = 0; i < n; i++) {
        picture *p = &PICTURES[N_PICTURES++];
        if (sscanf(words[i], "%ux%u", &p->height, &p->width) != 2 || most_in_buffer(p) == 0)
            die("not HEIGHTxWIDTH");
    }
}

int main(int argc, char **argv)
{
    bool records = argc == 9 && strcmp(argv[5], "record") == 0;
    bool talks = argc > 6 && strcmp(argv[5], "talk") == 0;

    if (!records && !talks)
        die("usage: bench_governor_models MODEL.onnx LAYER THREADS LIMIT_MIB "
            "record SEED COUNT MEGAPIXELS | talk HEIGHTxWIDTH...");
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (talks) read_pictures(argc - 6, argv + 6);
    open_model(argv[1], argv[2], argv[3], argv[4]);
    if (records)
        record(strtoull(argv[6], NULL, 10), strtoul(argv[7], NULL, 10), strtod(argv[8], NULL));
    else
        talk();
    return 0; /* what is left goes with the process */
}
