/*
 * simple.h - the policies that look at one number each: what others use, to be compared with.
 *
 *   aimd       starts at 32, halves on out-of-memory, doubles after 3 good runs; 1 to 64
 *   estimate   0.8 of what is free, half of that kept as a margin, over 12 bytes a pixel and 100 a
 *              token; at most 64
 *   watermark  every 10 runs: below 20 % free halves, above 50 % doubles; 1 to 64
 *   fixed      always the same
 */
#ifndef BRIM_GOVERNOR_SIMPLE_H
#define BRIM_GOVERNOR_SIMPLE_H

#include "brimful/governor.h"
#include "governor/observation.h"

typedef struct brim_simple {
    size_t batch;          /* aimd, watermark: now */
    uint32_t n_good;       /* aimd: runs since it changed */
    uint32_t n_since_look; /* watermark */
    size_t budget_bytes;   /* of the last offer: what is free before a run */
} brim_simple;

/* options with the policy's own defaults filled in. */
void brim_simple_init(brim_simple *simple, const brim_governor_options *options);

size_t brim_simple_offer(brim_simple *simple, const brim_governor_options *options,
                         brim_shape shape, size_t budget_bytes);
size_t brim_simple_limit(const brim_simple *simple, const brim_governor_options *options,
                         brim_shape shape, size_t budget_bytes);
void brim_simple_observe(brim_simple *simple, const brim_governor_options *options,
                         const brim_observation *seen);

#endif /* BRIM_GOVERNOR_SIMPLE_H */
