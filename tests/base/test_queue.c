/* Tests of src/base/queue.c. */
#include "base/queue.h"
#include "base/sync.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

static int NUMBERS[1000];

static void gives_items_in_order_and_then_the_end(void **state)
{
    brim_queue *queue;
    void *item;

    (void)state;
    assert_int_equal(brim_queue_create(brim_heap(), 3, 100, &queue), BRIM_OK);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 3; i++)
            assert_int_equal(brim_queue_push(queue, &NUMBERS[i], 1), BRIM_OK);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(brim_queue_pop(queue, &item), BRIM_OK);
            assert_ptr_equal(item, &NUMBERS[i]);
        }
        assert_int_equal(brim_queue_try_pop(queue, &item), BRIM_E_BUSY);
    }
    assert_int_equal(brim_queue_push(queue, &NUMBERS[7], 1), BRIM_OK);
    brim_queue_close(queue);
    assert_int_equal(brim_queue_push(queue, &NUMBERS[8], 1), BRIM_E_STOPPED);
    assert_int_equal(brim_queue_pop(queue, &item), BRIM_OK);
    assert_ptr_equal(item, &NUMBERS[7]);
    assert_int_equal(brim_queue_pop(queue, &item), BRIM_END);
    assert_int_equal(brim_queue_try_pop(queue, &item), BRIM_END);
    brim_queue_destroy(queue);
}

static void lets_an_item_in_alone_that_is_larger_than_the_queue(void **state)
{
    brim_queue *queue;
    void *item;

    (void)state;
    assert_int_equal(brim_queue_create(brim_heap(), 3, 10, &queue), BRIM_OK);
    assert_int_equal(brim_queue_push(queue, &NUMBERS[0], 1000), BRIM_OK);
    assert_int_equal(brim_queue_pop(queue, &item), BRIM_OK);
    brim_queue_destroy(queue);
}

typedef struct traffic {
    brim_queue *queue;
    atomic_size_t held_bytes, most_bytes;
    atomic_int popped[1000];
} traffic;

static void *push_all(void *arg)
{
    traffic *self = arg;

    for (int i = 0; i < 1000; i++)
        if (brim_queue_push(self->queue, &NUMBERS[i], 10) != BRIM_OK) break;
    return NULL;
}

static void *pop_all(void *arg)
{
    traffic *self = arg;
    void *item;

    while (brim_queue_pop(self->queue, &item) == BRIM_OK)
        atomic_fetch_add(&self->popped[(int *)item - NUMBERS], 1);
    return NULL;
}

static void loses_and_doubles_nothing_between_many_threads(void **state)
{
    static traffic all;
    pthread_t pushers[3], poppers[3];

    (void)state;
    assert_int_equal(brim_queue_create(brim_heap(), 5, 35, &all.queue), BRIM_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(brim_thread_start(&pushers[i], "push", push_all, &all), BRIM_OK);
        assert_int_equal(brim_thread_start(&poppers[i], "pop", pop_all, &all), BRIM_OK);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(pushers[i], NULL);
    brim_queue_close(all.queue);
    for (int i = 0; i < 3; i++)
        pthread_join(poppers[i], NULL);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(all.popped[i], 3);
    brim_queue_destroy(all.queue);
}

static void closing_wakes_whoever_waits_for_room(void **state)
{
    traffic all = {0};
    pthread_t pusher;
    void *item;

    (void)state;
    assert_int_equal(brim_queue_create(brim_heap(), 1, 1000, &all.queue), BRIM_OK);
    assert_int_equal(brim_thread_start(&pusher, "push", push_all, &all), BRIM_OK);
    assert_int_equal(brim_queue_pop(all.queue, &item), BRIM_OK);
    brim_queue_close(all.queue);
    pthread_join(pusher, NULL);
    while (brim_queue_pop(all.queue, &item) == BRIM_OK)
        ;
    brim_queue_destroy(all.queue);
}

static void survives_every_failed_allocation(void **state)
{
    brim_status status = BRIM_E_NOMEM;

    (void)state;
    for (long allowed = 0; status != BRIM_OK; allowed++) {
        failing_alloc mem;
        brim_queue *queue;

        failing_alloc_init(&mem, allowed);
        status = brim_queue_create(&mem.base, 4, 100, &queue);
        assert_true(status == BRIM_OK || status == BRIM_E_NOMEM);
        brim_queue_destroy(queue);
        assert_int_equal(mem.live_bytes, 0);
    }
    brim_queue *queue;
    assert_int_equal(brim_queue_create(brim_heap(), SIZE_MAX / 2, 1, &queue), BRIM_E_ARG);
    assert_int_equal(brim_queue_create(brim_heap(), 0, 1, &queue), BRIM_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_items_in_order_and_then_the_end),
        cmocka_unit_test(lets_an_item_in_alone_that_is_larger_than_the_queue),
        cmocka_unit_test(loses_and_doubles_nothing_between_many_threads),
        cmocka_unit_test(closing_wakes_whoever_waits_for_room),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("base/queue", tests, NULL, NULL);
}
