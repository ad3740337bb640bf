/* knee.c - which size to run, and which to try. */
#include "governor/knee.h"

#include <math.h>

static const double FIRST_BATCH_PX = 0x1p18; /* small enough for any device, large enough to tell */
static const double HORIZON_ITEMS = 10000.0; /* over which a gain pays, at least */
static const double WALL_SLOWDOWN = 8.0;     /* what meeting a spill is reckoned to cost */
static const double WALL_RAMP = 35.0;        /* and how it grows with the share that is beyond */
static const double WALL_CHANCE = 0.7;       /* that one is met on the way to the cap */
static const double NOISE_DEVIATIONS = 4.5;  /* that a run may be off before it means anything */
static const double FEW_RUNS = 6.0;          /* until so many told of it, noise may be larger */
static const double MUCH_NOISE = 0.3;        /* as large as it comes, if nothing is known of it */
static const double HOPE_DEVIATIONS = 1.5;   /* that a size may be better than it seems */
static const double DOUBT_DEVIATIONS = 0.5;  /* that a smaller size is forgiven */
static const double MUCH_WORSE = 0.05;       /* a batch this much dearer is rather run in pieces */
static const double FREE_ROSE = 1.1;
enum {
    FIRST_WAIT = 8,
    STEP_WAIT = 8,
    LONGEST_WAIT = 4096,
    SPILL_WAIT = 16,
    SPILL_LONGEST_WAIT = 1 << 20,
    MOST_SPILL_ENTRIES = 3,
    TRIAL_LIFE = 16,
    OWN_CURVE_BINS = 3,
    LOOK_DOWN = 5, /* times smaller than the first batch */
    RUNS_BEFORE_LOOK = 12,
};

/* ---- Classes and their curves ---- */

void brim_knee_init(brim_knee *knee)
{
    *knee = (brim_knee){0};
    brim_time_curve_init(&knee->all);
}

static uint32_t class_name(brim_shape shape)
{
    return 1U + (uint32_t)(log2(fmax((double)shape.pixels, 1.0)) * 4.0 + 0.5);
}

static const brim_shape_class *find_class(const brim_knee *knee, brim_shape shape)
{
    for (size_t i = 0; i < BRIM_N_CLASSES; i++)
        if (knee->classes[i].name == class_name(shape)) return &knee->classes[i];
    return NULL;
}

static brim_shape_class *make_class(brim_knee *knee, brim_shape shape)
{
    brim_shape_class *made = (brim_shape_class *)find_class(knee, shape);

    if (!made) {
        made = &knee->classes[0];
        for (size_t i = 1; i < BRIM_N_CLASSES; i++)
            if (knee->classes[i].used_at < made->used_at) made = &knee->classes[i];
        *made = (brim_shape_class){.name = class_name(shape)};
        brim_time_curve_init(&made->curve);
    }
    made->used_at = knee->n_runs;
    return made;
}

/* The curve that speaks for a shape, and what its costs are above it. */
typedef struct knee_voice {
    const brim_time_curve *curve; /* NULL: nothing is known */
    double offset;
    double top_px; /* of the largest batch that went well */
} knee_voice;

static knee_voice voice_of(const brim_knee *knee, brim_shape shape)
{
    const brim_shape_class *own = find_class(knee, shape);

    if (own && own->curve.n_bins >= OWN_CURVE_BINS)
        return (knee_voice){&own->curve, 0.0, own->most_px};
    if (knee->all.n_bins == 0) return (knee_voice){0};
    return (knee_voice){&knee->all, own ? own->offset : 0.0, knee->most_px};
}

static brim_time_guess guess(const knee_voice *voice, brim_shape shape, size_t n)
{
    brim_time_guess out = brim_time_curve_guess(voice->curve, (double)shape.pixels * (double)n);

    out.cost += voice->offset;
    return out;
}

static double seconds_of(const knee_voice *voice, brim_shape shape, size_t n)
{
    double px = (double)shape.pixels * (double)n;

    return exp(guess(voice, shape, n).cost) * px;
}

/* The largest n of this shape that went well, at least 1. */
static size_t top_items(const knee_voice *voice, brim_shape shape)
{
    double n = floor(voice->top_px / (double)shape.pixels + 0.001);

    return n < 1.0 ? 1 : (size_t)n;
}

/* ---- Sizes ---- */

