/*
 * setup.h - what a run and its plan have in common: the options, the memory, the inputs and the
 * model, opened from what fails fastest to what costs most, so that a misspelt name is told before
 * a model is loaded.
 *
 * Threads: a setup belongs to one; stop may be set from any.
 */
#ifndef BRIM_JOB_SETUP_H
#define BRIM_JOB_SETUP_H

#include <stdatomic.h>

#include "brimful/job.h"
#include "job/model.h"
#include "pipeline/pipeline.h"
#include "source/source.h"

typedef struct brim_setup {
    brim_embed_options options; /* checked, with the defaults filled in */
    brim_memory_bound bound;    /* that was the least when the budget was made */
    brim_budget *budget;
    brim_source_options source_options;
    brim_source *source;
    brim_model model;
    size_t batch; /* that the user or the model insists on; 0 = the governor's choice */
    atomic_bool stop;
} brim_setup;

/*
 * Opens all of it into a zeroed setup that stays where it is. Also after a failure it is closed by
 * brim_setup_close().
 */
brim_status brim_setup_open(brim_setup *setup, const brim_embed_options *options, brim_error *err);

/*
 * Once everything else is open too: what all of it takes is measured, enough must be left to run
 * the model, and a batch that can never be is told.
 */
brim_status brim_setup_settle(brim_setup *setup, brim_error *err);

/* The most pictures that a batch can ever hold. */
size_t brim_setup_most_items(const brim_setup *setup);

/* How to run it; store, counters, limit, spool, ticks and work are the caller's to fill in. */
brim_pipeline_options brim_setup_pipeline(brim_setup *setup);

/* A zero one is fine. */
void brim_setup_close(brim_setup *setup);

#endif /* BRIM_JOB_SETUP_H */
