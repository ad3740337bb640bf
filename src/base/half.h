/* half.h - float16 (IEEE 754 binary16, kept as its 16 bits) to float32 and back. */
#ifndef BRIM_BASE_HALF_H
#define BRIM_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>

/* Every float16 has an exact float32. */
void brim_half_to_float(float *out, const uint16_t *in, size_t n);

/* To the nearest float16, ties to the even one; past 65504 and its rounding, infinity. */
void brim_half_from_float(uint16_t *out, const float *in, size_t n);

#endif /* BRIM_BASE_HALF_H */
