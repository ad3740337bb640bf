/*
 * fetch.c - reader threads that can be abandoned.
 *
 * A reader alternates between two states. Outside a read it may touch the pipeline, and whoever
 * ends the pipeline waits for it. Inside a read it touches only its own block (reference-counted,
 * from the heap) and the file; there the watch may take its item away and leave it to itself.
 */
#include "pipeline/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/sync.h"

enum {
    MAX_ABANDONED = 64,     /* hanging threads are kept within bounds: beyond, the run ends */
    READ_BYTES = 128 << 10, /* so that "no byte for 30 s" is nearly that */
};

static const uint64_t STOP_TIMEOUT_NS = 2000000000u; /* hanging reads when the user wants to end */

typedef struct reader {
    brim_monitor monitor; /* guards reading, abandoned, finished, item, n_owners */
    bool reading, abandoned;
    brim_item *item;
    int n_owners;                  /* the thread, and the fetch while it counts on it */
    atomic_uint_fast64_t since_ns; /* when the last byte came */
    uint64_t began_ns;             /* reading; the thread's own */
    brim_fetch *fetch;             /* not to be touched while reading */
    pthread_t thread;
    bool finished;
    char path[PATH_MAX];
} reader;

struct brim_fetch {
    brim_fetch_options options;
    size_t n_abandoned;
    size_t n_slots, block_bytes;
    reader *slots[]; /* NULL: done */
};

static void leave_reader(reader *self)
{
    brim_monitor_enter(&self->monitor);
    int left = --self->n_owners;
    brim_monitor_leave(&self->monitor);
    if (left > 0) return;
    brim_monitor_fini(&self->monitor);
    brim_alloc_release(brim_heap(), self, sizeof(*self));
}

static void begin_read(reader *self, brim_item *item)
{
    self->began_ns = brim_now_ns();
    atomic_store(&self->since_ns, self->began_ns);
    brim_monitor_enter(&self->monitor);
    self->reading = true;
    self->item = item;
    brim_monitor_leave(&self->monitor);
}

/* False: the item is no longer ours, and neither is the pipeline. */
static bool end_read(reader *self)
{
    brim_monitor_enter(&self->monitor);
    self->reading = false;
    self->item = NULL;
    bool ours = !self->abandoned;
    brim_monitor_leave(&self->monitor);
    if (ours && self->fetch->options.busy_ns)
        atomic_fetch_add(self->fetch->options.busy_ns, brim_now_ns() - self->began_ns);
    return ours;
}

static brim_status check_file(const struct stat *info, brim_error *err)
{
    if (S_ISDIR(info->st_mode)) return brim_fail(err, BRIM_E_IO, "is a folder, not a file");
    if (!S_ISREG(info->st_mode)) return brim_fail(err, BRIM_E_IO, "not a regular file");
    if (info->st_size == 0) return brim_fail(err, BRIM_E_FORMAT, "empty file");
    return BRIM_OK;
}

/* Reads up to bytes; *got tells how many there were. */
static int read_all(reader *self, int fd, uint8_t *data, size_t bytes, size_t *got)
{
    *got = 0;
    while (*got < bytes) {
        size_t wanted = bytes - *got < READ_BYTES ? bytes - *got : READ_BYTES;
        ssize_t n = read(fd, data + *got, wanted);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return 0;
        *got += (size_t)n;
        atomic_store(&self->since_ns, brim_now_ns());
    }
    return 0;
}

/* That we have too many files open is no fault of this one: BRIM_E_NOMEM, which ends the run. */
static brim_status cannot_open(const reader *self, int why, brim_error *err)
{
    if (why != EMFILE && why != ENFILE) return brim_fail(err, BRIM_E_IO, "%s", strerror(why));
    return brim_fail(err, BRIM_E_NOMEM, "%s: %s (ulimit -n)", self->path, strerror(why));
}

typedef enum fetch_end { FETCHED, FETCH_FAILED, FETCH_ABANDONED } fetch_end;

/* Opens and measures the file. Unless FETCHED it is closed again, all of it inside the read. */
static fetch_end open_file(reader *self, brim_item *item, int *fd, struct stat *info)
{
    brim_error why = {0};
    brim_status status = BRIM_OK;

    *info = (struct stat){0};
    begin_read(self, item);
    /* O_NONBLOCK: a pipe must not hang the opening; regular files do not mind. */
    *fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, info) != 0)
        status = cannot_open(self, errno, &why);
    else
        status = check_file(info, &why);
    if (status != BRIM_OK && *fd >= 0) close(*fd);
    if (!end_read(self)) {
        if (status == BRIM_OK) close(*fd);
        return FETCH_ABANDONED;
    }
    if (status == BRIM_OK) return FETCHED;
    item->record.error = why;
    return FETCH_FAILED;
}

/* Closing may hang as reading may: network file systems write and wait there. */
static bool close_file(reader *self, brim_item *item, int fd)
{
    begin_read(self, item);
    close(fd);
    return end_read(self);
}

/*
 * Reads and closes the file, into memory that the item does not know of until it is read: an
 * abandoned thread frees what it alone holds.
 */
