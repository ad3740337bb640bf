/* Tests of src/pipeline/sizes.c. */
#include "pipeline/sizes.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/cmocka_all.h"

enum { PIXELS = 224 * 224 };
static const size_t SLOT_BYTES = PIXELS * 12, MIB = (size_t)1 << 20;
static const brim_shape SHAPE = {.pixels = PIXELS};

static size_t device_free_bytes;

static size_t free_bytes(const brim_session *self)
{
    (void)self;
    return device_free_bytes;
}

static const struct brim_session_ops HOST_OPS, DEVICE_OPS = {.free_bytes = free_bytes};

typedef struct bench {
    brim_session session;
    brim_budget *budget;
    brim_sizes *sizes;
    brim_log log;
    char lines[8192];
    char notes[1024];
} bench;

static void keep_line(void *ctx, brim_log_level level, const char *line)
{
    bench *b = ctx;
    char *to = level == BRIM_LOG_DETAIL ? b->lines : b->notes;
    size_t capacity = level == BRIM_LOG_DETAIL ? sizeof(b->lines) : sizeof(b->notes);
    size_t length = strlen(to);

    snprintf(to + length, capacity - length, "%s\n", line);
}

/* options: what is to be other than usual. */
static bench *open_bench(size_t limit_bytes, brim_sizes_options options, bool on_device)
{
    bench *b = calloc(1, sizeof(*b));

    b->session.ops = on_device ? &DEVICE_OPS : &HOST_OPS;
    b->log = (brim_log){keep_line, b};
    assert_int_equal(brim_budget_create(limit_bytes, &b->budget, NULL), BRIM_OK);
    options.budget = b->budget;
    options.session = &b->session;
    options.log = &b->log;
    assert_int_equal(brim_sizes_create(&options, &b->sizes, NULL), BRIM_OK);
    return b;
}

static void close_bench(bench *b)
{
    brim_sizes_destroy(b->sizes);
    brim_budget_destroy(b->budget);
    free(b);
}

static bool note(bench *b, size_t n, double seconds, size_t peak_bytes, brim_status status)
{
    brim_observation seen = {.n_items = n,
                             .shape = SHAPE,
                             .seconds = seconds,
                             .peak_bytes = peak_bytes,
                             .refused = status == BRIM_E_BUDGET};

    return brim_sizes_note_run(b->sizes, &seen, status);
}

static void a_batch_that_is_given_is_always_offered(void **state)
{
    bench *b = open_bench(4096 * MIB, (brim_sizes_options){.batch = 23}, false);

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(brim_sizes_offer(b->sizes, SHAPE, SLOT_BYTES), 23);
        note(b, 23, 0.1, MIB, i == 2 ? BRIM_E_BUDGET : BRIM_OK);
        assert_int_equal(brim_sizes_limit(b->sizes, SHAPE), 23);
    }
    close_bench(b);
}

static void one_batch_takes_at_most_a_quarter_of_what_is_usable(void **state)
{
    bench *b = open_bench(40 * SLOT_BYTES, (brim_sizes_options){.batch = 1000}, false);

    (void)state;
    assert_int_equal(brim_sizes_offer(b->sizes, SHAPE, SLOT_BYTES), 10);
    assert_int_equal(brim_sizes_offer(b->sizes, SHAPE, 100 * SLOT_BYTES), 1);
    b->session.stub_bytes = 100; /* nobody looks at them */
    assert_int_equal(brim_sizes_offer(b->sizes, SHAPE, SLOT_BYTES), 1000);
    close_bench(b);
}

static size_t logged_budget(const bench *b)
{
    const char *line = b->lines, *next;
    brim_offer offer;

    while ((next = strchr(line, '\n')) && next[1])
        line = next + 1;
    assert_true(brim_offer_read(line, &offer));
    return offer.budget_bytes;
}

