/*
 * plan.h - what a run would be, without running it: the batch that suits the model, the memory it
 * takes, how many pictures there are, how long it will take.
 *
 * A plan loads the model and runs it on a sample of the pictures for some seconds, exactly as a run
 * would, and drops the results: it writes no store and changes no file.
 *
 * Threads: brim_plan_make() belongs to one; a brim_plan is a plain value.
 */
#ifndef BRIMFUL_PLAN_H
#define BRIMFUL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/job.h"
#include "brimful/observe.h"
#include "brimful/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Start from BRIM_OPTIONS(brim_plan_options). */
typedef struct brim_plan_options {
    size_t struct_bytes;
    uint32_t seconds; /* that counting and trying take at most together, 1 to 30; 0 = 30. Loading
                         comes on top, and a run of the model that has begun is waited for */
} brim_plan_options;

/* Where the limit on memory comes from. */
typedef enum brim_budget_origin {
    BRIM_BUDGET_ASKED,     /* memory_bytes of the options */
    BRIM_BUDGET_LOWERED,   /* less than that, since no more is free */
    BRIM_BUDGET_MACHINE,   /* 80 % of what the machine has free */
    BRIM_BUDGET_GROUP,     /* 80 % of what the control group leaves */
    BRIM_BUDGET_ADDRESSES, /* 80 % of the address space that is allowed (ulimit -v) */
    BRIM_BUDGET_DEVICE,    /* all of a simulated device */
} brim_budget_origin;

typedef struct brim_plan {
    size_t struct_bytes; /* set by BRIM_OPTIONS */

    char model[128], file[512], device[512]; /* made safe to show; a simulated device has the
                                                device's name for its file */
    uint64_t weights_bytes;
    size_t budget_bytes;
    brim_budget_origin origin;

    brim_work work;    /* of the probe: the ladder, the memory of a run, the stages */
    size_t batch;      /* chosen for pictures of work.ladder_px; 0 = nothing could be run */
    size_t most_items; /* that fit into one */

    uint64_t n_images; /* files that failed in earlier runs, or are done, too */
    bool is_counted;   /* else n_images is what was counted until the time was over */
    uint64_t n_skipped, n_incomplete; /* as in brim_progress */

    uint64_t n_sampled; /* of the pictures, tried by chance */
    uint64_t n_unreadable;
    double unreadable_least_frac, unreadable_most_frac; /* of all pictures, with 95 % */
    char unreadable[512]; /* one of them with its reason, made safe to show; "" where none is */
    uint64_t n_failed;    /* of the sample, in the model */

    double images_per_s; /* once warm; 0 = not known. Of a device with a virtual clock, in its
                            seconds where they are more than those of everything else */
    bool has_settled;    /* the batch was the same for a while before the end */
    double load_s, probe_s;
    double run_s; /* all pictures, loading included; below 0 = not known */
} brim_plan;

/*
 * Plans the run that these options ask for; store and retry_failed do not matter. BRIM_E_ARG also
 * where an input can be read only once, which a plan would use up. On failure out holds nothing.
 */
BRIM_API brim_status brim_plan_make(const brim_embed_options *options,
                                    const brim_plan_options *planning, brim_plan *out,
                                    brim_error *err);

/* "memory", "free", "control group", ...: where a budget comes from, in a word; never NULL. */
BRIM_API const char *brim_budget_origin_name(brim_budget_origin origin);

/* Enough for any plan, either way. */
enum { BRIM_PLAN_TEXT_BYTES = 8192, BRIM_PLAN_JSON_BYTES = 16384 };

/* The plan as lines for people, each with its newline, cut where capacity is short. Returns the
 * length. */
BRIM_API size_t brim_plan_text(const brim_plan *plan, char *out, size_t capacity);

/* The plan as one line of JSON; never cut: BRIM_E_ARG and "" where capacity is short. */
BRIM_API brim_status brim_plan_json(const brim_plan *plan, char *out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_PLAN_H */
