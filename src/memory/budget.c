/*
 * budget.c - a hard limit, and accounts that say what the bytes are for.
 *
 * What is held is two sums: the charges (blocks of the heap, reservations, what was measured), and
 * the pages of the arena. After every call charges + pages <= limit, because the arena's own limit
 * is kept at what the charges leave. Pages that lie idle in the arena are nobody's: a charge that
 * needs their room has them given back to the system first.
 *
 * Only what was measured can break this: it is a fact and is charged even where it does not fit.
 * Then nothing more is given out, and the arena shrinks as its blocks come back.
 */
#include "brimful/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/fail.h"
#include "base/system.h"
#include "brimful/arena.h"

static const double DEFAULT_FRACTION = 0.8;

/* What libraries take grows somewhat after it was measured. */
static const double HEADROOM = 1.1;
/* Looking closer costs milliseconds: less than this more is within the headroom. */
static const size_t WORTH_CHARGING = 1u << 20;

typedef struct account {
    brim_alloc alloc; /* alloc.ctx points back here */
    brim_budget *budget;
    size_t live_bytes, peak_bytes, floor_bytes; /* guarded by the budget's lock */
    size_t base_bytes;                          /* live when first measured; too */
    uint64_t n_refusals;                        /* too */
} account;

struct brim_budget {
    brim_budget *next; /* of all in the process; guarded by ALL.lock */
    size_t limit_bytes;
    brim_arena *arena;      /* set before the first allocation */
    size_t arena_max_bytes; /* the highest limit it may have; set with it */
    pthread_mutex_t lock;   /* taken before the arena's own; guards all below */
    size_t charged_bytes;   /* all that is not pages of the arena */
    size_t peak_bytes, peak_live_bytes;
    size_t n_lifted;
    bool is_measured;
    size_t loaded_bytes; /* pages in use when first measured */
    account accounts[BRIM_N_ACCOUNTS];
};

/* The system knows what the process holds, not what a budget does: one is measured among all. */
static struct {
    pthread_mutex_t lock; /* taken before any budget's */
    brim_budget *first;
} ALL = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *brim_account_name(brim_account which)
{
    static const char *const NAMES[BRIM_N_ACCOUNTS] = {
        [BRIM_ACCOUNT_ACTIVATIONS] = "activations",
        [BRIM_ACCOUNT_TENSORS] = "tensors",
        [BRIM_ACCOUNT_DECODERS] = "decoders",
        [BRIM_ACCOUNT_QUEUES] = "queues",
        [BRIM_ACCOUNT_SPOOL] = "spool",
        [BRIM_ACCOUNT_RESULTS] = "results",
        [BRIM_ACCOUNT_UNROUTED] = "unrouted",
        [BRIM_ACCOUNT_OTHER] = "other",
    };
    return (unsigned)which < BRIM_N_ACCOUNTS ? NAMES[which] : "unknown";
}

/* ---- Under the lock ---- */

/* The lock is no part of a budget's value: asking changes nothing. */
static void enter(const brim_budget *budget)
{
    pthread_mutex_lock((pthread_mutex_t *)&budget->lock);
}

static void leave(const brim_budget *budget)
{
    pthread_mutex_unlock((pthread_mutex_t *)&budget->lock);
}

static brim_arena_holding arena_held(const brim_budget *self)
{
    return self->arena ? brim_arena_held(self->arena) : (brim_arena_holding){0};
}

