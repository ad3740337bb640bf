/* Tests of src/memory/budget.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/system.h"
#include "brimful/arena.h"
#include "brimful/memory.h"
#include "support/cmocka_all.h"
#include "support/fake_pages.h"

enum { PAGE = 32 << 10 /* the smallest there is */ };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { N_STRESS = 4000 };
#else
enum { N_STRESS = 40000 };
#endif

static void never_gives_more_than_the_limit(void **state)
{
    brim_budget *budget;
    void *a, *b;

    (void)state;
    assert_int_equal(brim_budget_create(1000, &budget, NULL), BRIM_OK);
    const brim_alloc *tensors = brim_budget_alloc(budget, BRIM_ACCOUNT_TENSORS);
    assert_int_equal(tensors->alloc(tensors->ctx, 600, 0, &a), BRIM_OK);
    assert_int_equal((uintptr_t)a % 64, 0);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 400), BRIM_OK);
    assert_int_equal(tensors->alloc(tensors->ctx, 1, 0, &b), BRIM_E_BUDGET);
    assert_null(b);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, SIZE_MAX), BRIM_E_BUDGET);
    assert_int_equal(brim_budget_live_bytes(budget), 1000);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_TENSORS).live_bytes, 600);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_TENSORS).n_refusals, 1);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_DECODERS).n_refusals, 1);

    brim_alloc_release(tensors, a, 600);
    brim_budget_give_back(budget, BRIM_ACCOUNT_DECODERS, 400);
    assert_int_equal(brim_budget_live_bytes(budget), 0);
    assert_int_equal(brim_budget_peak_bytes(budget), 1000);
    assert_int_equal(brim_budget_limit_bytes(budget), 1000);
    brim_budget_destroy(budget);
}

static void a_refusal_of_the_system_is_no_refusal_of_the_budget(void **state)
{
    brim_budget *budget;
    void *p;

    (void)state;
    assert_int_equal(brim_budget_create(SIZE_MAX, &budget, NULL), BRIM_OK);
    const brim_alloc *mem = brim_budget_alloc(budget, BRIM_ACCOUNT_OTHER);
    assert_int_equal(mem->alloc(mem->ctx, (size_t)1 << 60, 0, &p), BRIM_E_NOMEM);
    assert_int_equal(brim_budget_live_bytes(budget), 0);
    brim_budget_destroy(budget);
}

static void *take_and_give(void *arg)
{
    brim_budget *budget = arg;
    const brim_alloc *mem = brim_budget_alloc(budget, BRIM_ACCOUNT_RESULTS);

    for (int i = 0; i < 20000; i++) {
        void *p;
        size_t bytes = (size_t)(i % 90 + 1);
        if (mem->alloc(mem->ctx, bytes, 0, &p) == BRIM_OK) brim_alloc_release(mem, p, bytes);
    }
    return NULL;
}

static void many_threads_keep_the_account(void **state)
{
    brim_budget *budget;
    pthread_t threads[4];

    (void)state;
    assert_int_equal(brim_budget_create(200, &budget, NULL), BRIM_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, budget), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(brim_budget_live_bytes(budget), 0);
    assert_true(brim_budget_peak_bytes(budget) <= 200);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_RESULTS).live_bytes, 0);
    brim_budget_destroy(budget);
}

/* ---- With an arena ---- */

/* A budget of n pages, with an arena over pages of the fake's. */
static brim_budget *make_paged(fake_pages *fake, size_t n)
{
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    brim_budget *budget;
    brim_arena *arena;

    fake_pages_init(fake, n, false);
    options.limit_bytes = n * PAGE;
    options.page_bytes = PAGE;
    options.pages = &fake->base;
    assert_int_equal(brim_budget_create(n * PAGE, &budget, NULL), BRIM_OK);
    assert_int_equal(brim_arena_create(&options, &arena, NULL), BRIM_OK);
    brim_budget_set_arena(budget, arena);
    assert_ptr_equal(brim_budget_arena(budget), arena);
    return budget;
}

static void *take(brim_budget *budget, brim_account account, size_t bytes)
{
    const brim_alloc *mem = brim_budget_alloc(budget, account);
    void *p;

    brim_status status = mem->alloc(mem->ctx, bytes, 0, &p);
    assert_true(status == BRIM_OK || (status == BRIM_E_BUDGET && !p));
    return p;
}

