/*
 * item.h - one row on its walk through the pipeline: from its name to its record.
 *
 * Threads: an item belongs to one stage at a time.
 */
#ifndef BRIM_PIPELINE_ITEM_H
#define BRIM_PIPELINE_ITEM_H

#include <stdint.h>

#include "brimful/memory.h"
#include "store/record.h"

typedef struct brim_item {
    brim_budget *budget; /* pays for the item (queues) */
    brim_record record;  /* owns the row */
    /*
     * The file's bytes: charged to the queues, but from the heap itself, because a thread that
     * hangs in a read may outlive the budget.
     */
    uint8_t *data;
    size_t data_bytes;
    size_t charged_bytes;
} brim_item;

/* Takes the row over on success only. */
brim_status brim_item_create(brim_budget *budget, brim_row *row, brim_item **out);

/* Gives the file's bytes back early: they are not needed after decoding. */
void brim_item_drop_data(brim_item *item);

/* Accepts NULL. */
void brim_item_destroy(brim_item *item);

#endif /* BRIM_PIPELINE_ITEM_H */
