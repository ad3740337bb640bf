/* Tests of src/memory/arena.c, and of windows.c and small.c below it. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sync.h"
#include "brimful/arena.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/fake_pages.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWER = 20 };
#else
enum { SLOWER = 1 };
#endif

enum { MIB = 1 << 20, PAGE = 2 * MIB, TINY = 32 << 10 /* the smallest page there is */ };

/* An arena of n tiny pages over the fake backend, which gives no more than that. */
static brim_arena *make_fake(fake_pages *fake, size_t n, const brim_alloc *memory)
{
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    brim_arena *arena;
    brim_error err;

    fake_pages_init(fake, n, false);
    options.limit_bytes = n * TINY;
    options.page_bytes = TINY;
    options.pages = &fake->base;
    options.memory = memory;
    if (brim_arena_create(&options, &arena, &err) != BRIM_OK) fail_msg("%s", err.message);
    return arena;
}

static void end_fake(brim_arena *arena, const fake_pages *fake)
{
    brim_error err;

    if (brim_arena_check(arena, &err) != BRIM_OK) fail_msg("%s", err.message);
    assert_int_equal(brim_arena_usage_now(arena).live_bytes, 0);
    brim_arena_destroy(arena);
    if (fake->broken) fail_msg("%s", fake->why);
}

/* A block of n tiny pages; NULL where it is refused. */
static void *take_pages(brim_arena *arena, size_t n)
{
    const brim_alloc *mem = brim_arena_alloc(arena);
    void *p;

    brim_status status = mem->alloc(mem->ctx, n * TINY, 0, &p);
    assert_true(status == BRIM_OK || status == BRIM_E_BUDGET || status == BRIM_E_NOMEM);
    return p;
}

static void give_back(brim_arena *arena, void *p)
{
    const brim_alloc *mem = brim_arena_alloc(arena);
    mem->release(mem->ctx, p, 0);
}

/* ---- Blocks ---- */

typedef struct block {
    uint8_t *p;
    size_t bytes;
    uint8_t mark;
} block;

static void check_block(const block *b)
{
    size_t step = b->bytes / 50 + 1;

    for (size_t i = 0; i < b->bytes; i += step)
        assert_int_equal(b->p[i], b->mark);
    assert_int_equal(b->p[b->bytes - 1], b->mark);
}

/* Mostly small, sometimes many pages. */
static size_t random_size(unsigned *seed, size_t page_bytes)
{
    size_t most[] = {200, page_bytes / 16, page_bytes, 12 * page_bytes};

    return (size_t)rand_r(seed) % most[rand_r(seed) % 10 < 9 ? rand_r(seed) % 3 : 3] + 1;
}

/* Takes or gives back one of the blocks, at random. Returns whether that was refused. */
static bool step(const brim_alloc *mem, block *blocks, size_t n_blocks, size_t page_bytes,
                 unsigned *seed)
{
    block *b = &blocks[(size_t)rand_r(seed) % n_blocks];
    size_t align = (size_t)1 << rand_r(seed) % 14;
    void *p;

    if (b->p) {
        check_block(b);
        mem->release(mem->ctx, b->p, b->bytes);
        *b = (block){0};
        return false;
    }
    size_t bytes = random_size(seed, page_bytes);
    brim_status status = mem->alloc(mem->ctx, bytes, align, &p);
    if (status != BRIM_OK) return true;
    assert_int_equal((uintptr_t)p % align, 0);
    *b = (block){.p = p, .bytes = bytes, .mark = (uint8_t)rand_r(seed)};
    memset(p, b->mark, bytes);
    return false;
}

static void give_all_back(const brim_alloc *mem, block *blocks, size_t n_blocks)
{
    for (size_t i = 0; i < n_blocks; i++) {
        if (!blocks[i].p) continue;
        check_block(&blocks[i]);
        mem->release(mem->ctx, blocks[i].p, blocks[i].bytes);
        blocks[i] = (block){0};
    }
}

