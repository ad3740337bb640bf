/* wall.c - where it stands, and when to try it again. */
#include "governor/wall.h"

#include <math.h>

double brim_batch_measure(const brim_memory_model *memory, brim_shape shape, size_t n)
{
    if (memory->n_seen > 0) return (double)brim_memory_model_forecast(memory, shape, n).bytes;
    return (double)shape.pixels * (double)n;
}

void brim_wall_meet(brim_wall *wall, brim_shape shape, size_t n_bad, size_t n_good, uint64_t run,
                    uint64_t first_wait, uint64_t longest_wait)
{
    uint64_t wait = wall->wait ? wall->wait * 2 : first_wait;

    wall->is_set = true;
    wall->shape = shape;
    wall->n_bad = n_bad;
    wall->n_good = n_good > 0 ? n_good : 1;
    wall->wait = wait < longest_wait ? wait : longest_wait;
    wall->retry_at = run + wall->wait;
}

bool brim_wall_is_beyond(const brim_wall *wall, const brim_memory_model *memory, brim_shape shape,
                         size_t n)
{
    if (!wall->is_set) return false;
    if (brim_shape_is_same(shape, wall->shape)) return n >= wall->n_bad;
    return brim_batch_measure(memory, shape, n) >=
           brim_batch_measure(memory, wall->shape, wall->n_bad);
}

void brim_wall_pass(brim_wall *wall, const brim_memory_model *memory, brim_shape shape, size_t n,
                    uint64_t run, uint64_t step_wait)
{
    if (!wall->is_set) return;
    if (brim_wall_is_beyond(wall, memory, shape, n)) {
        wall->is_set = false;
        return;
    }
    if (!brim_shape_is_same(shape, wall->shape) || n <= wall->n_good) return;
    wall->n_good = n;
    wall->retry_at = run + step_wait;
}

size_t brim_wall_most_items(const brim_wall *wall, const brim_memory_model *memory,
                            brim_shape shape)
{
    size_t fits = 1, too_many = (size_t)1 << 32;

    if (!wall->is_set) return SIZE_MAX;
    if (brim_shape_is_same(shape, wall->shape)) return wall->n_good;
    double most = brim_batch_measure(memory, wall->shape, wall->n_good);
    while (too_many - fits > 1) {
        size_t n = fits + (too_many - fits) / 2;
        if (brim_batch_measure(memory, shape, n) <= most)
            fits = n;
        else
            too_many = n;
    }
    return fits;
}