static void a_run_may_take_what_the_other_accounts_leave(void **state)
{
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){.batch = 4}, false);

    (void)state;
    brim_sizes_offer(b->sizes, SHAPE, SLOT_BYTES);
    assert_int_equal(logged_budget(b), 1000 * MIB);
    brim_budget_reserve(b->budget, BRIM_ACCOUNT_QUEUES, 100 * MIB);
    brim_budget_reserve(b->budget, BRIM_ACCOUNT_UNROUTED, 50 * MIB);
    brim_budget_reserve(b->budget, BRIM_ACCOUNT_ACTIVATIONS, 60 * MIB); /* the run before */
    brim_sizes_offer(b->sizes, SHAPE, SLOT_BYTES);
    assert_int_equal(logged_budget(b), 850 * MIB);

    brim_budget_set_floor(b->budget, BRIM_ACCOUNT_DECODERS, 30 * MIB); /* they will have it */
    brim_budget_reserve(b->budget, BRIM_ACCOUNT_TENSORS, 200 * MIB);
    brim_sizes_offer(b->sizes, SHAPE, SLOT_BYTES);
    assert_int_equal(logged_budget(b), 620 * MIB);
    brim_budget_give_back(b->budget, BRIM_ACCOUNT_TENSORS, 200 * MIB); /* the next ones come */
    brim_sizes_offer(b->sizes, SHAPE, SLOT_BYTES);
    assert_in_range(logged_budget(b), 620 * MIB, 630 * MIB);

    brim_budget_give_back(b->budget, BRIM_ACCOUNT_ACTIVATIONS, 60 * MIB);
    brim_budget_give_back(b->budget, BRIM_ACCOUNT_UNROUTED, 50 * MIB);
    brim_budget_give_back(b->budget, BRIM_ACCOUNT_QUEUES, 100 * MIB);
    close_bench(b);
}

static void a_device_tells_itself_what_is_free(void **state)
{
    device_free_bytes = 5 * MIB;
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){.batch = 4}, true);

    (void)state;
    brim_sizes_offer(b->sizes, SHAPE, SLOT_BYTES);
    assert_int_equal(logged_budget(b), 5 * MIB);
    device_free_bytes = 3 * MIB;
    note(b, 4, 0.1, MIB, BRIM_OK); /* asked after each run, by the model's thread alone */
    brim_sizes_offer(b->sizes, SHAPE, SLOT_BYTES);
    assert_int_equal(logged_budget(b), 3 * MIB);
    close_bench(b);
}

/* What was learned from small batches keeps large ones from being offered where they cannot fit. */
static void offers_stay_below_what_is_left(void **state)
{
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){0}, false);

    (void)state;
    for (int i = 0; i < 200; i++) {
        size_t n = brim_sizes_offer(b->sizes, SHAPE, 1);
        assert_true(n * 10 * MIB <= 1000 * MIB);
        assert_false(note(b, n, 0.05 + 0.001 * (double)n, n * 10 * MIB, BRIM_OK));
        assert_true(brim_sizes_limit(b->sizes, SHAPE) * 10 * MIB <= 1000 * MIB);
    }
    assert_true(brim_sizes_offer(b->sizes, SHAPE, 1) >= 80); /* larger is better here */
    close_bench(b);
}

static void the_log_replays_the_governor(void **state)
{
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){0}, false);
    brim_governor_options defaults = BRIM_OPTIONS(brim_governor_options);
    brim_governor *again = calloc(1, sizeof(*again));
    brim_observation seen;
    int n_offers = 0, n_runs = 0;

    (void)state;
    for (int i = 0; i < 40; i++) {
        size_t n = brim_sizes_offer(b->sizes, SHAPE, 1);
        if (i % 14 == 13) note(b, n, 0.01, 0, BRIM_E_BUDGET);
        note(b, n, 0.05 + 0.001 * (double)n, n * 10 * MIB, BRIM_OK);
    }
    note(b, 1, 0.01, 0, BRIM_E_BUDGET); /* nothing to be learned from these two */
    note(b, 3, 0.01, 0, BRIM_E_RUNTIME);
    brim_governor_init(again, &defaults);
    for (char *line = strtok(b->lines, "\n"); line; line = strtok(NULL, "\n")) {
        brim_offer offer;
        if (brim_offer_read(line, &offer)) {
            again->options.max_batch = offer.most_items;
            assert_int_equal(brim_governor_offer(again, offer.shape, offer.budget_bytes),
                             offer.n_items);
            n_offers++;
        } else {
            assert_true(brim_observation_read(line, &seen));
            brim_governor_observe(again, &seen);
            n_runs++;
        }
    }
    assert_int_equal(n_offers, 40);
    assert_int_equal(n_runs, 42);
    free(again);
    close_bench(b);
}

