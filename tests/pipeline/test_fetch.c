/*
 * Tests of src/pipeline/fetch.c. This program's own open() and read() stand before the system's: a
 * path that says so hangs in one or the other until it is let go, as on a network mount that went
 * away.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/sync.h"
#include "pipeline/batcher.h"
#include "pipeline/fetch.h"
#include "support/cmocka_all.h"
#include "support/temp_dir.h"

static sem_t let_go;
static atomic_int hanging_fd = -1, closing_fd = -1;
static atomic_int n_hanging, n_let_go;

static void hang(void)
{
    atomic_fetch_add(&n_hanging, 1);
    while (sem_wait(&let_go) != 0)
        ;
    atomic_fetch_add(&n_let_go, 1);
}

int open(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (strstr(path, "hangs-opening")) hang();
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (strstr(path, "hangs-reading")) atomic_store(&hanging_fd, fd);
    if (strstr(path, "hangs-closing")) atomic_store(&closing_fd, fd);
    return fd;
}

ssize_t read(int fd, void *data, size_t bytes)
{
    if (fd == atomic_load(&hanging_fd)) hang();
    return syscall(SYS_read, fd, data, bytes);
}

int close(int fd)
{
    if (fd == atomic_load(&closing_fd)) hang();
    return (int)syscall(SYS_close, fd);
}

typedef struct run {
    brim_budget *budget;
    brim_batcher *batcher;
    brim_file_pool pool;
    brim_queue *rows, *items;
    atomic_bool stop;
    brim_fetch *fetch;
    brim_monitor monitor; /* guards the failures */
    int n_failed;
    char reasons[100][600];
    brim_error gave_up;
} run;

static void take_failure(void *ctx, brim_item *item)
{
    run *r = ctx;

    brim_monitor_enter(&r->monitor);
    snprintf(r->reasons[r->n_failed++], sizeof(r->reasons[0]), "%s: %s", item->record.row->key,
             item->record.error.message);
    assert_int_equal(item->record.step, BRIM_STEP_READ);
    brim_monitor_leave(&r->monitor);
    brim_item_destroy(item);
}

static void give_up(void *ctx, const brim_error *err)
{
    run *r = ctx;

    r->gave_up = *err;
    atomic_store(&r->stop, true);
}

static void begin(run *r, uint64_t timeout_ns)
{
    *r = (run){0};
    atomic_store(&hanging_fd, -1);
    atomic_store(&closing_fd, -1);
    atomic_store(&n_hanging, 0);
    atomic_store(&n_let_go, 0);
    sem_init(&let_go, 0, 0);
    assert_int_equal(brim_monitor_init(&r->monitor), BRIM_OK);
    assert_int_equal(brim_budget_create(8 << 20, &r->budget, NULL), BRIM_OK);
    brim_batcher_options batching = {.budget = r->budget, .fixed_batch = 1, .n_decoders = 1};
    assert_int_equal(brim_batcher_create(&batching, &r->batcher, NULL), BRIM_OK);
    assert_int_equal(brim_file_pool_init(&r->pool, r->budget, r->batcher, 1 << 20, NULL), BRIM_OK);
    assert_int_equal(brim_queue_create(brim_heap(), 200, 1 << 20, &r->rows), BRIM_OK);
    assert_int_equal(brim_queue_create(brim_heap(), 200, 1 << 20, &r->items), BRIM_OK);
    brim_fetch_options options = {
        .mem = brim_budget_alloc(r->budget, BRIM_ACCOUNT_OTHER),
        .pool = &r->pool,
        .rows = r->rows,
        .items = r->items,
        .n_threads = 2,
        .timeout_ns = timeout_ns,
        .stop = &r->stop,
        .fail = take_failure,
        .give_up = give_up,
        .ctx = r,
    };
    assert_int_equal(brim_fetch_start(&options, &r->fetch, NULL), BRIM_OK);
}

static void send(run *r, const char *key, const char *path)
{
    brim_row *row;

    assert_int_equal(brim_row_create(brim_heap(), key, path, &row), BRIM_OK);
    assert_int_equal(brim_queue_push(r->rows, row, 1), BRIM_OK);
}

static void watch_to_the_end(run *r)
{
    brim_queue_close(r->rows);
    while (brim_fetch_watch(r->fetch, brim_now_ns()))
        usleep(1000);
}

