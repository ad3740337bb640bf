/* Tests of src/pipeline/workers.c. */
#include "pipeline/workers.h"

#include <sched.h>
#include <stdatomic.h>

#include "support/cmocka_all.h"

enum { N_WORKERS = 4, N_ITEMS = 400 };

static const uint64_t SECOND = 1000000000u;

typedef struct bench {
    brim_workers workers;
    brim_queue *items;
    pthread_t threads[N_WORKERS];
    atomic_size_t n_working, most_working;
    atomic_int seen[N_ITEMS];
    atomic_size_t n_seen;
} bench;

static bench B;

static void open_bench(bench *b, size_t n_active)
{
    memset(b, 0, sizeof(*b));
    assert_int_equal(brim_workers_init(&b->workers, N_WORKERS), BRIM_OK);
    b->workers.n_active = n_active;
    assert_int_equal(brim_queue_create(brim_heap(), 8, 1000, &b->items), BRIM_OK);
}

static void close_bench(bench *b)
{
    brim_queue_destroy(b->items);
    brim_workers_fini(&b->workers);
}

static void *work(void *arg)
{
    bench *b = arg;
    uint64_t began_ns = 0;
    void *item;

    while (brim_workers_next(&b->workers, b->items, &item, &began_ns) == BRIM_OK) {
        size_t n = atomic_fetch_add(&b->n_working, 1) + 1, most = atomic_load(&b->most_working);
        while (n > most && !atomic_compare_exchange_weak(&b->most_working, &most, n))
            ;
        sched_yield();
        atomic_fetch_add((atomic_int *)item, 1);
        atomic_fetch_add(&b->n_seen, 1);
        atomic_fetch_sub(&b->n_working, 1);
    }
    return NULL;
}

static void start(bench *b)
{
    for (int i = 0; i < N_WORKERS; i++)
        assert_int_equal(brim_thread_start(&b->threads[i], "worker", work, b), BRIM_OK);
}

static void finish(bench *b)
{
    brim_queue_close(b->items);
    for (int i = 0; i < N_WORKERS; i++)
        pthread_join(b->threads[i], NULL);
    for (int i = 0; i < N_ITEMS; i++)
        assert_int_equal(b->seen[i], 1);
}

static void only_so_many_work_and_all_come_to_their_end(void **state)
{
    (void)state;
    for (size_t n = 1; n <= N_WORKERS; n++) {
        open_bench(&B, n);
        start(&B);
        for (int i = 0; i < N_ITEMS; i++)
            assert_int_equal(brim_queue_push(B.items, &B.seen[i], 1), BRIM_OK);
        finish(&B);
        assert_in_range(B.most_working, 1, n);
        brim_workers_use use = brim_workers_used(&B.workers);
        assert_int_equal(use.n_active, n);
        assert_true(use.work_s > 0 && use.work_s <= use.seats_s);
        close_bench(&B);
    }
}

/* The number goes up and down while they work: nobody may be forgotten in a parked state. */
static void the_number_may_change_at_any_time(void **state)
{
    uint64_t now_ns = brim_now_ns();
    double model_s = 0, blocked_s = 0;

    (void)state;
    open_bench(&B, N_WORKERS);
    start(&B);
    for (int i = 0; i < N_ITEMS; i++) {
        assert_int_equal(brim_queue_push(B.items, &B.seen[i], 1), BRIM_OK);
        now_ns += 10 * SECOND;
        if (i / 10 % 2)
            model_s += 9;
        else
            blocked_s += 40;
        brim_workers_review(&B.workers, now_ns, model_s, blocked_s);
    }
    finish(&B);
    close_bench(&B);
}

/* A second in which the model waited, and workers in all, for slots and for items. */
typedef struct second {
    double model, blocked, hungry;
} second;

static size_t after(bench *b, second one, int n_seconds)
{
    static double model_s, blocked_s;

    if (b->workers.model_s == 0 && b->workers.blocked_s == 0) model_s = blocked_s = 0;
    for (int i = 0; i < n_seconds; i++) {
        model_s += one.model;
        blocked_s += one.blocked;
        b->workers.hunger.total_ns += (uint64_t)(one.hungry * 1e9);
        brim_workers_review(&b->workers, b->workers.reviewed_ns + SECOND, model_s, blocked_s);
    }
    return b->workers.n_active;
}

static void more_work_when_the_model_waits_and_fewer_when_it_is_behind(void **state)
{
    static const second MODEL_WAITS = {.model = 0.5}, MODEL_BEHIND = {.blocked = 3.5},
                        BALANCED = {.model = 0.05, .blocked = 0.1},
                        NOTHING_TO_DO = {.model = 0.9, .hungry = 3.9};

    (void)state;
    open_bench(&B, 2);
    assert_int_equal(after(&B, MODEL_WAITS, 1), 2); /* a second may be a hiccup */
    assert_int_equal(after(&B, BALANCED, 1), 2);
    assert_int_equal(after(&B, MODEL_WAITS, 2), 3);
    assert_int_equal(after(&B, MODEL_WAITS, 20), N_WORKERS); /* and never more */
    assert_int_equal(after(&B, BALANCED, 20), N_WORKERS);
    assert_int_equal(after(&B, MODEL_BEHIND, 2), N_WORKERS - 1);
    assert_int_equal(after(&B, MODEL_BEHIND, 20), 1);  /* and never none */
    assert_int_equal(after(&B, NOTHING_TO_DO, 20), 1); /* others could do no more */
    assert_int_equal(after(&B, MODEL_WAITS, 2), 2);
    close_bench(&B);
}

static void less_than_a_second_tells_nothing(void **state)
{
    (void)state;
    open_bench(&B, 2);
    for (int i = 0; i < 100; i++)
        brim_workers_review(&B.workers, B.workers.reviewed_ns + SECOND / 2, i, 0);
    brim_workers_review(&B.workers, 0, 100, 0); /* nor does a clock that stands still */
    assert_int_equal(B.workers.n_active, 2);
    close_bench(&B);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_so_many_work_and_all_come_to_their_end),
        cmocka_unit_test(the_number_may_change_at_any_time),
        cmocka_unit_test(more_work_when_the_model_waits_and_fewer_when_it_is_behind),
        cmocka_unit_test(less_than_a_second_tells_nothing),
    };
    return cmocka_run_group_tests_name("pipeline/workers", tests, NULL, NULL);
}
