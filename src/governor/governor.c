/* governor.c - one interface over the policies. */
#include "governor/governor.h"

#include <math.h>

#include "base/line.h"

/* ---- Options ---- */

static void fill_count(uint32_t *option, uint32_t value)
{
    if (*option == 0) *option = value;
}

static void fill_number(double *option, double value)
{
    if (!(*option > 0)) *option = value;
}

static void fill_defaults(brim_governor_options *options)
{
    bool is_small = options->policy != BRIM_POLICY_KNEE && options->policy != BRIM_POLICY_FIXED;

    fill_count(&options->max_batch, is_small ? 64 : 65536);
    fill_count(&options->start_batch, options->policy == BRIM_POLICY_FIXED ? 8 : 32);
    fill_number(&options->within_frac, 0.01);
    fill_number(&options->explore_frac, 0.01);
    fill_number(&options->spill_factor, 2.5);
    fill_count(&options->runs_to_double, 3);
    fill_number(&options->estimate_frac, 0.8);
    fill_number(&options->margin_frac, 0.5);
    fill_number(&options->bytes_per_pixel, 12.0);
    fill_number(&options->bytes_per_token, 100.0);
    fill_count(&options->look_every, 10);
    fill_number(&options->low_frac, 0.2);
    fill_number(&options->high_frac, 0.5);
}

void brim_governor_init(brim_governor *governor, const brim_governor_options *options)
{
    *governor = (brim_governor){.options = *options};
    fill_defaults(&governor->options);
    brim_knee_init(&governor->knee);
    brim_simple_init(&governor->simple, &governor->options);
}

static bool is_knee(const brim_governor *governor)
{
    return governor->options.policy == BRIM_POLICY_KNEE;
}

/* ---- Deciding ---- */

size_t brim_governor_offer(brim_governor *governor, brim_shape shape, size_t budget_bytes)
{
    governor->counts.n_offers++;
    if (!is_knee(governor))
        return brim_simple_offer(&governor->simple, &governor->options, shape, budget_bytes);
    return brim_knee_offer(&governor->knee, &governor->options, &governor->memory, shape,
                           budget_bytes);
}

size_t brim_governor_limit(const brim_governor *governor, brim_shape shape, size_t budget_bytes)
{
    if (!is_knee(governor))
        return brim_simple_limit(&governor->simple, &governor->options, shape, budget_bytes);
    return brim_knee_limit(&governor->knee, &governor->options, &governor->memory, shape,
                           budget_bytes);
}

/* ---- Learning ---- */

static void say_spill(brim_governor *governor)
{
    const brim_knee *knee = &governor->knee;
    brim_line line = brim_line_begin(governor->word, sizeof(governor->word));

    brim_line_add(&line,
                  "the device spills into system memory above batch %zu: %.3g img/s became %.2g",
                  knee->spilled.n_good, knee->items_per_s_good, knee->items_per_s_spilled);
    governor->has_word = true;
}

void brim_governor_observe(brim_governor *governor, const brim_observation *seen)
{
    if (seen->n_items == 0 || !(seen->seconds >= 0) || seen->shape.pixels == 0) return;
    governor->counts.n_observed++;
    governor->counts.n_refusals += seen->refused;
    if (brim_knee_observe(&governor->knee, &governor->options, &governor->memory, seen) &&
        is_knee(governor))
        say_spill(governor);
    if (!seen->refused)
        brim_memory_model_observe(&governor->memory, seen->shape, seen->n_items, seen->peak_bytes);
    brim_simple_observe(&governor->simple, &governor->options, seen);
}

const char *brim_governor_take_word(brim_governor *governor)
{
    if (!governor->has_word) return NULL;
    governor->has_word = false;
    return governor->word;
}

/* ---- Telling ---- */

brim_bytes_forecast brim_governor_forecast(const brim_governor *governor, brim_shape shape,
                                           size_t n_items)
{
    return brim_memory_model_forecast(&governor->memory, shape, n_items);
}

static size_t chosen(const brim_governor *governor, brim_shape shape, size_t budget_bytes)
{
    if (!is_knee(governor))
        return brim_simple_limit(&governor->simple, &governor->options, shape, budget_bytes);
    return brim_knee_best(&governor->knee, &governor->options, &governor->memory, shape,
                          budget_bytes);
}

static brim_work_rung rung_of(const brim_governor *governor, brim_shape shape, size_t n)
{
    const brim_knee *knee = &governor->knee;
    const brim_memory_model *memory = &governor->memory;

    return (brim_work_rung){
        .n_items = n,
        .n_runs = brim_knee_runs_at(knee, shape, n),
        .items_per_s = brim_knee_items_per_s(knee, shape, n),
        .bytes = brim_governor_forecast(governor, shape, n).bytes,
        .is_walled = brim_wall_is_beyond(&knee->refused, memory, shape, n) ||
                     brim_wall_is_beyond(&knee->spilled, memory, shape, n),
    };
}

size_t brim_governor_ladder(const brim_governor *governor, brim_shape shape, size_t budget_bytes,
                            brim_work_rung *out, size_t capacity)
{
    size_t cap =
        brim_knee_cap(&governor->knee, &governor->options, &governor->memory, shape, budget_bytes);
    size_t best = chosen(governor, shape, budget_bytes), n_rungs = 0;

    if (governor->counts.n_observed == 0) return 0;
    for (size_t n = 1, before = 0; n_rungs < capacity && before < cap;) {
        size_t rung = n <= cap ? n : cap;
        if (best > before && best < rung) rung = best;
        out[n_rungs] = rung_of(governor, shape, rung);
        out[n_rungs++].is_chosen = rung == best;
        before = rung;
        if (rung == n) n *= 2;
        if (rung > 4 * best && out[n_rungs - 1].n_runs == 0) break;
    }
    return n_rungs;
}

brim_governor_counts brim_governor_count(const brim_governor *governor)
{
    brim_governor_counts counts = governor->counts;

    counts.n_spills = governor->knee.n_spills;
    counts.n_explored = governor->knee.n_explored;
    return counts;
}
