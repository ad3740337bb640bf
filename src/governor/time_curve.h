/*
 * time_curve.h - how long a batch takes, by the pixels in it.
 *
 *   seconds(x) = fixed + slope * max(x, flat) + bend * max(x, flat) * max(0, log2(x / knee))
 *
 * for x pixels in all: a start-up cost; a device that is not yet full below `flat`; and one whose
 * caches no longer hold the batch above `knee`. Runs are gathered in eighths of an octave of x, so
 * a curve has one size however many shapes and runs it saw; the coefficients are those of least
 * squares of the relative error, none below 0, with flat and knee tried on a grid. What was
 * measured at a size counts for more than the fit as runs gather there.
 *
 * All rates below are costs: the natural logarithm of seconds per pixel.
 */
#ifndef BRIM_GOVERNOR_TIME_CURVE_H
#define BRIM_GOVERNOR_TIME_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BRIM_TIME_BINS = 192 }; /* eighths of an octave of pixels, from 2^8 to 2^32 */

typedef struct brim_time_bin {
    float weight; /* runs, of which old ones fade */
    float log_px; /* means over the runs */
    float cost;
} brim_time_bin;

typedef struct brim_time_fit {
    double fixed, slope, bend;
    double flat_px, knee_px; /* 0 = none */
} brim_time_fit;

typedef struct brim_time_curve {
    brim_time_bin bins[BRIM_TIME_BINS];
    size_t first_bin, last_bin; /* that hold runs; first > last: none */
    size_t n_bins;              /* that hold runs */
    double weight;
    double fitted_weight; /* when the fit was made */
    brim_time_fit fit;
    double noise_sum, noise_weight; /* of squared residuals at sizes run before */
    double drift, drift_weight;     /* fading mean of recent residuals, and how many it holds */
} brim_time_curve;

void brim_time_curve_init(brim_time_curve *curve);

/* A run of px pixels in all that took so long. */
void brim_time_curve_observe(brim_time_curve *curve, double px, double seconds);

/* Brings the fit up to date: dear where there is much news, so not part of observe. */
void brim_time_curve_refit(brim_time_curve *curve);

/* What px pixels are expected to cost a pixel, and the deviation of that. Not of one run: the
 * noise is not in it. The curve must hold runs. */
typedef struct brim_time_guess {
    double cost, sd;
} brim_time_guess;

brim_time_guess brim_time_curve_guess(const brim_time_curve *curve, double px);

/* Deviation of a single run from the mean at its size. */
double brim_time_curve_noise(const brim_time_curve *curve);

/* Runs (as far as they have not faded) of about px pixels. */
double brim_time_curve_runs_at(const brim_time_curve *curve, double px);

#endif /* BRIM_GOVERNOR_TIME_CURVE_H */
