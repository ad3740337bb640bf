/* memory_model.c - least squares, one run at a time. */
#include "governor/memory_model.h"

#include <math.h>

enum { N = BRIM_MEMORY_TERMS };

static const double FORGETTING = 0.998;
/* What each share of the first run is believed to deviate from none by: most goes with pixels. */
static const double PRIOR_SD[N] = {0.2, 0.2, 2.0, 0.3, 0.3};
static const double RESIDUAL_SD = 0.005; /* believed before there are any */
static const double RESIDUAL_WEIGHT = 2.0;
static const double SPLIT_FRAC = 0.25; /* of one formula's cost, that two may have at the most */
static const double DEVIATIONS = 3.0;  /* that upper_bytes is above bytes */

static void terms_of(brim_shape shape, size_t n_items, double out[N])
{
    double n = (double)n_items, tokens = shape.tokens;

    out[0] = 1.0;
    out[1] = n;
    out[2] = n * (double)shape.pixels;
    out[3] = n * tokens;
    out[4] = n * tokens * tokens;
}

static double predict(const brim_memory_fit *fit, const double term[N])
{
    double bytes = 0.0;

    for (size_t i = 0; i < N; i++)
        bytes += fit->coefficient[i] * term[i];
    return bytes;
}

/* The formula that counts for these terms. */
static const brim_memory_fit *fit_of(const brim_memory_model *model, const double term[N])
{
    if (!model->has_pieces) return &model->all;
    return predict(&model->pieces[0], term) > predict(&model->pieces[1], term) ? &model->pieces[0]
                                                                               : &model->pieces[1];
}

/* What a prediction's variance is of a residual's: 0 well inside of what was seen. */
static double leverage(const brim_memory_fit *fit, const double unit[N], const double term[N],
                       double bytes)
{
    double row[N], sum = 0.0;

    for (size_t i = 0; i < N; i++)
        row[i] = term[i] * unit[i] / bytes;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            sum += row[i] * fit->spread[i][j] * row[j];
    return fmax(sum, 0.0);
}

static double residual_sd(const brim_memory_model *model)
{
    return sqrt((model->residual_square + RESIDUAL_WEIGHT * RESIDUAL_SD * RESIDUAL_SD) /
                (model->residual_weight + RESIDUAL_WEIGHT));
}

/* ---- One formula ---- */

static double prior(size_t i)
{
    double of_sd = RESIDUAL_SD / PRIOR_SD[i];

    return of_sd * of_sd;
}

static void add_row(brim_memory_fit *fit, const double unit[N], const double term[N], double bytes,
                    double keep)
{
    double row[N];

    for (size_t i = 0; i < N; i++)
        row[i] = term[i] * unit[i] / bytes;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++)
            fit->normal[i][j] = fit->normal[i][j] * keep + row[i] * row[j];
        fit->moment[i] = fit->moment[i] * keep + row[i];
    }
}

/*
 * The inverse of normal with the prior, for the terms in use alone, by Gauss and Jordan; positive
 * definite through the prior.
 */
static void invert(const brim_memory_fit *fit, const bool used[N], double inverse[N][N])
{
    double a[N][N];

    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            a[i][j] = used[i] && used[j] ? fit->normal[i][j] : 0.0;
            inverse[i][j] = i == j ? 1.0 : 0.0;
        }
        a[i][i] += prior(i);
    }
    for (size_t i = 0; i < N; i++) {
        double pivot = a[i][i];
        for (size_t j = 0; j < N; j++)
            a[i][j] /= pivot, inverse[i][j] /= pivot;
        for (size_t k = 0; k < N; k++) {
            double times = k == i ? 0.0 : a[k][i];
            for (size_t j = 0; j < N; j++)
                a[k][j] -= times * a[i][j], inverse[k][j] -= times * inverse[i][j];
        }
    }
}

