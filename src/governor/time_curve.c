/* time_curve.c - bins of runs, and the fit through them. */
#include "governor/time_curve.h"

#include <math.h>
#include <string.h>

enum { BINS_PER_OCTAVE = 8, FIRST_OCTAVE = 8, KNOTS_PER_OCTAVE = 8, N_TERMS = 3 };

static const double MOST_WEIGHT = 200.0;     /* of a bin: older runs fade */
static const double MISFIT = 0.01;           /* deviation of the fit itself where there is data */
static const double MISFIT_PER_OCTAVE = 0.2; /* more of it, away from data */
static const double MISFIT_OCTAVES = 0.5;    /* as far as it goes from where it was seen */
static const double STEP_DEVIATIONS = 2.0;   /* that a rise must be, to be one */
static const double PRIOR_NOISE = 0.1;
static const double PRIOR_WEIGHT = 2.0;
static const double TERM_COST = 2.0; /* of chi squared, that a knot must save (Akaike) */
static const double DRIFT_MEMORY = 24.0;

static size_t bin_of(double px)
{
    double at = (log2(fmax(px, 1.0)) - FIRST_OCTAVE) * BINS_PER_OCTAVE + 0.5;

    return (size_t)fmin(fmax(at, 0.0), BRIM_TIME_BINS - 1);
}

void brim_time_curve_init(brim_time_curve *curve)
{
    *curve = (brim_time_curve){.first_bin = BRIM_TIME_BINS};
}

double brim_time_curve_noise(const brim_time_curve *curve)
{
    return sqrt((curve->noise_sum + PRIOR_WEIGHT * PRIOR_NOISE * PRIOR_NOISE) /
                (curve->noise_weight + PRIOR_WEIGHT));
}

/* ---- Runs ---- */

/*
 * The machine has become slower or faster as a whole: what is known keeps its form, moves with it,
 * and weighs little enough to be learned anew.
 */
static void follow_drift(brim_time_curve *curve)
{
    double noise = brim_time_curve_noise(curve);
    double shift = curve->drift;

    if (curve->drift_weight < 8.0 ||
        fabs(shift) < fmax(0.1, 5.0 * noise / sqrt(curve->drift_weight)))
        return;
    curve->weight = 0.0;
    for (size_t i = 0; i < BRIM_TIME_BINS; i++) {
        curve->bins[i].cost += (float)shift;
        curve->bins[i].weight = fminf(curve->bins[i].weight, 2.0F);
        curve->weight += (double)curve->bins[i].weight;
    }
    curve->fitted_weight = 0.0;
    curve->drift = curve->drift_weight = 0.0;
}

static void note_residual(brim_time_curve *curve, double residual, double weight_before)
{
    double clipped = fmin(fabs(residual), 1.0);
    double scale = weight_before / (weight_before + 1.0); /* the mean has an error too */

    if (curve->noise_weight >= MOST_WEIGHT) {
        curve->noise_sum *= 1.0 - 1.0 / MOST_WEIGHT;
        curve->noise_weight -= 1.0;
    }
    curve->noise_sum += clipped * clipped * scale;
    curve->noise_weight += 1.0;
    if (weight_before < 4.0) return;
    curve->drift_weight = fmin(curve->drift_weight + 1.0, DRIFT_MEMORY);
    curve->drift += (residual - curve->drift) / curve->drift_weight;
}

void brim_time_curve_observe(brim_time_curve *curve, double px, double seconds)
{
    size_t at = bin_of(px);
    brim_time_bin *bin = &curve->bins[at];
    double log_px = log(fmax(px, 1.0)), cost = log(fmax(seconds, 1e-9)) - log_px;

    if (bin->weight > 0.0F)
        note_residual(curve, cost - (double)bin->cost, (double)bin->weight);
    else
        curve->n_bins++;
    if (at < curve->first_bin) curve->first_bin = at;
    if (at > curve->last_bin) curve->last_bin = at;
    curve->weight += 1.0;
    double weight = fmin((double)bin->weight + 1.0, MOST_WEIGHT);
    bin->weight = (float)weight;
    bin->log_px += (float)((log_px - (double)bin->log_px) / weight);
    bin->cost += (float)((cost - (double)bin->cost) / weight);
    follow_drift(curve);
}

/* ---- The fit ---- */

static double fit_seconds(const brim_time_fit *fit, double px)
{
    double paid = fmax(px, fit->flat_px);
    double beyond = fit->knee_px > 0 && px > fit->knee_px ? log2(px / fit->knee_px) : 0.0;

    return fit->fixed + fit->slope * paid + fit->bend * paid * beyond;
}

