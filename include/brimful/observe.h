/*
 * observe.h - how far a run has come, as numbers and as a line for people.
 *
 * Threads: brim_progress is a plain value; formatting touches nothing else.
 */
#ifndef BRIMFUL_OBSERVE_H
#define BRIMFUL_OBSERVE_H

#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct brim_progress {
    uint64_t n_total;          /* rows of the input, once they are counted; 0 = not known */
    uint64_t n_done;           /* results written in this run */
    uint64_t n_failed;         /* failures written in this run */
    uint64_t n_already;        /* rows passed over because their result is there */
    uint64_t n_failed_earlier; /* rows passed over because they failed in an earlier run */
    uint64_t n_repeats;        /* rows passed over because their key came before in this run */
    uint64_t n_skipped;        /* files that are no pictures by their name */
    uint64_t n_incomplete;     /* folders or lists that could not be read to their end */
    uint64_t n_batches;        /* runs of the model */
    uint64_t n_refusals;       /* runs of the model that memory refused */
    uint64_t n_splits;         /* batches cut in two for that */
    uint64_t n_set_aside;      /* pictures run alone, with everything else drained */
    uint64_t n_trims;          /* times that idle memory was given back to the system */
    double elapsed_s;          /* since the first row was asked for */
    double rows_per_s;         /* (n_done + n_failed) / elapsed_s */
    double left_s;             /* at this rate; below 0 = not known */
} brim_progress;

/*
 * "1,250 of 10,000 rows, 41.3 rows/s, 3 failed, 3 min 32 s left" into out (capacity bytes, cut
 * where it is short). Returns the length.
 */
BRIM_API size_t brim_progress_line(const brim_progress *progress, char *out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_OBSERVE_H */
