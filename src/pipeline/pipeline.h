/*
 * pipeline.h - the walk of every row: read, decode into a batch, model, store.
 *
 *   source -> [rows] -> readers -> [items] -> decoders -> (batcher) -> model -> [results] -> writer
 *
 * One thread for the source, the model and the writer each, several for readers and decoders. Lines
 * in brackets are bounded queues. Every row that the source gives and the store does not know ends
 * as one record, a result or a failure, in one transaction.
 */
#ifndef BRIM_PIPELINE_PIPELINE_H
#define BRIM_PIPELINE_PIPELINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "brimful/governor.h"
#include "image/processor.h"
#include "observe/counters.h"
#include "session/session.h"
#include "source/source.h"
#include "store/store.h"
#include "task/task.h"

/* All is borrowed for the call; the store has begun a set. */
typedef struct brim_pipeline_options {
    brim_source *source;
    brim_store *store;
    brim_session *session;
    const brim_processor *processor;
    const brim_task *task;
    brim_budget *budget;
    brim_counters *counters;
    size_t batch; /* pictures in a run of the model, or 0: as many as the governor finds best */
    brim_governor_options governor;
    size_t n_decoders;           /* decode workers, at least 1 */
    uint64_t limit;              /* rows to do at most; 0 = all */
    uint32_t tile, overlap;      /* pixels; tile 0 = pictures are whole */
    bool decode_fast;            /* shrunk while decoding, where the input is much smaller */
    brim_reader_options reading; /* how files become pixels */
    uint64_t timeout_ns;         /* for a file that gives no byte */
    const char *spool_folder;    /* for pixels that wait on disk; NULL = $TMPDIR or /tmp */
    uint64_t look_ns;            /* between two looks at the system's memory; 0 = never */
    uint64_t trim_every;         /* batches between two trims of the arena; 0 = never */
    const brim_log *log;         /* may be NULL */
    atomic_bool *stop;           /* set by anybody: finish what is in batches, drop the rest */
    void (*tick)(void *ctx); /* called several times a second by the calling thread; may be NULL */
    void *tick_ctx;
    atomic_size_t *best_batch; /* told after each run: the size that is best as far as is known, 0 =
                                  nothing is; may be NULL */
    brim_work *work;           /* how the machine was used, filled in at the end; may be NULL */
} brim_pipeline_options;

/*
 * Runs to the end. BRIM_OK: all rows are through (or stop was set, and what was begun is stored).
 * Failures of single rows are records, not failures of the run.
 */
brim_status brim_pipeline_run(const brim_pipeline_options *options, brim_error *err);

#endif /* BRIM_PIPELINE_PIPELINE_H */
