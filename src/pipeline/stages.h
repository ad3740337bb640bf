/* stages.h - what the stages of one run share; only pipeline.c and the stages include it. */
#ifndef BRIM_PIPELINE_STAGES_H
#define BRIM_PIPELINE_STAGES_H

#include "base/queue.h"
#include "base/sync.h"
#include "pipeline/batcher.h"
#include "pipeline/pipeline.h"
#include "pipeline/spool.h"
#include "pipeline/workers.h"

typedef struct brim_stages {
    const brim_pipeline_options *options;
    brim_file_pool pool; /* room for the bytes of read files */
    bool has_pool;
    size_t small_bytes;  /* reserved for rows, items and vectors */
    brim_queue *rows;    /* brim_row: not yet read */
    brim_queue *items;   /* brim_item: read, not yet decoded */
    brim_queue *results; /* brim_item: with a result or a failure */
    brim_sizes *sizes;
    brim_batcher *batcher;
    brim_spool spool; /* the model stage's */
    brim_workers workers;
    bool has_workers;

    brim_monitor monitor;   /* guards error, n_decoding, n_running */
    brim_error error;       /* the first reason why the run cannot go on; status 0 = none */
    size_t n_decoding;      /* decoders that have not ended */
    size_t n_running;       /* threads that have not ended */
    bool starts_library;    /* some decoder is about to: guarded by the monitor */
    size_t library_bytes;   /* reserved for it, until the run ends */
    atomic_bool said_depth; /* that pictures of more than 8 bits are scaled was said */
    atomic_bool said_bands; /* that bands are left out was said */
    atomic_bool broken;     /* error is set: nothing is to be stored any more */
} brim_stages;

/* Ends the run: the first reason counts. */
void brim_stages_give_up(brim_stages *stages, const brim_error *err);

/* Asks the store about a row, and counts what is not to be done. */
brim_claim brim_stages_claim(brim_stages *stages, const brim_row *row);

/* What the header says goes into the record; what is left out of the picture is said, once. */
void brim_stages_note_picture(brim_stages *stages, brim_item *item, const brim_image_info *info);

/* Opens the item's picture; where that starts a library, memory for it is waited for before. */
brim_status brim_stages_open_reader(brim_stages *stages, const brim_item *item,
                                    const brim_reader_options *options, brim_reader **out,
                                    brim_error *err);

/* The shape as which a picture goes into a batch. */
brim_status brim_stages_shape(const brim_stages *stages, const brim_image_info *info,
                              uint32_t *height, uint32_t *width, brim_error *err);

/* Cuts one item into tiles and sends them on. Takes it over. */
void brim_stage_tile_item(brim_stages *stages, brim_item *item);

/* Should no new work be begun? */
bool brim_stages_stopping(const brim_stages *stages);

/* The item's record holds a failure: on to the writer with it. */
void brim_stages_fail(brim_stages *stages, brim_item *item);

/* The last word of each stage's thread. */
void brim_stages_thread_ends(brim_stages *stages);

/* One thread each; arg is the brim_stages. */
void *brim_stage_source(void *arg);
void *brim_stage_decode(void *arg);
void *brim_stage_model(void *arg);
void *brim_stage_write(void *arg);

#endif /* BRIM_PIPELINE_STAGES_H */
