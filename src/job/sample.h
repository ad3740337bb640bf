/*
 * sample.h - how many pictures there are, and some of them by chance, by a walk over names alone.
 *
 * The same inputs give the same sample. It holds names of bounded number, so inputs may be as large
 * as they like; a walk that does not end in its time is a count of "at least".
 *
 * Threads: a sample belongs to one; sources over it only read it.
 */
#ifndef BRIM_JOB_SAMPLE_H
#define BRIM_JOB_SAMPLE_H

#include "source/source.h"

enum { BRIM_SAMPLE_ROWS = 4096 };

typedef struct brim_sample {
    const brim_alloc *mem;
    brim_row **rows; /* in the order of chance */
    size_t n_rows;
    uint64_t n_images;
    bool is_counted;                  /* to the end; else n_images is the least */
    uint64_t n_skipped, n_incomplete; /* as the source tells them */
} brim_sample;

/*
 * Walks over the inputs, limit rows of them at most (0 = all), until brim_now_ns() is past
 * until_ns. Inputs that can be read only once are refused by the source, untouched. On failure
 * sample is zero.
 */
brim_status brim_sample_draw(const brim_alloc *mem, const brim_source_options *options,
                             uint64_t limit, uint64_t until_ns, brim_sample *sample,
                             brim_error *err);

/* A zero one is fine. */
void brim_sample_fini(brim_sample *sample);

/*
 * The sample's rows as a source that begins anew at its end, for ever, unless it is empty. Rows
 * that come again have the key "", which no other row has. The sample must outlive it.
 */
brim_status brim_sample_open_source(const brim_alloc *mem, const brim_sample *sample,
                                    brim_source **out, brim_error *err);

#endif /* BRIM_JOB_SAMPLE_H */