static size_t capped_sum(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

/* What floors keep for accounts other than this one. */
static size_t kept_for_others(const account *acc)
{
    const brim_budget *self = acc->budget;
    size_t kept = 0;

    for (size_t i = 0; i < BRIM_N_ACCOUNTS && self->n_lifted == 0; i++) {
        const account *other = &self->accounts[i];
        size_t kept_for_it = capped_sum(other->base_bytes, other->floor_bytes);
        if (other != acc && other->floor_bytes > 0 && kept_for_it > other->live_bytes)
            kept = capped_sum(kept, kept_for_it - other->live_bytes);
    }
    return kept;
}

static bool fits(const account *acc, size_t bytes)
{
    const brim_budget *self = acc->budget;
    size_t wanted = capped_sum(bytes, kept_for_others(acc));
    size_t live = capped_sum(self->charged_bytes, arena_held(self).in_use_bytes);

    return live <= self->limit_bytes && wanted <= self->limit_bytes - live;
}

static void raise_peak(size_t *peak, size_t seen)
{
    if (*peak < seen) *peak = seen;
}

static void note_peaks(brim_budget *self)
{
    brim_arena_holding held = arena_held(self);

    raise_peak(&self->peak_bytes, self->charged_bytes + held.reserved_bytes);
    raise_peak(&self->peak_live_bytes, self->charged_bytes + held.in_use_bytes);
}

/*
 * Leaves the arena what `charged` leaves, but never less than its blocks need: that much only where
 * the limit is exceeded already. Fails where the system will not take idle pages back.
 */
static brim_status limit_arena(const brim_budget *self, size_t charged)
{
    size_t in_use = arena_held(self).in_use_bytes;
    size_t left = charged < self->limit_bytes ? self->limit_bytes - charged : 0;

    if (!self->arena) return BRIM_OK;
    if (left > self->arena_max_bytes) left = self->arena_max_bytes;
    return brim_arena_set_limit(self->arena, left > in_use ? left : in_use);
}

static void add_to_account(account *acc, size_t bytes)
{
    acc->live_bytes += bytes;
    raise_peak(&acc->peak_bytes, acc->live_bytes);
    note_peaks(acc->budget);
}

static void take_from_account(account *acc, size_t bytes)
{
    assert(bytes <= acc->live_bytes);
    acc->live_bytes -= bytes;
}

/* ---- Charges ---- */

static brim_status charge(account *acc, size_t bytes)
{
    brim_budget *self = acc->budget;
    brim_status status = BRIM_OK;

    if (bytes == 0) return BRIM_OK;
    enter(self);
    if (!fits(acc, bytes) || limit_arena(self, self->charged_bytes + bytes) != BRIM_OK) {
        acc->n_refusals++;
        status = BRIM_E_BUDGET;
    } else {
        self->charged_bytes += bytes;
        add_to_account(acc, bytes);
    }
    leave(self);
    return status;
}

static void discharge(account *acc, size_t bytes)
{
    brim_budget *self = acc->budget;

    enter(self);
    take_from_account(acc, bytes);
    self->charged_bytes -= bytes;
    limit_arena(self, self->charged_bytes);
    leave(self);
}

static brim_status take_from_heap(account *acc, size_t bytes, size_t align, void **out)
{
    const brim_alloc *heap = brim_heap();

    brim_status status = charge(acc, bytes);
    if (status != BRIM_OK) return status;
    status = heap->alloc(heap->ctx, bytes, align, out);
    if (status != BRIM_OK) discharge(acc, bytes);
    return status;
}

/* ---- Blocks of the arena ---- */

/*
 * A block may take a whole page more than it asked for, which can be known only afterwards: one
 * that has cut into what floors keep is given back.
 */
static brim_status take_from_arena(account *acc, size_t bytes, size_t align, void **out)
{
    brim_budget *self = acc->budget;
    const brim_alloc *blocks = brim_arena_alloc(self->arena);

    if (bytes == 0) bytes = 1;
    enter(self);
    brim_status status = BRIM_E_BUDGET;
    if (fits(acc, bytes)) status = blocks->alloc(blocks->ctx, bytes, align, out);
    if (status == BRIM_OK && !fits(acc, 0)) {
        blocks->release(blocks->ctx, *out, bytes);
        *out = NULL;
        status = BRIM_E_BUDGET;
    }
    if (status == BRIM_OK)
        add_to_account(acc, bytes);
    else
        note_peaks(self);
    acc->n_refusals += status == BRIM_E_BUDGET;
    leave(self);
    return status;
}

static void give_back_to_arena(account *acc, void *p)
{
    brim_budget *self = acc->budget;
    const brim_alloc *blocks = brim_arena_alloc(self->arena);

    enter(self);
    size_t bytes = brim_arena_size_of(self->arena, p);
    blocks->release(blocks->ctx, p, bytes);
    take_from_account(acc, bytes);
    if (self->charged_bytes + arena_held(self).reserved_bytes > self->limit_bytes)
        limit_arena(self, self->charged_bytes);
    leave(self);
}

/* ---- The accounts as allocators ---- */

static bool is_routed(const account *acc)
{
    const brim_budget *self = acc->budget;

    return self->arena && (acc == &self->accounts[BRIM_ACCOUNT_ACTIVATIONS] ||
                           acc == &self->accounts[BRIM_ACCOUNT_TENSORS] ||
                           acc == &self->accounts[BRIM_ACCOUNT_DECODERS]);
}

static brim_status account_alloc(void *ctx, size_t bytes, size_t align, void **out)
{
    account *acc = ctx;

    *out = NULL;
    return is_routed(acc) ? take_from_arena(acc, bytes, align, out)
                          : take_from_heap(acc, bytes, align, out);
}

static void account_release(void *ctx, void *p, size_t bytes)
{
    account *acc = ctx;
    const brim_alloc *heap = brim_heap();

    if (!p) return;
    if (is_routed(acc)) {
        give_back_to_arena(acc, p);
        return;
    }
    heap->release(heap->ctx, p, bytes);
    discharge(acc, bytes);
}

/* ---- Making and ending ---- */

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
    if (pthread_mutex_init(&self->lock, NULL) != 0) {
        brim_alloc_release(brim_heap(), self, sizeof(*self));
        return brim_fail(err, BRIM_E_NOMEM, "no memory for a budget");
    }
    self->limit_bytes = limit_bytes;
    for (size_t i = 0; i < BRIM_N_ACCOUNTS; i++) {
        account *acc = &self->accounts[i];
        acc->budget = self;
        acc->alloc = (brim_alloc){account_alloc, account_release, acc};
    }
    pthread_mutex_lock(&ALL.lock);
    self->next = ALL.first;
    ALL.first = self;
    pthread_mutex_unlock(&ALL.lock);
    *out = self;
    return BRIM_OK;
}