static void the_book_tells_runs_by_their_size(void **state)
{
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){.batch = 8}, false);
    brim_work work;

    (void)state;
    brim_sizes_tell(b->sizes, &work);
    assert_int_equal(work.n_sizes, 0);
    assert_int_equal(work.n_rungs, 0);
    for (int i = 0; i < 5; i++)
        assert_false(note(b, 8, 0.5, 20 * MIB, BRIM_OK));
    assert_true(note(b, 8, 0.25, 99 * MIB, BRIM_E_BUDGET));
    assert_false(note(b, 4, 0.125, 10 * MIB, BRIM_OK));
    assert_false(note(b, 1, 0.125, 0, BRIM_E_RUNTIME));
    brim_sizes_tell(b->sizes, &work);
    assert_true(work.device_s == 3.0);
    assert_int_equal(work.n_sizes, 2);
    assert_int_equal(work.sizes[0].n_items, 4);
    assert_int_equal(work.sizes[0].n_runs, 1);
    assert_int_equal(work.sizes[1].n_items, 8);
    assert_int_equal(work.sizes[1].n_runs, 5);
    assert_int_equal(work.n_other_runs, 0);
    assert_int_equal(work.run_peak_bytes, 20 * MIB);
    assert_int_equal(work.ladder_px, PIXELS);
    assert_true(work.n_rungs > 0);
    close_bench(b);
}

/* 20 MiB fixed and 4 MiB an item; batches of 16 are as good as it gets. */
static void run_some(bench *b, int n_runs)
{
    for (int i = 0; i < n_runs; i++) {
        size_t n = brim_sizes_offer(b->sizes, SHAPE, 1);
        double seconds = n > 16 ? 0.05 * (double)n : 0.8;
        note(b, n, seconds, 20 * MIB + n * 4 * MIB, BRIM_OK);
    }
}

static void what_a_run_holds_is_told_as_learned(void **state)
{
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){0}, false);
    brim_work work;

    (void)state;
    brim_sizes_tell(b->sizes, &work);
    assert_int_equal(work.memory.item_bytes, 0);
    assert_int_equal(work.memory.most_items, 0);
    run_some(b, 100);
    brim_sizes_tell(b->sizes, &work);
    assert_in_range(work.memory.item_bytes, 39 * MIB / 10, 41 * MIB / 10);
    assert_in_range(work.memory.fixed_bytes, 18 * MIB, 22 * MIB);
    assert_int_equal(work.memory.token_bytes, 0);
    assert_true(work.memory.error_frac > 0 && work.memory.error_frac < 0.05);
    assert_in_range(work.memory.room_bytes, 990 * MIB, 1000 * MIB);
    assert_in_range(work.memory.most_items, 230, 245);
    close_bench(b);
}

static void the_best_size_is_the_chosen_one(void **state)
{
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){0}, false);
    brim_work work;
    size_t chosen = 0;

    (void)state;
    assert_int_equal(brim_sizes_best(b->sizes), 0);
    run_some(b, 100);
    brim_sizes_tell(b->sizes, &work);
    for (size_t i = 0; i < work.n_rungs; i++)
        if (work.ladder[i].is_chosen) chosen = work.ladder[i].n_items;
    assert_in_range(chosen, 12, 20);
    assert_int_equal(brim_sizes_best(b->sizes), chosen);
    close_bench(b);

    b = open_bench(1000 * MIB, (brim_sizes_options){.batch = 23}, false);
    run_some(b, 3);
    assert_int_equal(brim_sizes_best(b->sizes), 23);
    close_bench(b);
}

