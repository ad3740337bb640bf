/* clock.h - what time it is. */
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

#endif /* BRIM_BASE_CLOCK_H */
