/* vector.c - the length of a vector. */
#include "task/vector.h"

#include <math.h>

/* A vector shorter than this is not stretched to length 1. */
static const double SMALLEST_NORM = 1e-12;

/* Summed in double so that the length does not depend on the order of the sum. */
void brim_vector_normalize(float *v, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += (double)v[i] * v[i];
    double norm = fmax(sqrt(sum), SMALLEST_NORM);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(v[i] / norm);
}