/* The lowest coefficient below 0 is left out until there is none. */
static void solve(brim_memory_fit *fit, const double unit[N])
{
    bool used[N] = {true, true, true, true, true};
    double inverse[N][N], x[N];
    size_t lowest;

    invert(fit, used, fit->spread);
    do {
        invert(fit, used, inverse);
        lowest = N;
        for (size_t i = 0; i < N; i++) {
            x[i] = 0.0;
            for (size_t j = 0; j < N; j++)
                if (used[i] && used[j]) x[i] += inverse[i][j] * fit->moment[j];
            if (x[i] < 0 && (lowest == N || x[i] < x[lowest])) lowest = i;
        }
        if (lowest < N) used[lowest] = false;
    } while (lowest < N);
    for (size_t i = 0; i < N; i++)
        fit->coefficient[i] = x[i] * unit[i];
}

/* ---- Two formulas ---- */

static void keep_peak(brim_memory_model *model, brim_shape shape, size_t n_items, size_t bytes)
{
    size_t i = 0;

    while (i < model->n_peaks && (model->peaks[i].n_items != n_items ||
                                  !brim_shape_is_same(model->peaks[i].shape, shape)))
        i++;
    if (i == model->n_peaks) {
        i = model->next_peak;
        model->next_peak = (i + 1) % BRIM_MEMORY_PEAKS;
        if (model->n_peaks < BRIM_MEMORY_PEAKS) model->n_peaks++;
    }
    model->peaks[i] = (brim_memory_peak){shape, n_items, bytes};
}

static void sort_peaks(const brim_memory_model *model, brim_memory_peak out[BRIM_MEMORY_PEAKS])
{
    for (size_t i = 0; i < model->n_peaks; i++) {
        size_t k = i;
        for (; k > 0 && out[k - 1].bytes > model->peaks[i].bytes; k--)
            out[k] = out[k - 1];
        out[k] = model->peaks[i];
    }
}

/* What is minimised: the squares of relative errors, and how far the prior is left. */
static double cost_of(const brim_memory_model *model, const brim_memory_fit *fits, size_t n_fits)
{
    double sum = 0.0, term[N];

    for (size_t f = 0; f < n_fits; f++)
        for (size_t i = 0; i < N; i++) {
            double x = fits[f].coefficient[i] / model->unit[i];
            sum += prior(i) * x * x;
        }
    for (size_t i = 0; i < model->n_peaks; i++) {
        const brim_memory_peak *peak = &model->peaks[i];
        double bytes = 0.0;
        terms_of(peak->shape, peak->n_items, term);
        for (size_t f = 0; f < n_fits; f++)
            bytes = fmax(bytes, predict(&fits[f], term));
        double error = bytes / (double)peak->bytes - 1.0;
        sum += error * error;
    }
    return sum;
}

static void fit_peaks(const brim_memory_model *model, const brim_memory_peak *peaks, size_t n,
                      brim_memory_fit *out)
{
    double term[N];

    *out = (brim_memory_fit){0};
    for (size_t i = 0; i < n; i++) {
        terms_of(peaks[i].shape, peaks[i].n_items, term);
        add_row(out, model->unit, term, (double)peaks[i].bytes, 1.0);
    }
    solve(out, model->unit);
}

/* The peaks in two, wherever the two formulas fit best. */
static void split(brim_memory_model *model)
{
    brim_memory_peak peaks[BRIM_MEMORY_PEAKS];
    double lowest = cost_of(model, &model->all, 1);

    model->has_pieces = false;
    if (lowest <= (double)model->n_peaks * RESIDUAL_SD * RESIDUAL_SD) return;
    lowest *= SPLIT_FRAC;
    sort_peaks(model, peaks);
    for (size_t k = 1; k < model->n_peaks; k++) {
        brim_memory_fit pieces[2];
        fit_peaks(model, peaks, k, &pieces[0]);
        fit_peaks(model, peaks + k, model->n_peaks - k, &pieces[1]);
        double cost = cost_of(model, pieces, 2);
        if (cost >= lowest) continue;
        lowest = cost;
        model->pieces[0] = pieces[0];
        model->pieces[1] = pieces[1];
        model->has_pieces = true;
    }
}