enum { N_BLOCKS = 200 };

/* Debug builds walk the invariants of so small an arena after each operation. */
static void random_blocks_keep_their_bytes_and_the_limit_holds(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 6; seed++) {
        block blocks[N_BLOCKS] = {0};
        unsigned random = seed;
        fake_pages fake;
        brim_arena *arena = make_fake(&fake, 10 * seed, NULL);
        const brim_alloc *mem = brim_arena_alloc(arena);
        size_t n_refused = 0;

        for (int i = 0; i < 8000 / SLOWER; i++) {
            n_refused += step(mem, blocks, N_BLOCKS, TINY, &random);
            if (i % 300 == 0) brim_arena_trim(arena, (size_t)rand_r(&random) % 20 * TINY);
            if (i % 100 == 0)
                brim_arena_set_limit(arena, ((size_t)rand_r(&random) % (10 * seed) + 1) * TINY);
            brim_arena_usage usage = brim_arena_usage_now(arena);
            assert_int_equal(usage.reserved_bytes, fake.n_present * TINY);
            assert_true(usage.reserved_bytes <= usage.limit_bytes);
            assert_true(usage.live_bytes <= usage.reserved_bytes);
        }
        assert_int_equal(brim_arena_usage_now(arena).n_refusals, n_refused);
        give_all_back(mem, blocks, N_BLOCKS);
        end_fake(arena, &fake);
    }
}

static void the_spare_bytes_lie_in_own_pages_where_reading_behind_would_fault(void **state)
{
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    volatile uint8_t sum = 0; /* keeps the reading */
    brim_arena *arena;
    fake_pages fake;

    (void)state;
    fake_pages_init(&fake, 40, true);
    options.limit_bytes = 40 * TINY;
    options.page_bytes = TINY;
    options.pages = &fake.base;
    assert_int_equal(brim_arena_create(&options, &arena, NULL), BRIM_OK);
    const brim_alloc *mem = brim_arena_alloc(arena);
    for (size_t bytes = 1; bytes <= 5 * TINY; bytes += bytes < 200 ? 1 : TINY / 2) {
        uint8_t *p;
        assert_int_equal(mem->alloc(mem->ctx, bytes, 0, (void **)&p), BRIM_OK);
#ifndef __SANITIZE_ADDRESS__
        for (size_t i = 0; i < 64; i++)
            sum = (uint8_t)(sum + p[bytes + i]);
#endif
        mem->release(mem->ctx, p, bytes);
    }
    (void)sum;
    end_fake(arena, &fake);
}

static void sizes_are_known_from_the_address(void **state)
{
    fake_pages fake;
    brim_arena *arena = make_fake(&fake, 40, NULL);
    const brim_alloc *mem = brim_arena_alloc(arena);
    static const size_t SIZES[] = {0, 1, 64, 65, 129, 4000, TINY / 2, TINY / 2 + 1, TINY, 9 * TINY};
    int on_stack;

    (void)state;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        void *p;
        assert_int_equal(mem->alloc(mem->ctx, SIZES[i], 0, &p), BRIM_OK);
        assert_int_equal((uintptr_t)p % 64, 0);
        assert_true(brim_arena_owns(arena, p));
        assert_int_equal(brim_arena_size_of(arena, p), SIZES[i] ? SIZES[i] : 1);
        mem->release(mem->ctx, p, 0);
    }
    assert_false(brim_arena_owns(arena, &on_stack));
    assert_false(brim_arena_owns(arena, NULL));
    mem->release(mem->ctx, NULL, 0);
    void *p = &on_stack;
    assert_int_equal(mem->alloc(mem->ctx, 1, 2 * TINY, &p), BRIM_E_ARG);
    assert_null(p);
    assert_int_equal(mem->alloc(mem->ctx, SIZE_MAX, 0, &p), BRIM_E_BUDGET);
    assert_int_equal(mem->alloc(mem->ctx, SIZE_MAX - 70, 0, &p), BRIM_E_BUDGET);
    end_fake(arena, &fake);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

