/*
 * sync.h - a lock with one condition, and threads: the little of POSIX threads that is used here.
 *
 * A monitor guards the fields of one struct. Whoever changes them wakes everybody: there are few
 * waiters, and a lost wake-up costs more than a spurious one.
 */
#ifndef BRIM_BASE_SYNC_H
#define BRIM_BASE_SYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "brimful/status.h"

typedef struct brim_monitor {
    pthread_mutex_t lock;
    pthread_cond_t changed;
} brim_monitor;

brim_status brim_monitor_init(brim_monitor *monitor);
void brim_monitor_fini(brim_monitor *monitor);

static inline void brim_monitor_enter(brim_monitor *monitor)
{
    pthread_mutex_lock(&monitor->lock);
}

static inline void brim_monitor_leave(brim_monitor *monitor)
{
    pthread_mutex_unlock(&monitor->lock);
}

/* Inside only. Gives the lock up until somebody wakes; the caller looks again at what it waits for.
 */
static inline void brim_monitor_wait(brim_monitor *monitor)
{
    pthread_cond_wait(&monitor->changed, &monitor->lock);
}

/* Like brim_monitor_wait(), but at most until the moment `deadline_ns` of brim_now_ns(). */
void brim_monitor_wait_until(brim_monitor *monitor, uint64_t deadline_ns);

static inline void brim_monitor_wake(brim_monitor *monitor)
{
    pthread_cond_broadcast(&monitor->changed);
}

/* Starts a thread with all signals blocked (the caller's threads receive them) and a name for ps.
 */
brim_status brim_thread_start(pthread_t *out, const char *name, void *(*body)(void *), void *arg);

#endif /* BRIM_BASE_SYNC_H */
