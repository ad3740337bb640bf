/* Tests of src/pipeline/batcher.c. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/sync.h"
#include "brimful/arena.h"
#include "pipeline/batcher.h"
#include "support/cmocka_all.h"

enum { SIDE = 8, SLOT_FLOATS = 3 * SIDE * SIDE };

/* Items are only pointers to the batcher; these stand for them. */
static brim_item ITEMS[64];

/* A model that takes any batch and has no memory of its own. */
static const struct brim_session_ops OPS;
static const brim_session SESSION = {.ops = &OPS};

typedef struct bench {
    brim_budget *budget;
    brim_sizes *sizes;
    brim_batcher *batcher;
} bench;

/* batch 0: the governor's, by policy. */
static bench open_bench_with(size_t limit_bytes, brim_sizes_options sizing,
                             brim_batcher_options options)
{
    bench b;
    assert_int_equal(brim_budget_create(limit_bytes, &b.budget, NULL), BRIM_OK);
    sizing.budget = options.budget = b.budget;
    sizing.session = &SESSION;
    assert_int_equal(brim_sizes_create(&sizing, &b.sizes, NULL), BRIM_OK);
    options.sizes = b.sizes;
    assert_int_equal(brim_batcher_create(&options, &b.batcher, NULL), BRIM_OK);
    return b;
}

static bench open_bench(size_t limit_bytes, size_t batch, size_t n_decoders)
{
    return open_bench_with(limit_bytes, (brim_sizes_options){.batch = batch},
                           (brim_batcher_options){.n_decoders = n_decoders});
}

static void close_bench(bench *b)
{
    brim_batcher_destroy(b->batcher);
    brim_sizes_destroy(b->sizes);
    assert_int_equal(brim_budget_live_bytes(b->budget), 0);
    brim_budget_destroy(b->budget);
}

static brim_slot lease(bench *b, uint32_t height, uint32_t width)
{
    brim_slot slot;
    assert_int_equal(brim_batcher_lease(b->batcher, height, width, (brim_scratch){0}, &slot, NULL),
                     BRIM_OK);
    return slot;
}

/* Marks the whole slot with the item's number, as a decoder would. */
static void fill(bench *b, const brim_slot *slot, size_t number)
{
    for (size_t i = 0; i < slot->batch->slot_bytes / sizeof(float); i++)
        ((float *)slot->pixels)[i] = (float)number;
    brim_batcher_fill(b->batcher, slot, &ITEMS[number]);
}

static void check_batch(const brim_batch *batch)
{
    for (size_t i = 0; i < batch->n_filled; i++) {
        size_t number = (size_t)(batch->items[i] - ITEMS);
        assert_true(number < 64);
        const float *pixels = brim_batch_slot(batch, i);
        for (size_t k = 0; k < batch->slot_bytes / sizeof(float); k++)
            assert_true(pixels[k] == (float)number);
    }
}

static brim_batch *next(bench *b)
{
    brim_batch *batch;
    assert_int_equal(brim_batcher_next(b->batcher, &batch), BRIM_OK);
    check_batch(batch);
    return batch;
}

static void a_full_batch_goes_and_the_rest_at_the_end(void **state)
{
    bench b = open_bench(1 << 20, 2, 1);
    brim_batch *batch;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        brim_slot slot = lease(&b, SIDE, SIDE);
        fill(&b, &slot, i);
    }
    batch = next(&b);
    assert_int_equal(batch->n_filled, 2);
    brim_batcher_give_back(b.batcher, batch);
    brim_batcher_close(b.batcher);
    batch = next(&b);
    assert_int_equal(batch->n_filled, 1);
    brim_batcher_give_back(b.batcher, batch);
    assert_int_equal(brim_batcher_next(b.batcher, &batch), BRIM_END);
    close_bench(&b);
}

