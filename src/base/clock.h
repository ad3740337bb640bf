/* clock.h - what time it is, and what time it was. */
#ifndef BRIM_BASE_CLOCK_H
#define BRIM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Monotonic, from an unknown start. */
static inline uint64_t brim_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nanoseconds since 1970; a time beyond what 64 bits hold (some 292 years) is cut to the last one.
 */
static inline int64_t brim_timespec_ns(struct timespec t)
{
    int64_t ns;

    if (__builtin_mul_overflow((int64_t)t.tv_sec, 1000000000, &ns) ||
        __builtin_add_overflow(ns, (int64_t)t.tv_nsec, &ns))
        return t.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

#endif /* BRIM_BASE_CLOCK_H */