static void what_is_not_a_block_is_poisoned(void **state)
{
    fake_pages fake;
    brim_arena *arena = make_fake(&fake, 40, NULL);
    const brim_alloc *mem = brim_arena_alloc(arena);
    static const size_t SIZES[] = {40, 100, 5000, TINY + 10};

    (void)state;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        uint8_t *p, *other;
        assert_int_equal(mem->alloc(mem->ctx, SIZES[i], 0, (void **)&p), BRIM_OK);
        assert_int_equal(mem->alloc(mem->ctx, SIZES[i], 0, (void **)&other), BRIM_OK);
        assert_null(__asan_region_is_poisoned(p, SIZES[i]));
        if (SIZES[i] < TINY) assert_true(__asan_address_is_poisoned(p + SIZES[i]));
        mem->release(mem->ctx, p, SIZES[i]);
        assert_true(__asan_address_is_poisoned(p));
        assert_true(__asan_address_is_poisoned(p + SIZES[i] - 1));
        mem->release(mem->ctx, other, SIZES[i]);
    }
    end_fake(arena, &fake);
}
#endif

/* ---- Pages ---- */

static void memory_in_pieces_serves_a_large_block(void **state)
{
    fake_pages fake;
    brim_arena *arena = make_fake(&fake, 32, NULL);
    void *ones[32];

    (void)state;
    for (int i = 0; i < 32; i++)
        assert_non_null(ones[i] = take_pages(arena, 1));
    assert_null(take_pages(arena, 1));
    for (int i = 0; i < 32; i += 2)
        give_back(arena, ones[i]);
    uint64_t n_fresh = brim_arena_usage_now(arena).n_fresh_pages;
    assert_int_equal(brim_arena_usage_now(arena).largest_free_bytes, 16 * TINY);
    void *large = take_pages(arena, 16);
    assert_non_null(large);
    assert_int_equal(brim_arena_usage_now(arena).n_fresh_pages, n_fresh);
    give_back(arena, large);
    for (int i = 1; i < 32; i += 2)
        give_back(arena, ones[i]);
    end_fake(arena, &fake);
}

static void the_same_sizes_again_move_nothing(void **state)
{
    static const size_t SIZES[] = {3, 11, 1, 7, 5, 2};
    enum { N = sizeof(SIZES) / sizeof(SIZES[0]) };
    fake_pages fake;
    brim_arena *arena = make_fake(&fake, 64, NULL);
    brim_arena_usage before;
    void *p[N];

    (void)state;
    for (int round = 0; round < 5; round++) {
        if (round == 1) before = brim_arena_usage_now(arena);
        for (size_t i = 0; i < N; i++)
            assert_non_null(p[i] = take_pages(arena, SIZES[i]));
        for (size_t i = 0; i < N; i++)
            give_back(arena, p[i]);
    }
    brim_arena_usage after = brim_arena_usage_now(arena);
    assert_int_equal(after.n_moves, before.n_moves);
    assert_int_equal(after.n_fresh_pages, before.n_fresh_pages);
    assert_int_equal(after.n_released_pages, 0);
    assert_int_equal(after.idle_bytes, after.reserved_bytes);
    end_fake(arena, &fake);
}

static void pages_come_from_tails_first_and_then_from_what_idled_longest(void **state)
{
    fake_pages fake;
    brim_arena *arena = make_fake(&fake, 64, NULL);

    (void)state;
    uint8_t *a = take_pages(arena, 8), *b = take_pages(arena, 6), *c = take_pages(arena, 4);
    give_back(arena, b);
    give_back(arena, c);
    give_back(arena, a);
    uint8_t *tailed = take_pages(arena, 5); /* takes b's window: the least that fits */
    assert_ptr_equal(tailed, b);
    assert_int_equal(fake_pages_n_present(&fake, b, 6 * TINY), 6);
    brim_arena_set_limit(arena, 18 * TINY); /* nothing fresh any more */
    uint8_t *large = take_pages(arena, 10); /* a's 8, the tail of b, the oldest idle: c */
    assert_non_null(large);
    assert_int_equal(fake_pages_n_present(&fake, b, 6 * TINY), 5);
    assert_int_equal(fake_pages_n_present(&fake, c, 4 * TINY), 18 - 10 - 5);
    give_back(arena, tailed);
    give_back(arena, large);
    end_fake(arena, &fake);
}