static void give(brim_budget *budget, brim_account account, void *p, size_t bytes)
{
    brim_alloc_release(brim_budget_alloc(budget, account), p, bytes);
}

static void end(brim_budget *budget, const fake_pages *fake)
{
    brim_budget_destroy(budget);
    assert_true(fake->is_destroyed);
    if (fake->broken) fail_msg("%s", fake->why);
}

static brim_arena_holding held(const brim_budget *budget)
{
    return brim_arena_held(brim_budget_arena(budget));
}

static void activations_and_tensors_are_blocks_of_the_arena(void **state)
{
    fake_pages fake;
    brim_budget *budget = make_paged(&fake, 10);

    (void)state;
    char *a = take(budget, BRIM_ACCOUNT_ACTIVATIONS, 3 * PAGE - 100);
    char *t = take(budget, BRIM_ACCOUNT_TENSORS, 40);
    char *q = take(budget, BRIM_ACCOUNT_QUEUES, 50);
    assert_true(brim_arena_owns(brim_budget_arena(budget), a));
    assert_true(brim_arena_owns(brim_budget_arena(budget), t));
    assert_false(brim_arena_owns(brim_budget_arena(budget), q));
    /* Accounts tell what was asked for, the budget what is held. */
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_ACTIVATIONS).live_bytes,
                     3 * PAGE - 100);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_TENSORS).live_bytes, 40);
    assert_int_equal(brim_budget_live_bytes(budget), 4 * PAGE + 50);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, a, 1); /* the arena knows better */
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_ACTIVATIONS).live_bytes, 0);
    assert_int_equal(brim_budget_live_bytes(budget), PAGE + 50);
    give(budget, BRIM_ACCOUNT_TENSORS, t, 40);
    give(budget, BRIM_ACCOUNT_QUEUES, q, 50);
    assert_int_equal(brim_budget_live_bytes(budget), 0);
    assert_int_equal(brim_budget_peak_live_bytes(budget), 4 * PAGE + 50);
    assert_int_equal(brim_budget_trim(budget), 4 * PAGE);
    end(budget, &fake);
}

static void the_arena_may_have_what_the_others_leave(void **state)
{
    fake_pages fake;
    brim_budget *budget = make_paged(&fake, 10);
    brim_arena *arena = brim_budget_arena(budget);

    (void)state;
    assert_int_equal(brim_arena_usage_now(arena).limit_bytes, 10 * PAGE);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 4 * PAGE - 1), BRIM_OK);
    assert_int_equal(brim_arena_usage_now(arena).limit_bytes, 6 * PAGE + 1);
    assert_null(take(budget, BRIM_ACCOUNT_ACTIVATIONS, 6 * PAGE + 1)); /* a seventh page */
    char *a = take(budget, BRIM_ACCOUNT_ACTIVATIONS, 6 * PAGE);
    assert_non_null(a);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_SPOOL, 1), BRIM_OK);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_SPOOL, 1), BRIM_E_BUDGET);
    brim_budget_give_back(budget, BRIM_ACCOUNT_DECODERS, 4 * PAGE - 1);
    char *b = take(budget, BRIM_ACCOUNT_ACTIVATIONS, 3 * PAGE);
    assert_non_null(b);
    assert_null(take(budget, BRIM_ACCOUNT_ACTIVATIONS, 1));
    brim_budget_give_back(budget, BRIM_ACCOUNT_SPOOL, 1);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, a, 6 * PAGE);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, b, 3 * PAGE);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_ACTIVATIONS).n_refusals, 2);
    end(budget, &fake);
}