/* The sizes that are looked at: each up to 16, then 16 in an octave. */
static size_t next_size(size_t n)
{
    size_t next = (size_t)((double)n * exp2(1.0 / 16.0) + 0.5);

    return n < 16 || next <= n ? n + 1 : next;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What memory has room for, whatever was met there. */
static size_t room_for(const brim_governor_options *options, const brim_memory_model *memory,
                       brim_shape shape, size_t budget_bytes)
{
    return least(options->max_batch, brim_memory_model_most_items(memory, shape, budget_bytes));
}

size_t brim_knee_cap(const brim_knee *knee, const brim_governor_options *options,
                     const brim_memory_model *memory, brim_shape shape, size_t budget_bytes)
{
    size_t cap = room_for(options, memory, shape, budget_bytes);

    cap = least(cap, brim_wall_most_items(&knee->refused, memory, shape));
    cap = least(cap, brim_wall_most_items(&knee->spilled, memory, shape));
    return cap > 0 ? cap : 1;
}

static double lowest_cost(const knee_voice *voice, brim_shape shape, size_t most)
{
    double lowest = INFINITY;

    for (size_t n = 1; n <= most; n = n < most ? least(next_size(n), most) : n + 1)
        lowest = fmin(lowest, guess(voice, shape, n).cost);
    return lowest;
}

/* The smallest size up to `most` within `share` of the best, as far as it is known: in doubt the
 * smaller one, which needs less memory. */
static size_t smallest_near_best(const knee_voice *voice, brim_shape shape, size_t most,
                                 double share)
{
    double best = lowest_cost(voice, shape, most);

    for (size_t n = 1; n < most; n = least(next_size(n), most)) {
        brim_time_guess of_n = guess(voice, shape, n);
        if (of_n.cost - DOUBT_DEVIATIONS * of_n.sd <= best + share) return n;
    }
    return most;
}

/* The largest size up to `most` within `share` of the best. */
static size_t largest_near_best(const knee_voice *voice, brim_shape shape, size_t most,
                                double share)
{
    double best = lowest_cost(voice, shape, most);
    size_t largest = 1;

    for (size_t n = 1; n <= most; n = n < most ? least(next_size(n), most) : n + 1)
        if (guess(voice, shape, n).cost <= best + share) largest = n;
    return largest;
}

static size_t first_size(brim_shape shape)
{
    double n = FIRST_BATCH_PX / (double)shape.pixels;

    return n < 1.0 ? 1 : (size_t)n;
}

size_t brim_knee_best(const brim_knee *knee, const brim_governor_options *options,
                      const brim_memory_model *memory, brim_shape shape, size_t budget_bytes)
{
    size_t cap = brim_knee_cap(knee, options, memory, shape, budget_bytes);
    knee_voice voice = voice_of(knee, shape);

    if (!voice.curve) return least(cap, first_size(shape));
    return smallest_near_best(&voice, shape, least(cap, top_items(&voice, shape)),
                              options->within_frac);
}

/* ---- Larger than what was tried ---- */

/* What going from `top` to n is worth in seconds, over what is still to be done. */
static double worth(const brim_knee *knee, const knee_voice *voice, brim_shape shape, size_t top,
                    size_t n, size_t cap, double best_cost)
{
    double octaves = log2((double)cap / (double)top), step = log2((double)n / (double)top);
    double chance = WALL_CHANCE * fmin(1.0, step / fmax(octaves, 0.01));
    double beyond = 0.5 * ((double)n / (double)top - 1.0); /* in the mean, if it is on the way */
    double seconds = seconds_of(voice, shape, n);
    double loss = seconds * fmin(WALL_SLOWDOWN - 1.0, WALL_RAMP * 2.0 * beyond);
    double gain = 1.0 - exp(guess(voice, shape, n).cost - best_cost);
    double second_per_item = exp(best_cost) * (double)shape.pixels;
    double items = fmax(HORIZON_ITEMS, knee->n_items);

    return (1.0 - chance) * gain * items * second_per_item - chance * loss;
}

/* The largest step that is taken: smaller ones after a spill was met, to find where it begins. */
static double longest_step(const brim_knee *knee)
{
    if (!knee->spilled.is_set) return 4.0;
    return knee->n_spills < 2 ? 1.19 : 1.09;
}

/* How far up may be looked: below what was refused, and below where it spilled. */
static size_t climb_cap(const brim_knee *knee, const brim_memory_model *memory, brim_shape shape,
                        size_t room)
{
    const brim_wall *spilled = &knee->spilled;
    size_t cap = least(room, brim_wall_most_items(&knee->refused, memory, shape));

    if (!spilled->is_set) return cap;
    if (!brim_shape_is_same(spilled->shape, shape) || knee->n_runs < spilled->retry_at ||
        knee->n_spills >= MOST_SPILL_ENTRIES)
        return 0;
    return least(cap, spilled->n_bad - 1);
}

/* The size to try above the largest that went well, or 0. */
static size_t climb(const brim_knee *knee, const brim_governor_options *options,
                    const knee_voice *voice, brim_shape shape, size_t cap)
{
    static const double STEPS[] = {4.0, 2.0, 1.41, 1.19, 1.09, 1.045};
    size_t top = top_items(voice, shape), chosen = 0, far = least(cap, top * 64);
    double promised = INFINITY, best_worth = 0.0;

    if (cap <= top) return 0;
    if (voice->curve->n_bins < 2 && !knee->spilled.is_set) return least(cap, top * 4);
    double lowest = lowest_cost(voice, shape, top);
    brim_time_guess of_top = guess(voice, shape, top);
    if (of_top.cost - HOPE_DEVIATIONS * of_top.sd > lowest) return 0; /* it goes up already */
    for (size_t n = top; n < far;) {
        n = least(far, n + (n + 3) / 4);
        promised = fmin(promised, guess(voice, shape, n).cost);
    }
    if (promised > lowest - options->within_frac / 2.0) return 0;
    for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
        if (STEPS[i] > longest_step(knee)) continue;
        size_t n = least(cap, (size_t)ceil((double)top * STEPS[i]));
        double value = worth(knee, voice, shape, top, n, cap, lowest);
        if (n <= top || value <= best_worth) continue;
        best_worth = value;
        chosen = n;
    }
    return chosen;
}

