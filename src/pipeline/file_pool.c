/* file_pool.c - a counter in a monitor, over one reservation. */
#include "pipeline/file_pool.h"

#include <sys/resource.h>

#include "base/fail.h"
#include "base/size.h"
#include "pipeline/batcher.h"

enum { OPEN_SHARE = 4 }; /* of the files that may be open */

static size_t max_open(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
    return files.rlim_cur > OPEN_SHARE ? (size_t)files.rlim_cur / OPEN_SHARE : 1;
}

brim_status brim_file_pool_init(brim_file_pool *pool, brim_budget *budget, brim_batcher *batcher,
                                size_t capacity_bytes, brim_error *err)
{
    *pool = (brim_file_pool){.budget = budget,
                             .batcher = batcher,
                             .capacity_bytes = capacity_bytes,
                             .max_open = max_open()};
    if (brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, capacity_bytes) != BRIM_OK)
        return brim_fail(err, BRIM_E_BUDGET,
                         "reading ahead needs %zu MiB, limit %zu MiB (--memory)",
                         brim_mib_up(capacity_bytes), brim_budget_limit_bytes(budget) >> 20);
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

/* A file beyond the pool: alone in it, and with more than it. */
static brim_status take_large(brim_file_pool *pool, size_t bytes, brim_error *err)
{
    size_t extra = bytes - pool->capacity_bytes;

    while (pool->large_waits)
        brim_monitor_wait(&pool->monitor);
    pool->large_waits = true;
    while (pool->held_bytes > 0)
        brim_monitor_wait(&pool->monitor);
    /* Nothing is held here, so nobody needs our lock to give anything back. */
    brim_status status = brim_batcher_reserve(pool->batcher, BRIM_ACCOUNT_QUEUES, extra, err);
    pool->large_waits = false;
    if (status == BRIM_OK) {
        pool->held_bytes = bytes;
        pool->extra_bytes = extra;
    }
    brim_monitor_wake(&pool->monitor);
    return status;
}

brim_status brim_file_pool_take(brim_file_pool *pool, size_t bytes, brim_error *err)
{
    brim_status status = BRIM_OK;

    brim_monitor_enter(&pool->monitor);
    if (bytes > pool->capacity_bytes) {
        status = take_large(pool, bytes, err);
    } else {
        while (pool->large_waits || pool->held_bytes > pool->capacity_bytes - bytes)
            brim_monitor_wait(&pool->monitor);
        pool->held_bytes += bytes;
    }
    brim_monitor_leave(&pool->monitor);
    return status;
}

void brim_file_pool_give_back(brim_file_pool *pool, size_t bytes)
{
    brim_monitor_enter(&pool->monitor);
    pool->held_bytes -= bytes;
    if (pool->extra_bytes > 0)
        brim_batcher_give_back_bytes(pool->batcher, BRIM_ACCOUNT_QUEUES, pool->extra_bytes);
    pool->extra_bytes = 0;
    brim_monitor_wake(&pool->monitor);
    brim_monitor_leave(&pool->monitor);
}

void brim_file_pool_take_open(brim_file_pool *pool)
{
    brim_monitor_enter(&pool->monitor);
    while (pool->n_open >= pool->max_open)
        brim_monitor_wait(&pool->monitor);
    pool->n_open++;
    brim_monitor_leave(&pool->monitor);
}

void brim_file_pool_give_back_open(brim_file_pool *pool)
{
    brim_monitor_enter(&pool->monitor);
    pool->n_open--;
    brim_monitor_wake(&pool->monitor);
    brim_monitor_leave(&pool->monitor);
}

size_t brim_file_pool_unused_bytes(brim_file_pool *pool)
{
    brim_monitor_enter(&pool->monitor);
    size_t held = pool->held_bytes < pool->capacity_bytes ? pool->held_bytes : pool->capacity_bytes;
    brim_monitor_leave(&pool->monitor);
    return pool->capacity_bytes - held;
}
