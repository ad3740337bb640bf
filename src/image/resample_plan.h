/*
 * resample_plan.h - what a resampler is made of and how large each part is: known before any of it
 * is there.
 */
#ifndef BRIM_IMAGE_RESAMPLE_PLAN_H
#define BRIM_IMAGE_RESAMPLE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/axis.h"
#include "image/kernels.h"
#include "image/resample.h"

/* An output line whose sums are being made. */
typedef struct open_line {
    uint32_t start, end; /* stored rows it is made of */
    int32_t *taps;       /* [end - start] */
    int32_t *sums;       /* [line_bytes] */
} open_line;

struct brim_resampler {
    const brim_alloc *mem;
    const brim_kernels *kernels;
    brim_line_sink sink;
    void *sink_ctx;
    size_t total_bytes;

    brim_axis along, across;
    bool along_first;
    bool picks; /* both axes do: no batch, no sums */

    /* Sizes of what lies in the allocation behind this struct. */
    uint32_t n_slots;    /* lines open at once, at most */
    size_t line_bytes;   /* of a line that is added up: 3 x pixels */
    size_t row_stride;   /* bytes between the rows of a batch */
    size_t along_stride; /* taps of one output along, padded */
    size_t n_at_once;    /* outputs along whose inputs fit the planes */
    size_t plane_stride; /* 16-bit numbers in a plane, padding included */

    open_line *slots;               /* [n_slots]; line p of the stream is in slot p % n_slots */
    uint32_t *along_start;          /* [along.n_wanted], from along.in_first */
    brim_split_taps *along_outputs; /* [along.n_wanted] */
    int16_t *along_taps;            /* [along.n_wanted][2][along_stride] */
    int32_t *scratch_taps;          /* [along.max_taps] */
    int16_t *planes;                /* [3][plane_stride] */
    uint8_t *row;                   /* 3 x width, where rows are not read into the batch itself */
    uint8_t *batch;                 /* [BRIM_BATCH_ROWS][row_stride] */
    uint8_t *line;                  /* a finished line across, line_bytes */
    uint8_t *reduced;               /* that line reduced along, where along comes second */

    uint32_t next_row;  /* stored row that comes next */
    uint32_t batch_row; /* stored row that batch begins with */
    uint32_t n_batched;
    uint32_t n_opened, n_closed; /* lines of the stream begun and finished, from the first one */
};

/* Lines come in stored order; with flipped rows the last upright one is finished first. */
static inline uint32_t brim_resampler_line(const brim_resampler *self, uint32_t p)
{
    return self->across.flipped ? self->across.n_wanted - 1 - p : p;
}

/* Fills in all that follows from spec, total_bytes last; pointers stay NULL. */
brim_status brim_resampler_plan(brim_resampler *self, const brim_resample_spec *spec,
                                brim_error *err);

/* Points into the total_bytes that begin with self; width is that of the stored rows. */
void brim_resampler_lay_out(brim_resampler *self, uint32_t width);

#endif /* BRIM_IMAGE_RESAMPLE_PLAN_H */
