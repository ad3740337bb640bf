/*
 * governor.h - decides how many items go through the model at once.
 *
 * Arithmetic, not machinery: it is told what each run cost (observation.h) and says how large the
 * next batch may be. It reads no clock, allocates nothing and starts no thread, so every decision
 * can be replayed from a log.
 *
 * Memory is a model that is learned (memory_model.h): it caps every offer at once, also for shapes
 * that were never seen. Time is a curve that is fitted (time_curve.h): the offer is the smallest
 * batch whose throughput is within 1 % of the best. Refusals halve the batch and are remembered as
 * a wall, to which it comes back later, and later still after each refusal there. A run that takes
 * several times what the curve says, at more pixels than one that went well, is taken for a
 * device that spills into slower memory.
 *
 * Offers and observations need not alternate: batches are filled ahead of the model. A size that
 * was never tried is offered once until its outcome is known.
 *
 * Threads: one governor belongs to one pipeline; calls on it must not overlap.
 */
#ifndef BRIM_GOVERNOR_GOVERNOR_H
#define BRIM_GOVERNOR_GOVERNOR_H

#include "brimful/governor.h"
#include "brimful/observe.h"
#include "governor/knee.h"
#include "governor/memory_model.h"
#include "governor/observation.h"
#include "governor/simple.h"

enum { BRIM_GOVERNOR_WORD_BYTES = 160 };

typedef struct brim_governor_counts {
    uint64_t n_offers, n_observed, n_refusals;
    uint64_t n_spills;   /* runs that were taken for spilling */
    uint64_t n_explored; /* runs at a smaller size than the best known */
} brim_governor_counts;

typedef struct brim_governor {
    brim_governor_options options;
    brim_memory_model memory; /* whatever the policy */
    brim_governor_counts counts;
    brim_knee knee;     /* learns whatever the policy, for plan and report */
    brim_simple simple; /* of the other policies */
    char word[BRIM_GOVERNOR_WORD_BYTES];
    bool has_word;
} brim_governor;

/* 0 in options is the default. */
void brim_governor_init(brim_governor *governor, const brim_governor_options *options);

/*
 * How many items of this shape the next batch should hold, at least 1, where budget_bytes are left
 * for a run.
 */
size_t brim_governor_offer(brim_governor *governor, brim_shape shape, size_t budget_bytes);

/*
 * How many items of this shape may run at once now: a batch that was offered before a wall was met
 * is run in pieces of this size. Changes nothing.
 */
size_t brim_governor_limit(const brim_governor *governor, brim_shape shape, size_t budget_bytes);

/* What a run told. */
void brim_governor_observe(brim_governor *governor, const brim_observation *seen);

/*
 * Words for the user that came up since the last call, or NULL: "the device spills into system
 * memory above batch 24: 41 img/s became 5". Valid until the next call.
 */
const char *brim_governor_take_word(brim_governor *governor);

/* As memory_model.h tells it. */
brim_bytes_forecast brim_governor_forecast(const brim_governor *governor, brim_shape shape,
                                           size_t n_items);

/* The ladder of one shape as it is known now, for plan and report; rungs that were run or can be,
 * smallest first. Returns how many of capacity rungs there are. */
size_t brim_governor_ladder(const brim_governor *governor, brim_shape shape, size_t budget_bytes,
                            brim_work_rung *out, size_t capacity);

brim_governor_counts brim_governor_count(const brim_governor *governor);

#endif /* BRIM_GOVERNOR_GOVERNOR_H */