static void an_arena_made_for_less_keeps_its_own_limit(void **state)
{
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    fake_pages fake;
    brim_budget *budget;
    brim_arena *arena;

    (void)state;
    fake_pages_init(&fake, 4, false);
    options.limit_bytes = 4 * PAGE;
    options.page_bytes = PAGE;
    options.pages = &fake.base;
    assert_int_equal(brim_arena_create(&options, &arena, NULL), BRIM_OK);
    assert_int_equal(brim_budget_create(10 * PAGE, &budget, NULL), BRIM_OK);
    brim_budget_set_arena(budget, arena);
    assert_int_equal(brim_arena_usage_now(arena).limit_bytes, 4 * PAGE);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 7 * PAGE), BRIM_OK);
    assert_int_equal(brim_arena_usage_now(arena).limit_bytes, 3 * PAGE);
    brim_budget_give_back(budget, BRIM_ACCOUNT_QUEUES, 7 * PAGE);
    assert_int_equal(brim_arena_usage_now(arena).limit_bytes, 4 * PAGE);
    end(budget, &fake);
}

static void idle_pages_are_given_up_for_other_accounts(void **state)
{
    fake_pages fake;
    brim_budget *budget = make_paged(&fake, 10);

    (void)state;
    char *a = take(budget, BRIM_ACCOUNT_ACTIVATIONS, 3 * PAGE);
    char *b = take(budget, BRIM_ACCOUNT_ACTIVATIONS, 5 * PAGE);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, b, 5 * PAGE);
    assert_int_equal(held(budget).reserved_bytes, 8 * PAGE);
    assert_int_equal(brim_budget_live_bytes(budget), 3 * PAGE);

    /* One that cannot be met takes nothing away. */
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 7 * PAGE + 1),
                     BRIM_E_BUDGET);
    assert_int_equal(held(budget).reserved_bytes, 8 * PAGE);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 2 * PAGE), BRIM_OK);
    assert_int_equal(held(budget).reserved_bytes, 8 * PAGE);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 1), BRIM_OK);
    assert_int_equal(held(budget).reserved_bytes, 7 * PAGE);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 5 * PAGE - 1), BRIM_OK);
    assert_int_equal(held(budget).reserved_bytes, 3 * PAGE);
    assert_int_equal(fake.n_present, 3);

    brim_budget_give_back(budget, BRIM_ACCOUNT_DECODERS, 7 * PAGE);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, a, 3 * PAGE);
    assert_int_equal(brim_budget_peak_bytes(budget), 10 * PAGE);
    end(budget, &fake);
}

static void pages_that_the_system_does_not_take_back_make_no_room(void **state)
{
    fake_pages fake;
    brim_budget *budget = make_paged(&fake, 10);

    (void)state;
    give(budget, BRIM_ACCOUNT_TENSORS, take(budget, BRIM_ACCOUNT_TENSORS, 8 * PAGE), 8 * PAGE);
    fake.fail_always[FAKE_RELEASE] = true;
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 3 * PAGE), BRIM_E_BUDGET);
    assert_int_equal(brim_budget_live_bytes(budget), 0);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 2 * PAGE), BRIM_OK);
    fake.fail_always[FAKE_RELEASE] = false;
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 3 * PAGE), BRIM_OK);
    brim_budget_give_back(budget, BRIM_ACCOUNT_DECODERS, 5 * PAGE);
    assert_int_equal(brim_budget_peak_bytes(budget), 10 * PAGE);
    end(budget, &fake);
}

static void a_system_without_pages_is_no_full_account(void **state)
{
    fake_pages fake;
    brim_budget *budget = make_paged(&fake, 10);
    const brim_alloc *mem = brim_budget_alloc(budget, BRIM_ACCOUNT_ACTIVATIONS);
    void *p;

    (void)state;
    fake.fail_nth[FAKE_FRESH] = 1;
    assert_int_equal(mem->alloc(mem->ctx, PAGE, 0, &p), BRIM_E_NOMEM);
    assert_null(p);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_ACTIVATIONS).n_refusals, 0);
    assert_int_equal(brim_budget_live_bytes(budget), 0);
    end(budget, &fake);
}

/* ---- Floors ---- */

