/*
 * count.h - counts the rows of the inputs while the run is on, so that the time left can be told.
 *
 * A second walk over the same inputs, ahead of the first and without opening anything. Inputs that
 * can be read only once (standard input, pipes) are not counted.
 */
#ifndef BRIM_JOB_COUNT_H
#define BRIM_JOB_COUNT_H

#include <pthread.h>
#include <stdbool.h>

#include "observe/counters.h"
#include "source/source.h"

typedef struct brim_row_count {
    brim_source_options options;
    brim_counters *counters; /* n_total is set when all rows are counted */
    atomic_bool stop;
    bool running;
    pthread_t thread;
} brim_row_count;

/* Starts counting; where that fails, the time left is not known, and that is all. */
void brim_row_count_start(brim_row_count *count, const brim_source_options *options,
                          brim_counters *counters);

/* Ends it, finished or not; fine when it was not started. */
void brim_row_count_stop(brim_row_count *count);

#endif /* BRIM_JOB_COUNT_H */
