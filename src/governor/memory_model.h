/*
 * memory_model.h - the bytes that a batch holds at its peak, learned from those that ran.
 *
 *   bytes(n, pixels, tokens) = fixed + n (item + a pixels + b tokens + c tokens^2)
 *
 * Recursive least squares of the relative error, no coefficient below 0, with a weak belief at the
 * start that most of it goes with n * pixels, so that the first run already predicts the second.
 *
 * The true peak is piecewise linear: another node of the graph is the largest at another size.
 * Where one such formula does not fit what was seen lately, the larger of two is taken: one for
 * what is small, one for what is large. The deviation is taken from the residuals.
 */
#ifndef BRIM_GOVERNOR_MEMORY_MODEL_H
#define BRIM_GOVERNOR_MEMORY_MODEL_H

#include "governor/observation.h"

enum { BRIM_MEMORY_TERMS = 5, BRIM_MEMORY_PEAKS = 24 };

typedef struct brim_memory_fit {
    double normal[BRIM_MEMORY_TERMS][BRIM_MEMORY_TERMS];
    double moment[BRIM_MEMORY_TERMS];
    double coefficient[BRIM_MEMORY_TERMS];               /* bytes */
    double spread[BRIM_MEMORY_TERMS][BRIM_MEMORY_TERMS]; /* inverse of normal with the prior */
} brim_memory_fit;

typedef struct brim_memory_peak {
    brim_shape shape;
    size_t n_items, bytes;
} brim_memory_peak;

typedef struct brim_memory_model {
    uint64_t n_seen;
    double unit[BRIM_MEMORY_TERMS]; /* in which a coefficient is about a share of the first run */
    brim_memory_fit all;
    brim_memory_fit pieces[2]; /* the larger counts */
    bool has_pieces;
    brim_memory_peak peaks[BRIM_MEMORY_PEAKS]; /* the last ones, each shape and size once */
    size_t n_peaks, next_peak;
    double residual_square, residual_weight; /* of runs as predicted before they were learned */
} brim_memory_model;

void brim_memory_model_observe(brim_memory_model *model, brim_shape shape, size_t n_items,
                               size_t bytes);

/* bytes: what is expected; upper_bytes: what is hardly exceeded. 0 before anything was seen. */
typedef struct brim_bytes_forecast {
    size_t bytes, upper_bytes;
} brim_bytes_forecast;

brim_bytes_forecast brim_memory_model_forecast(const brim_memory_model *model, brim_shape shape,
                                               size_t n_items);

/* How the bytes of a batch of about n_items are made up, as expected. */
typedef struct brim_memory_shares {
    size_t fixed_bytes;
    size_t item_bytes;  /* of each item, with its pixels and without its tokens */
    size_t token_bytes; /* of each token of an item, without those that go with their square */
} brim_memory_shares;

brim_memory_shares brim_memory_model_shares(const brim_memory_model *model, brim_shape shape,
                                            size_t n_items);

/* The most items whose upper_bytes are within these; SIZE_MAX before anything was seen. */
size_t brim_memory_model_most_items(const brim_memory_model *model, brim_shape shape,
                                    size_t within_bytes);

#endif /* BRIM_GOVERNOR_MEMORY_MODEL_H */
