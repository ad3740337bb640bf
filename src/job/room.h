/*
 * room.h - the memory of a job: how much it may take, and whether its model leaves any.
 *
 * What cannot work is told in one line before the first picture, and before a model is read in
 * vain.
 */
#ifndef BRIM_JOB_ROOM_H
#define BRIM_JOB_ROOM_H

#include "base/log.h"
#include "brimful/memory.h"

/* Below this nothing runs, whatever the model. */
enum { BRIM_LEAST_MEMORY_BYTES = 24 << 20 };

/*
 * A budget over an arena: wanted_bytes, lowered with a word to what is free; 0 = 80 % of that. On
 * success *out is the caller's, for brim_budget_destroy().
 */
brim_status brim_room_open(size_t wanted_bytes, const brim_log *log, brim_budget **out,
                           brim_error *err);

/* Will loading this model stay under the limit? */
brim_status brim_room_check_load(const brim_budget *budget, const char *onnx, brim_error *err);

/* Once everything is loaded: what it takes is measured, and enough must be left to run it. */
brim_status brim_room_check_left(brim_budget *budget, brim_error *err);

#endif /* BRIM_JOB_ROOM_H */
