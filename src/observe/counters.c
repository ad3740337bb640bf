/* counters.c - from counts to rates and the time that is left. */
#include "observe/counters.h"

static uint64_t read_count(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

brim_progress brim_counters_snapshot(const brim_counters *counters, uint64_t now_ns)
{
    brim_progress p = {
        .n_total = read_count(&counters->n_total),
        .n_done = read_count(&counters->n_done),
        .n_failed = read_count(&counters->n_failed),
        .n_already = read_count(&counters->n_already),
        .n_failed_earlier = read_count(&counters->n_failed_earlier),
        .n_repeats = read_count(&counters->n_repeats),
        .n_batches = read_count(&counters->n_batches),
        .n_refusals = read_count(&counters->n_refusals),
        .n_splits = read_count(&counters->n_splits),
        .n_set_aside = read_count(&counters->n_set_aside),
        .n_trims = read_count(&counters->n_trims),
        .left_s = -1.0,
    };
    uint64_t started = read_count(&counters->started_ns);

    if (started == 0 || now_ns <= started) return p;
    p.elapsed_s = (double)(now_ns - started) / 1e9;
    uint64_t finished = p.n_done + p.n_failed;
    p.rows_per_s = (double)finished / p.elapsed_s;

    uint64_t passed = finished + p.n_already + p.n_failed_earlier + p.n_repeats;
    if (p.n_total > 0 && finished > 0)
        p.left_s = p.n_total > passed ? (double)(p.n_total - passed) / p.rows_per_s : 0.0;
    return p;
}
