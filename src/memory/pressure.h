/*
 * pressure.h - was memory short while something ran? The system's counters before and after it.
 *
 * What slows a run down without an error shows there: pages read back from disk (major faults,
 * swap) and time lost waiting for memory (pressure stall information).
 */
#ifndef BRIM_MEMORY_PRESSURE_H
#define BRIM_MEMORY_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

/* Since the system or the process began; what is not known is 0. */
typedef struct brim_pressure {
    uint64_t n_major_faults; /* of this process */
    uint64_t n_swapped_in;   /* pages, of the machine */
    uint64_t stalled_us;     /* that somebody on the machine waited for memory */
} brim_pressure;

/* Reads two small files below root, "" on a real machine. */
brim_pressure brim_pressure_now(const char *root);

/* Do the counters of a stretch of so many seconds say that memory was short in it? */
bool brim_pressure_rose(const brim_pressure *before, const brim_pressure *after, double seconds);

#endif /* BRIM_MEMORY_PRESSURE_H */