/* Takes the next item, checks that it holds text, and destroys it. */
static void expect(run *r, const char *text)
{
    void *popped;

    assert_int_equal(brim_queue_pop(r->items, &popped), BRIM_OK);
    brim_item *item = popped;
    assert_int_equal(item->data_bytes, strlen(text));
    assert_memory_equal(item->data, text, strlen(text));
    assert_int_equal(item->record.file_bytes, strlen(text));
    assert_true(item->record.mtime_ns > 0);
    brim_item_destroy(item);
}

static void end(run *r)
{
    void *item;

    while (brim_queue_try_pop(r->items, &item) == BRIM_OK)
        brim_item_destroy(item);
    brim_fetch_destroy(r->fetch);
    brim_queue_destroy(r->rows);
    brim_queue_destroy(r->items);
    brim_file_pool_fini(&r->pool);
    brim_batcher_destroy(r->batcher);
    assert_int_equal(brim_budget_live_bytes(r->budget), 0);
    brim_budget_destroy(r->budget);
    brim_monitor_fini(&r->monitor);
}

static void let_all_go(void)
{
    int n = atomic_load(&n_hanging);

    atomic_store(&hanging_fd, -1);
    atomic_store(&closing_fd, -1);
    for (int i = 0; i < n; i++)
        sem_post(&let_go);
    while (atomic_load(&n_let_go) < n)
        usleep(1000);
    usleep(50000); /* they end by themselves, touching nothing of the run; sanitizers would tell */
}

/* A sparse file of 3 MiB that begins so, three times the room that files have. */
static const char *write_large(void **state, const char *name, const char *head, size_t n)
{
    const char *path = temp_path(state, name);
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(head, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(truncate(path, 3 << 20), 0);
    return path;
}

static void keeps_a_file_beyond_its_room_open_where_its_format_allows(void **state)
{
    run r;
    void *popped;

    begin(&r, 10000000000u);
    send(&r, "tiff", write_large(state, "large.tif", "II*\0\x08\0\0\0", 8));
    assert_int_equal(brim_queue_pop(r.items, &popped), BRIM_OK);
    brim_item *item = popped;
    assert_true(item->fd >= 0);
    assert_int_equal(item->data_bytes, BRIM_HEAD_BYTES);
    assert_int_equal(item->record.file_bytes, 3 << 20);
    assert_memory_equal(item->data, "II*\0", 4);
    assert_int_equal(lseek(item->fd, 0, SEEK_END), 3 << 20);
    brim_item_destroy(item);

    send(&r, "jpeg", write_large(state, "large.jpg", "\xff\xd8\xff\xe0", 4));
    assert_int_equal(brim_queue_pop(r.items, &popped), BRIM_OK);
    item = popped;
    assert_int_equal(item->fd, -1);
    assert_int_equal(item->data_bytes, 3 << 20);
    assert_memory_equal(item->data, "\xff\xd8\xff\xe0\0", 5);
    brim_item_destroy(item);
    watch_to_the_end(&r);
    assert_int_equal(r.n_failed, 0);
    end(&r);
}

static bool more_than_four_arrive(run *r, const char *path)
{
    void *popped[5] = {0};
    size_t n = 0;

    for (int i = 0; i < 12; i++)
        send(r, "tiff", path);
    while (n < 4)
        n += brim_queue_try_pop(r->items, &popped[n]) == BRIM_OK;
    for (int i = 0; i < 100 && n == 4; i++) {
        usleep(1000);
        n += brim_queue_try_pop(r->items, &popped[n]) == BRIM_OK;
    }
    for (size_t i = 0; i < n; i++)
        brim_item_destroy(popped[i]);
    for (size_t i = n; i < 12; i++) {
        assert_int_equal(brim_queue_pop(r->items, &popped[0]), BRIM_OK);
        brim_item_destroy(popped[0]);
    }
    return n > 4;
}

/* A quarter of what the system allows: the store and libraries need some too. */
static void few_files_stay_open_at_once(void **state)
{
    struct rlimit before, few;
    run r;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){16, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    begin(&r, 60000000000u);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_false(more_than_four_arrive(&r, write_large(state, "l.tif", "II*\0\x08\0\0\0", 8)));
    watch_to_the_end(&r);
    assert_int_equal(r.n_failed, 0);
    end(&r);
}

static void no_more_files_to_be_had_ends_the_run(void **state)
{
    struct rlimit before, none;
    run r;

    begin(&r, 60000000000u);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    const char *path = temp_write_text(state, "p", "text");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    send(&r, "p", path);
    watch_to_the_end(&r);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r.n_failed, 0);
    assert_int_equal(r.gave_up.status, BRIM_E_NOMEM);
    assert_non_null(strstr(r.gave_up.message, "Too many open files (ulimit -n)"));
    end(&r);
}