static void what_a_floor_keeps_only_its_account_may_have(void **state)
{
    brim_budget *budget;

    (void)state;
    assert_int_equal(brim_budget_create(1000, &budget, NULL), BRIM_OK);
    brim_budget_set_floor(budget, BRIM_ACCOUNT_DECODERS, 300);
    brim_budget_set_floor(budget, BRIM_ACCOUNT_ACTIVATIONS, 200);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_DECODERS).floor_bytes, 300);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 501), BRIM_E_BUDGET);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 500), BRIM_OK);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 1), BRIM_E_BUDGET);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 301), BRIM_E_BUDGET);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 300), BRIM_OK);
    /* Given back, it is kept again. */
    brim_budget_give_back(budget, BRIM_ACCOUNT_DECODERS, 100);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 1), BRIM_E_BUDGET);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_ACTIVATIONS, 200), BRIM_OK);

    brim_budget_lift_floors(budget);
    brim_budget_lift_floors(budget);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 50), BRIM_OK);
    brim_budget_restore_floors(budget);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 25), BRIM_OK);
    brim_budget_restore_floors(budget);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 1), BRIM_E_BUDGET);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 25), BRIM_OK);
    assert_int_equal(brim_budget_live_bytes(budget), 1000);

    brim_budget_set_floor(budget, BRIM_ACCOUNT_DECODERS, SIZE_MAX);
    brim_budget_set_floor(budget, BRIM_ACCOUNT_TENSORS, SIZE_MAX);
    brim_budget_give_back(budget, BRIM_ACCOUNT_QUEUES, 575);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 1), BRIM_E_BUDGET);
    brim_budget_destroy(budget);
}

/* A block takes whole pages: what it cuts off must not be another account's floor. */
static void no_page_of_the_arena_cuts_into_a_floor(void **state)
{
    fake_pages fake;
    brim_budget *budget = make_paged(&fake, 10);

    (void)state;
    brim_budget_set_floor(budget, BRIM_ACCOUNT_DECODERS, 5 * PAGE + 1);
    assert_null(take(budget, BRIM_ACCOUNT_ACTIVATIONS, 4 * PAGE + 10)); /* five pages */
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_ACTIVATIONS).live_bytes, 0);
    assert_int_equal(brim_budget_live_bytes(budget), 0);
    char *a = take(budget, BRIM_ACCOUNT_ACTIVATIONS, 4 * PAGE);
    assert_non_null(a);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 5 * PAGE + 1), BRIM_OK);
    assert_true(held(budget).reserved_bytes + 5 * PAGE + 1 <= 10 * PAGE);
    brim_budget_give_back(budget, BRIM_ACCOUNT_DECODERS, 5 * PAGE + 1);

    brim_budget_lift_floors(budget);
    char *b = take(budget, BRIM_ACCOUNT_ACTIVATIONS, 6 * PAGE);
    assert_non_null(b);
    brim_budget_restore_floors(budget);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 1), BRIM_E_BUDGET);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, a, 4 * PAGE);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, b, 6 * PAGE);
    end(budget, &fake);
}

/* Idle pages within an arena account's floor stay where they are. */
static void a_floor_keeps_idle_pages_warm(void **state)
{
    fake_pages fake;
    brim_budget *budget = make_paged(&fake, 10);

    (void)state;
    brim_budget_set_floor(budget, BRIM_ACCOUNT_ACTIVATIONS, 6 * PAGE);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, take(budget, BRIM_ACCOUNT_ACTIVATIONS, 8 * PAGE),
         8 * PAGE);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 4 * PAGE), BRIM_OK);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, 1), BRIM_E_BUDGET);
    assert_int_equal(held(budget).reserved_bytes, 6 * PAGE);
    brim_budget_give_back(budget, BRIM_ACCOUNT_DECODERS, 4 * PAGE);
    end(budget, &fake);
}

/* ---- What is measured ---- */

static bool is_near(size_t a, size_t b, size_t off)
{
    return a <= b + off && b <= a + off;
}

/* Resident for certain. */
static char *touched(size_t bytes)
{
    char *p = malloc(bytes);

    memset(p, 7, bytes);
    return p;
}

