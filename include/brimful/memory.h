/*
 * memory.h - where bytes come from: every object is given an allocator, and an allocator is an
 * account of one budget.
 *
 * A budget is a hard limit in bytes. Its accounts say what the bytes are for; together they never
 * hold more than the limit, not for an instant. What is merely predicted (a decoder's scratch
 * inside a library that has an allocator of its own) is reserved, so it counts like the rest.
 *
 * Threads: budgets and their accounts may be used from any thread.
 */
#ifndef BRIMFUL_MEMORY_H
#define BRIMFUL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "brimful/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * alloc: at least `bytes` (not 0), aligned to `align` (a power of two; 0 = 64), into *out.
 * BRIM_E_BUDGET says that the account is full (shrink the batch), BRIM_E_NOMEM that the system
 * refused (stop), BRIM_E_ARG that align is beyond it (an arena's is a page); on failure *out is
 * NULL. release: gives back what alloc gave, with the same size; p may be NULL.
 */
typedef struct brim_alloc {
    brim_status (*alloc)(void *ctx, size_t bytes, size_t align, void **out);
    void (*release)(void *ctx, void *p, size_t bytes);
    void *ctx;
} brim_alloc;

/* Zeroed memory, or NULL with the reason in *why. */
static inline void *brim_alloc_zeroed(const brim_alloc *mem, size_t bytes, brim_status *why)
{
    void *p = NULL;

    *why = mem->alloc(mem->ctx, bytes, 0, &p);
    return *why == BRIM_OK ? memset(p, 0, bytes) : NULL;
}

static inline void brim_alloc_release(const brim_alloc *mem, void *p, size_t bytes)
{
    if (p) mem->release(mem->ctx, p, bytes);
}

/* The C heap, without a limit; lives for ever. */
BRIM_API const brim_alloc *brim_heap(void);

typedef enum brim_account {
    BRIM_ACCOUNT_ACTIVATIONS, /* what the model runtime takes while it runs */
    BRIM_ACCOUNT_TENSORS,     /* batches waiting for the model */
    BRIM_ACCOUNT_DECODERS,    /* scratch of pictures being decoded */
    BRIM_ACCOUNT_QUEUES,      /* file bytes and rows between two stages */
    BRIM_ACCOUNT_SPOOL,       /* buffers of what is kept on disk for a while */
    BRIM_ACCOUNT_RESULTS,     /* records waiting for the store */
    BRIM_ACCOUNT_UNROUTED,    /* measured: libraries, SQLite, stacks, weights outside the arena */
    BRIM_ACCOUNT_OTHER,       /* everything else that is ours */
    BRIM_N_ACCOUNTS,
} brim_account;

/* "activations", "tensors", ...; never NULL. */
BRIM_API const char *brim_account_name(brim_account account);

typedef struct brim_account_usage {
    size_t live_bytes;
    size_t peak_bytes; /* highest live_bytes since the start or the last reset */
    size_t floor_bytes;
    uint64_t n_refusals; /* requests answered with BRIM_E_BUDGET */
} brim_account_usage;

typedef struct brim_budget brim_budget;
typedef struct brim_arena brim_arena;

/*
 * A budget of limit_bytes (0 = 80 % of brim_memory_free_bytes()). On success *out is the caller's,
 * to be given to brim_budget_destroy(); on failure *out is NULL.
 */
BRIM_API brim_status brim_budget_create(size_t limit_bytes, brim_budget **out, brim_error *err);

/* Every byte must have been given back before. Ends its arena too. Accepts NULL. */
BRIM_API void brim_budget_destroy(brim_budget *budget);

/*
 * From now on what activations, tensors and decoders allocate are blocks of this arena, which is
 * the budget's then and whose limit follows what the other accounts leave; without one, all
 * accounts are counted over the C heap. To be called before the first allocation, once.
 */
BRIM_API void brim_budget_set_arena(brim_budget *budget, brim_arena *arena);

/* Borrowed; NULL where there is none. Its limit and its trimming are the budget's business. */
BRIM_API brim_arena *brim_budget_arena(const brim_budget *budget);

/* The allocator that charges this account; lives as long as the budget. */
BRIM_API const brim_alloc *brim_budget_alloc(brim_budget *budget, brim_account account);

/*
 * Counts bytes without handing out memory: for what a library will take by itself. Idle pages of
 * the arena are given back to the system first where they stand in the way.
 */
BRIM_API brim_status brim_budget_reserve(brim_budget *budget, brim_account account, size_t bytes);
BRIM_API void brim_budget_give_back(brim_budget *budget, brim_account account, size_t bytes);

/*
 * Bytes that only this account may have: what of them it does not hold is refused to the others.
 * While floors are lifted none is heeded (for one picture that has all memory to itself); lifting
 * counts, so it may be done by several.
 */
BRIM_API void brim_budget_set_floor(brim_budget *budget, brim_account account, size_t bytes);
BRIM_API void brim_budget_lift_floors(brim_budget *budget);
BRIM_API void brim_budget_restore_floors(brim_budget *budget);

/*
 * Compares what the system says is resident with what all budgets of the process hold: what lies
 * beyond, and a tenth more, is charged to BRIM_ACCOUNT_UNROUTED, which only ever grows. To be
 * called once everything is loaded and now and then after: it reads one small file. untouched_bytes
 * of what is reserved are known to lie unused, and hide nothing. What is live at the first call is
 * taken to be the model's for good: floors and brim_budget_usable_bytes() come on top of it.
 * BRIM_E_BUDGET: the limit is exceeded by it; everything is refused until enough is given back.
 */
BRIM_API brim_status brim_budget_measure(brim_budget *budget, size_t untouched_bytes);

/* Gives all idle pages of the arena back to the system; returns how many bytes that were. */
BRIM_API size_t brim_budget_trim(brim_budget *budget);

BRIM_API size_t brim_budget_limit_bytes(const brim_budget *budget);
/* What of the limit is left beside unrouted and what was live when it was first measured; or 0. */
BRIM_API size_t brim_budget_usable_bytes(const brim_budget *budget);
/* All accounts together; pages that lie idle are in no account. */
BRIM_API size_t brim_budget_live_bytes(const brim_budget *budget);
/* The most that brim_budget_live_bytes() was. */
BRIM_API size_t brim_budget_peak_live_bytes(const brim_budget *budget);
/*
 * The most that was held at once, idle pages included; above the limit only where
 * brim_budget_measure() said so.
 */
BRIM_API size_t brim_budget_peak_bytes(const brim_budget *budget);
BRIM_API brim_account_usage brim_budget_usage(const brim_budget *budget, brim_account account);
/* Peaks, also the arena's, start anew from what is now. */
BRIM_API void brim_budget_reset_peak(brim_budget *budget);

/*
 * Bytes this process could hold in all without pushing the machine or its control group into
 * trouble: MemAvailable, the control group's limit (v1 and v2) less what it holds beyond
 * reclaimable page cache, and RLIMIT_AS, whichever is least, each with what we hold ourselves
 * added, so that the figure does not shrink as we grow. `root` is where /proc and /sys are looked
 * for, "" on a real machine. 0 where nothing can be found out.
 */
BRIM_API size_t brim_memory_free_bytes(const char *root);

/* The same, and which of the three was the least. */
typedef enum brim_memory_bound {
    BRIM_BOUND_MACHINE,
    BRIM_BOUND_GROUP,
    BRIM_BOUND_ADDRESSES,
} brim_memory_bound;

BRIM_API size_t brim_memory_free_bytes_by(const char *root, brim_memory_bound *by);

/*
 * Is memory short right now, for the machine or for a control group around us? So it is where less
 * than a twentieth is left (but at least 64 MiB, at most a tenth: of small groups), or where
 * somebody had to wait for memory during a tenth of the last 10 seconds (pressure stall information
 * of the machine and of our group). Whoever keeps memory for later should give it back then. Reads
 * a few small files.
 */
BRIM_API bool brim_memory_is_short(const char *root);

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_MEMORY_H */