/* ---- Within what was tried ---- */

/* Seconds that trying smaller sizes may still cost. */
static double credit(const brim_knee *knee, const brim_governor_options *options)
{
    return options->explore_frac * knee->seconds - knee->seconds_explored;
}

/* Once, a size well below where it began: all that was run may be spilling already, and nothing
 * else would tell. 0 = it was done. */
static size_t look_down(brim_knee *knee, brim_shape shape, size_t most)
{
    size_t n = (first_size(shape) + LOOK_DOWN - 1) / LOOK_DOWN;

    if (knee->has_looked_down || knee->n_runs < RUNS_BEFORE_LOOK) return 0;
    knee->has_looked_down = true;
    return n < most ? n : 0;
}

/* A size that, for all that is known, could be better than the best by more than is cared for; 0 =
 * none, or none that may be paid for. */
static size_t explore(const brim_knee *knee, const brim_governor_options *options,
                      const knee_voice *voice, brim_shape shape, size_t most, size_t best)
{
    brim_time_guess of_best = guess(voice, shape, best);
    double lowest = of_best.cost - options->within_frac;
    size_t chosen = 0;

    for (size_t n = 1; n <= most; n = n < most ? least(next_size(n), most) : n + 1) {
        brim_time_guess of_n = guess(voice, shape, n);
        double hoped = of_n.cost - HOPE_DEVIATIONS * of_n.sd;
        if (n == best || hoped >= lowest) continue;
        lowest = hoped;
        chosen = n;
    }
    if (!chosen) return 0;
    double px = (double)shape.pixels * (double)chosen;
    double price = px * (exp(guess(voice, shape, chosen).cost) - exp(of_best.cost));
    double beginning = options->explore_frac * 2000.0 * (double)shape.pixels *
                       exp(of_best.cost); /* a small loan, or nothing is tried in short runs */
    return price <= fmax(credit(knee, options), beginning - knee->seconds_explored) ? chosen : 0;
}

/* ---- Back to a wall ---- */

static size_t approach_refusal(const brim_knee *knee, brim_shape shape, size_t room)
{
    const brim_wall *wall = &knee->refused;

    if (!wall->is_set || knee->n_runs < wall->retry_at || !brim_shape_is_same(wall->shape, shape))
        return 0;
    size_t n = least((size_t)ceil((double)wall->n_good * 1.41421356), wall->n_bad);
    return n <= room ? n : 0;
}

/* ---- Offers ---- */

static size_t start_trial(brim_knee *knee, brim_shape shape, size_t n)
{
    knee->trial = (brim_trial){n, shape, knee->n_runs + TRIAL_LIFE};
    return n;
}

/* Memory that others held may be free again, or what was met is explained by what they hold now. */
static void reconsider_walls(brim_knee *knee, const brim_memory_model *memory, size_t budget_bytes)
{
    const brim_wall *refused = &knee->refused;

    if (refused->is_set && memory->n_seen > 0 &&
        brim_memory_model_forecast(memory, refused->shape, refused->n_bad).bytes > budget_bytes)
        knee->refused.is_set = false;
    if (knee->spilled.is_set && knee->n_spills < MOST_SPILL_ENTRIES &&
        (double)budget_bytes > knee->spill_budget * FREE_ROSE && knee->spill_budget > 0)
        knee->spilled.is_set = false;
}

