/*
 * governor_contender.c - one policy on one simulated device, on its virtual clock.
 *
 *   bench_governor POLICY DEVICE.json [IMAGES [SEED [AHEAD]]]    POLICY: a name, or a fixed batch
 *   bench_governor best DEVICE.json [IMAGES]                      the best fixed batch, of all
 *   bench_governor trace POLICY DEVICE.json [IMAGES [SEED [AHEAD]]]   every decision, a line each
 *
 * Pictures of 224 x 224; with text of 16 to 512 tokens a batch where the device's memory depends on
 * it. AHEAD batches are sized before the first of them has run. Prints a line of JSON.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "governor/governor.h"
#include "session/sim_device.h"

enum { PIXELS = 224 * 224, MOST_AHEAD = 8, MOST_TOKENS = 512, FEWEST_TOKENS = 16 };

typedef struct contender {
    brim_sim_device device;
    brim_governor governor;
    uint64_t random;
    uint64_t n_left, n_pieces, n_failed;
    uint64_t stay, longest_stay; /* spilling runs in a row */
    size_t last_batch;
    bool is_traced;
} contender;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static brim_shape next_shape(contender *self)
{
    brim_shape shape = {.pixels = PIXELS};
    uint32_t span = MOST_TOKENS - FEWEST_TOKENS + 1;

    if (self->device.bytes.per_token > 0 || self->device.bytes.per_token_squared > 0)
        shape.tokens = FEWEST_TOKENS + (uint32_t)(next_random(&self->random) >> 16) % span;
    return shape;
}

static size_t free_bytes(const contender *self)
{
    return (size_t)brim_sim_device_free_bytes(&self->device, 0.0);
}

static void trace(const contender *self, const brim_observation *seen)
{
    char line[BRIM_OBSERVATION_LINE_BYTES];

    if (!self->is_traced) return;
    brim_observation_write(seen, line, sizeof(line));
    puts(line);
}

static void trace_offer(const contender *self, brim_shape shape, size_t budget, size_t n)
{
    brim_offer offer = {shape, budget, self->governor.options.max_batch, n};
    char line[BRIM_OBSERVATION_LINE_BYTES];

    if (!self->is_traced) return;
    brim_offer_write(&offer, line, sizeof(line));
    puts(line);
}

/* One run of n; false where it was refused. free_before: what was free after the run before. */
static bool run_once(contender *self, brim_shape shape, size_t n)
{
    brim_sim_run run = brim_sim_device_run(&self->device, n, shape.pixels, shape.tokens, 0.0);
    brim_observation seen = {.n_items = n,
                             .shape = shape,
                             .seconds = run.seconds,
                             .peak_bytes = run.refused ? 0 : (size_t)run.bytes,
                             .refused = run.refused};

    self->n_pieces++;
    self->stay = run.spilled ? self->stay + 1 : 0;
    if (self->stay > self->longest_stay) self->longest_stay = self->stay;
    brim_governor_observe(&self->governor, &seen);
    trace(self, &seen);
    const char *word = brim_governor_take_word(&self->governor);
    if (word && self->is_traced) printf("word %s\n", word);
    return !run.refused;
}

/* A batch, in pieces as large as may run now; what is refused is halved. */
static void run_batch(contender *self, brim_shape shape, size_t n)
{
    size_t most = n;

    while (n > 0) {
        size_t piece = brim_governor_limit(&self->governor, shape, free_bytes(self));
        piece = piece < most ? piece : most;
        piece = piece < n ? piece : n;
        if (run_once(self, shape, piece)) {
            n -= piece;
        } else if (piece > 1) {
            most = piece / 2;
        } else {
            self->n_failed++;
            n--;
        }
    }
}

static void run_race(contender *self, uint64_t n_images, unsigned ahead)
{
    brim_shape shapes[MOST_AHEAD];
    size_t sizes[MOST_AHEAD], n_waiting = 0;

    self->n_left = n_images;
    while (self->n_left > 0 || n_waiting > 0) {
        while (self->n_left > 0 && n_waiting < ahead) {
            brim_shape shape = next_shape(self);
            size_t budget = free_bytes(self);
            size_t n = brim_governor_offer(&self->governor, shape, budget);
            trace_offer(self, shape, budget, n);
            self->last_batch = n;
            if (n > self->n_left) n = (size_t)self->n_left;
            self->n_left -= n;
            shapes[n_waiting] = shape;
            sizes[n_waiting++] = n;
        }
        run_batch(self, shapes[0], sizes[0]);
        n_waiting--;
        memmove(shapes, shapes + 1, n_waiting * sizeof(shapes[0]));
        memmove(sizes, sizes + 1, n_waiting * sizeof(sizes[0]));
    }
}