void brim_budget_destroy(brim_budget *budget)
{
    if (!budget) return;
    pthread_mutex_lock(&ALL.lock);
    brim_budget **link = &ALL.first;
    while (*link != budget)
        link = &(*link)->next;
    *link = budget->next;
    pthread_mutex_unlock(&ALL.lock);
    brim_arena_destroy(budget->arena);
    pthread_mutex_destroy(&budget->lock);
    brim_alloc_release(brim_heap(), budget, sizeof(*budget));
}

void brim_budget_set_arena(brim_budget *budget, brim_arena *arena)
{
    enter(budget);
    assert(!budget->arena && budget->accounts[BRIM_ACCOUNT_ACTIVATIONS].live_bytes == 0 &&
           budget->accounts[BRIM_ACCOUNT_TENSORS].live_bytes == 0 &&
           budget->accounts[BRIM_ACCOUNT_DECODERS].live_bytes == 0);
    budget->arena = arena;
    budget->arena_max_bytes = budget->limit_bytes;
    if (limit_arena(budget, budget->charged_bytes) == BRIM_E_ARG) /* it was made for less */
        budget->arena_max_bytes = brim_arena_usage_now(arena).limit_bytes;
    limit_arena(budget, budget->charged_bytes);
    leave(budget);
}

brim_arena *brim_budget_arena(const brim_budget *budget)
{
    return budget->arena;
}

/* ---- The rest of the interface ---- */

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
    if (bytes > 0) discharge(&budget->accounts[which], bytes);
}

void brim_budget_set_floor(brim_budget *budget, brim_account which, size_t bytes)
{
    enter(budget);
    budget->accounts[which].floor_bytes = bytes;
    leave(budget);
}

void brim_budget_lift_floors(brim_budget *budget)
{
    enter(budget);
    budget->n_lifted++;
    leave(budget);
}

void brim_budget_restore_floors(brim_budget *budget)
{
    enter(budget);
    assert(budget->n_lifted > 0);
    budget->n_lifted--;
    leave(budget);
}

/* Under the lock: nothing is charged or given back between the two figures. */
static size_t held_without_unrouted(const brim_budget *self)
{
    return self->charged_bytes - self->accounts[BRIM_ACCOUNT_UNROUTED].live_bytes +
           arena_held(self).reserved_bytes;
}

static size_t held_by_others(const brim_budget *self)
{
    size_t sum = 0;

    pthread_mutex_lock(&ALL.lock);
    for (const brim_budget *other = ALL.first; other; other = other->next) {
        if (other == self) continue;
        enter(other);
        sum = capped_sum(sum, held_without_unrouted(other));
        leave(other);
    }
    pthread_mutex_unlock(&ALL.lock);
    return sum;
}

