/* sim.c - vectors of a simulated device: the key's fingerprint, 16 bits of it a number. */
#include <string.h>

#include "base/fail.h"
#include "base/hash.h"
#include "session/sim.h"
#include "task/task.h"
#include "task/vector.h"

enum { DIGITS_PER_NUMBER = (BRIM_HASH_BYTES - 1) / BRIM_SIM_DIM };

static unsigned digit_value(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* From -1 to below 1. */
static float number_of(const char *digits)
{
    unsigned value = 0;

    for (int i = 0; i < DIGITS_PER_NUMBER; i++)
        value = value * 16 + digit_value(digits[i]);
    return (float)value / 32768.0f - 1.0f;
}

static brim_status sim_read(const brim_task *self, const brim_output *output, size_t i,
                            const brim_alloc *mem, brim_record *record, brim_error *err)
{
    const char *key = record->row->key;
    char hash[BRIM_HASH_BYTES];

    (void)output;
    (void)i;
    brim_status status = brim_record_take_vector(record, mem, BRIM_SIM_DIM);
    if (status != BRIM_OK)
        return brim_fail(err, status, "no memory for a vector of %d", BRIM_SIM_DIM);
    brim_hash_bytes(key, strlen(key), hash);
    for (size_t k = 0; k < BRIM_SIM_DIM; k++)
        record->vector[k] = number_of(hash + k * DIGITS_PER_NUMBER);
    if (self->normalize) brim_vector_normalize(record->vector, BRIM_SIM_DIM);
    return BRIM_OK;
}

brim_task brim_task_sim(bool normalize)
{
    return (brim_task){.name = "embed", .read = sim_read, .normalize = normalize};
}
