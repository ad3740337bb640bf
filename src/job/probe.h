/*
 * probe.h - a run of some seconds whose results are dropped: what the machine does with this model
 * and these pictures.
 *
 * It is the pipeline of a run, with a store that only counts. It ends when the batch that is
 * best has been the same for a while, when its time is over, or, where the sample was gone through
 * and comes again, when a third of it is.
 *
 * Threads: brim_probe_run() belongs to one.
 */
#ifndef BRIM_JOB_PROBE_H
#define BRIM_JOB_PROBE_H

#include "job/sample.h"
#include "job/setup.h"

enum { BRIM_PROBE_WORDS_BYTES = 512 };

typedef struct brim_probe {
    brim_work work;
    size_t batch;       /* that was best at the end; 0 = none was */
    uint64_t n_sampled; /* of the sample, each once */
    uint64_t n_unreadable, n_failed;
    char unreadable[BRIM_PROBE_WORDS_BYTES]; /* the first with its reason, safe to show */
    double images_per_s; /* of the second half of the time, in which it was warm; 0 = none came */
    double seconds;
    bool has_settled;
} brim_probe;

/* Until brim_now_ns() is until_ns at the latest; a run of the model that has begun is waited for.
 */
brim_status brim_probe_run(brim_setup *setup, const brim_sample *sample, uint64_t until_ns,
                           brim_probe *out, brim_error *err);

/* ---- How fast, from what was done when ---- */

enum { BRIM_PACE_POINTS = 256 };

typedef struct brim_pace_point {
    double at_s;
    uint64_t n;
} brim_pace_point;

/* A zero one is empty. Where points become too many every second one is forgotten, and fewer come.
 */
typedef struct brim_pace {
    brim_pace_point points[BRIM_PACE_POINTS];
    size_t n_points;
    double least_step_s;
} brim_pace;

/* n were done at this time; told again and again, with the same n too. */
void brim_pace_note(brim_pace *pace, double at_s, uint64_t n);

/* From about the middle of the time to its end; of all of it where that says nothing; 0 = nothing
 * was done. */
double brim_pace_per_s(const brim_pace *pace);

/* Between the last two times that something was done; 0 = not known. */
double brim_pace_last_step_s(const brim_pace *pace);

/* ---- Whether the best batch is found ---- */

typedef struct brim_calm {
    size_t batch;
    double since_s;
    uint64_t since_runs;
} brim_calm;

/* The batch that is best now, after so many runs. True where it has been about the same for long
 * enough: some runs and seconds, and a third of the time; or very many runs, which on a virtual
 * clock take no time. */
bool brim_calm_look(brim_calm *calm, size_t batch, uint64_t n_runs, double at_s);

#endif /* BRIM_JOB_PROBE_H */