/* What is resident and in no account, with headroom. Called with the lock held. */
static size_t measure_unrouted(const brim_budget *self, size_t others, size_t untouched)
{
    size_t resident = brim_system_resident_bytes();
    size_t ours = held_without_unrouted(self);

    ours = capped_sum(ours > untouched ? ours - untouched : 0, others);
    return resident > ours ? (size_t)((double)(resident - ours) * HEADROOM) : 0;
}

/* From now on floors are on top of this. Called with the lock held. */
static void note_what_is_loaded(brim_budget *self)
{
    self->is_measured = true;
    self->loaded_bytes = arena_held(self).in_use_bytes;
    for (size_t i = 0; i < BRIM_N_ACCOUNTS; i++)
        self->accounts[i].base_bytes = self->accounts[i].live_bytes;
}

brim_status brim_budget_measure(brim_budget *budget, size_t untouched_bytes)
{
    account *acc = &budget->accounts[BRIM_ACCOUNT_UNROUTED];
    size_t others = held_by_others(budget);

    enter(budget);
    if (!budget->is_measured) note_what_is_loaded(budget);
    size_t known = acc->live_bytes > 0 ? acc->live_bytes + WORTH_CHARGING : 0;
    bool is_higher = measure_unrouted(budget, others, untouched_bytes) > known;
    leave(budget);
    /* What the C heap keeps of blocks that were freed is nobody's; it need not stay resident. */
    if (is_higher) brim_system_trim_heap();

    enter(budget);
    size_t measured = is_higher ? measure_unrouted(budget, others, untouched_bytes) : 0;
    if (measured > acc->live_bytes) {
        size_t more = measured - acc->live_bytes;
        limit_arena(budget, budget->charged_bytes + more);
        budget->charged_bytes += more;
        add_to_account(acc, more);
    }
    size_t held = budget->charged_bytes + arena_held(budget).reserved_bytes;
    leave(budget);
    return held <= budget->limit_bytes ? BRIM_OK : BRIM_E_BUDGET;
}

size_t brim_budget_trim(brim_budget *budget)
{
    return budget->arena ? brim_arena_trim(budget->arena, 0) : 0;
}

size_t brim_budget_limit_bytes(const brim_budget *budget)
{
    return budget->limit_bytes;
}

size_t brim_budget_usable_bytes(const brim_budget *budget)
{
    enter(budget);
    size_t taken = budget->accounts[BRIM_ACCOUNT_UNROUTED].live_bytes + budget->loaded_bytes;
    leave(budget);
    return budget->limit_bytes > taken ? budget->limit_bytes - taken : 0;
}

size_t brim_budget_live_bytes(const brim_budget *budget)
{
    enter(budget);
    size_t bytes = budget->charged_bytes + arena_held(budget).in_use_bytes;
    leave(budget);
    return bytes;
}

size_t brim_budget_peak_live_bytes(const brim_budget *budget)
{
    enter(budget);
    size_t bytes = budget->peak_live_bytes;
    leave(budget);
    return bytes;
}

size_t brim_budget_peak_bytes(const brim_budget *budget)
{
    enter(budget);
    size_t bytes = budget->peak_bytes;
    leave(budget);
    return bytes;
}

brim_account_usage brim_budget_usage(const brim_budget *budget, brim_account which)
{
    const account *acc = &budget->accounts[which];

    enter(budget);
    brim_account_usage usage = {
        .live_bytes = acc->live_bytes,
        .peak_bytes = acc->peak_bytes,
        .floor_bytes = acc->floor_bytes,
        .n_refusals = acc->n_refusals,
    };
    leave(budget);
    return usage;
}

void brim_budget_reset_peak(brim_budget *budget)
{
    enter(budget);
    for (size_t i = 0; i < BRIM_N_ACCOUNTS; i++)
        budget->accounts[i].peak_bytes = budget->accounts[i].live_bytes;
    budget->peak_bytes = 0;
    budget->peak_live_bytes = 0;
    note_peaks(budget);
    if (budget->arena) brim_arena_reset_peak(budget->arena);
    leave(budget);
}
