/* embed.c - one vector per image. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "task/task.h"
#include "task/vector.h"

static bool all_finite(const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i])) return false;
    return true;
}

/* Trailing dimensions of 1 are no dimensions: (n, 1280, 1, 1) is (n, 1280). */
static size_t useful_dims(const brim_output *output)
{
    size_t n_dims = output->n_dims;

    while (n_dims > 2 && output->dims[n_dims - 1] == 1)
        n_dims--;
    return n_dims;
}

static brim_status embed_read(const brim_task *self, const brim_output *output, size_t i,
                              const brim_alloc *mem, brim_record *record, brim_error *err)
{
    size_t n_dims = useful_dims(output);

    if (n_dims != 2 && n_dims != 3)
        return brim_fail(err, BRIM_E_RUNTIME,
                         "the layer has %zu dimensions; a vector per image"
                         " has 2 (batch, numbers) or 3 (batch, tokens, numbers)",
                         output->n_dims);
    size_t dim = output->dims[n_dims - 1];
    size_t tokens = n_dims == 3 ? output->dims[1] : 1;
    if (dim == 0 || tokens == 0)
        return brim_fail(err, BRIM_E_RUNTIME, "the model's answer is empty");
    const float *vector = output->data + i * tokens * dim;
    if (!all_finite(vector, dim))
        return brim_fail(err, BRIM_E_RUNTIME, "the model's answer is not finite (NaN or infinity)");

    brim_status status = brim_record_take_vector(record, mem, dim);
    if (status != BRIM_OK) return brim_fail(err, status, "no memory for a vector of %zu", dim);
    memcpy(record->vector, vector, dim * sizeof(float));
    if (self->normalize) brim_vector_normalize(record->vector, dim);
    return BRIM_OK;
}

brim_task brim_task_embed(bool normalize)
{
    return (brim_task){.name = "embed", .read = embed_read, .normalize = normalize};
}

brim_status brim_task_embed_check(const brim_port *layer, brim_error *err)
{
    size_t n_dims = layer->n_dims;

    while (n_dims > 2 && layer->dims[n_dims - 1] == 1)
        n_dims--;
    if (n_dims == 2 || n_dims == 3) return BRIM_OK;
    return brim_fail(err, BRIM_E_ARG,
                     "layer %s has %zu dimensions; an embedding has 2 (batch, numbers) or 3 (batch,"
                     " tokens, numbers): choose another with --layer",
                     layer->name, layer->n_dims);
}