static void trimming_gives_idle_pages_back_and_no_others(void **state)
{
    fake_pages fake;
    brim_arena *arena = make_fake(&fake, 64, NULL);

    (void)state;
    void *kept = take_pages(arena, 5), *gone = take_pages(arena, 20);
    memset(kept, 7, 5 * TINY);
    give_back(arena, gone);
    assert_int_equal(brim_arena_trim(arena, 15 * TINY), 10 * TINY);
    assert_int_equal(brim_arena_held(arena).reserved_bytes, 15 * TINY);
    assert_int_equal(brim_arena_trim(arena, 0), 10 * TINY);
    assert_int_equal(brim_arena_held(arena).reserved_bytes, 5 * TINY);
    assert_int_equal(brim_arena_held(arena).in_use_bytes, 5 * TINY);
    assert_int_equal(fake.n_present, 5);
    assert_int_equal(((uint8_t *)kept)[5 * TINY - 1], 7);
    give_back(arena, kept);
    end_fake(arena, &fake);
}

static void a_lower_limit_takes_idle_pages_but_never_those_in_use(void **state)
{
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    fake_pages fake;
    brim_arena *arena;

    (void)state;
    fake_pages_init(&fake, 100, false);
    options.limit_bytes = 20 * TINY;
    options.max_bytes = 30 * TINY;
    options.page_bytes = TINY;
    options.pages = &fake.base;
    assert_int_equal(brim_arena_create(&options, &arena, NULL), BRIM_OK);
    void *used = take_pages(arena, 8), *idle = take_pages(arena, 12);
    give_back(arena, idle);
    assert_int_equal(brim_arena_set_limit(arena, 7 * TINY), BRIM_E_BUDGET);
    assert_int_equal(fake.n_present, 20);
    assert_int_equal(brim_arena_set_limit(arena, 10 * TINY + 5), BRIM_OK);
    assert_int_equal(fake.n_present, 10);
    assert_null(take_pages(arena, 3));
    assert_int_equal(brim_arena_set_limit(arena, 31 * TINY), BRIM_E_ARG);
    assert_int_equal(brim_arena_set_limit(arena, 30 * TINY), BRIM_OK);
    void *more = take_pages(arena, 22);
    assert_non_null(more);
    fake.fail_always[FAKE_RELEASE] = true;
    give_back(arena, more);
    assert_int_equal(brim_arena_set_limit(arena, 10 * TINY), BRIM_E_BUDGET);
    assert_int_equal(brim_arena_usage_now(arena).limit_bytes, 30 * TINY);
    give_back(arena, used);
    end_fake(arena, &fake);
}

/* ---- The system refuses ---- */

static void every_call_that_fails_is_survived(void **state)
{
    (void)state;
    for (fake_pages_op op = FAKE_FRESH; op <= FAKE_RELEASE; op++)
        for (long nth = 1; nth < 60; nth++) {
            block blocks[40] = {0};
            unsigned seed = 5;
            fake_pages fake;
            brim_arena *arena = make_fake(&fake, 40, NULL);
            const brim_alloc *mem = brim_arena_alloc(arena);

            fake.fail_nth[op] = nth;
            for (int i = 0; i < 250; i++) {
                step(mem, blocks, 40, TINY, &seed);
                if (i % 50 == 0) brim_arena_trim(arena, 5 * TINY);
            }
            give_all_back(mem, blocks, 40);
            end_fake(arena, &fake);
        }
}

