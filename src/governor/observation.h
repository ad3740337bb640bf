/*
 * observation.h - what one run of the model told: the only thing that a governor learns from.
 *
 * A log of offers and observations, a line each, replays every decision: `brimful -v` writes it.
 *
 *   offer PIXELS TOKENS BUDGET_BYTES MOST = N
 *   ran N PIXELS TOKENS SECONDS PEAK_BYTES [PRESSURE]
 *   refused N PIXELS TOKENS SECONDS
 */
#ifndef BRIM_GOVERNOR_OBSERVATION_H
#define BRIM_GOVERNOR_OBSERVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shape of every item in a batch. */
typedef struct brim_shape {
    uint64_t pixels; /* height times width, at least 1 */
    uint32_t tokens; /* of text; 0 = none */
} brim_shape;

static inline bool brim_shape_is_same(brim_shape a, brim_shape b)
{
    return a.pixels == b.pixels && a.tokens == b.tokens;
}

typedef struct brim_observation {
    size_t n_items;
    brim_shape shape;
    double seconds;
    size_t peak_bytes; /* most that the run held at once, beyond what is held between runs;
                          0 = not known. Not looked at where it was refused. */
    bool refused;      /* for memory */
    bool has_pressure; /* a counter of the system says that memory was short during the run: major
                          faults, pages swapped in, stalls (PSI), shared memory of the device */
} brim_observation;

enum { BRIM_OBSERVATION_LINE_BYTES = 160 };

/* The line, without a newline; cut to capacity. Returns its length. */
size_t brim_observation_write(const brim_observation *seen, char *out, size_t capacity);

/* False where the line is no observation ("ran ...", "refused ..."). */
bool brim_observation_read(const char *line, brim_observation *out);

/* What was decided, and upon what. */
typedef struct brim_offer {
    brim_shape shape;
    size_t budget_bytes;
    uint32_t most_items; /* options.max_batch at that time */
    size_t n_items;
} brim_offer;

/* As those of an observation. */
size_t brim_offer_write(const brim_offer *offer, char *out, size_t capacity);
bool brim_offer_read(const char *line, brim_offer *out);

#endif /* BRIM_GOVERNOR_OBSERVATION_H */
