/*
 * file_pool.h - room for the bytes of files between reading and decoding.
 *
 * The room is reserved once, at the start, so that reading ahead never waits for memory that
 * decoders or batches hold, nor takes it from them. A file larger than all of it goes through
 * alone, with what it needs beyond charged on top. Files that stay open while they wait are few
 * beside those that the system lets us have open (ulimit -n).
 *
 * Threads: any.
 */
#ifndef BRIM_PIPELINE_FILE_POOL_H
#define BRIM_PIPELINE_FILE_POOL_H

#include "base/sync.h"
#include "brimful/memory.h"

typedef struct brim_batcher brim_batcher;

typedef struct brim_file_pool {
    brim_budget *budget;
    brim_batcher *batcher; /* knows whether waiting for memory is worth while */
    size_t capacity_bytes;
    size_t max_open;
    brim_monitor monitor; /* guards all below */
    size_t n_open;
    size_t held_bytes;
    size_t extra_bytes; /* reserved for the one file beyond capacity */
    bool large_waits;   /* such a file is next: smaller ones let it pass */
} brim_file_pool;

/* BRIM_E_BUDGET: the room itself does not fit. */
brim_status brim_file_pool_init(brim_file_pool *pool, brim_budget *budget, brim_batcher *batcher,
                                size_t capacity_bytes, brim_error *err);

/* All must have been given back. */
void brim_file_pool_fini(brim_file_pool *pool);

/* Waits for room. BRIM_E_BUDGET: too large even alone; err says the numbers. */
brim_status brim_file_pool_take(brim_file_pool *pool, size_t bytes, brim_error *err);
void brim_file_pool_give_back(brim_file_pool *pool, size_t bytes);

/* Waits until one more file may stay open, and counts it. */
void brim_file_pool_take_open(brim_file_pool *pool);
void brim_file_pool_give_back_open(brim_file_pool *pool);

/* Room that no file is in. */
size_t brim_file_pool_unused_bytes(brim_file_pool *pool);

#endif /* BRIM_PIPELINE_FILE_POOL_H */
