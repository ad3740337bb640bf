/*
 * governor.h - by which policy batches are sized, and the numbers of each.
 */
#ifndef BRIMFUL_GOVERNOR_H
#define BRIMFUL_GOVERNOR_H

#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum brim_policy {
    BRIM_POLICY_KNEE,      /* the smallest batch within 1 % of the best throughput, as measured */
    BRIM_POLICY_AIMD,      /* halve on out-of-memory, double after a few runs that went well */
    BRIM_POLICY_ESTIMATE,  /* from the size of a picture and of its text, without measuring */
    BRIM_POLICY_WATERMARK, /* by the share of memory that is free, every few runs */
    BRIM_POLICY_FIXED,     /* always the same */
    BRIM_N_POLICIES,
} brim_policy;

/* "knee", "aimd", ...; NULL for what is none. */
BRIM_API const char *brim_policy_name(brim_policy policy);

/* Start from BRIM_OPTIONS(brim_governor_options); 0 means "the default", which is in brackets. */
typedef struct brim_governor_options {
    size_t struct_bytes;
    brim_policy policy;
    uint32_t max_batch;      /* never more (knee, fixed: 65536; the others: 64) */
    uint32_t start_batch;    /* aimd, watermark: the first (32); fixed: the batch (8) */
    double within_frac;      /* knee: settles within this of the best throughput (0.01) */
    double explore_frac;     /* knee: of all time, that goes into trying other sizes (0.01) */
    double spill_factor;     /* knee: times the expected seconds that are taken for a spill (2.5)
                              */
    uint32_t runs_to_double; /* aimd: good runs after which the batch is doubled (3) */
    double estimate_frac;    /* estimate: of what is free, that may be used (0.8) */
    double margin_frac;      /* estimate: of that, kept as a margin (0.5) */
    double bytes_per_pixel;  /* estimate: 3 channels of 4 bytes (12) */
    double bytes_per_token;  /* estimate: (100) */
    uint32_t look_every;     /* watermark: runs between two looks (10) */
    double low_frac;         /* watermark: less free than this: halve (0.2) */
    double high_frac;        /* watermark: more free than this: double (0.5) */
} brim_governor_options;

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_GOVERNOR_H */
