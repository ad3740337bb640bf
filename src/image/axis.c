/*
 * axis.c - filters, and the weights they give each input of an output.
 *
 * Each expression keeps the order of operations that Pillow has, since the last bit of a weight can
 * decide the rounding of a pixel. Contraction into fused operations would change it.
 */
#include "image/axis.h"

#include <assert.h>
#include <math.h>

#include "base/fail.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#define PI 3.14159265358979323846

static double box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double bilinear(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double hamming(double x)
{
    x = fabs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x = x * PI;
    return sin(x) / x * (0.54f + 0.46f * cos(x)); /* floats: so is Pillow's */
}

static double bicubic(double x)
{
    const double a = -0.5;

    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double sinc(double x)
{
    if (x == 0.0) return 1.0;
    x = x * PI;
    return sin(x) / x;
}

static double lanczos(double x)
{
    return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

typedef struct filter_row {
    const char *name;
    double (*weight)(double x); /* NULL: picks one input */
    double support;             /* half the width in outputs */
} filter_row;

static const filter_row FILTERS[] = {
    [BRIM_FILTER_NEAREST] = {"nearest", NULL, 0.0},
    [BRIM_FILTER_LANCZOS] = {"lanczos", lanczos, 3.0},
    [BRIM_FILTER_BILINEAR] = {"bilinear", bilinear, 1.0},
    [BRIM_FILTER_BICUBIC] = {"bicubic", bicubic, 2.0},
    [BRIM_FILTER_BOX] = {"box", box, 0.5},
    [BRIM_FILTER_HAMMING] = {"hamming", hamming, 1.0},
};

const char *brim_filter_name(int filter)
{
    int n = (int)(sizeof(FILTERS) / sizeof(FILTERS[0]));

    return filter >= 0 && filter < n ? FILTERS[filter].name : NULL;
}

/* Which power of two x lies above. */
static int binade(double x)
{
    int exponent;

    frexp(x, &exponent);
    return exponent;
}

/*
 * What is left after adding step to step / 2 n times, rounded each time, as Pillow's nearest does
 * it: the errors add up, and now and then they decide between two inputs.
 *
 * Between two powers of two every sum is a multiple of the same unit, so that from the second one
 * on each addition rounds alike (a tie goes to even and stays even). There sums advance by the same
 * exact amount, and any number of them is one multiplication.
 */
static double walk(double step, uint32_t n)
{
    double x = step * 0.5;

    while (n >= 2) {
        double second = x + step, third = second + step;
        int above = binade(third);
        bool settled = binade(x) == above;

        x = third;
        n -= 2;
        if (!settled) continue;
        double advance = third - second;
        double room = floor((ldexp(1.0, above) - third) / advance) - 1.0;
        uint32_t n_leapt = room < 1.0 ? 0 : room < n ? (uint32_t)room : n;
        x += n_leapt * advance;
        n -= n_leapt;
    }
    return n > 0 ? x + step : x;
}

/* The input that lies under the middle of output i, in upright order. */
static uint32_t nearest(const brim_axis *axis, uint32_t i)
{
    double x = walk(axis->scale, axis->first + i);

    return x < (double)axis->n_in ? (uint32_t)x : axis->n_in - 1;
}

/* Inputs first .. end - 1 of output i, in upright order; *centre is where the output's middle lies.
 */
static void reach(const brim_axis *axis, uint32_t i, double *centre, uint32_t *first, uint32_t *end)
{
    *centre = ((double)(axis->first + i) + 0.5) * axis->scale;
    double low = *centre - axis->support + 0.5;
    double high = *centre + axis->support + 0.5;

    *first = low > 0 ? (uint32_t)low : 0;
    *end = high < (double)axis->n_in ? (uint32_t)high : axis->n_in;
}

brim_status brim_axis_init(brim_axis *axis, brim_error *err)
{
    uint32_t start, n_taps;

    assert(axis->n_wanted > 0 && axis->n_wanted <= axis->n_out);
    assert(axis->first <= axis->n_out - axis->n_wanted);
    axis->scale = (double)axis->n_in / axis->n_out;
    axis->support = FILTERS[axis->filter].support * (axis->scale < 1.0 ? 1.0 : axis->scale);
    double most = brim_axis_picks(axis) ? 1.0 : 2 * ceil(axis->support) + 1;
    if (most > axis->n_in) most = axis->n_in;
    if (most > BRIM_MAX_TAPS)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "cannot resample %u pixels to %u", axis->n_in,
                         axis->n_out);
    axis->max_taps = (uint32_t)most;

    /* Bounds never go back as i grows, so the two ends tell the whole range. */
    brim_axis_bounds(axis, axis->flipped ? axis->n_wanted - 1 : 0, &start, &n_taps);
    axis->in_first = start;
    brim_axis_bounds(axis, axis->flipped ? 0 : axis->n_wanted - 1, &start, &n_taps);
    axis->in_end = start + n_taps;
    return BRIM_OK;
}

void brim_axis_bounds(const brim_axis *axis, uint32_t i, uint32_t *start, uint32_t *n_taps)
{
    uint32_t first, end;
    double centre;

    if (brim_axis_is_identity(axis)) {
        first = axis->first + i;
        end = first + 1;
    } else if (brim_axis_picks(axis)) {
        first = nearest(axis, i);
        end = first + 1;
    } else {
        reach(axis, i, &centre, &first, &end);
    }
    *start = axis->flipped ? axis->n_in - end : first;
    *n_taps = end - first;
}

static int32_t to_fixed(double weight)
{
    double scaled = weight * (1 << BRIM_TAP_BITS);

    return (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

/* Weights are computed twice, once for their sum, so that no room is needed to keep them. */
void brim_axis_taps(const brim_axis *axis, uint32_t i, int32_t *taps)
{
    double (*weight)(double) = FILTERS[axis->filter].weight;
    double step = 1.0 / (axis->scale < 1.0 ? 1.0 : axis->scale);
    double centre, sum = 0.0;
    uint32_t first, end;

    if (brim_axis_picks(axis)) {
        taps[0] = 1 << BRIM_TAP_BITS;
        return;
    }
    reach(axis, i, &centre, &first, &end);
    for (uint32_t x = first; x < end; x++)
        sum += weight(((double)x - centre + 0.5) * step);
    for (uint32_t x = first; x < end; x++) {
        double w = weight(((double)x - centre + 0.5) * step);
        if (sum != 0.0) w /= sum;
        taps[axis->flipped ? end - 1 - x : x - first] = to_fixed(w);
    }
}
