/* count.c - the counting thread. */
#include "job/count.h"

#include "base/sync.h"

static void *count_rows(void *arg)
{
    brim_row_count *self = arg;
    brim_source *source = NULL;
    uint64_t n = 0;
    brim_status status = brim_source_open(brim_heap(), &self->options, &source, NULL);

    while (status == BRIM_OK && !atomic_load(&self->stop)) {
        brim_row *row;
        status = brim_source_next(source, &row, NULL);
        if (status != BRIM_OK) break;
        brim_row_destroy(row);
        n++;
    }
    if (status == BRIM_END) atomic_store(&self->counters->n_total, n);
    brim_source_close(source);
    return NULL;
}

void brim_row_count_start(brim_row_count *count, const brim_source_options *options,
                          brim_counters *counters)
{
    count->options = *options;
    count->options.counting = true;
    count->options.stop = &count->stop;
    count->counters = counters;
    atomic_store(&count->stop, false);
    count->running = brim_thread_start(&count->thread, "brim-count", count_rows, count) == BRIM_OK;
}

void brim_row_count_stop(brim_row_count *count)
{
    if (!count->running) return;
    atomic_store(&count->stop, true);
    pthread_join(count->thread, NULL);
    count->running = false;
}
