/*
 * observe.h - how far a run has come, as numbers and as a line for people.
 *
 * Threads: brim_progress is a plain value; formatting touches nothing else.
 */
#ifndef BRIMFUL_OBSERVE_H
#define BRIMFUL_OBSERVE_H

#include <stdbool.h>
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

typedef enum brim_stage {
    BRIM_STAGE_READING,
    BRIM_STAGE_DECODING,
    BRIM_STAGE_MODEL,
    BRIM_STAGE_STORING,
    BRIM_N_STAGES,
} brim_stage;

/* "reading", "decoding", ...; never NULL. */
BRIM_API const char *brim_stage_name(brim_stage stage);

typedef struct brim_stage_use {
    double busy_s;    /* of all its threads together */
    double busy_frac; /* of the time that they had; waiting for others is not busy */
} brim_stage_use;

typedef struct brim_size_count {
    size_t n_items;
    uint64_t n_runs;
} brim_size_count;

/* A size of batch: what is known of it at the end. */
typedef struct brim_work_rung {
    size_t n_items;
    uint64_t n_runs;    /* at about this size */
    double items_per_s; /* 0 = not known */
    size_t bytes;       /* at the peak of a run, as expected */
    bool is_chosen;
    bool is_walled; /* refused, or spills */
} brim_work_rung;

/* What a run of the model holds, as it was learned. */
typedef struct brim_work_memory {
    size_t fixed_bytes;
    size_t item_bytes;  /* of a picture of ladder_px, */
    size_t token_bytes; /* and of each token that comes with it */
    double error_frac;  /* that the chosen batch hardly ever exceeds this by */
    size_t room_bytes;  /* that a run may hold; SIZE_MAX = no end to it */
    size_t most_items;  /* whose bytes are within room_bytes, below what was refused or spilled */
} brim_work_memory;

enum { BRIM_WORK_SIZES = 64, BRIM_WORK_RUNGS = 24 };

/* How a run used the machine. */
typedef struct brim_work {
    double device_s;       /* of all runs of the model, those refused included */
    double idle_frac;      /* of the run, that the model waited */
    uint64_t n_spills;     /* runs that were taken for spilling into slower memory */
    size_t run_peak_bytes; /* the most that a run of the model held at once, where it is known */
    uint32_t n_decoders;   /* decode workers in use at the end */
    brim_stage limit;      /* the busiest stage */
    brim_stage_use stages[BRIM_N_STAGES];
    size_t n_sizes;
    brim_size_count sizes[BRIM_WORK_SIZES]; /* runs that were not refused, by their size */
    uint64_t n_other_runs;                  /* of sizes beyond those */
    uint64_t ladder_px;                     /* of a picture, of the shape that came most */
    size_t n_rungs;
    brim_work_rung ladder[BRIM_WORK_RUNGS]; /* smallest first */
    brim_work_memory memory;                /* all 0 where the ladder is empty */
} brim_work;

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_OBSERVE_H */
