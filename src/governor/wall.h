/*
 * wall.h - a batch size that did not go well, and the way back to it.
 *
 * A wall is met at one shape and holds for all: sizes are compared by the bytes that they are
 * forecast to hold, or by their pixels where no bytes are known. Below it `n_good` items may run;
 * it is approached again later, a step at a time, and later still each time that it is met.
 */
#ifndef BRIM_GOVERNOR_WALL_H
#define BRIM_GOVERNOR_WALL_H

#include "governor/memory_model.h"

typedef struct brim_wall {
    bool is_set;
    brim_shape shape;     /* at which it was met */
    size_t n_good, n_bad; /* items that may run, and that did not go well; good < bad, or both 1 */
    uint64_t wait;        /* runs until it is approached again */
    uint64_t retry_at;    /* the run at which */
} brim_wall;

/* The device's answer to n items was no: n_good of the same shape may run from now on. */
void brim_wall_meet(brim_wall *wall, brim_shape shape, size_t n_bad, size_t n_good, uint64_t run,
                    uint64_t first_wait, uint64_t longest_wait);

/* n items went well: the way up to them is free. */
void brim_wall_pass(brim_wall *wall, const brim_memory_model *memory, brim_shape shape, size_t n,
                    uint64_t run, uint64_t step_wait);

/* The most items of this shape below it; SIZE_MAX where there is no wall. At least 1. */
size_t brim_wall_most_items(const brim_wall *wall, const brim_memory_model *memory,
                            brim_shape shape);

/* Whether n items are as many as those that did not go well, or more. */
bool brim_wall_is_beyond(const brim_wall *wall, const brim_memory_model *memory, brim_shape shape,
                         size_t n);

/* Bytes that a batch holds as forecast, or its pixels while no bytes are known: what sizes of
 * unlike shapes are compared by. */
double brim_batch_measure(const brim_memory_model *memory, brim_shape shape, size_t n);

#endif /* BRIM_GOVERNOR_WALL_H */