/* Least squares in the terms of `mask`, by elimination. False where they are not independent. */
static bool solve(double normal[N_TERMS][N_TERMS], const double moment[N_TERMS], unsigned mask,
                  double out[N_TERMS])
{
    double a[N_TERMS][N_TERMS + 1];
    size_t terms[N_TERMS], n = 0;

    for (size_t i = 0; i < N_TERMS; i++) {
        out[i] = 0.0;
        if (mask >> i & 1U) terms[n++] = i;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            a[i][j] = normal[terms[i]][terms[j]];
        a[i][n] = moment[terms[i]];
    }
    for (size_t i = 0; i < n; i++) { /* positive definite: the diagonal is a good pivot */
        if (a[i][i] < 1e-9 * normal[terms[i]][terms[i]] || a[i][i] <= 0) return false;
        for (size_t k = i + 1; k < n; k++) {
            double times = a[k][i] / a[i][i];
            for (size_t j = i; j <= n; j++)
                a[k][j] -= times * a[i][j];
        }
    }
    for (size_t i = n; i-- > 0;) {
        double value = a[i][n];
        for (size_t j = i + 1; j < n; j++)
            value -= a[i][j] * out[terms[j]];
        out[terms[i]] = value / a[i][i];
        if (out[terms[i]] < 0.0) return false;
    }
    return true;
}

/* The points that are fitted: the bins, as arrays. */
typedef struct fit_points {
    double px[BRIM_TIME_BINS], log2_px[BRIM_TIME_BINS], per_second[BRIM_TIME_BINS];
    double weight[BRIM_TIME_BINS];
    size_t n;
} fit_points;

static void gather(const brim_time_curve *curve, fit_points *out)
{
    double noise = brim_time_curve_noise(curve), misfit = MISFIT;

    out->n = 0;
    for (size_t i = 0; i < BRIM_TIME_BINS; i++) {
        const brim_time_bin *bin = &curve->bins[i];
        if (bin->weight <= 0.0F) continue;
        double log_px = (double)bin->log_px;
        out->px[out->n] = exp(log_px);
        out->log2_px[out->n] = log_px / log(2.0);
        out->per_second[out->n] = exp(-log_px - (double)bin->cost);
        out->weight[out->n] = 1.0 / (noise * noise / (double)bin->weight + misfit * misfit);
        out->n++;
    }
}

/* The best coefficients for these knots into *fit; returns chi squared, with the cost of knots. */
static double fit_at(const fit_points *points, double flat_px, double knee_px, brim_time_fit *fit)
{
    double normal[N_TERMS][N_TERMS] = {{0}}, moment[N_TERMS] = {0}, square = 0.0;
    double log2_knee = knee_px > 0 ? log2(knee_px) : 0.0, best = INFINITY;

    for (size_t i = 0; i < points->n; i++) {
        double paid = fmax(points->px[i], flat_px) * points->per_second[i];
        double beyond = knee_px > 0 ? fmax(0.0, points->log2_px[i] - log2_knee) : 0.0;
        double term[N_TERMS] = {points->per_second[i], paid, paid * beyond};
        for (size_t j = 0; j < N_TERMS; j++) {
            for (size_t k = 0; k < N_TERMS; k++)
                normal[j][k] += points->weight[i] * term[j] * term[k];
            moment[j] += points->weight[i] * term[j];
        }
        square += points->weight[i];
    }
    for (unsigned mask = 1; mask < 1U << N_TERMS; mask++) {
        double x[N_TERMS];
        if ((mask & 4U) && knee_px <= 0) continue;
        if (!solve(normal, moment, mask, x)) continue;
        double chi = square + (flat_px > 0 ? TERM_COST : 0.0) + (mask & 4U ? TERM_COST : 0.0);
        for (size_t j = 0; j < N_TERMS; j++)
            chi -= x[j] * moment[j]; /* the residual of a least squares solution */
        if (chi >= best) continue;
        best = chi;
        *fit = (brim_time_fit){x[0], x[1], x[2], flat_px, x[2] > 0 ? knee_px : 0.0};
    }
    return best;
}

static double knot_px(size_t idx)
{
    return exp2(FIRST_OCTAVE + (double)idx / KNOTS_PER_OCTAVE);
}