static int begin(contender *self, const char *path, const brim_governor_options *options,
                 uint64_t seed)
{
    brim_error err = {0};

    memset(self, 0, sizeof(*self));
    if (brim_sim_device_load(path, &self->device, &err) != BRIM_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    self->device.noise_state += seed;
    self->random = 88172645463325252u + seed * 2654435761u;
    brim_governor_init(&self->governor, options);
    return 0;
}

static void print_race(const contender *self, const char *policy)
{
    brim_governor_counts counts = brim_governor_count(&self->governor);
    const brim_sim_device *device = &self->device;

    printf("{\"device\": \"%s\", \"policy\": \"%s\", \"device_seconds\": %.6f, \"runs\": %llu, "
           "\"refusals\": %llu, \"spilled\": %llu, \"spill_entries\": %llu, \"longest_spill\": "
           "%llu, \"failed\": %llu, \"suspected\": %llu, \"explored\": %llu, \"last_batch\": %zu, "
           "\"spill_wall\": %s",
           device->name, policy, device->seconds_run, (unsigned long long)self->n_pieces,
           (unsigned long long)device->n_refusals, (unsigned long long)device->n_spills,
           (unsigned long long)device->n_spill_entries, (unsigned long long)self->longest_stay,
           (unsigned long long)self->n_failed, (unsigned long long)counts.n_spills,
           (unsigned long long)counts.n_explored, self->last_batch,
           self->governor.knee.spilled.is_set ? "true" : "false");
    puts("}");
}

/* Seconds that the images take n at a time, what is refused halved, as a pipeline does it; infinite
 * where some cannot run at all. */
static double seconds_of_fixed(brim_sim_device device, const brim_shape *shapes, uint64_t n_images,
                               size_t n)
{
    uint64_t n_batches = 0;

    for (uint64_t left = n_images; left > 0; n_batches++) {
        size_t batch = n < left ? n : (size_t)left, most = batch;
        brim_shape shape = shapes[n_batches];
        left -= batch;
        while (batch > 0) {
            size_t piece = most < batch ? most : batch;
            brim_sim_run run = brim_sim_device_run(&device, piece, shape.pixels, shape.tokens, 0.0);
            if (!run.refused)
                batch -= piece;
            else if (piece > 1)
                most = piece / 2;
            else
                return INFINITY;
        }
    }
    return device.seconds_run;
}

/* Every batch up to 1024, then 24 in a doubling. */
static int find_best(contender *self, uint64_t n_images)
{
    brim_shape *shapes = malloc(n_images * sizeof(*shapes));
    double best_s = INFINITY;
    size_t best = 0;

    if (!shapes) return 1;
    for (uint64_t i = 0; i < n_images; i++)
        shapes[i] = next_shape(self);
    for (size_t n = 1; n <= n_images; n += 1 + (n >= 1024 ? n / 24 : 0)) {
        double seconds = seconds_of_fixed(self->device, shapes, n_images, n);
        if (seconds >= best_s) continue;
        best_s = seconds;
        best = n;
    }
    free(shapes);
    printf("{\"device\": \"%s\", \"policy\": \"best\", \"batch\": %zu, \"device_seconds\": %.6f}\n",
           self->device.name, best, best_s);
    return 0;
}

static const char *const NAMES[BRIM_N_POLICIES] = {"knee", "aimd", "estimate", "watermark",
                                                   "fixed"};

int main(int argc, char **argv)
{
    static contender race;
    brim_governor_options options = {0};
    bool is_traced = argc > 1 && strcmp(argv[1], "trace") == 0;
    char **args = argv + is_traced;

    argc -= is_traced;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_governor [trace] POLICY|BATCH|best DEVICE.json [IMAGES [SEED "
                        "[AHEAD]]]\n");
        return 2;
    }
    uint64_t n_images = argc > 3 ? strtoull(args[3], NULL, 10) : 20000;
    uint64_t seed = argc > 4 ? strtoull(args[4], NULL, 10) : 0;
    unsigned ahead = argc > 5 ? (unsigned)strtoul(args[5], NULL, 10) : 1;
    if (ahead < 1 || ahead > MOST_AHEAD) ahead = 1;
    options.policy = BRIM_POLICY_FIXED;
    for (int i = 0; i < BRIM_N_POLICIES; i++)
        if (strcmp(args[1], NAMES[i]) == 0) options.policy = (brim_policy)i;
    if (options.policy == BRIM_POLICY_FIXED)
        options.start_batch = (uint32_t)strtoul(args[1], NULL, 10);
    if (begin(&race, args[2], &options, seed)) return 1;
    if (strcmp(args[1], "best") == 0) return find_best(&race, n_images);
    race.is_traced = is_traced;
    run_race(&race, n_images, ahead);
    print_race(&race, args[1]);
    return 0;
}
