/*
 * sizes.h - how many pictures go into a batch, and into a run: the home of the run's one governor.
 *
 * The governor is arithmetic (governor/governor.h); here are its lock, the bytes that a run may
 * take, and the book of what was run. What goes into the governor and comes out of it is logged in
 * the order in which it happened, so that the log replays it (governor/observation.h).
 *
 * Threads: any may ask; runs are noted by the one that runs the model, which alone asks for limits.
 */
#ifndef BRIM_PIPELINE_SIZES_H
#define BRIM_PIPELINE_SIZES_H

#include "base/log.h"
#include "brimful/observe.h"
#include "governor/governor.h"
#include "session/session.h"

typedef struct brim_sizes brim_sizes;

/* All is borrowed for the life of the sizes. */
typedef struct brim_sizes_options {
    brim_budget *budget;
    const brim_session *session;
    brim_governor_options governor;
    size_t batch;        /* not 0: always so many, whatever the policy */
    const brim_log *log; /* may be NULL */
} brim_sizes_options;

/* On failure *out is NULL. */
brim_status brim_sizes_create(const brim_sizes_options *options, brim_sizes **out, brim_error *err);

/* Accepts NULL. */
void brim_sizes_destroy(brim_sizes *sizes);

/* Slots that one batch may have at most, several being alive at once; at least 1. */
size_t brim_sizes_most_slots(const brim_budget *budget, size_t slot_bytes);

/* How many slots of slot_bytes a new batch of pictures of this shape gets, at least 1. */
size_t brim_sizes_offer(brim_sizes *sizes, brim_shape shape, size_t slot_bytes);

/* How many pictures of this shape may run at once now, at least 1. */
size_t brim_sizes_limit(brim_sizes *sizes, brim_shape shape);

/*
 * One run of the model, however it ended. What was neither done nor refused for memory is counted
 * only. True where the governor has met a wall by it: open batches may be too large now.
 */
bool brim_sizes_note_run(brim_sizes *sizes, const brim_observation *seen, brim_status status);

/*
 * From now on runs are counted, but teach nothing unless nothing is known: what is left of a run
 * that is being stopped has the machine to itself, and seems faster than it was.
 */
void brim_sizes_stop_learning(brim_sizes *sizes);

/* The size of batch that is best, for pictures of the shape that came most, as far as is known:
 * what is offered but for trials. 0 = nothing is. */
size_t brim_sizes_best(brim_sizes *sizes);

/* How long a batch may wait to be filled while the model has nothing to do. */
uint64_t brim_sizes_patience_ns(brim_sizes *sizes);

/* Fills in what is known here: device seconds, runs by size, spills, the ladder. */
void brim_sizes_tell(brim_sizes *sizes, brim_work *out);

#endif /* BRIM_PIPELINE_SIZES_H */