static void the_end_of_a_stopped_run_teaches_nothing(void **state)
{
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){0}, false);
    brim_work work;

    (void)state;
    run_some(b, 100);
    size_t best = brim_sizes_best(b->sizes);
    brim_sizes_stop_learning(b->sizes);
    assert_false(note(b, 1, 0.001, 24 * MIB, BRIM_OK));
    assert_int_equal(brim_sizes_best(b->sizes), best);
    brim_sizes_tell(b->sizes, &work);
    assert_int_equal(work.sizes[0].n_items, 1); /* but is counted */
    close_bench(b);

    b = open_bench(1000 * MIB, (brim_sizes_options){0}, false);
    brim_sizes_stop_learning(b->sizes);
    note(b, 4, 0.1, 36 * MIB, BRIM_OK); /* better than nothing */
    note(b, 1, 0.001, 24 * MIB, BRIM_OK);
    brim_sizes_tell(b->sizes, &work);
    assert_true(work.n_rungs > 0);
    close_bench(b);
}

static void the_book_has_an_end(void **state)
{
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){.batch = 8}, false);
    brim_work work;
    uint64_t n_runs = 0;
    bool has_seven = false;

    (void)state;
    for (size_t n = 1; n <= 200; n++)
        for (int i = 0; i < (n == 7 ? 9 : 2); i++)
            note(b, n, 0.1, MIB, BRIM_OK);
    brim_sizes_tell(b->sizes, &work);
    assert_int_equal(work.n_sizes, BRIM_WORK_SIZES);
    assert_true(work.n_rungs <= BRIM_WORK_RUNGS);
    for (size_t i = 0; i < work.n_sizes; i++) {
        n_runs += work.sizes[i].n_runs;
        if (i > 0) assert_true(work.sizes[i].n_items > work.sizes[i - 1].n_items);
        has_seven |= work.sizes[i].n_items == 7 && work.sizes[i].n_runs == 9;
    }
    assert_int_equal(n_runs + work.n_other_runs, 2 * 200 + 7);
    assert_true(work.n_other_runs > 0);
    assert_true(has_seven); /* the common one is kept */
    close_bench(b);
}

static void patience_follows_the_runs_within_reason(void **state)
{
    bench *b = open_bench(1000 * MIB, (brim_sizes_options){.batch = 8}, false);

    (void)state;
    assert_int_equal(brim_sizes_patience_ns(b->sizes), 500000000);
    note(b, 8, 0.75, MIB, BRIM_OK);
    assert_int_equal(brim_sizes_patience_ns(b->sizes), 1500000000);
    note(b, 8, 75, MIB, BRIM_OK);
    assert_int_equal(brim_sizes_patience_ns(b->sizes), 2000000000);
    close_bench(b);
}

static void the_user_is_told_once_that_the_device_spills(void **state)
{
    bench *b = open_bench(100000 * MIB, (brim_sizes_options){0}, false);
    bool met = false;

    (void)state;
    for (int i = 0; i < 400; i++) {
        size_t n = brim_sizes_offer(b->sizes, SHAPE, 1);
        brim_observation seen = {.n_items = n,
                                 .shape = SHAPE,
                                 .seconds = 0.05 + 0.002 * (double)n,
                                 .peak_bytes = n * MIB,
                                 .has_pressure = n > 24};
        if (n > 24) seen.seconds *= 8;
        met |= brim_sizes_note_run(b->sizes, &seen, BRIM_OK);
    }
    assert_true(met);
    assert_non_null(strstr(b->notes, "the device spills into system memory above batch"));
    assert_int_equal(strchr(b->notes, '\n')[1], '\0');
    close_bench(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_that_is_given_is_always_offered),
        cmocka_unit_test(one_batch_takes_at_most_a_quarter_of_what_is_usable),
        cmocka_unit_test(a_run_may_take_what_the_other_accounts_leave),
        cmocka_unit_test(a_device_tells_itself_what_is_free),
        cmocka_unit_test(offers_stay_below_what_is_left),
        cmocka_unit_test(the_log_replays_the_governor),
        cmocka_unit_test(the_book_tells_runs_by_their_size),
        cmocka_unit_test(what_a_run_holds_is_told_as_learned),
        cmocka_unit_test(the_best_size_is_the_chosen_one),
        cmocka_unit_test(the_end_of_a_stopped_run_teaches_nothing),
        cmocka_unit_test(the_book_has_an_end),
        cmocka_unit_test(patience_follows_the_runs_within_reason),
        cmocka_unit_test(the_user_is_told_once_that_the_device_spills),
    };
    return cmocka_run_group_tests_name("pipeline/sizes", tests, NULL, NULL);
}