static void what_is_resident_beyond_the_accounts_is_measured(void **state)
{
    enum { MIB = 1 << 20, MUCH = 64 * MIB };
    const size_t OFF = 6 * MIB;
    fake_pages fake;

    (void)state;
    size_t before = brim_system_resident_bytes();
    brim_budget *budget = make_paged(&fake, (4 * before + 8 * (size_t)MUCH) / PAGE);
    assert_int_equal(brim_budget_measure(budget, 0), BRIM_OK);
    size_t unrouted = brim_budget_usage(budget, BRIM_ACCOUNT_UNROUTED).live_bytes;
    assert_true(is_near(unrouted, before + before / 10, OFF));
    assert_int_equal(brim_budget_live_bytes(budget), unrouted);

    /* What is in an account already is not counted twice. */
    char *q = take(budget, BRIM_ACCOUNT_QUEUES, MUCH);
    memset(q, 7, MUCH);
    char *a = take(budget, BRIM_ACCOUNT_ACTIVATIONS, MUCH);
    memset(a, 7, MUCH);
    assert_int_equal(brim_budget_measure(budget, 0), BRIM_OK);
    assert_true(
        is_near(brim_budget_usage(budget, BRIM_ACCOUNT_UNROUTED).live_bytes, unrouted, OFF));

    char *library = touched(2 * MUCH);
    assert_int_equal(brim_budget_measure(budget, 0), BRIM_OK);
    size_t more = brim_budget_usage(budget, BRIM_ACCOUNT_UNROUTED).live_bytes;
    assert_true(is_near(more, unrouted + 2 * MUCH + 2 * MUCH / 10, OFF));
    free(library);
    assert_int_equal(brim_budget_measure(budget, 0), BRIM_OK); /* it may come back at any time */
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_UNROUTED).live_bytes, more);
    give(budget, BRIM_ACCOUNT_QUEUES, q, MUCH);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, a, MUCH);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_UNROUTED).n_refusals, 0);
    end(budget, &fake);
}

static void beyond_the_limit_everything_is_refused_until_enough_is_back(void **state)
{
    size_t resident = brim_system_resident_bytes();
    brim_budget *budget;

    (void)state;
    size_t limit = resident / 10 * 9;
    assert_int_equal(brim_budget_create(limit, &budget, NULL), BRIM_OK);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_DECODERS, resident / 2), BRIM_OK);
    assert_int_equal(brim_budget_measure(budget, 0), BRIM_E_BUDGET);
    assert_true(brim_budget_live_bytes(budget) > limit);
    assert_true(brim_budget_peak_bytes(budget) > limit);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 1), BRIM_E_BUDGET);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 0), BRIM_OK);
    assert_null(take(budget, BRIM_ACCOUNT_TENSORS, 1));
    brim_budget_give_back(budget, BRIM_ACCOUNT_DECODERS, resident / 2);
    assert_int_equal(brim_budget_reserve(budget, BRIM_ACCOUNT_QUEUES, 1), BRIM_OK);
    brim_budget_destroy(budget);
}

static void beyond_the_limit_the_arena_shrinks_with_its_blocks(void **state)
{
    fake_pages fake;
    brim_budget *budget = make_paged(&fake, 10); /* far less than this process has resident */

    (void)state;
    char *a = take(budget, BRIM_ACCOUNT_ACTIVATIONS, 3 * PAGE);
    char *b = take(budget, BRIM_ACCOUNT_ACTIVATIONS, 2 * PAGE);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, take(budget, BRIM_ACCOUNT_ACTIVATIONS, 4 * PAGE), 0);
    assert_int_equal(held(budget).reserved_bytes, 9 * PAGE);
    assert_int_equal(brim_budget_measure(budget, 0), BRIM_E_BUDGET);
    assert_int_equal(held(budget).reserved_bytes, 5 * PAGE);
    assert_null(take(budget, BRIM_ACCOUNT_ACTIVATIONS, 1));
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, b, 2 * PAGE);
    assert_int_equal(held(budget).reserved_bytes, 3 * PAGE);
    assert_null(take(budget, BRIM_ACCOUNT_TENSORS, 1));
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, a, 3 * PAGE);
    assert_int_equal(fake.n_present, 0);
    assert_int_equal(brim_budget_measure(budget, 0), BRIM_E_BUDGET);
    end(budget, &fake);
}

