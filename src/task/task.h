/*
 * task.h - what is wanted of a model: how an answer is read.
 *
 * A task reads one image's share of a run's output and copies it out; the output itself is only
 * lent by the session.
 *
 * Threads: a task is immutable after it was made.
 */
#ifndef BRIM_TASK_TASK_H
#define BRIM_TASK_TASK_H

#include <stdbool.h>

#include "session/session.h"
#include "store/record.h"

typedef struct brim_task brim_task;

struct brim_task {
    const char *name; /* "embed": the set's task */
    brim_status (*read)(const brim_task *self, const brim_output *output, size_t i,
                        const brim_alloc *mem, brim_record *record, brim_error *err);
    bool normalize; /* embed: vectors get length 1 */
};

/*
 * One vector per image: row i of an output (n, dim), or the first token of row i of an output
 * (n, tokens, dim).
 */
brim_task brim_task_embed(bool normalize);

/*
 * The same of a simulated device: 8 numbers made from the record's key, so that whoever rehearses
 * can tell whether a row got its own vector, however batches were cut.
 */
brim_task brim_task_sim(bool normalize);

/* Can this task read such a layer? BRIM_E_ARG says in one line why not. */
brim_status brim_task_embed_check(const brim_port *layer, brim_error *err);

/*
 * Takes image i's result into the record, with memory from mem. BRIM_E_RUNTIME: this image has no
 * usable result (numbers that are not finite); the others may have.
 */
static inline brim_status brim_task_read(const brim_task *task, const brim_output *output, size_t i,
                                         const brim_alloc *mem, brim_record *record,
                                         brim_error *err)
{
    return task->read(task, output, i, mem, record, err);
}

#endif /* BRIM_TASK_TASK_H */
