/*
 * budget.c - a hard limit over the C heap, and accounts that say what the bytes are for.
 *
 * One compare-and-swap on the total decides a request before any memory is asked for, so the sum of
 * the accounts is never above the limit, whatever the threads do. (The paged arena will stand
 * behind the same allocators.)
 */
#include "brimful/memory.h"

#include <stdatomic.h>

#include "base/fail.h"

static const double DEFAULT_FRACTION = 0.8;

typedef struct account {
    brim_alloc alloc; /* alloc.ctx points back here */
    brim_budget *budget;
    atomic_size_t live_bytes, peak_bytes;
    atomic_uint_fast64_t n_refusals;
} account;

struct brim_budget {
    size_t limit_bytes;
    atomic_size_t live_bytes, peak_bytes;
    account accounts[BRIM_N_ACCOUNTS];
};

const char *brim_account_name(brim_account which)
{
    static const char *const NAMES[BRIM_N_ACCOUNTS] = {
        [BRIM_ACCOUNT_ACTIVATIONS] = "activations", [BRIM_ACCOUNT_TENSORS] = "tensors",
        [BRIM_ACCOUNT_DECODERS] = "decoders",       [BRIM_ACCOUNT_QUEUES] = "queues",
        [BRIM_ACCOUNT_RESULTS] = "results",         [BRIM_ACCOUNT_OTHER] = "other",
    };
    return (unsigned)which < BRIM_N_ACCOUNTS ? NAMES[which] : "unknown";
}

static void raise_peak(atomic_size_t *peak, size_t seen)
{
    size_t known = atomic_load_explicit(peak, memory_order_relaxed);

    while (known < seen && !atomic_compare_exchange_weak(peak, &known, seen))
        ;
}

static brim_status charge(account *acc, size_t bytes)
{
    brim_budget *budget = acc->budget;
    size_t live = atomic_load_explicit(&budget->live_bytes, memory_order_relaxed);

    do {
        if (bytes > budget->limit_bytes || live > budget->limit_bytes - bytes) {
            atomic_fetch_add(&acc->n_refusals, 1);
            return BRIM_E_BUDGET;
        }
    } while (!atomic_compare_exchange_weak(&budget->live_bytes, &live, live + bytes));
    raise_peak(&budget->peak_bytes, live + bytes);
    raise_peak(&acc->peak_bytes, atomic_fetch_add(&acc->live_bytes, bytes) + bytes);
    return BRIM_OK;
}

static void discharge(account *acc, size_t bytes)
{
    atomic_fetch_sub(&acc->live_bytes, bytes);
    atomic_fetch_sub(&acc->budget->live_bytes, bytes);
}

static brim_status account_alloc(void *ctx, size_t bytes, size_t align, void **out)
{
    account *acc = ctx;
    const brim_alloc *heap = brim_heap();

    *out = NULL;
    brim_status status = charge(acc, bytes);
    if (status != BRIM_OK) return status;
    status = heap->alloc(heap->ctx, bytes, align, out);
    if (status != BRIM_OK) discharge(acc, bytes);
    return status;
}

static void account_release(void *ctx, void *p, size_t bytes)
{
    const brim_alloc *heap = brim_heap();

    if (!p) return;
    heap->release(heap->ctx, p, bytes);
    discharge(ctx, bytes);
}

brim_status brim_budget_create(size_t limit_bytes, brim_budget **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    if (limit_bytes == 0) {
        size_t free_bytes = brim_memory_free_bytes("");
        if (free_bytes == 0)
            return brim_fail(err, BRIM_E_ARG,
                             "cannot find out how much memory is free: give a limit (--memory)");
        limit_bytes = (size_t)((double)free_bytes * DEFAULT_FRACTION);
    }
    brim_budget *self = brim_alloc_zeroed(brim_heap(), sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "no memory for a budget");
    self->limit_bytes = limit_bytes;
    for (size_t i = 0; i < BRIM_N_ACCOUNTS; i++) {
        account *acc = &self->accounts[i];
        acc->budget = self;
        acc->alloc = (brim_alloc){account_alloc, account_release, acc};
    }
    *out = self;
    return BRIM_OK;
}

void brim_budget_destroy(brim_budget *budget)
{
    brim_alloc_release(brim_heap(), budget, sizeof(*budget));
}

const brim_alloc *brim_budget_alloc(brim_budget *budget, brim_account which)
{
    return &budget->accounts[which].alloc;
}

brim_status brim_budget_reserve(brim_budget *budget, brim_account which, size_t bytes)
{
    return charge(&budget->accounts[which], bytes);
}

void brim_budget_give_back(brim_budget *budget, brim_account which, size_t bytes)
{
    discharge(&budget->accounts[which], bytes);
}

size_t brim_budget_limit_bytes(const brim_budget *budget)
{
    return budget->limit_bytes;
}

size_t brim_budget_live_bytes(const brim_budget *budget)
{
    return atomic_load(&budget->live_bytes);
}

size_t brim_budget_peak_bytes(const brim_budget *budget)
{
    return atomic_load(&budget->peak_bytes);
}

brim_account_usage brim_budget_usage(const brim_budget *budget, brim_account which)
{
    const account *acc = &budget->accounts[which];

    return (brim_account_usage){
        .live_bytes = atomic_load(&acc->live_bytes),
        .peak_bytes = atomic_load(&acc->peak_bytes),
        .n_refusals = atomic_load(&acc->n_refusals),
    };
}
