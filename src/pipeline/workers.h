/*
 * workers.h - how many of the decode workers are at work, chosen as the run goes.
 *
 * All threads exist from the start; one that is not needed is parked between two items, holding
 * nothing. More are wanted when the model waits for pictures, fewer when pictures wait for the
 * model, whose own threads then have the cores to themselves.
 *
 * Threads: any number of workers; one reviews.
 */
#ifndef BRIM_PIPELINE_WORKERS_H
#define BRIM_PIPELINE_WORKERS_H

#include "base/queue.h"
#include "base/sync.h"
#include "pipeline/stopwatch.h"

typedef struct brim_workers {
    brim_monitor monitor;  /* guards all below */
    size_t n_max;          /* threads */
    size_t n_active;       /* that may hold an item, or wait for one */
    size_t n_holding;      /* that do */
    bool ended;            /* no more items: nobody is parked */
    brim_stopwatch work;   /* between an item and the next, what is waited there included */
    brim_stopwatch hunger; /* waiting for an item */
    uint64_t changed_ns;
    double seats_s; /* n_active over time, until changed_ns */
    /* of the last review */
    uint64_t reviewed_ns;
    double model_s, blocked_s, hunger_s;
    int leaning;
} brim_workers;

brim_status brim_workers_init(brim_workers *workers, size_t n_max);
void brim_workers_fini(brim_workers *workers);

/*
 * Parks while there are enough others, then waits for the next item. *began_ns is 0 at the first
 * call of a worker and its own to keep. BRIM_END when the queue is closed and empty.
 */
brim_status brim_workers_next(brim_workers *workers, brim_queue *items, void **item,
                              uint64_t *began_ns);

/*
 * To be called now and then; once a second the number is chosen anew. model_s: how long the model
 * has waited so far; blocked_s: how long workers have, for slots and memory.
 */
void brim_workers_review(brim_workers *workers, uint64_t now_ns, double model_s, double blocked_s);

/* How many there are now, and what they did so far. */
typedef struct brim_workers_use {
    size_t n_active;
    double work_s, seats_s;
} brim_workers_use;

brim_workers_use brim_workers_used(brim_workers *workers);

#endif /* BRIM_PIPELINE_WORKERS_H */