size_t brim_knee_offer(brim_knee *knee, const brim_governor_options *options,
                       const brim_memory_model *memory, brim_shape shape, size_t budget_bytes)
{
    reconsider_walls(knee, memory, budget_bytes);
    size_t cap = brim_knee_cap(knee, options, memory, shape, budget_bytes);
    knee_voice voice = voice_of(knee, shape);

    if (!knee->spilled.is_set) knee->spill_budget = (double)budget_bytes;
    if (!voice.curve) { /* as if each went well, up to sixteen times as many */
        size_t n = first_size(shape) << (knee->n_offers_ahead < 2 ? knee->n_offers_ahead * 2 : 4);
        knee->n_offers_ahead++;
        return least(cap, n);
    }
    size_t most = least(cap, top_items(&voice, shape));
    size_t best = smallest_near_best(&voice, shape, most, options->within_frac);
    if (knee->trial.n_items && knee->n_runs < knee->trial.until) return best;
    knee->trial.n_items = 0;

    size_t room = room_for(options, memory, shape, budget_bytes);
    size_t n = approach_refusal(knee, shape, room);
    if (!n) n = climb(knee, options, &voice, shape, climb_cap(knee, memory, shape, room));
    if (!n) n = look_down(knee, shape, best);
    if (!n) n = explore(knee, options, &voice, shape, most, best);
    return n && n != best ? start_trial(knee, shape, n) : best;
}

size_t brim_knee_limit(const brim_knee *knee, const brim_governor_options *options,
                       const brim_memory_model *memory, brim_shape shape, size_t budget_bytes)
{
    size_t cap = brim_knee_cap(knee, options, memory, shape, budget_bytes);
    knee_voice voice = voice_of(knee, shape);
    const brim_trial *trial = &knee->trial;

    if (!voice.curve) return least(cap, first_size(shape));
    size_t room = room_for(options, memory, shape, budget_bytes);
    if (trial->n_items && brim_shape_is_same(trial->shape, shape) && trial->n_items <= room)
        return trial->n_items;
    size_t most = least(cap, top_items(&voice, shape) * 4);
    if (voice.curve->n_bins < 2) return most;
    return largest_near_best(&voice, shape, most, MUCH_WORSE);
}

/* ---- What a run told ---- */

/*
 * How many times as long as expected; what is beyond the largest size is expected to take at least
 * as long for each pixel as there. *excused: as many times may be noise, as far as that is known
 * after few runs, or the reach of the curve.
 */
static double slowness(const knee_voice *voice, const brim_observation *seen, double *excused)
{
    double px = (double)seen->shape.pixels * (double)seen->n_items;
    double top = fmax(voice->top_px, 1.0);
    double beyond = px > top ? log2(px / top) : 0.0;
    double cost = brim_time_curve_guess(voice->curve, px).cost;
    double known = brim_time_curve_noise(voice->curve);
    double feared = known * (1.0 + FEW_RUNS / (1.0 + voice->curve->noise_weight));
    double noise = fmax(known, fmin(feared, MUCH_NOISE));

    if (px > top) cost = fmax(cost, brim_time_curve_guess(voice->curve, top).cost);
    *excused = exp(NOISE_DEVIATIONS * hypot(noise, 0.15 * beyond));
    return seen->seconds / (exp(cost + voice->offset) * px);
}

/* A smaller size was tried: what it cost above the best is on the account of trying. */
static void note_explored(brim_knee *knee, const knee_voice *voice, const brim_observation *seen)
{
    double px = (double)seen->shape.pixels * (double)seen->n_items;

    if (!voice->curve || px >= voice->top_px * 0.99) return;
    double lowest = lowest_cost(voice, seen->shape, top_items(voice, seen->shape));
    knee->seconds_explored += fmax(0.0, seen->seconds - exp(lowest) * px);
    knee->n_explored++;
}

static void learn(brim_knee *knee, const brim_observation *seen)
{
    double px = (double)seen->shape.pixels * (double)seen->n_items;
    brim_shape_class *own = make_class(knee, seen->shape);

    brim_time_curve_observe(&knee->all, px, seen->seconds);
    brim_time_curve_observe(&own->curve, px, seen->seconds);
    brim_time_curve_refit(&knee->all);
    brim_time_curve_refit(&own->curve);
    double residual = log(seen->seconds) - log(px) - brim_time_curve_guess(&knee->all, px).cost;
    own->offset_runs = fmin(own->offset_runs + 1.0, 50.0);
    own->offset += (residual - own->offset) / own->offset_runs;
    own->most_px = fmax(own->most_px, px);
    knee->most_px = fmax(knee->most_px, px);
}