/* ---- Learning ---- */

static void set_units(brim_memory_model *model, const double term[N], double bytes)
{
    static const double TYPICAL_TOKENS = 64.0;
    double n = term[1];

    for (size_t i = 0; i < N; i++)
        model->unit[i] = bytes / fmax(term[i], 1.0);
    if (term[3] > 0) return;
    model->unit[3] = bytes / (n * TYPICAL_TOKENS);
    model->unit[4] = bytes / (n * TYPICAL_TOKENS * TYPICAL_TOKENS);
}

static void note_residual(brim_memory_model *model, const double term[N], double bytes)
{
    const brim_memory_fit *fit = fit_of(model, term);
    double predicted = predict(fit, term);
    double residual = fmin(fabs(predicted / bytes - 1.0), 0.3);

    model->residual_square *= FORGETTING;
    model->residual_weight = model->residual_weight * FORGETTING + 1.0;
    model->residual_square +=
        residual * residual / (1.0 + leverage(fit, model->unit, term, predicted));
}

void brim_memory_model_observe(brim_memory_model *model, brim_shape shape, size_t n_items,
                               size_t peak_bytes)
{
    double term[N], bytes = (double)peak_bytes;

    if (n_items == 0 || peak_bytes == 0) return;
    terms_of(shape, n_items, term);
    if (model->n_seen == 0)
        set_units(model, term, bytes);
    else
        note_residual(model, term, bytes);
    model->n_seen++;
    add_row(&model->all, model->unit, term, bytes, FORGETTING);
    solve(&model->all, model->unit);
    keep_peak(model, shape, n_items, peak_bytes);
    split(model);
}

/* ---- Predicting ---- */

static size_t to_bytes(double bytes)
{
    return bytes < 0x1p62 ? (size_t)bytes : (size_t)1 << 62;
}

static double upper(const brim_memory_model *model, const double term[N], double bytes)
{
    double beyond = leverage(fit_of(model, term), model->unit, term, bytes);

    return bytes * (1.0 + DEVIATIONS * residual_sd(model) * sqrt(beyond + 1.0));
}

brim_bytes_forecast brim_memory_model_forecast(const brim_memory_model *model, brim_shape shape,
                                               size_t n_items)
{
    double term[N];

    if (model->n_seen == 0 || n_items == 0) return (brim_bytes_forecast){0};
    terms_of(shape, n_items, term);
    double bytes = fmax(predict(fit_of(model, term), term), 1.0);
    return (brim_bytes_forecast){to_bytes(bytes), to_bytes(upper(model, term, bytes))};
}

brim_memory_shares brim_memory_model_shares(const brim_memory_model *model, brim_shape shape,
                                            size_t n_items)
{
    double term[N];

    terms_of(shape, n_items, term);
    const double *coefficient = fit_of(model, term)->coefficient;
    return (brim_memory_shares){
        .fixed_bytes = to_bytes(coefficient[0]),
        .item_bytes = to_bytes(coefficient[1] + coefficient[2] * (double)shape.pixels),
        .token_bytes = to_bytes(coefficient[3]),
    };
}

size_t brim_memory_model_most_items(const brim_memory_model *model, brim_shape shape,
                                    size_t within_bytes)
{
    size_t fits = 0, too_many = (size_t)1 << 32;

    if (model->n_seen == 0) return SIZE_MAX;
    while (too_many - fits > 1) { /* the upper bound grows with n */
        size_t n = fits + (too_many - fits) / 2;
        if (brim_memory_model_forecast(model, shape, n).upper_bytes <= within_bytes)
            fits = n;
        else
            too_many = n;
    }
    return fits;
}