static fetch_end read_file(reader *self, brim_item *item, int fd, size_t bytes)
{
    brim_error *err = &item->record.error;
    size_t got = 0;

    if (brim_item_take_data(item, self->fetch->options.pool, bytes, err) != BRIM_OK)
        return close_file(self, item, fd) ? FETCH_FAILED : FETCH_ABANDONED;
    uint8_t *data = item->data;
    item->data = NULL;
    begin_read(self, item);
    int why = read_all(self, fd, data, bytes, &got);
    close(fd);
    if (!end_read(self)) {
        brim_alloc_release(brim_heap(), data, bytes);
        return FETCH_ABANDONED;
    }
    item->data = data;
    item->data_bytes = got;
    if (why == 0) return FETCHED;
    brim_fail(err, BRIM_E_IO, "%s", strerror(why));
    return FETCH_FAILED;
}

/*
 * A file that the room for reading ahead cannot hold is read while it is decoded, where its format
 * can do that: the item keeps it open, and its beginning.
 */
static fetch_end keep_open(reader *self, brim_item *item, int fd, size_t bytes, bool *kept)
{
    const brim_alloc *heap = brim_heap();
    size_t got = 0;
    void *head;

    *kept = false;
    if (bytes <= self->fetch->options.pool->capacity_bytes || bytes < BRIM_HEAD_BYTES)
        return FETCHED;
    brim_status status =
        brim_item_take_head(item, self->fetch->options.pool, BRIM_HEAD_BYTES, &item->record.error);
    if (status != BRIM_OK) return close_file(self, item, fd) ? FETCH_FAILED : FETCH_ABANDONED;
    head = item->data;
    item->data = NULL;
    begin_read(self, item);
    int why = read_all(self, fd, head, BRIM_HEAD_BYTES, &got);
    bool takes_fd = why == 0 && brim_reader_takes_fd(head, got);
    if (!takes_fd) why = lseek(fd, 0, SEEK_SET) < 0 ? errno : why;
    if (!end_read(self)) {
        close(fd);
        brim_alloc_release(heap, head, BRIM_HEAD_BYTES);
        return FETCH_ABANDONED;
    }
    item->data = head;
    item->data_bytes = got;
    if (takes_fd) {
        item->fd = fd;
        *kept = true;
        return FETCHED;
    }
    brim_item_drop_data(item);
    if (why == 0) return FETCHED;
    brim_fail(&item->record.error, BRIM_E_IO, "%s", strerror(why));
    return close_file(self, item, fd) ? FETCH_FAILED : FETCH_ABANDONED;
}

static fetch_end fetch_item(reader *self, brim_item *item)
{
    struct stat info;
    bool kept;
    int fd = -1;

    if (strlen(item->record.row->path) >= sizeof(self->path)) {
        brim_fail(&item->record.error, BRIM_E_IO, "%s", strerror(ENAMETOOLONG));
        return FETCH_FAILED;
    }
    strncpy(self->path, item->record.row->path, sizeof(self->path) - 1);
    fetch_end end = open_file(self, item, &fd, &info);
    if (end != FETCHED) return end;
    item->record.file_bytes = info.st_size;
    item->record.mtime_ns = brim_timespec_ns(info.st_mtim);
    end = keep_open(self, item, fd, (size_t)info.st_size, &kept);
    return end != FETCHED || kept ? end : read_file(self, item, fd, (size_t)info.st_size);
}

/* False: this thread was given up. */
static bool take_row(reader *self, brim_row *row)
{
    const brim_fetch_options *options = &self->fetch->options;
    brim_item *item = NULL;
    brim_error err = {0};

    if (atomic_load(options->stop)) {
        brim_row_destroy(row);
        return true;
    }
    brim_status status = brim_item_create(options->mem, row, &item);
    if (status != BRIM_OK) {
        brim_fail(&err, status, "%s: no memory to take it up", row->key);
        brim_row_destroy(row);
        options->give_up(options->ctx, &err);
        return true;
    }
    fetch_end end = row->null_width > 0 ? FETCHED : fetch_item(self, item);
    if (end == FETCH_ABANDONED) return false;
    if (end == FETCHED) {
        if (brim_queue_push(options->items, item, item->data_bytes) != BRIM_OK)
            brim_item_destroy(item);
    } else if (item->record.error.status == BRIM_E_NOMEM) {
        options->give_up(options->ctx, &item->record.error);
        brim_item_destroy(item);
    } else {
        item->record.step = BRIM_STEP_READ;
        options->fail(options->ctx, item);
    }
    return true;
}

static void *reader_main(void *arg)
{
    reader *self = arg;
    void *row;

    while (brim_queue_pop(self->fetch->options.rows, &row) == BRIM_OK) {
        if (take_row(self, row)) continue;
        leave_reader(self);
        return NULL;
    }
    brim_monitor_enter(&self->monitor);
    self->finished = true;
    brim_monitor_leave(&self->monitor);
    leave_reader(self);
    return NULL;
}

