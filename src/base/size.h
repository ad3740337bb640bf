/* size.h - sums and products of sizes that come from strangers: overflow is an error, never a wrap.
 */
#ifndef BRIM_BASE_SIZE_H
#define BRIM_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

/* *out = a * b; BRIM_E_ARG and *out = 0 where that does not fit. */
static inline brim_status brim_mul_bytes(size_t a, size_t b, size_t *out)
{
    if (!__builtin_mul_overflow(a, b, out)) return BRIM_OK;
    *out = 0;
    return BRIM_E_ARG;
}

/* *out = a + b; BRIM_E_ARG and *out = 0 where that does not fit. */
static inline brim_status brim_add_bytes(size_t a, size_t b, size_t *out)
{
    if (!__builtin_add_overflow(a, b, out)) return BRIM_OK;
    *out = 0;
    return BRIM_E_ARG;
}

/* a * b, or SIZE_MAX / 8: for predictions, of which a few may be added up without a look. */
static inline size_t brim_mul_saturated(size_t a, size_t b)
{
    size_t product;

    return brim_mul_bytes(a, b, &product) == BRIM_OK && product < SIZE_MAX / 8 ? product
                                                                               : SIZE_MAX / 8;
}

/* For words: in MiB, rounded up. */
static inline size_t brim_mib_up(size_t bytes)
{
    return (bytes >> 20) + ((bytes & ((1u << 20) - 1)) != 0);
}

#endif /* BRIM_BASE_SIZE_H */