static void unlike_shapes_never_share_a_batch(void **state)
{
    bench b = open_bench(1 << 20, 4, 2);

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        brim_slot slot = lease(&b, SIDE, i % 2 ? SIDE : 2 * SIDE);
        fill(&b, &slot, i);
    }
    brim_batcher_close(b.batcher);
    for (int i = 0; i < 2; i++) {
        brim_batch *batch = next(&b);
        assert_int_equal(batch->n_filled, 3);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal((batch->items[k] - ITEMS) % 2, batch->shape.width == SIDE);
        brim_batcher_give_back(b.batcher, batch);
    }
    close_bench(&b);
}

static void a_dropped_slot_is_leased_again(void **state)
{
    bench b = open_bench(1 << 20, 2, 2);

    (void)state;
    brim_slot first = lease(&b, SIDE, SIDE), second = lease(&b, SIDE, SIDE);
    brim_batcher_drop(b.batcher, &first);
    fill(&b, &second, 1);
    brim_slot again = lease(&b, SIDE, SIDE);
    assert_ptr_equal(again.pixels, first.pixels);
    fill(&b, &again, 2);
    brim_batch *batch = next(&b);
    assert_int_equal(batch->n_filled, 2);
    brim_batcher_give_back(b.batcher, batch);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void holes_are_filled_from_the_end(void **state)
{
    bench b = open_bench(1 << 20, 5, 5);
    brim_slot slots[5];

    (void)state;
    for (size_t i = 0; i < 5; i++)
        slots[i] = lease(&b, SIDE, SIDE);
    for (size_t i = 0; i < 5; i++)
        if (i == 0 || i == 3)
            brim_batcher_drop(b.batcher, &slots[i]);
        else
            fill(&b, &slots[i], i);
    brim_batcher_close(b.batcher);
    brim_batch *batch = next(&b); /* checks that items and pixels moved together */
    assert_int_equal(batch->n_filled, 3);
    brim_batcher_give_back(b.batcher, batch);
    close_bench(&b);
}

static void a_batch_of_nothing_is_no_batch(void **state)
{
    bench b = open_bench(1 << 20, 2, 1);
    brim_batch *batch;

    (void)state;
    brim_slot slot = lease(&b, SIDE, SIDE);
    brim_batcher_drop(b.batcher, &slot);
    brim_batcher_close(b.batcher);
    assert_int_equal(brim_batcher_next(b.batcher, &batch), BRIM_END);
    close_bench(&b);
}

static void *run_one_batch(void *arg)
{
    bench *b = arg;
    brim_batch *batch = next(b);

    assert_int_equal(batch->n_filled, 1);
    brim_batcher_give_back(b->batcher, batch);
    return NULL;
}

static void short_memory_sends_the_oldest_open_batch(void **state)
{
    size_t tensor = 4 * SLOT_FLOATS * sizeof(float);
    bench b = open_bench(tensor + tensor / 2, 4, 1); /* one batch fits, two do not */
    pthread_t model;

    (void)state;
    brim_slot slot = lease(&b, SIDE, SIDE);
    fill(&b, &slot, 1);
    assert_int_equal(brim_thread_start(&model, "model", run_one_batch, &b), BRIM_OK);
    slot = lease(&b, SIDE, SIDE - 1); /* needs what the first batch holds */
    pthread_join(model, NULL);
    brim_batcher_drop(b.batcher, &slot);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void *lease_800(void *arg)
{
    bench *b = arg;
    brim_slot slot;

    assert_int_equal(
        brim_batcher_lease(b->batcher, 1, 1, (brim_scratch){.bytes = 800}, &slot, NULL), BRIM_OK);
    brim_batcher_drop(b->batcher, &slot);
    return NULL;
}

static void scratch_waits_for_what_others_give_back(void **state)
{
    bench b = open_bench(1400, 1, 2);
    pthread_t other;
    brim_slot slot;

    (void)state;
    assert_int_equal(brim_batcher_lease(b.batcher, 1, 1, (brim_scratch){.bytes = 800}, &slot, NULL),
                     BRIM_OK);
    assert_int_equal(brim_thread_start(&other, "other", lease_800, &b), BRIM_OK);
    while (brim_budget_usage(b.budget, BRIM_ACCOUNT_DECODERS).n_refusals == 0)
        sched_yield();
    brim_batcher_drop(b.batcher, &slot);
    pthread_join(other, NULL);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

/* A frame is had with the slot or not at all, and goes back to the arena with it. */
static void a_frame_is_part_of_the_scratch(void **state)
{
    enum { MIB = 1 << 20 };
    bench b = open_bench_with(64 * MIB, (brim_sizes_options){.batch = 1},
                              (brim_batcher_options){.n_decoders = 2});
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    brim_scratch scratch = {9 * MIB, 8 * MIB}, too_large = {100 * MIB, 90 * MIB};
    brim_arena *arena;
    brim_slot slot;

    (void)state;
    options.limit_bytes = 64 * MIB;
    assert_int_equal(brim_arena_create(&options, &arena, NULL), BRIM_OK);
    brim_budget_set_arena(b.budget, arena);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(brim_batcher_lease(b.batcher, 1, 1, scratch, &slot, NULL), BRIM_OK);
        assert_true(brim_arena_owns(arena, slot.frame));
        memset(slot.frame, i, scratch.frame_bytes);
        assert_int_equal(brim_budget_usage(b.budget, BRIM_ACCOUNT_DECODERS).live_bytes, 9 * MIB);
        brim_batcher_drop(b.batcher, &slot);
        assert_int_equal(brim_budget_usage(b.budget, BRIM_ACCOUNT_DECODERS).live_bytes, 0);
    }
    assert_int_equal(brim_arena_usage_now(arena).n_fresh_pages, 5); /* one for the tensors */
    assert_int_equal(brim_batcher_lease(b.batcher, 1, 1, too_large, &slot, NULL), BRIM_E_BUDGET);
    assert_int_equal(brim_budget_usage(b.budget, BRIM_ACCOUNT_DECODERS).live_bytes, 0);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void *lease_large(void *arg)
{
    bench *b = arg;
    brim_slot slot;

    for (int i = 0; i < 50; i++) {
        assert_int_equal(
            brim_batcher_lease(b->batcher, 100, 100, (brim_scratch){.bytes = 40000}, &slot, NULL),
            BRIM_OK);
        brim_batcher_drop(b->batcher, &slot);
    }
    return NULL;
}

/* A budget in which one decoder's scratch and tensor fit, and of two only one of the halves. */
static void decoders_never_wait_for_each_others_scratch(void **state)
{
    bench b = open_bench(100 * 100 * 3 * sizeof(float) + 60000, 1, 4);
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(brim_thread_start(&threads[i], "large", lease_large, &b), BRIM_OK);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void a_picture_goes_alone_where_a_whole_batch_does_not_fit(void **state)
{
    bench b = open_bench(3 * SLOT_FLOATS * sizeof(float), 8, 1);

    (void)state;
    brim_slot slot = lease(&b, SIDE, SIDE);
    assert_int_equal(slot.batch->capacity, 1);
    fill(&b, &slot, 1);
    brim_batch *batch = next(&b);
    assert_int_equal(batch->n_filled, 1);
    brim_batcher_give_back(b.batcher, batch);
    close_bench(&b);
}

static void what_can_never_fit_is_refused_with_numbers(void **state)
{
    bench b = open_bench(10 << 20, 4, 1);
    brim_error err;
    brim_slot slot;

    (void)state;
    assert_int_equal(
        brim_batcher_lease(b.batcher, 1, 1, (brim_scratch){.bytes = 11 << 20}, &slot, &err),
        BRIM_E_BUDGET);
    assert_string_equal(err.message,
                        "the picture needs 12 MiB, limit 10 MiB, 10 of it free (--memory)");
    assert_int_equal(brim_batcher_lease(b.batcher, 1000, 1000, (brim_scratch){0}, &slot, &err),
                     BRIM_E_BUDGET);
    assert_string_equal(err.message,
                        "the picture needs 12 MiB, limit 10 MiB, 10 of it free (--memory)");
    assert_int_equal(brim_batcher_reserve(b.batcher, BRIM_ACCOUNT_QUEUES, 11 << 20, &err),
                     BRIM_E_BUDGET);
    assert_int_equal(
        brim_batcher_lease(b.batcher, UINT32_MAX, UINT32_MAX, (brim_scratch){0}, &slot, &err),
        BRIM_E_ARG);
    close_bench(&b);
}

/* ---- Refusals ---- */

static size_t next_capacity(bench *b)
{
    brim_slot slot = lease(b, SIDE, SIDE);
    size_t capacity = slot.batch->capacity;

    brim_batcher_drop(b->batcher, &slot);
    for (size_t i = 0; i < capacity; i++) {
        slot = lease(b, SIDE, SIDE);
        fill(b, &slot, i);
    }
    brim_batcher_give_back(b->batcher, next(b));
    return capacity;
}

/* The model's outcome of a run of n pictures. */
static bool note_run(bench *b, size_t n, brim_status status)
{
    brim_observation seen = {.n_items = n,
                             .shape = {.pixels = SIDE * SIDE},
                             .seconds = 0.01 * (double)n,
                             .refused = status == BRIM_E_BUDGET};

    return brim_sizes_note_run(b->sizes, &seen, status);
}

static const brim_sizes_options AIMD = {.governor = {.policy = BRIM_POLICY_AIMD, .start_batch = 8}};

static void each_new_batch_has_the_size_that_is_offered_then(void **state)
{
    bench b = open_bench_with(1 << 20, AIMD, (brim_batcher_options){.n_decoders = 1});

    (void)state;
    assert_int_equal(next_capacity(&b), 8);
    assert_true(note_run(&b, 8, BRIM_E_BUDGET));
    assert_int_equal(next_capacity(&b), 4);
    for (int i = 0; i < 3; i++)
        assert_false(note_run(&b, 4, BRIM_OK));
    assert_int_equal(next_capacity(&b), 8);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void an_open_batch_that_became_too_large_goes_with_what_may_run(void **state)
{
    bench b = open_bench_with(1 << 20, AIMD, (brim_batcher_options){.n_decoders = 3});
    brim_slot slots[6];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        slots[i] = lease(&b, SIDE, SIDE);
    for (size_t i = 0; i < 2; i++)
        fill(&b, &slots[i], i);
    assert_true(note_run(&b, 8, BRIM_E_BUDGET));
    brim_batcher_reconsider(b.batcher); /* three of four are there: one more may come */
    slots[3] = lease(&b, SIDE, SIDE);
    assert_ptr_equal(slots[3].batch, slots[0].batch);
    slots[4] = lease(&b, SIDE, SIDE);
    assert_ptr_not_equal(slots[4].batch, slots[0].batch);
    assert_int_equal(slots[4].batch->capacity, 4);
    fill(&b, &slots[2], 2);
    brim_batcher_drop(b.batcher, &slots[3]);
    brim_batch *batch = next(&b);
    assert_int_equal(batch->n_filled, 3);
    brim_batcher_give_back(b.batcher, batch);
    fill(&b, &slots[4], 4);

    slots[5] = lease(&b, SIDE, SIDE); /* two of four, and then only two may run */
    fill(&b, &slots[5], 5);
    assert_true(note_run(&b, 4, BRIM_E_BUDGET));
    brim_batcher_reconsider(b.batcher);
    batch = next(&b);
    assert_int_equal(batch->n_filled, 2);
    brim_batcher_give_back(b.batcher, batch);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void a_model_with_nothing_to_do_does_not_wait_for_a_full_batch(void **state)
{
    bench b = open_bench(1 << 20, 8, 2);

    (void)state;
    brim_slot slot = lease(&b, SIDE, SIDE), other = lease(&b, SIDE, SIDE);
    fill(&b, &slot, 1);
    brim_batcher_drop(b.batcher, &other);
    double before = brim_batcher_waited(b.batcher).model_s;
    brim_batch *batch = next(&b); /* nobody closes it */
    assert_int_equal(batch->n_filled, 1);
    assert_true(brim_batcher_waited(b.batcher).model_s > before);
    assert_true(brim_batcher_waited(b.batcher).decoders_s == 0);
    brim_batcher_give_back(b.batcher, batch);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

/* Where pictures are only counted, a batch is closed by the clock only when nothing comes. */
static void pictures_that_nobody_looks_at_take_what_they_are_said_to(void **state)
{
    bench b = open_bench_with(1 << 20, (brim_sizes_options){.batch = 4},
                              (brim_batcher_options){.n_decoders = 2, .stub_bytes = 100});

    (void)state;
    brim_slot slot = lease(&b, 100000, 100000);
    assert_int_equal(slot.batch->slot_bytes, 100);
    assert_int_equal(slot.batch->shape.height, 100000);
    fill(&b, &slot, 1);
    brim_batch *batch = next(&b);
    assert_int_equal(batch->n_filled, 1);
    brim_batcher_give_back(b.batcher, batch);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void what_was_set_aside_comes_when_all_else_is_drained(void **state)
{
    bench b = open_bench(1 << 20, 4, 3);
    brim_slot slots[4];

    (void)state;
    for (size_t i = 0; i < 4; i++)
        slots[i] = lease(&b, SIDE, SIDE);
    brim_slot other = lease(&b, SIDE, 2 * SIDE);
    for (size_t i = 0; i < 4; i++)
        fill(&b, &slots[i], i);
    brim_batch *batch = next(&b);
    for (size_t i = 1; i < 4; i += 2)
        assert_int_equal(brim_batcher_set_aside(b.batcher, batch, &ITEMS[i], (int64_t)(100 * i)),
                         BRIM_OK);
    brim_batcher_give_back(b.batcher, batch);

    fill(&b, &other, 9); /* what is at work comes first, and is not waited for to be full */
    batch = next(&b);
    assert_int_equal(batch->n_filled, 1);
    assert_false(batch->is_alone);
    brim_batcher_give_back(b.batcher, batch);

    for (size_t i = 1; i < 4; i += 2) {
        assert_int_equal(brim_batcher_next(b.batcher, &batch), BRIM_OK);
        assert_true(batch->is_alone);
        assert_ptr_equal(batch->items[0], &ITEMS[i]);
        assert_int_equal(batch->spool_at, 100 * i);
        assert_int_equal(batch->capacity, 1);
        assert_int_equal(brim_budget_usage(b.budget, BRIM_ACCOUNT_TENSORS).live_bytes,
                         SLOT_FLOATS * sizeof(float)); /* nothing else holds any */
        brim_batcher_give_back(b.batcher, batch);
    }
    assert_int_equal(next_capacity(&b), 4); /* and the run goes on */
    brim_batcher_close(b.batcher);
    assert_int_equal(brim_batcher_next(b.batcher, &batch), BRIM_END);
    close_bench(&b);
}

static void a_picture_alone_without_room_comes_without_a_tensor(void **state)
{
    bench b = open_bench(1 << 20, 1, 1);

    (void)state;
    brim_slot slot = lease(&b, SIDE, SIDE);
    fill(&b, &slot, 1);
    brim_batch *batch = next(&b);
    assert_int_equal(brim_batcher_set_aside(b.batcher, batch, &ITEMS[1], 0), BRIM_OK);
    brim_batcher_give_back(b.batcher, batch);
    assert_int_equal(brim_budget_reserve(b.budget, BRIM_ACCOUNT_UNROUTED, (1 << 20) - 100),
                     BRIM_OK);
    assert_int_equal(brim_batcher_next(b.batcher, &batch), BRIM_OK);
    assert_true(batch->is_alone);
    assert_null(batch->tensor);
    brim_batcher_give_back(b.batcher, batch);
    brim_budget_give_back(b.budget, BRIM_ACCOUNT_UNROUTED, (1 << 20) - 100);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void *lease_and_drop(void *arg)
{
    bench *b = arg;
    brim_slot slot = lease(b, SIDE, SIDE);

    brim_batcher_drop(b->batcher, &slot);
    return NULL;
}

static void a_large_file_comes_to_its_end_before_a_picture_runs_alone(void **state)
{
    bench b = open_bench(1 << 20, 1, 2);
    pthread_t decoder;

    (void)state;
    assert_int_equal(brim_batcher_reserve(b.batcher, BRIM_ACCOUNT_QUEUES, 1000, NULL), BRIM_OK);
    brim_slot slot = lease(&b, SIDE, SIDE);
    fill(&b, &slot, 1);
    brim_batch *batch = next(&b);
    assert_int_equal(brim_batcher_set_aside(b.batcher, batch, &ITEMS[1], 0), BRIM_OK);
    brim_batcher_give_back(b.batcher, batch);

    slot = lease(&b, SIDE, SIDE); /* the large file's: it is let through */
    brim_batcher_give_back_bytes(b.batcher, BRIM_ACCOUNT_QUEUES, 1000);
    assert_int_equal(brim_thread_start(&decoder, "decoder", lease_and_drop, &b), BRIM_OK);
    fill(&b, &slot, 2);
    batch = next(&b);
    assert_false(batch->is_alone);
    brim_batcher_give_back(b.batcher, batch);
    assert_int_equal(brim_batcher_next(b.batcher, &batch), BRIM_OK);
    assert_true(batch->is_alone);
    brim_batcher_give_back(b.batcher, batch);
    pthread_join(decoder, NULL);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

/* Its decoder has the file already: what it needs besides must not wait for what waits for it. */
static void what_has_a_large_file_is_held_memory_before_a_picture_runs_alone(void **state)
{
    bench b = open_bench(1 << 20, 1, 2);

    (void)state;
    assert_int_equal(brim_batcher_reserve(b.batcher, BRIM_ACCOUNT_QUEUES, 1000, NULL), BRIM_OK);
    brim_slot slot = lease(&b, SIDE, SIDE);
    fill(&b, &slot, 1);
    brim_batch *batch = next(&b);
    assert_int_equal(brim_batcher_set_aside(b.batcher, batch, &ITEMS[1], 0), BRIM_OK);
    brim_batcher_give_back(b.batcher, batch);

    assert_int_equal(
        brim_batcher_reserve_for_good(b.batcher, BRIM_ACCOUNT_OTHER, 500, "a library", NULL),
        BRIM_OK);
    assert_int_equal(brim_batcher_hold(b.batcher, 2000, SIDE, SIDE, 0, NULL), BRIM_OK);
    brim_batcher_let_go(b.batcher, 2000);
    brim_batcher_give_back_bytes(b.batcher, BRIM_ACCOUNT_QUEUES, 1000);
    assert_int_equal(brim_batcher_next(b.batcher, &batch), BRIM_OK);
    assert_true(batch->is_alone);
    brim_batcher_give_back(b.batcher, batch);
    brim_budget_give_back(b.budget, BRIM_ACCOUNT_OTHER, 500);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

/* Else each of its tiles would fail, by what the decoder itself holds. */
static void what_is_held_leaves_room_for_a_slot(void **state)
{
    size_t tensor = SLOT_FLOATS * sizeof(float);
    bench b = open_bench((size_t)2 << 20, 1, 1);
    size_t most = (2 << 20) - 1000 - tensor - 1000; /* a batch is a little more than its tensor */
    brim_error err;

    (void)state;
    assert_int_equal(brim_batcher_hold(b.batcher, most + 2000, SIDE, SIDE, 1000, &err),
                     BRIM_E_BUDGET);
    assert_string_equal(err.message,
                        "a row of its tiles needs 3 MiB, limit 2 MiB, 2 of it free (--memory)");
    assert_int_equal(brim_batcher_hold(b.batcher, most, SIDE, SIDE, 1000, &err), BRIM_OK);
    brim_slot slot;
    assert_int_equal(
        brim_batcher_lease(b.batcher, SIDE, SIDE, (brim_scratch){.bytes = 1000}, &slot, NULL),
        BRIM_OK);
    brim_batcher_drop(b.batcher, &slot);
    brim_batcher_let_go(b.batcher, most);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void nothing_is_begun_while_pictures_wait_to_run_alone(void **state)
{
    bench b = open_bench(1 << 20, 1, 2);
    pthread_t decoder;

    (void)state;
    brim_slot slot = lease(&b, SIDE, SIDE);
    fill(&b, &slot, 1);
    brim_batch *batch = next(&b);
    assert_int_equal(brim_batcher_set_aside(b.batcher, batch, &ITEMS[1], 0), BRIM_OK);
    brim_batcher_give_back(b.batcher, batch);
    assert_int_equal(brim_thread_start(&decoder, "decoder", lease_and_drop, &b), BRIM_OK);
    assert_int_equal(brim_batcher_next(b.batcher, &batch), BRIM_OK);
    assert_true(batch->is_alone);
    for (int i = 0; i < 100; i++)
        sched_yield();
    assert_int_equal(brim_budget_usage(b.budget, BRIM_ACCOUNT_TENSORS).live_bytes,
                     SLOT_FLOATS * sizeof(float));
    brim_batcher_give_back(b.batcher, batch);
    pthread_join(decoder, NULL);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

static void a_floor_for_the_model_does_not_stop_a_picture_that_is_alone(void **state)
{
    size_t tensor = SLOT_FLOATS * sizeof(float);
    bench b = open_bench(3 * tensor, 1, 1);

    (void)state;
    brim_budget_set_floor(b.budget, BRIM_ACCOUNT_ACTIVATIONS, 5 * tensor / 2);
    brim_slot slot = lease(&b, SIDE, SIDE);
    assert_true(brim_budget_usage(b.budget, BRIM_ACCOUNT_TENSORS).n_refusals > 0);
    brim_batcher_drop(b.batcher, &slot);
    brim_batcher_close(b.batcher);
    close_bench(&b);
}

enum { N_MANY = 4096, N_DECODERS = 4 };

typedef struct crowd {
    bench b;
    pthread_t decoders[N_DECODERS];
    atomic_size_t next_number;
    atomic_int seen[N_MANY];
} crowd;

static brim_item MANY[N_MANY];

static void *decode_many(void *arg)
{
    crowd *all = arg;
    unsigned seed = (unsigned)(uintptr_t)&seed;

    for (;;) {
        size_t number = atomic_fetch_add(&all->next_number, 1);
        if (number >= N_MANY) return NULL;
        brim_slot slot;
        uint32_t width = SIDE + (uint32_t)(rand_r(&seed) % 3);
        if (brim_batcher_lease(all->b.batcher, SIDE, width, (brim_scratch){.bytes = 1000}, &slot,
                               NULL) != BRIM_OK)
            abort();
        if (number % 7 == 0) { /* a picture that fails */
            brim_batcher_drop(all->b.batcher, &slot);
            atomic_fetch_add(&all->seen[number], 1);
        } else {
            for (size_t i = 0; i < slot.batch->slot_bytes / sizeof(float); i++)
                ((float *)slot.pixels)[i] = (float)number;
            brim_batcher_fill(all->b.batcher, &slot, &MANY[number]);
        }
    }
}

static void *close_when_all_have_decoded(void *arg)
{
    crowd *all = arg;

    for (int i = 0; i < N_DECODERS; i++)
        pthread_join(all->decoders[i], NULL);
    brim_batcher_close(all->b.batcher);
    return NULL;
}

/* A budget for a few batches only, three shapes, four decoders: lost wake-ups would hang here. */
static void every_item_comes_out_once_with_its_own_pixels(void **state)
{
    static crowd all;
    pthread_t foreman;
    brim_batch *batch;

    (void)state;
    all.b = open_bench(3 * 3 * 4 * 3 * (SIDE + 2) * SIDE, 3, N_DECODERS);
    for (int i = 0; i < N_DECODERS; i++)
        assert_int_equal(brim_thread_start(&all.decoders[i], "decode", decode_many, &all), BRIM_OK);
    assert_int_equal(brim_thread_start(&foreman, "foreman", close_when_all_have_decoded, &all),
                     BRIM_OK);
    while (brim_batcher_next(all.b.batcher, &batch) == BRIM_OK) {
        for (size_t i = 0; i < batch->n_filled; i++) {
            size_t number = (size_t)(batch->items[i] - MANY);
            atomic_fetch_add(&all.seen[number], 1);
            const float *pixels = brim_batch_slot(batch, i);
            assert_true(pixels[0] == (float)number);
            assert_true(pixels[batch->slot_bytes / sizeof(float) - 1] == (float)number);
        }
        brim_batcher_give_back(all.b.batcher, batch);
    }
    pthread_join(foreman, NULL);
    for (size_t i = 0; i < N_MANY; i++)
        assert_int_equal(all.seen[i], 1);
    close_bench(&all.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_batch_goes_and_the_rest_at_the_end),
        cmocka_unit_test(unlike_shapes_never_share_a_batch),
        cmocka_unit_test(a_dropped_slot_is_leased_again),
        cmocka_unit_test(holes_are_filled_from_the_end),
        cmocka_unit_test(a_batch_of_nothing_is_no_batch),
        cmocka_unit_test(short_memory_sends_the_oldest_open_batch),
        cmocka_unit_test(scratch_waits_for_what_others_give_back),
        cmocka_unit_test(a_frame_is_part_of_the_scratch),
        cmocka_unit_test(decoders_never_wait_for_each_others_scratch),
        cmocka_unit_test(a_picture_goes_alone_where_a_whole_batch_does_not_fit),
        cmocka_unit_test(what_can_never_fit_is_refused_with_numbers),
        cmocka_unit_test(each_new_batch_has_the_size_that_is_offered_then),
        cmocka_unit_test(an_open_batch_that_became_too_large_goes_with_what_may_run),
        cmocka_unit_test(a_model_with_nothing_to_do_does_not_wait_for_a_full_batch),
        cmocka_unit_test(pictures_that_nobody_looks_at_take_what_they_are_said_to),
        cmocka_unit_test(what_was_set_aside_comes_when_all_else_is_drained),
        cmocka_unit_test(a_picture_alone_without_room_comes_without_a_tensor),
        cmocka_unit_test(a_large_file_comes_to_its_end_before_a_picture_runs_alone),
        cmocka_unit_test(what_has_a_large_file_is_held_memory_before_a_picture_runs_alone),
        cmocka_unit_test(what_is_held_leaves_room_for_a_slot),
        cmocka_unit_test(nothing_is_begun_while_pictures_wait_to_run_alone),
        cmocka_unit_test(a_floor_for_the_model_does_not_stop_a_picture_that_is_alone),
        cmocka_unit_test(every_item_comes_out_once_with_its_own_pixels),
    };
    return cmocka_run_group_tests_name("pipeline/batcher", tests, NULL, NULL);
}
