/* batch.c - makes batches and keeps their pictures together. */
#include "pipeline/batch.h"

#include "base/size.h"

brim_status brim_batch_bytes(const brim_batch_shape *shape, size_t n, size_t *bytes)
{
    size_t row_bytes = (size_t)shape->height * 3 * brim_dtype_bytes(shape->dtype);
    size_t slot_bytes = 0;

    *bytes = 0;
    if (shape->stub_bytes > 0) return brim_mul_bytes(shape->stub_bytes, n, bytes);
    brim_status status = brim_mul_bytes(row_bytes, shape->width, &slot_bytes);
    return status == BRIM_OK ? brim_mul_bytes(slot_bytes, n, bytes) : status;
}

/* Batch, items and stack in one block. */
static brim_status block_bytes(size_t n, size_t *bytes)
{
    brim_status status = brim_mul_bytes(n, sizeof(brim_item *) + sizeof(uint32_t), bytes);
    return status == BRIM_OK ? brim_add_bytes(*bytes, sizeof(brim_batch), bytes) : status;
}

brim_batch *brim_batch_create(const brim_alloc *mem, const brim_batch_shape *shape, size_t n,
                              brim_status *why)
{
    size_t tensor_bytes, bytes;

    *why = BRIM_E_ARG;
    if (brim_batch_bytes(shape, n, &tensor_bytes) != BRIM_OK || block_bytes(n, &bytes) != BRIM_OK)
        return NULL;
    brim_batch *batch = brim_alloc_zeroed(mem, bytes, why);
    if (!batch) return NULL;
    batch->mem = mem;
    batch->block_bytes = bytes;
    batch->tensor_bytes = tensor_bytes;
    batch->items = (brim_item **)(batch + 1);
    batch->free_slots = (uint32_t *)(batch->items + n);
    batch->capacity = batch->n_free = batch->n_enough = n;
    batch->shape = *shape;
    batch->slot_bytes = tensor_bytes / n;
    for (size_t i = 0; i < n; i++)
        batch->free_slots[i] = (uint32_t)(n - 1 - i); /* slot 0 on top */
    return batch;
}

brim_status brim_batch_take_tensor(brim_batch *batch, brim_budget *budget)
{
    const brim_alloc *tensors = brim_budget_alloc(budget, BRIM_ACCOUNT_TENSORS);
    void *tensor;

    brim_status status = tensors->alloc(tensors->ctx, batch->tensor_bytes, 0, &tensor);
    if (status != BRIM_OK) return status;
    batch->tensors = tensors;
    batch->tensor = tensor;
    return BRIM_OK;
}

void brim_batch_destroy(brim_batch *batch)
{
    if (batch->tensors) brim_alloc_release(batch->tensors, batch->tensor, batch->tensor_bytes);
    brim_alloc_release(batch->mem, batch, batch->block_bytes);
}

void brim_batch_close_holes(brim_batch *batch)
{
    size_t last = batch->capacity;

    for (size_t hole = 0; hole < batch->n_filled; hole++) {
        if (batch->items[hole]) continue;
        do
            last--;
        while (!batch->items[last]);
        memcpy(brim_batch_slot(batch, hole), brim_batch_slot(batch, last), batch->slot_bytes);
        batch->items[hole] = batch->items[last];
        batch->items[last] = NULL;
    }
}
