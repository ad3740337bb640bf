/*
 * queue.h - a bounded line of pointers between two stages, bounded in items and in bytes.
 *
 * Threads: any number may push and pop.
 */
#ifndef BRIM_BASE_QUEUE_H
#define BRIM_BASE_QUEUE_H

#include "brimful/memory.h"

typedef struct brim_queue brim_queue;

/* max_items is at least 1. On failure *out is NULL. */
brim_status brim_queue_create(const brim_alloc *mem, size_t max_items, size_t max_bytes,
                              brim_queue **out);

/* The queue must be empty: what it holds belongs to whoever pops. Accepts NULL. */
void brim_queue_destroy(brim_queue *queue);

/*
 * Waits for room and moves the item in. An item of more than max_bytes goes in when the queue is
 * empty. BRIM_E_STOPPED on a closed queue: the item stays with the caller.
 */
brim_status brim_queue_push(brim_queue *queue, void *item, size_t bytes);

/* Waits for an item and moves it out; BRIM_END when the queue is closed and empty. */
brim_status brim_queue_pop(brim_queue *queue, void **item);

/* As brim_queue_pop(), but BRIM_E_BUSY where it would have to wait. */
brim_status brim_queue_try_pop(brim_queue *queue, void **item);

/* After this pushing fails, and popping drains what is there. */
void brim_queue_close(brim_queue *queue);

#endif /* BRIM_BASE_QUEUE_H */
