/* governor.c - one interface over the policies. */
#include "governor/governor.h"

void brim_governor_init(brim_governor *governor, const brim_governor_options *options)
{
    *governor = (brim_governor){.options = *options};
}

size_t brim_governor_offer(brim_governor *governor, brim_shape shape, size_t budget_bytes)
{
    (void)shape, (void)budget_bytes;
    return governor->options.start_batch ? governor->options.start_batch : 8;
}

size_t brim_governor_limit(const brim_governor *governor, brim_shape shape, size_t budget_bytes)
{
    (void)governor, (void)shape, (void)budget_bytes;
    return SIZE_MAX;
}

void brim_governor_observe(brim_governor *governor, const brim_observation *seen)
{
    (void)governor, (void)seen;
}

const char *brim_governor_take_word(brim_governor *governor)
{
    (void)governor;
    return NULL;
}

brim_bytes_forecast brim_governor_forecast(const brim_governor *governor, brim_shape shape,
                                           size_t n_items)
{
    (void)governor, (void)shape, (void)n_items;
    return (brim_bytes_forecast){0};
}

size_t brim_governor_ladder(const brim_governor *governor, brim_shape shape, size_t budget_bytes,
                            brim_governor_rung *out, size_t capacity)
{
    (void)governor, (void)shape, (void)budget_bytes, (void)out, (void)capacity;
    return 0;
}

brim_governor_counts brim_governor_count(const brim_governor *governor)
{
    (void)governor;
    return (brim_governor_counts){0};
}