static void peaks_start_anew_when_told(void **state)
{
    fake_pages fake;
    brim_budget *budget = make_paged(&fake, 10);

    (void)state;
    char *a = take(budget, BRIM_ACCOUNT_ACTIVATIONS, PAGE);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, take(budget, BRIM_ACCOUNT_ACTIVATIONS, 6 * PAGE), 0);
    assert_int_equal(brim_budget_peak_bytes(budget), 7 * PAGE);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_ACTIVATIONS).peak_bytes, 7 * PAGE);
    brim_budget_reset_peak(budget);
    assert_int_equal(brim_budget_peak_bytes(budget), 7 * PAGE); /* they lie there idle */
    assert_int_equal(brim_budget_peak_live_bytes(budget), PAGE);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_ACTIVATIONS).peak_bytes, PAGE);
    assert_int_equal(brim_arena_usage_now(brim_budget_arena(budget)).peak_live_bytes, PAGE);
    assert_int_equal(brim_budget_trim(budget), 6 * PAGE);
    brim_budget_reset_peak(budget);
    assert_int_equal(brim_budget_peak_bytes(budget), PAGE);
    give(budget, BRIM_ACCOUNT_ACTIVATIONS, a, PAGE);
    end(budget, &fake);
}

/* ---- All at once ---- */

enum { MAX_HELD = 24, N_CROWD = 4 };

typedef struct crowd {
    brim_budget *budget;
    atomic_size_t granted_bytes; /* raised after a grant, lowered before it is given back */
    atomic_bool done;
    size_t floor_bytes; /* of decoders, who must never be refused below it */
    bool exceeded;
} crowd;

typedef struct taken {
    brim_account account;
    void *p; /* NULL: reserved */
    size_t bytes;
} taken;

static void take_something(crowd *all, unsigned *seed, taken *out)
{
    static const brim_account ACCOUNTS[] = {BRIM_ACCOUNT_ACTIVATIONS, BRIM_ACCOUNT_TENSORS,
                                            BRIM_ACCOUNT_QUEUES, BRIM_ACCOUNT_RESULTS};
    unsigned kind = (unsigned)rand_r(seed) % 4;
    taken it = {.account = ACCOUNTS[kind], .bytes = (size_t)rand_r(seed) % (4 * PAGE) + 1};
    brim_status status = BRIM_OK;

    if (it.account == BRIM_ACCOUNT_RESULTS)
        status = brim_budget_reserve(all->budget, it.account, it.bytes);
    else if (!(it.p = take(all->budget, it.account, it.bytes)))
        status = BRIM_E_BUDGET;
    if (status != BRIM_OK) return;
    if (it.p) memset(it.p, (int)kind, it.bytes);
    size_t granted = atomic_fetch_add(&all->granted_bytes, it.bytes) + it.bytes;
    if (granted > brim_budget_limit_bytes(all->budget)) all->exceeded = true;
    *out = it;
}

static void give_it_back(crowd *all, taken *it)
{
    atomic_fetch_sub(&all->granted_bytes, it->bytes);
    if (it->p)
        give(all->budget, it->account, it->p, it->bytes);
    else
        brim_budget_give_back(all->budget, it->account, it->bytes);
    *it = (taken){0};
}

static void *push_and_shove(void *arg)
{
    static atomic_uint n_seeds = 1;
    crowd *all = arg;
    taken mine[MAX_HELD] = {0};
    unsigned seed = atomic_fetch_add(&n_seeds, 1);

    for (int i = 0; i < N_STRESS; i++) {
        taken *it = &mine[rand_r(&seed) % MAX_HELD];
        if (it->bytes > 0)
            give_it_back(all, it);
        else
            take_something(all, &seed, it);
        if (i % 512 == 0) brim_budget_trim(all->budget);
    }
    for (int i = 0; i < MAX_HELD; i++)
        if (mine[i].bytes > 0) give_it_back(all, &mine[i]);
    return NULL;
}

/* The one with a floor: up to it nobody may keep him out. Returns NULL if so. */
static void *insist(void *arg)
{
    crowd *all = arg;
    unsigned seed = 4711;

    while (!atomic_load(&all->done)) {
        size_t first = (size_t)rand_r(&seed) % all->floor_bytes, rest = all->floor_bytes - first;
        if (brim_budget_reserve(all->budget, BRIM_ACCOUNT_DECODERS, first) != BRIM_OK) return arg;
        if (brim_budget_reserve(all->budget, BRIM_ACCOUNT_DECODERS, rest) != BRIM_OK) return arg;
        brim_budget_give_back(all->budget, BRIM_ACCOUNT_DECODERS, all->floor_bytes);
    }
    return NULL;
}