static void where_nothing_can_be_moved_pages_are_given_back_and_taken_fresh(void **state)
{
    fake_pages fake;
    brim_arena *arena = make_fake(&fake, 16, NULL);
    void *ones[16];

    (void)state;
    fake.fail_always[FAKE_MOVE] = true;
    for (int i = 0; i < 16; i++)
        assert_non_null(ones[i] = take_pages(arena, 1));
    for (int i = 0; i < 16; i++)
        give_back(arena, ones[i]);
    void *large = take_pages(arena, 16);
    assert_non_null(large);
    assert_true(brim_arena_usage_now(arena).n_failed_moves > 0);
    assert_true(fake.peak_present <= 16);
    give_back(arena, large);

    /* With nothing else either, the request alone is refused. */
    void *kept = take_pages(arena, 2);
    fake.fail_always[FAKE_RELEASE] = fake.fail_always[FAKE_FRESH] = true;
    void *refused = take_pages(arena, 14);
    fake.fail_always[FAKE_RELEASE] = fake.fail_always[FAKE_FRESH] = false;
    if (refused) give_back(arena, refused);
    give_back(arena, kept);
    end_fake(arena, &fake);
}

static void survives_every_failed_allocation_of_its_books(void **state)
{
    (void)state;
    for (long allowed = 0; allowed < 40; allowed++) {
        failing_alloc books;
        failing_alloc_init(&books, allowed);
        brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
        brim_arena *arena;
        brim_error err;
        fake_pages fake;

        fake_pages_init(&fake, 20, false);
        options.limit_bytes = 20 * TINY;
        options.page_bytes = TINY;
        options.pages = &fake.base;
        options.memory = &books.base;
        brim_status status = brim_arena_create(&options, &arena, &err);
        if (status != BRIM_OK) {
            assert_int_equal(status, BRIM_E_NOMEM);
            assert_null(arena);
            fake.base.ops->destroy(&fake.base);
        } else {
            const brim_alloc *mem = brim_arena_alloc(arena);
            void *p[60];
            for (size_t i = 0; i < 60; i++)
                mem->alloc(mem->ctx, i * 97 + 1, 0, &p[i]);
            for (size_t i = 0; i < 60; i++)
                mem->release(mem->ctx, p[i], 0);
            end_fake(arena, &fake);
        }
        assert_int_equal(books.live_bytes, 0);
        if (fake.broken) fail_msg("%s", fake.why);
    }
}

/* ---- Address space ---- */

static void few_mappings_make_pages_larger(void **state)
{
    (void)state;
    for (size_t max_mappings = 400; max_mappings < 70000; max_mappings *= 3) {
        brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
        fake_pages fake;
        brim_arena *arena;

        fake_pages_init(&fake, SIZE_MAX, false);
        options.limit_bytes = (size_t)64 << 30;
        options.max_mappings = max_mappings;
        options.pages = &fake.base;
        assert_int_equal(brim_arena_create(&options, &arena, NULL), BRIM_OK);
        brim_arena_usage usage = brim_arena_usage_now(arena);
        assert_true(fake.n_slots <= max_mappings / 4);
        assert_true(fake.n_slots * usage.page_bytes >= options.limit_bytes);
        assert_int_equal(usage.page_bytes % PAGE, 0);
        assert_true(fake.n_slots * 3 >= max_mappings / 4); /* no larger than they must be */
        end_fake(arena, &fake);
    }
}

static void address_space_is_bounded_and_used_again(void **state)
{
    block blocks[30] = {0};
    unsigned seed = 3;
    fake_pages fake;
    brim_arena *arena = make_fake(&fake, 48, NULL);
    const brim_alloc *mem = brim_arena_alloc(arena);

    (void)state;
    for (int round = 0; round < 40 / (SLOWER > 1 ? 4 : 1); round++) {
        for (int i = 0; i < 400; i++)
            step(mem, blocks, 30, TINY, &seed);
        give_all_back(mem, blocks, 30);
        /* However the windows lie: what the limit allows can be had in one piece. */
        assert_int_equal(brim_arena_usage_now(arena).largest_free_bytes, 48 * TINY);
        void *all = take_pages(arena, 48);
        assert_non_null(all);
        give_back(arena, all);
    }
    assert_int_equal(fake.n_calls[FAKE_RESERVE], 1);
    end_fake(arena, &fake);
}