static brim_status start_reader(brim_fetch *fetch, size_t slot)
{
    brim_status status;
    reader *self = brim_alloc_zeroed(brim_heap(), sizeof(*self), &status);

    if (!self) return status;
    self->fetch = fetch;
    self->n_owners = 2;
    status = brim_monitor_init(&self->monitor);
    if (status != BRIM_OK) {
        brim_alloc_release(brim_heap(), self, sizeof(*self));
        return status;
    }
    status = brim_thread_start(&self->thread, "brim-read", reader_main, self);
    if (status != BRIM_OK) {
        brim_monitor_fini(&self->monitor);
        brim_alloc_release(brim_heap(), self, sizeof(*self));
        return status;
    }
    fetch->slots[slot] = self;
    return BRIM_OK;
}

/* Takes the item of a thread that hangs and leaves the thread to itself. */
static brim_item *abandon(reader *self, uint64_t now_ns, uint64_t timeout_ns)
{
    brim_item *item = NULL;

    brim_monitor_enter(&self->monitor);
    uint64_t since = atomic_load(&self->since_ns);
    if (self->reading && now_ns > since && now_ns - since > timeout_ns) {
        item = self->item;
        self->item = NULL;
        self->abandoned = true;
    }
    brim_monitor_leave(&self->monitor);
    return item;
}

/* The row of a thread that hangs: a failure, or, when the user wants to end, simply not done. */
static void settle_abandoned(brim_fetch *fetch, size_t slot, brim_item *item, bool stopping)
{
    const brim_fetch_options *options = &fetch->options;
    reader *self = fetch->slots[slot];
    brim_error err = {0};

    pthread_detach(self->thread);
    leave_reader(self);
    fetch->slots[slot] = NULL;
    fetch->n_abandoned++;
    if (stopping) {
        brim_item_destroy(item);
    } else {
        item->record.step = BRIM_STEP_READ;
        brim_fail(&item->record.error, BRIM_E_TIMEOUT,
                  "no answer for %llu s (does its disk or"
                  " network mount hang?)",
                  (unsigned long long)(options->timeout_ns / 1000000000u));
        options->fail(options->ctx, item);
    }
    if (fetch->n_abandoned >= MAX_ABANDONED) {
        brim_fail(&err, BRIM_E_TIMEOUT,
                  "%d files gave no answer: a disk or network mount hangs; mend it and run again",
                  MAX_ABANDONED);
        options->give_up(options->ctx, &err);
    } else if (start_reader(fetch, slot) != BRIM_OK) {
        brim_fail(&err, BRIM_E_NOMEM, "no memory for another reading thread");
        options->give_up(options->ctx, &err);
    }
}

static bool reap_finished(brim_fetch *fetch, size_t slot)
{
    reader *self = fetch->slots[slot];

    brim_monitor_enter(&self->monitor);
    bool finished = self->finished;
    brim_monitor_leave(&self->monitor);
    if (!finished) return false;
    pthread_join(self->thread, NULL);
    leave_reader(self);
    fetch->slots[slot] = NULL;
    return true;
}

/* No reader is left: whoever sends rows must not wait for one. */
static void drop_rows(brim_queue *rows)
{
    void *row;

    brim_queue_close(rows);
    while (brim_queue_pop(rows, &row) == BRIM_OK)
        brim_row_destroy(row);
}

bool brim_fetch_watch(brim_fetch *fetch, uint64_t now_ns)
{
    bool stopping = atomic_load(fetch->options.stop);
    uint64_t timeout_ns = fetch->options.timeout_ns;
    size_t n_left = 0;

    if (stopping && timeout_ns > STOP_TIMEOUT_NS) timeout_ns = STOP_TIMEOUT_NS;
    for (size_t i = 0; i < fetch->n_slots; i++) {
        if (!fetch->slots[i] || reap_finished(fetch, i)) continue;
        brim_item *item = abandon(fetch->slots[i], now_ns, timeout_ns);
        if (item) settle_abandoned(fetch, i, item, stopping);
        if (fetch->slots[i]) n_left++;
    }
    if (n_left > 0) return true;
    drop_rows(fetch->options.rows);
    brim_queue_close(fetch->options.items);
    return false;
}

brim_status brim_fetch_start(const brim_fetch_options *options, brim_fetch **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    size_t bytes = sizeof(brim_fetch) + options->n_threads * sizeof(void *);
    brim_fetch *self = brim_alloc_zeroed(brim_heap(), bytes, &status);
    if (!self) return brim_fail(err, status, "no memory for reading threads");
    self->options = *options;
    self->n_slots = options->n_threads;
    self->block_bytes = bytes;
    for (size_t i = 0; i < self->n_slots; i++) {
        status = start_reader(self, i);
        if (status == BRIM_OK) continue;
        brim_queue_close(options->rows);
        while (brim_fetch_watch(self, brim_now_ns()))
            ;
        brim_fetch_destroy(self);
        return brim_fail(err, status, "no memory for reading threads");
    }
    *out = self;
    return BRIM_OK;
}

void brim_fetch_destroy(brim_fetch *fetch)
{
    if (!fetch) return;
    brim_alloc_release(brim_heap(), fetch, fetch->block_bytes);
}
