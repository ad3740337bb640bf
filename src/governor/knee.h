/*
 * knee.h - the default policy: the smallest batch within 1 % of the best throughput, under a memory
 * model that is learned, with walls where the device refuses or spills.
 *
 * Sizes up to the largest that went well are ranked by a fitted curve of time (time_curve.h), one
 * for each class of shapes (quarter octaves of pixels per item) and one for all, which serves a
 * class until it has a few sizes of its own. Larger ones are tried as long as what they promise
 * over the rest of the run is worth more than what meeting a wall would cost. Smaller ones that
 * could be better, for all that is known, are tried within 1 % of the time.
 */
#ifndef BRIM_GOVERNOR_KNEE_H
#define BRIM_GOVERNOR_KNEE_H

#include "brimful/governor.h"
#include "governor/memory_model.h"
#include "governor/time_curve.h"
#include "governor/wall.h"

enum { BRIM_N_CLASSES = 24 }; /* of shapes, remembered at once: the one unused for longest goes */

typedef struct brim_shape_class {
    uint32_t name;    /* quarter octave of pixels per item, from 1; 0 = free */
    uint64_t used_at; /* run */
    double most_px;   /* of a batch that went well */
    double offset;    /* of its cost above that of all shapes, as a mean over runs */
    double offset_runs;
    brim_time_curve curve;
} brim_shape_class;

/* A size that is being tried. One at a time: it is outstanding until its run is seen. */
typedef struct brim_trial {
    size_t n_items; /* 0 = none */
    brim_shape shape;
    uint64_t until; /* the run after which it is given up for lost */
} brim_trial;

typedef struct brim_knee {
    brim_time_curve all;
    double most_px; /* of a batch of any shape that went well */
    brim_shape_class classes[BRIM_N_CLASSES];
    brim_wall refused, spilled;
    brim_trial trial;
    uint64_t n_runs, n_offers_ahead; /* offers made before the first run was seen */
    double n_items;
    double seconds, seconds_explored; /* in all, and of it what smaller sizes cost above the best */
    double spill_budget;              /* bytes that were free when the spill was last met */
    double items_per_s_good, items_per_s_spilled; /* for the words about it */
    bool spill_is_certain; /* seen twice, or a counter of the system agrees */
    bool has_looked_down;  /* at a size below the first */
    uint32_t n_slow_in_a_row;
    uint64_t n_spills, n_explored;
} brim_knee;

void brim_knee_init(brim_knee *knee);

/* As those of governor.h. options: with the defaults filled in. The memory model is the governor's;
 * of a run it learns after the knee. */
size_t brim_knee_offer(brim_knee *knee, const brim_governor_options *options,
                       const brim_memory_model *memory, brim_shape shape, size_t budget_bytes);
size_t brim_knee_limit(const brim_knee *knee, const brim_governor_options *options,
                       const brim_memory_model *memory, brim_shape shape, size_t budget_bytes);

/* Returns true where a spill has just become certain: the user should be told, once. */
bool brim_knee_observe(brim_knee *knee, const brim_governor_options *options,
                       const brim_memory_model *memory, const brim_observation *seen);

/* Items a second at this size as far as is known; 0 = nothing is. */
double brim_knee_items_per_s(const brim_knee *knee, brim_shape shape, size_t n_items);

/* Runs at about this size, of this class. */
uint64_t brim_knee_runs_at(const brim_knee *knee, brim_shape shape, size_t n_items);

/* The best size that is known, without trying anything. */
size_t brim_knee_best(const brim_knee *knee, const brim_governor_options *options,
                      const brim_memory_model *memory, brim_shape shape, size_t budget_bytes);

/* The most that fits: by memory, and below the walls. */
size_t brim_knee_cap(const brim_knee *knee, const brim_governor_options *options,
                     const brim_memory_model *memory, brim_shape shape, size_t budget_bytes);

#endif /* BRIM_GOVERNOR_KNEE_H */
