/* sync.c - monitors and threads over POSIX. */
#include "base/sync.h"

#include <signal.h>
#include <time.h>

brim_status brim_monitor_init(brim_monitor *monitor)
{
    pthread_condattr_t attr;

    if (pthread_mutex_init(&monitor->lock, NULL) != 0) return BRIM_E_NOMEM;
    bool ok = pthread_condattr_init(&attr) == 0;
    if (ok) {
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        ok = pthread_cond_init(&monitor->changed, &attr) == 0;
        pthread_condattr_destroy(&attr);
    }
    if (ok) return BRIM_OK;
    pthread_mutex_destroy(&monitor->lock);
    return BRIM_E_NOMEM;
}

void brim_monitor_fini(brim_monitor *monitor)
{
    pthread_cond_destroy(&monitor->changed);
    pthread_mutex_destroy(&monitor->lock);
}

void brim_monitor_wait_until(brim_monitor *monitor, uint64_t deadline_ns)
{
    struct timespec t = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                         .tv_nsec = (long)(deadline_ns % 1000000000u)};

    pthread_cond_timedwait(&monitor->changed, &monitor->lock, &t);
}

brim_status brim_thread_start(pthread_t *out, const char *name, void *(*body)(void *), void *arg)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(out, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) return BRIM_E_NOMEM;
    pthread_setname_np(*out, name);
    return BRIM_OK;
}
