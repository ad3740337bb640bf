/*
 * half.c - float16 to float32 and back, in integers.
 *
 * A float16 holds 1 sign, 5 exponent (bias 15) and 10 fraction bits, a float32 1, 8 (bias 127) and
 * 23: between normal numbers the exponent moves by 112 and the fraction by 13 bits. No step makes a
 * subnormal float32, so a processor that flushes those to zero gives the same bits.
 */
#include "base/half.h"

#include <string.h>

#define SIGN_16       0x8000u
#define INFINITY_16   0x7C00u
#define QUIET_NAN_16  0x7E00u
#define LEAST_16      0x0400u /* smallest normal float16, 2^-14 */
#define INFINITY_32   0x7F800000u
#define OVERFLOW_32   0x477FF000u /* 65520: from here on the nearest float16 is infinity */
#define LEAST_NORM_32 0x38800000u /* 2^-14 as a float32 */
#define REBIAS        (112u << 23)

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static float widen(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & SIGN_16) << 16;
    uint32_t size = half & ~SIGN_16 & 0xFFFFu;

    if (size >= INFINITY_16) return float_of(sign | INFINITY_32 | size << 13);
    if (size >= LEAST_16) return float_of(sign | ((size << 13) + REBIAS));
    return float_of(sign | bits_of((float)size * 0x1p-24f));
}

static uint16_t narrow(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & SIGN_16;
    uint32_t size = bits & 0x7FFFFFFFu;

    if (size > INFINITY_32) return (uint16_t)(sign | QUIET_NAN_16 | (size >> 13 & 0x3FFu));
    if (size >= OVERFLOW_32) return (uint16_t)(sign | INFINITY_16);
    if (size < LEAST_NORM_32) {
        /* Between 0.5 and 1 a float32's last bit is 2^-24, a subnormal float16's: the sum rounds.
         */
        return (uint16_t)(sign | (bits_of(float_of(size) + 0.5f) - bits_of(0.5f)));
    }
    size += 0xFFFu + (size >> 13 & 1u); /* carries where more than half is cut, or half of an odd */
    return (uint16_t)(sign | (size - REBIAS) >> 13);
}

void brim_half_to_float(float *out, const uint16_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = widen(in[i]);
}

void brim_half_from_float(uint16_t *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = narrow(in[i]);
}
