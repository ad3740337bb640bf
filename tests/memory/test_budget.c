/* Tests of src/memory/budget.c. */
#include <pthread.h>

#include "brimful/memory.h"
#include "support/cmocka_all.h"

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
        cmocka_unit_test(by_itself_it_takes_four_fifths_of_what_is_free),
        cmocka_unit_test(names_every_account),
    };
    (void)
        a_refusal_of_the_system_is_no_refusal_of_the_budget; /* sanitizers end the process there */
    return cmocka_run_group_tests_name("memory/budget", tests, NULL, NULL);
}