static void a_crowd_over_one_arena_never_exceeds_the_limit(void **state)
{
    fake_pages fake;
    pthread_t threads[N_CROWD], insisting;
    brim_budget *budget = make_paged(&fake, 40);
    crowd all = {.budget = budget, .floor_bytes = 7 * PAGE + 123};
    void *refused = NULL;
    brim_error err;

    (void)state;
    brim_budget_set_floor(budget, BRIM_ACCOUNT_DECODERS, all.floor_bytes);
    assert_int_equal(pthread_create(&insisting, NULL, insist, &all), 0);
    for (int i = 0; i < N_CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push_and_shove, &all), 0);
    for (int i = 0; i < N_CROWD; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&all.done, true);
    pthread_join(insisting, &refused);

    assert_null(refused);
    assert_false(all.exceeded);
    assert_true(brim_budget_usage(budget, BRIM_ACCOUNT_ACTIVATIONS).n_refusals > 0);
    assert_int_equal(brim_budget_usage(budget, BRIM_ACCOUNT_DECODERS).n_refusals, 0);
    assert_int_equal(brim_budget_live_bytes(budget), 0);
    assert_true(brim_budget_peak_bytes(budget) <= 40 * PAGE);
    for (int i = 0; i < BRIM_N_ACCOUNTS; i++)
        assert_int_equal(brim_budget_usage(budget, (brim_account)i).live_bytes, 0);
    if (brim_arena_check(brim_budget_arena(budget), &err) != BRIM_OK) fail_msg("%s", err.message);
    brim_budget_trim(budget);
    assert_int_equal(fake.n_present, 0);
    end(budget, &fake);
}

static void by_itself_it_takes_four_fifths_of_what_is_free(void **state)
{
    brim_budget *budget;

    (void)state;
    assert_int_equal(brim_budget_create(0, &budget, NULL), BRIM_OK);
    double free_bytes = (double)brim_memory_free_bytes("");
    double limit = (double)brim_budget_limit_bytes(budget);
    assert_true(limit > 0.6 * free_bytes && limit < 0.95 * free_bytes);
    brim_budget_destroy(budget);
}

static void names_every_account(void **state)
{
    (void)state;
    for (int i = 0; i < BRIM_N_ACCOUNTS; i++)
        assert_string_not_equal(brim_account_name((brim_account)i), "unknown");
    assert_string_equal(brim_account_name(BRIM_N_ACCOUNTS), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_gives_more_than_the_limit),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(a_refusal_of_the_system_is_no_refusal_of_the_budget),
#endif
        cmocka_unit_test(many_threads_keep_the_account),
        cmocka_unit_test(activations_and_tensors_are_blocks_of_the_arena),
        cmocka_unit_test(the_arena_may_have_what_the_others_leave),
        cmocka_unit_test(an_arena_made_for_less_keeps_its_own_limit),
        cmocka_unit_test(idle_pages_are_given_up_for_other_accounts),
        cmocka_unit_test(pages_that_the_system_does_not_take_back_make_no_room),
        cmocka_unit_test(a_system_without_pages_is_no_full_account),
        cmocka_unit_test(what_a_floor_keeps_only_its_account_may_have),
        cmocka_unit_test(no_page_of_the_arena_cuts_into_a_floor),
        cmocka_unit_test(a_floor_keeps_idle_pages_warm),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(what_is_resident_beyond_the_accounts_is_measured),
#endif
        cmocka_unit_test(beyond_the_limit_everything_is_refused_until_enough_is_back),
        cmocka_unit_test(beyond_the_limit_the_arena_shrinks_with_its_blocks),
        cmocka_unit_test(peaks_start_anew_when_told),
        cmocka_unit_test(a_crowd_over_one_arena_never_exceeds_the_limit),
        cmocka_unit_test(by_itself_it_takes_four_fifths_of_what_is_free),
        cmocka_unit_test(names_every_account),
    };
    /* Sanitizers end the process there, ... */
    (void)a_refusal_of_the_system_is_no_refusal_of_the_budget;
    /* ... and have memory of their own that grows with ours. */
    (void)what_is_resident_beyond_the_accounts_is_measured;
    return cmocka_run_group_tests_name("memory/budget", tests, NULL, NULL);
}
