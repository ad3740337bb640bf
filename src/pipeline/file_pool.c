/* file_pool.c - a counter in a monitor, over one reservation. */
#include "pipeline/file_pool.h"

#include "base/fail.h"

static brim_status refuse(const brim_budget *budget, const char *what, size_t bytes,
                          brim_error *err)
{
    return brim_fail(err, BRIM_E_BUDGET, "%s needs %zu MiB, limit %zu MiB (--memory)", what,
                     (bytes + (1u << 20) - 1) >> 20, brim_budget_limit_bytes(budget) >> 20);
}

brim_status brim_file_pool_init(brim_file_pool *pool, brim_budget *budget, size_t capacity_bytes,
                                brim_error *err)
{
    *pool = (brim_file_pool){.budget = budget, .capacity_bytes = capacity_bytes};
    if (brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, capacity_bytes) != BRIM_OK)
        return refuse(budget, "reading ahead", capacity_bytes, err);
    brim_status status = brim_monitor_init(&pool->monitor);
    if (status == BRIM_OK) return BRIM_OK;
    brim_budget_give_back(budget, BRIM_ACCOUNT_QUEUES, capacity_bytes);
    return brim_fail(err, status, "no memory for the file pool");
}

void brim_file_pool_fini(brim_file_pool *pool)
{
    brim_monitor_fini(&pool->monitor);
    brim_budget_give_back(pool->budget, BRIM_ACCOUNT_QUEUES, pool->capacity_bytes);
}

brim_status brim_file_pool_take(brim_file_pool *pool, size_t bytes, brim_error *err)
{
    brim_status status = BRIM_OK;
    size_t extra = bytes > pool->capacity_bytes ? bytes - pool->capacity_bytes : 0;

    brim_monitor_enter(&pool->monitor);
    while (pool->held_bytes > 0 && (extra > 0 || pool->held_bytes > pool->capacity_bytes ||
                                    bytes > pool->capacity_bytes - pool->held_bytes))
        brim_monitor_wait(&pool->monitor);
    if (extra > 0) status = brim_budget_reserve(pool->budget, BRIM_ACCOUNT_QUEUES, extra);
    if (status == BRIM_OK) {
        pool->held_bytes += bytes;
        pool->extra_bytes = extra;
    }
    brim_monitor_leave(&pool->monitor);
    return status == BRIM_OK ? BRIM_OK : refuse(pool->budget, "the file", bytes, err);
}

void brim_file_pool_give_back(brim_file_pool *pool, size_t bytes)
{
    brim_monitor_enter(&pool->monitor);
    pool->held_bytes -= bytes;
    if (pool->extra_bytes > 0) {
        brim_budget_give_back(pool->budget, BRIM_ACCOUNT_QUEUES, pool->extra_bytes);
        pool->extra_bytes = 0;
    }
    brim_monitor_wake(&pool->monitor);
    brim_monitor_leave(&pool->monitor);
}
