/* simple.c - aimd, estimate, watermark, fixed. */
#include "governor/simple.h"

#include <math.h>

static size_t clamp(size_t n, size_t most)
{
    if (n < 1) return 1;
    return n < most ? n : most;
}

void brim_simple_init(brim_simple *simple, const brim_governor_options *options)
{
    *simple = (brim_simple){.batch = clamp(options->start_batch, options->max_batch)};
}

static size_t estimate(const brim_governor_options *options, brim_shape shape, size_t budget_bytes)
{
    double usable = (double)budget_bytes * options->estimate_frac * (1.0 - options->margin_frac);
    double item = (double)shape.pixels * options->bytes_per_pixel +
                  (double)shape.tokens * options->bytes_per_token;

    return clamp((size_t)fmin(usable / fmax(item, 1.0), 1e9), options->max_batch);
}

size_t brim_simple_offer(brim_simple *simple, const brim_governor_options *options,
                         brim_shape shape, size_t budget_bytes)
{
    simple->budget_bytes = budget_bytes;
    return brim_simple_limit(simple, options, shape, budget_bytes);
}

size_t brim_simple_limit(const brim_simple *simple, const brim_governor_options *options,
                         brim_shape shape, size_t budget_bytes)
{
    if (options->policy == BRIM_POLICY_ESTIMATE) return estimate(options, shape, budget_bytes);
    return simple->batch;
}

static void watch_memory(brim_simple *simple, const brim_governor_options *options,
                         const brim_observation *seen)
{
    if (++simple->n_since_look < options->look_every || simple->budget_bytes == 0) return;
    double free_frac = 1.0 - (double)seen->peak_bytes / (double)simple->budget_bytes;
    simple->n_since_look = 0;
    if (free_frac < options->low_frac)
        simple->batch = clamp(simple->batch / 2, options->max_batch);
    else if (free_frac > options->high_frac)
        simple->batch = clamp(simple->batch * 2, options->max_batch);
}

void brim_simple_observe(brim_simple *simple, const brim_governor_options *options,
                         const brim_observation *seen)
{
    bool learns = options->policy == BRIM_POLICY_AIMD || options->policy == BRIM_POLICY_WATERMARK;

    if (!learns) return;
    if (seen->refused) {
        simple->n_good = 0;
        simple->batch = clamp(seen->n_items / 2, options->max_batch);
        return;
    }
    if (options->policy == BRIM_POLICY_WATERMARK) {
        watch_memory(simple, options, seen);
        return;
    }
    if (++simple->n_good < options->runs_to_double) return;
    simple->n_good = 0;
    simple->batch = clamp(simple->batch * 2, options->max_batch);
}
