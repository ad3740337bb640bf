/*
 * counters.h - what the stages of a run tell as they go. Counters are told things and ask nobody.
 *
 * Threads: any thread may add; a snapshot is exact once the stages have ended, and near enough
 * before.
 */
#ifndef BRIM_OBSERVE_COUNTERS_H
#define BRIM_OBSERVE_COUNTERS_H

#include <stdatomic.h>

#include "brimful/observe.h"

typedef struct brim_counters {
    atomic_uint_fast64_t n_total, n_done, n_failed, n_already, n_failed_earlier, n_repeats;
    atomic_uint_fast64_t n_batches, n_refusals, n_splits, n_set_aside, n_trims;
    atomic_uint_fast64_t reading_ns, storing_ns; /* by all threads together */
    atomic_uint_fast64_t started_ns;             /* brim_now_ns() at the start; 0 before */
} brim_counters;

/* Adds without ordering: a count is only a count. */
static inline void brim_count(atomic_uint_fast64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* n_skipped and n_incomplete are the source's to tell and are left 0. */
brim_progress brim_counters_snapshot(const brim_counters *counters, uint64_t now_ns);

#endif /* BRIM_OBSERVE_COUNTERS_H */