static void without_address_space_it_says_so(void **state)
{
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    fake_pages fake;
    brim_arena *arena;
    brim_error err;

    (void)state;
    fake_pages_init(&fake, 10, false);
    fake.fail_always[FAKE_RESERVE] = true;
    options.limit_bytes = 10 * TINY;
    options.page_bytes = TINY;
    options.pages = &fake.base;
    assert_int_equal(brim_arena_create(&options, &arena, &err), BRIM_E_NOMEM);
    assert_null(arena);
    assert_non_null(strstr(err.message, "address space"));
    options.limit_bytes = 0;
    assert_int_equal(brim_arena_create(&options, &arena, &err), BRIM_E_ARG);
    options.limit_bytes = 1;
    options.page_bytes = 3000000;
    assert_int_equal(brim_arena_create(&options, &arena, &err), BRIM_E_ARG);
    options.page_bytes = TINY;
    options.pages = NULL;
    assert_int_equal(brim_arena_create(&options, &arena, &err), BRIM_E_ARG);
    fake.base.ops->destroy(&fake.base);
}

/* ---- Figures ---- */

static void figures_tell_what_is_and_peaks_can_be_reset(void **state)
{
    fake_pages fake;
    brim_arena *arena = make_fake(&fake, 64, NULL);

    (void)state;
    void *a = take_pages(arena, 10), *b = take_pages(arena, 20);
    give_back(arena, b);
    brim_arena_usage usage = brim_arena_usage_now(arena);
    assert_int_equal(usage.live_bytes, 10 * TINY);
    assert_int_equal(usage.reserved_bytes, 30 * TINY);
    assert_int_equal(usage.idle_bytes, 20 * TINY);
    assert_int_equal(usage.peak_live_bytes, 30 * TINY);
    assert_int_equal(usage.peak_reserved_bytes, 30 * TINY);
    assert_int_equal(usage.n_windows, 1);
    assert_int_equal(usage.peak_windows, 2);
    assert_int_equal(usage.n_fresh_pages, 30);
    assert_int_equal(usage.largest_free_bytes, 54 * TINY);
    assert_true(usage.waste_frac == 0);
    brim_arena_trim(arena, 15 * TINY);
    brim_arena_reset_peak(arena);
    usage = brim_arena_usage_now(arena);
    assert_int_equal(usage.peak_live_bytes, 10 * TINY);
    assert_int_equal(usage.peak_reserved_bytes, 15 * TINY);
    assert_int_equal(usage.peak_windows, 1);
    assert_int_equal(usage.n_released_pages, 15);
    assert_true(usage.waste_frac > 0.33 && usage.waste_frac < 0.34);
    give_back(arena, a);
    end_fake(arena, &fake);
}

/* ---- The host's memory, many threads ---- */

enum { N_THREADS = 8, THREAD_BLOCKS = 24 };

static long n_operations = 400000 / SLOWER;

typedef struct crowd {
    brim_arena *arena;
    atomic_long n_left;
    atomic_int next_seed;
} crowd;