static void reads_whole_files(void **state)
{
    run r;

    begin(&r, 1000000000);
    send(&r, "a", temp_write_text(state, "a", "some bytes"));
    watch_to_the_end(&r);
    expect(&r, "some bytes");
    assert_int_equal(r.n_failed, 0);
    end(&r);
}

static void says_why_something_cannot_be_read(void **state)
{
    run r;

    begin(&r, 1000000000);
    send(&r, "gone", temp_path(state, "gone"));
    send(&r, "folder", temp_mkdir(state, "folder"));
    const char *pipe = temp_path(state, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    send(&r, "pipe", pipe);
    send(&r, "empty", temp_write_text(state, "empty", ""));
    const char *large = temp_write_text(state, "large", "x");
    assert_int_equal(truncate(large, 9 << 20), 0);
    send(&r, "large", large);
    watch_to_the_end(&r);
    assert_int_equal(r.n_failed, 5);
    char all[1200] = "";
    for (int i = 0; i < 5; i++)
        strncat(strncat(all, r.reasons[i], 200), "\n", 2);
    assert_non_null(strstr(all, "gone: No such file or directory\n"));
    assert_non_null(strstr(all, "folder: is a folder, not a file\n"));
    assert_non_null(strstr(all, "pipe: not a regular file\n"));
    assert_non_null(strstr(all, "empty: empty file\n"));
    assert_non_null(
        strstr(all, "large: the file needs 8 MiB, limit 8 MiB, 6 of it free (--memory)\n"));
    end(&r);
}

/* More hanging files than threads: each becomes a failure, and the good ones behind come through.
 */
static void a_file_that_hangs_stops_nobody(void **state)
{
    static const char *const NAMES[] = {"hangs-opening-1", "hangs-opening-2", "hangs-opening-3",
                                        "hangs-reading", "hangs-closing"};
    run r;

    begin(&r, 100000000);
    for (int i = 0; i < 5; i++)
        send(&r, NAMES[i], temp_write_text(state, NAMES[i], "never seen"));
    send(&r, "good", temp_write_text(state, "good", "good bytes"));
    watch_to_the_end(&r);
    expect(&r, "good bytes");
    assert_int_equal(r.n_failed, 5);
    for (int i = 0; i < 5; i++)
        assert_non_null(strstr(r.reasons[i], "no answer for"));
    end(&r);
    let_all_go();
}

static void a_hanging_file_does_not_hold_up_a_stop(void **state)
{
    run r;

    begin(&r, 3600000000000u);
    send(&r, "a", temp_write_text(state, "hangs-opening", "x"));
    while (atomic_load(&n_hanging) == 0)
        usleep(1000);
    atomic_store(&r.stop, true);
    watch_to_the_end(&r);
    assert_int_equal(r.n_failed, 0); /* not done is no failure */
    end(&r);
    let_all_go();
}

static void too_many_hanging_files_end_the_run(void **state)
{
    run r;
    const char *path = temp_write_text(state, "hangs-opening", "x");

    begin(&r, 5000000);
    for (int i = 0; i < 150; i++) /* more than will ever be begun: nobody may wait for the rest */
        send(&r, "a", path);
    watch_to_the_end(&r);
    assert_int_equal(r.gave_up.status, BRIM_E_TIMEOUT);
    assert_non_null(strstr(r.gave_up.message, "64 files gave no answer"));
    end(&r);
    let_all_go();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(reads_whole_files),
        TEST(keeps_a_file_beyond_its_room_open_where_its_format_allows),
        TEST(few_files_stay_open_at_once),
        TEST(no_more_files_to_be_had_ends_the_run),
        TEST(says_why_something_cannot_be_read),
        TEST(a_file_that_hangs_stops_nobody),
        TEST(a_hanging_file_does_not_hold_up_a_stop),
        TEST(too_many_hanging_files_end_the_run),
    };
    return cmocka_run_group_tests_name("pipeline/fetch", tests, NULL, NULL);
}
