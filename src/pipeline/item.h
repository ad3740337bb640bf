/*
 * item.h - one row on its walk through the pipeline: from its name to its record.
 *
 * Threads: an item belongs to one stage at a time.
 */
#ifndef BRIM_PIPELINE_ITEM_H
#define BRIM_PIPELINE_ITEM_H

#include <stdint.h>

#include "image/reader.h"
#include "pipeline/file_pool.h"
#include "store/record.h"

typedef struct brim_tiled brim_tiled;

typedef struct brim_item {
    const brim_alloc *mem; /* of the item itself */
    brim_record record;    /* owns the row */
    brim_tiled *tiled;     /* the picture that this is a tile of; NULL: a picture of its own */
    /*
     * The file's bytes: room from the pool, but memory from the heap itself, because a thread that
     * hangs in a read may outlive the pool.
     */
    brim_file_pool *pool; /* NULL: no room is held */
    size_t pool_bytes;    /* of the room, and allocated at data */
    bool counts_as_open;  /* in the pool */
    uint8_t *data;
    size_t data_bytes; /* that hold the file; fewer where it shrank under us */
    int fd; /* the file, of which data holds the beginning only; -1: data holds all of it */
} brim_item;

/* Takes the row over on success only. */
brim_status brim_item_create(const brim_alloc *mem, brim_row *row, brim_item **out);

/* Waits for room for the file's bytes and allocates it: data, uninitialised. */
brim_status brim_item_take_data(brim_item *item, brim_file_pool *pool, size_t bytes,
                                brim_error *err);

/* The same for the beginning of a file that is to stay open; waits until one more may. */
brim_status brim_item_take_head(brim_item *item, brim_file_pool *pool, size_t bytes,
                                brim_error *err);

/* Opens the picture, wherever its bytes are. */
brim_status brim_item_open_reader(const brim_item *item, const brim_reader_options *options,
                                  brim_reader **out, brim_error *err);

/* Gives the file back early: it is not needed after decoding. */
void brim_item_drop_data(brim_item *item);

/* Accepts NULL. */
void brim_item_destroy(brim_item *item);

#endif /* BRIM_PIPELINE_ITEM_H */
