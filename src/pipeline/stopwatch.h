/*
 * stopwatch.h - time that is spent on something by any number of threads at once.
 *
 * Threads: whoever owns it has the lock.
 */
#ifndef BRIM_PIPELINE_STOPWATCH_H
#define BRIM_PIPELINE_STOPWATCH_H

#include "base/clock.h"

typedef struct brim_stopwatch {
    uint64_t total_ns, n_running;
    uint64_t began_ns; /* sum over those that run; sums may wrap, their difference does not */
} brim_stopwatch;

/* Returns the moment, to be given to brim_stopwatch_end(). */
static inline uint64_t brim_stopwatch_begin(brim_stopwatch *watch)
{
    uint64_t now_ns = brim_now_ns();

    watch->n_running++;
    watch->began_ns += now_ns;
    return now_ns;
}

static inline void brim_stopwatch_end(brim_stopwatch *watch, uint64_t began_ns)
{
    watch->n_running--;
    watch->began_ns -= began_ns;
    watch->total_ns += brim_now_ns() - began_ns;
}

/* What still runs included. */
static inline double brim_stopwatch_seconds(const brim_stopwatch *watch, uint64_t now_ns)
{
    return (double)(watch->total_ns + watch->n_running * now_ns - watch->began_ns) / 1e9;
}

#endif /* BRIM_PIPELINE_STOPWATCH_H */
