/* record.c - results and failures on their way to the store. */
#include "store/record.h"

#include "base/size.h"

const char *brim_step_name(brim_step step)
{
    switch (step) {
    case BRIM_STEP_READ:
        return "read";
    case BRIM_STEP_DECODE:
        return "decode";
    case BRIM_STEP_MODEL:
        return "model";
    }
    return "unknown";
}

brim_status brim_record_take_vector(brim_record *record, const brim_alloc *mem, size_t dim)
{
    size_t bytes;
    void *vector = NULL;

    if (brim_mul_bytes(dim, sizeof(float), &bytes) != BRIM_OK || bytes == 0) return BRIM_E_ARG;
    brim_status status = mem->alloc(mem->ctx, bytes, 0, &vector);
    if (status != BRIM_OK) return status;
    record->mem = mem;
    record->vector = vector;
    record->dim = dim;
    return BRIM_OK;
}

void brim_record_fini(brim_record *record)
{
    brim_row_destroy(record->row);
    if (record->vector)
        brim_alloc_release(record->mem, record->vector, record->dim * sizeof(float));
    *record = (brim_record){0};
}