void brim_time_curve_refit(brim_time_curve *curve)
{
    fit_points points;
    brim_time_fit fit;
    size_t per_bin = KNOTS_PER_OCTAVE / BINS_PER_OCTAVE;

    if (curve->n_bins == 0) return;
    if (curve->fitted_weight > 0 && curve->weight < curve->fitted_weight * 1.1 + 0.5) return;
    curve->fitted_weight = curve->weight;
    gather(curve, &points);
    double best = fit_at(&points, 0.0, 0.0, &curve->fit);
    if (points.n < 3) return; /* a knot needs a point on either side, and one more */
    size_t first = curve->first_bin * per_bin, last = curve->last_bin * per_bin;
    for (size_t flat = first; flat <= last; flat++) {
        double flat_px = flat == first ? 0.0 : knot_px(flat);
        for (size_t knee = flat; knee < last; knee++) {
            double chi = fit_at(&points, flat_px, knee == first ? 0.0 : knot_px(knee), &fit);
            if (chi >= best - 1e-9) continue;
            best = chi;
            curve->fit = fit;
        }
    }
}

/* ---- What is expected ---- */

static double fit_cost(const brim_time_curve *curve, double px)
{
    return log(fit_seconds(&curve->fit, px)) - log(px);
}

/* The bin that tells most about px, by its runs and by how near it is, and the variance of the fit
 * at px, which is as well known as there. */
static const brim_time_bin *nearest(const brim_time_curve *curve, double px, double noise,
                                    double *variance)
{
    const brim_time_bin *best = &curve->bins[curve->first_bin];
    double at = log(px);

    *variance = INFINITY;
    for (size_t i = curve->first_bin; i <= curve->last_bin; i++) {
        const brim_time_bin *bin = &curve->bins[i];
        if (bin->weight <= 0.0F) continue;
        double octaves = fabs(at - (double)bin->log_px) / log(2.0);
        double misfit = MISFIT + MISFIT_PER_OCTAVE * octaves;
        double of_bin = misfit * misfit + noise * noise / (double)bin->weight;
        if (of_bin >= *variance) continue;
        *variance = of_bin;
        best = bin;
    }
    return best;
}

/* What was measured there beside the fit, as far as it is no noise. */
static double misfit_of(const brim_time_curve *curve, const brim_time_bin *bin, double noise,
                        double of_fit)
{
    double residual = (double)bin->cost - fit_cost(curve, exp((double)bin->log_px));

    return residual * of_fit / (of_fit + noise * noise / (double)bin->weight);
}

/*
 * Between two sizes of which the larger is much dearer the cost may rise in one step (a spill, a
 * cache), which may lie anywhere in between: the deviation that this gives.
 */
static double step_sd(const brim_time_curve *curve, double px, double noise)
{
    size_t at = bin_of(px), low = at, high = at;

    if (at <= curve->first_bin || at >= curve->last_bin) return 0.0;
    while (curve->bins[low].weight <= 0.0F)
        low--;
    while (curve->bins[high].weight <= 0.0F)
        high++;
    const brim_time_bin *left = &curve->bins[low], *right = &curve->bins[high];
    double sd = noise * sqrt(1.0 / (double)left->weight + 1.0 / (double)right->weight);
    double step = fmax(0.0, (double)right->cost - (double)left->cost - STEP_DEVIATIONS * sd);
    double share = (log(px) - (double)left->log_px) / (double)(right->log_px - left->log_px);
    share = fmin(fmax(share, 0.0), 1.0);
    return step * sqrt(share * (1.0 - share));
}

brim_time_guess brim_time_curve_guess(const brim_time_curve *curve, double px)
{
    const brim_time_bin *bin = &curve->bins[bin_of(px)];
    double noise = brim_time_curve_noise(curve), fitted = fit_cost(curve, px), of_fit;
    const brim_time_bin *near = nearest(curve, px, noise, &of_fit);

    if (bin->weight <= 0.0F) {
        double octaves = fabs(log(px) - (double)near->log_px) / log(2.0);
        double carried =
            misfit_of(curve, near, noise, MISFIT * MISFIT) * exp(-octaves / MISFIT_OCTAVES);
        return (brim_time_guess){fitted + carried, hypot(sqrt(of_fit), step_sd(curve, px, noise))};
    }
    double of_runs = noise * noise / (double)bin->weight;
    return (brim_time_guess){fitted + misfit_of(curve, bin, noise, of_fit),
                             sqrt(of_fit * of_runs / (of_fit + of_runs))};
}

double brim_time_curve_runs_at(const brim_time_curve *curve, double px)
{
    return (double)curve->bins[bin_of(px)].weight;
}
