/* queue.c - a ring of (pointer, bytes) pairs in a monitor. */
#include "base/queue.h"

#include "base/size.h"
#include "base/sync.h"

typedef struct queue_entry {
    void *item;
    size_t bytes;
} queue_entry;

struct brim_queue {
    const brim_alloc *mem;
    size_t max_items, max_bytes;
    size_t block_bytes;   /* of this struct with its ring */
    brim_monitor monitor; /* guards all below */
    bool closed;
    size_t first, n_items, n_bytes;
    queue_entry ring[];
};

brim_status brim_queue_create(const brim_alloc *mem, size_t max_items, size_t max_bytes,
                              brim_queue **out)
{
    size_t bytes;
    brim_status status;

    *out = NULL;
    if (max_items == 0) return BRIM_E_ARG;
    if (brim_mul_bytes(max_items, sizeof(queue_entry), &bytes) != BRIM_OK ||
        brim_add_bytes(bytes, sizeof(brim_queue), &bytes) != BRIM_OK)
        return BRIM_E_ARG;

    brim_queue *self = brim_alloc_zeroed(mem, bytes, &status);
    if (!self) return status;
    self->mem = mem;
    self->max_items = max_items;
    self->max_bytes = max_bytes;
    self->block_bytes = bytes;
    status = brim_monitor_init(&self->monitor);
    if (status != BRIM_OK) {
        brim_alloc_release(mem, self, bytes);
        return status;
    }
    *out = self;
    return BRIM_OK;
}

void brim_queue_destroy(brim_queue *queue)
{
    if (!queue) return;
    brim_monitor_fini(&queue->monitor);
    brim_alloc_release(queue->mem, queue, queue->block_bytes);
}

static bool has_room(const brim_queue *queue, size_t bytes)
{
    if (queue->n_items == 0) return true;
    return queue->n_items < queue->max_items && queue->n_bytes <= queue->max_bytes &&
           bytes <= queue->max_bytes - queue->n_bytes;
}

brim_status brim_queue_push(brim_queue *queue, void *item, size_t bytes)
{
    brim_status status = BRIM_E_STOPPED;

    brim_monitor_enter(&queue->monitor);
    while (!queue->closed && !has_room(queue, bytes))
        brim_monitor_wait(&queue->monitor);
    if (!queue->closed) {
        size_t at = (queue->first + queue->n_items) % queue->max_items;
        queue->ring[at] = (queue_entry){item, bytes};
        queue->n_items++;
        queue->n_bytes += bytes;
        brim_monitor_wake(&queue->monitor);
        status = BRIM_OK;
    }
    brim_monitor_leave(&queue->monitor);
    return status;
}

static brim_status pop(brim_queue *queue, bool wait, void **item)
{
    brim_status status = BRIM_OK;

    *item = NULL;
    brim_monitor_enter(&queue->monitor);
    while (wait && queue->n_items == 0 && !queue->closed)
        brim_monitor_wait(&queue->monitor);
    if (queue->n_items == 0) {
        status = queue->closed ? BRIM_END : BRIM_E_BUSY;
    } else {
        queue_entry entry = queue->ring[queue->first];
        *item = entry.item;
        queue->first = (queue->first + 1) % queue->max_items;
        queue->n_items--;
        queue->n_bytes -= entry.bytes;
        brim_monitor_wake(&queue->monitor);
    }
    brim_monitor_leave(&queue->monitor);
    return status;
}

brim_status brim_queue_pop(brim_queue *queue, void **item)
{
    return pop(queue, true, item);
}

brim_status brim_queue_try_pop(brim_queue *queue, void **item)
{
    return pop(queue, false, item);
}

void brim_queue_close(brim_queue *queue)
{
    brim_monitor_enter(&queue->monitor);
    queue->closed = true;
    brim_monitor_wake(&queue->monitor);
    brim_monitor_leave(&queue->monitor);
}