/* Steps back from a run that took far too long. True: now it is certain that the device spills. */
static bool meet_spill(brim_knee *knee, const knee_voice *voice, const brim_observation *seen)
{
    size_t n = seen->n_items, top = top_items(voice, seen->shape);
    size_t good = n > top ? top : (size_t)((double)n / 1.41421356);
    bool was_certain = knee->spill_is_certain;

    if (knee->spilled.is_set && brim_shape_is_same(knee->spilled.shape, seen->shape) &&
        n > knee->spilled.n_good)
        good = knee->spilled.n_good;
    brim_wall_meet(&knee->spilled, seen->shape, n, good, knee->n_runs, SPILL_WAIT,
                   SPILL_LONGEST_WAIT);
    knee->n_spills++;
    if (knee->items_per_s_spilled <= 0) {
        knee->items_per_s_spilled = (double)n / seen->seconds;
        knee->items_per_s_good = (double)good / seconds_of(voice, seen->shape, good);
    }
    knee->spill_is_certain |= knee->n_spills >= 2 || seen->has_pressure;
    return knee->spill_is_certain && !was_certain;
}

static void meet_refusal(brim_knee *knee, const brim_observation *seen)
{
    const brim_wall *wall = &knee->refused;
    size_t n = seen->n_items, good = n / 2;

    /* Coming back to it: what went well on the way is still good. */
    if (wall->is_set && brim_shape_is_same(wall->shape, seen->shape) && n > wall->n_good &&
        wall->n_good > good)
        good = wall->n_good;
    brim_wall_meet(&knee->refused, seen->shape, n, good, knee->n_runs, FIRST_WAIT, LONGEST_WAIT);
}

bool brim_knee_observe(brim_knee *knee, const brim_governor_options *options,
                       const brim_memory_model *memory, const brim_observation *seen)
{
    knee_voice voice = voice_of(knee, seen->shape);
    bool was_trial = knee->trial.n_items && seen->n_items == knee->trial.n_items;

    knee->n_runs++;
    knee->seconds += seen->seconds;
    if (was_trial) knee->trial.n_items = 0;
    if (seen->refused) {
        meet_refusal(knee, seen);
        return false;
    }
    knee->n_items += (double)seen->n_items;
    if (voice.curve) {
        double excused, slow = slowness(&voice, seen, &excused);
        double px = (double)seen->shape.pixels * (double)seen->n_items;
        bool is_above = px > voice.top_px * 1.001;
        if (seen->has_pressure) excused = 0.0; /* a counter agrees: no noise */
        bool is_hard = slow > fmax(options->spill_factor, excused);
        /* A smaller size that was never run is dear in its own right. */
        if (!is_above && brim_time_curve_runs_at(voice.curve, px) <= 0) is_hard = false;
        /* At a size that went well before: others may have come. Slow even after a step back: it is
         * the machine, not the size. */
        if (is_hard && !is_above)
            is_hard = ++knee->n_slow_in_a_row == 2;
        else if (!is_hard)
            knee->n_slow_in_a_row = 0;
        if (is_hard) return meet_spill(knee, &voice, seen);
        if (knee->n_slow_in_a_row > 2) knee->spilled.is_set = false;
    }
    if (was_trial) note_explored(knee, &voice, seen);
    learn(knee, seen);
    brim_wall_pass(&knee->refused, memory, seen->shape, seen->n_items, knee->n_runs, STEP_WAIT);
    brim_wall_pass(&knee->spilled, memory, seen->shape, seen->n_items, knee->n_runs,
                   knee->spilled.wait);
    return false;
}

/* ---- What is known ---- */

double brim_knee_items_per_s(const brim_knee *knee, brim_shape shape, size_t n_items)
{
    knee_voice voice = voice_of(knee, shape);

    return voice.curve ? (double)n_items / seconds_of(&voice, shape, n_items) : 0.0;
}

uint64_t brim_knee_runs_at(const brim_knee *knee, brim_shape shape, size_t n_items)
{
    const brim_shape_class *own = find_class(knee, shape);

    if (!own) return 0;
    return (uint64_t)brim_time_curve_runs_at(&own->curve, (double)shape.pixels * (double)n_items);
}