static void *take_and_give(void *arg)
{
    crowd *all = arg;
    const brim_alloc *mem = brim_arena_alloc(all->arena);
    unsigned seed = (unsigned)atomic_fetch_add(&all->next_seed, 1);
    block blocks[THREAD_BLOCKS] = {0};
    brim_error err;
    long left;

    while ((left = atomic_fetch_sub(&all->n_left, 1)) > 0) {
        block *b = &blocks[(size_t)rand_r(&seed) % THREAD_BLOCKS];
        if (b->p) {
            if (b->p[0] != b->mark || b->p[b->bytes - 1] != b->mark) abort();
            mem->release(mem->ctx, b->p, b->bytes);
            *b = (block){0};
        } else {
            size_t bytes = random_size(&seed, PAGE);
            void *p;
            if (mem->alloc(mem->ctx, bytes, 0, &p) != BRIM_OK) continue;
            *b = (block){.p = p, .bytes = bytes, .mark = (uint8_t)rand_r(&seed)};
            b->p[0] = b->p[bytes - 1] = b->mark;
        }
        if (left % 30000 == 0) brim_arena_trim(all->arena, (size_t)rand_r(&seed) % 100 * PAGE);
        if (left % 4096 == 0 && brim_arena_check(all->arena, &err) != BRIM_OK) abort();
    }
    for (size_t i = 0; i < THREAD_BLOCKS; i++)
        brim_alloc_release(mem, blocks[i].p, blocks[i].bytes);
    return NULL;
}

static void many_threads_share_the_hosts_pages(void **state)
{
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    pthread_t threads[N_THREADS];
    crowd all = {.next_seed = 1};
    brim_error err;

    (void)state;
    options.limit_bytes = (size_t)160 * PAGE;
    if (brim_arena_create(&options, &all.arena, &err) != BRIM_OK) fail_msg("%s", err.message);
    atomic_store(&all.n_left, n_operations);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(brim_thread_start(&threads[i], "crowd", take_and_give, &all), BRIM_OK);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    brim_arena_usage usage = brim_arena_usage_now(all.arena);
    assert_int_equal(usage.live_bytes, 0);
    assert_true(usage.peak_reserved_bytes <= options.limit_bytes);
    assert_true(usage.n_moves > 0 && usage.n_refusals > 0);
    double huge = brim_arena_huge_frac(all.arena);
    assert_true(huge <= 1);
    if (brim_arena_check(all.arena, &err) != BRIM_OK) fail_msg("%s", err.message);
    brim_arena_destroy(all.arena);
}

/* "long": the last test with ten million operations. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks_keep_their_bytes_and_the_limit_holds),
        cmocka_unit_test(the_spare_bytes_lie_in_own_pages_where_reading_behind_would_fault),
        cmocka_unit_test(sizes_are_known_from_the_address),
#ifdef __SANITIZE_ADDRESS__
        cmocka_unit_test(what_is_not_a_block_is_poisoned),
#endif
        cmocka_unit_test(memory_in_pieces_serves_a_large_block),
        cmocka_unit_test(the_same_sizes_again_move_nothing),
        cmocka_unit_test(pages_come_from_tails_first_and_then_from_what_idled_longest),
        cmocka_unit_test(trimming_gives_idle_pages_back_and_no_others),
        cmocka_unit_test(a_lower_limit_takes_idle_pages_but_never_those_in_use),
        cmocka_unit_test(every_call_that_fails_is_survived),
        cmocka_unit_test(where_nothing_can_be_moved_pages_are_given_back_and_taken_fresh),
        cmocka_unit_test(survives_every_failed_allocation_of_its_books),
        cmocka_unit_test(few_mappings_make_pages_larger),
        cmocka_unit_test(address_space_is_bounded_and_used_again),
        cmocka_unit_test(without_address_space_it_says_so),
        cmocka_unit_test(figures_tell_what_is_and_peaks_can_be_reset),
        cmocka_unit_test(many_threads_share_the_hosts_pages),
    };

    if (argc > 1 && strcmp(argv[1], "long") == 0) {
        n_operations = 10000000;
        const struct CMUnitTest only[] = {cmocka_unit_test(many_threads_share_the_hosts_pages)};
        return cmocka_run_group_tests_name("memory/arena_long", only, NULL, NULL);
    }
    return cmocka_run_group_tests_name("memory/arena", tests, NULL, NULL);
}
