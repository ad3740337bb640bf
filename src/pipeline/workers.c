/* workers.c - seats for workers: whoever has none is parked. */
#include "pipeline/workers.h"

static const double REVIEW_S = 1.0;
/* Shares of a second that mean something, and how often in a row they must. */
static const double MODEL_STARVES = 0.1, MODEL_IS_FED = 0.02, WORKERS_BLOCKED = 0.5,
                    WORKERS_HUNGRY = 0.5;
enum { FIRM = 2 };

static bool has_seat(const brim_workers *self)
{
    return self->ended || self->n_holding < self->n_active;
}

static void leave_seat(brim_workers *self, uint64_t *began_ns)
{
    if (*began_ns == 0) return;
    brim_stopwatch_end(&self->work, *began_ns);
    *began_ns = 0;
    self->n_holding--;
    brim_monitor_wake(&self->monitor);
}

brim_status brim_workers_next(brim_workers *workers, brim_queue *items, void **item,
                              uint64_t *began_ns)
{
    brim_monitor_enter(&workers->monitor);
    leave_seat(workers, began_ns);
    while (!has_seat(workers))
        brim_monitor_wait(&workers->monitor);
    workers->n_holding++;
    uint64_t hungry_ns = brim_stopwatch_begin(&workers->hunger);
    brim_monitor_leave(&workers->monitor);

    brim_status status = brim_queue_pop(items, item);

    brim_monitor_enter(&workers->monitor);
    brim_stopwatch_end(&workers->hunger, hungry_ns);
    if (status == BRIM_OK) {
        *began_ns = brim_stopwatch_begin(&workers->work);
    } else {
        workers->n_holding--;
        workers->ended = true;
        brim_monitor_wake(&workers->monitor);
    }
    brim_monitor_leave(&workers->monitor);
    return status;
}

/* ---- Choosing ---- */

static void set_active(brim_workers *self, size_t n, uint64_t now_ns)
{
    if (now_ns > self->changed_ns)
        self->seats_s += (double)self->n_active * (double)(now_ns - self->changed_ns) / 1e9;
    self->changed_ns = now_ns;
    self->n_active = n;
    brim_monitor_wake(&self->monitor);
}

/* 1: more are wanted, -1: fewer are, 0: it is well. Shares of the time since the last review. */
static int which_way(const brim_workers *self, double model, double blocked, double hungry)
{
    double n = (double)self->n_active;

    if (model > MODEL_STARVES && hungry < WORKERS_HUNGRY * n && blocked < WORKERS_BLOCKED * n)
        return self->n_active < self->n_max ? 1 : 0;
    if (model < MODEL_IS_FED && blocked > WORKERS_BLOCKED * n) return self->n_active > 1 ? -1 : 0;
    return 0;
}

void brim_workers_review(brim_workers *workers, uint64_t now_ns, double model_s, double blocked_s)
{
    brim_monitor_enter(&workers->monitor);
    double seconds = (double)(now_ns - workers->reviewed_ns) / 1e9;
    double hunger_s = brim_stopwatch_seconds(&workers->hunger, now_ns);
    if (now_ns > workers->reviewed_ns && seconds >= REVIEW_S) {
        int way = which_way(workers, (model_s - workers->model_s) / seconds,
                            (blocked_s - workers->blocked_s) / seconds,
                            (hunger_s - workers->hunger_s) / seconds);
        workers->leaning = way * workers->leaning > 0 ? workers->leaning + way : way;
        if (workers->leaning >= FIRM)
            set_active(workers, workers->n_active + 1, now_ns);
        else if (workers->leaning <= -FIRM)
            set_active(workers, workers->n_active - 1, now_ns);
        if (workers->leaning >= FIRM || workers->leaning <= -FIRM) workers->leaning = 0;
        workers->reviewed_ns = now_ns;
        workers->model_s = model_s;
        workers->blocked_s = blocked_s;
        workers->hunger_s = hunger_s;
    }
    brim_monitor_leave(&workers->monitor);
}

brim_workers_use brim_workers_used(brim_workers *workers)
{
    brim_monitor_enter(&workers->monitor);
    uint64_t now_ns = brim_now_ns();
    set_active(workers, workers->n_active, now_ns);
    brim_workers_use use = {workers->n_active, brim_stopwatch_seconds(&workers->work, now_ns),
                            workers->seats_s};
    brim_monitor_leave(&workers->monitor);
    return use;
}

/* ---- Making and ending ---- */

brim_status brim_workers_init(brim_workers *workers, size_t n_max)
{
    *workers = (brim_workers){.n_max = n_max, .n_active = n_max};
    workers->changed_ns = workers->reviewed_ns = brim_now_ns();
    return brim_monitor_init(&workers->monitor);
}

void brim_workers_fini(brim_workers *workers)
{
    brim_monitor_fini(&workers->monitor);
}
