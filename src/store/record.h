/*
 * record.h - what became of one row: a result or a failure, ready to be written.
 *
 * Threads: a record belongs to one thread at a time.
 */
#ifndef BRIM_STORE_RECORD_H
#define BRIM_STORE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/row.h"
#include "brimful/memory.h"
#include "brimful/status.h"

/* Where a row failed. */
typedef enum brim_step { BRIM_STEP_READ, BRIM_STEP_DECODE, BRIM_STEP_MODEL } brim_step;

/* "read", "decode", "model"; never NULL. */
const char *brim_step_name(brim_step step);

typedef struct brim_record {
    brim_row *row;                /* owned */
    int64_t file_bytes, mtime_ns; /* of the file as it was read; -1 where it never was */
    uint32_t width, height;       /* upright; 0 where unknown */

    const brim_alloc *mem; /* of vector */
    float *vector;         /* dim floats, owned; NULL in a failure, or where is_tiled */
    size_t dim;

    bool is_tiled; /* all tiles of the picture have results: it needs none of its own */

    brim_step step;   /* of a failure */
    brim_error error; /* of a failure: its message is the reason */
} brim_record;

/* Room for dim floats. BRIM_E_BUDGET, BRIM_E_NOMEM. */
brim_status brim_record_take_vector(brim_record *record, const brim_alloc *mem, size_t dim);

/* Frees what the record owns and zeroes it; a zero one is fine. */
void brim_record_fini(brim_record *record);

#endif /* BRIM_STORE_RECORD_H */
