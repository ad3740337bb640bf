/*
 * fetch.h - reads files ahead of the decoders, in threads that may be given up.
 *
 * A file on a network mount that went away hangs whoever reads it, and nothing can wake that
 * thread. So each read happens in a thread that owns all it touches while it reads: when no byte
 * comes for the time allowed, the row becomes a failure, a fresh thread takes the place, and the
 * old one cleans up after itself should it ever wake.
 */
#ifndef BRIM_PIPELINE_FETCH_H
#define BRIM_PIPELINE_FETCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/queue.h"
#include "pipeline/item.h"

typedef struct brim_fetch brim_fetch;

/* All is borrowed for the fetch's life. */
typedef struct brim_fetch_options {
    const brim_alloc *mem; /* of items */
    brim_file_pool *pool;  /* of their bytes */
    brim_queue *rows;      /* brim_row in */
    brim_queue *items;     /* brim_item with its bytes out; closed when the last row is through */
    size_t n_threads;
    uint64_t timeout_ns;                      /* without a byte */
    const atomic_bool *stop;                  /* set: rows are dropped unread */
    atomic_uint_fast64_t *busy_ns;            /* what reading takes is added; may be NULL */
    void (*fail)(void *ctx, brim_item *item); /* takes over an item whose record holds a failure */
    void (*give_up)(void *ctx, const brim_error *err); /* the run cannot go on */
    void *ctx;
} brim_fetch_options;

/* Starts the threads. On failure *out is NULL. */
brim_status brim_fetch_start(const brim_fetch_options *options, brim_fetch **out, brim_error *err);

/*
 * Gives up threads that hang; to be called several times a second. False when all rows are through
 * and no thread is left that counts.
 */
bool brim_fetch_watch(brim_fetch *fetch, uint64_t now_ns);

/* Only after brim_fetch_watch() said false. Accepts NULL. */
void brim_fetch_destroy(brim_fetch *fetch);

#endif /* BRIM_PIPELINE_FETCH_H */
