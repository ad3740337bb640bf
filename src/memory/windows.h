/*
 * windows.h - the pool of pages of an arena, and the windows of address space that they are seen
 * through.
 *
 * Address space is a row of slots, one page each. Windows tile it: a window in use has pages in its
 * first n_used slots; what other pages it has, like all of an idle window's, are the pool. A window
 * is kept when it falls idle, because the next run wants the same sizes again and finds its pages
 * in place. Only what is missing is moved in, from the unused tails of windows in use and then from
 * the windows that have been idle longest.
 *
 * Threads: none of its own; the arena's lock guards it.
 */
#ifndef BRIM_MEMORY_WINDOWS_H
#define BRIM_MEMORY_WINDOWS_H

#include "memory/pages.h"

enum { BRIM_NO_SLOT = UINT32_MAX };

typedef struct brim_window {
    uint32_t n_slots;      /* 0 = no window begins at this slot */
    uint32_t n_used;       /* leading slots in use; 0 = idle */
    uint32_t n_spare;      /* pages behind its used slots, which belong to the pool */
    uint32_t n_leading;    /* pages before the first slot that has none */
    uint32_t newer, older; /* neighbours in the list of used or of idle windows */
    size_t bytes;          /* what a block in use has asked for */
    void *owner;           /* whoever cuts the page up; NULL for a block */
} brim_window;

typedef struct brim_window_list {
    uint32_t newest, oldest;
} brim_window_list;

typedef struct brim_windows {
    brim_pages *pages;
    const brim_alloc *memory; /* for our books */
    uint8_t *base;
    size_t page_bytes;
    uint32_t n_slots;
    brim_window *at;  /* by first slot */
    uint8_t *present; /* by slot: 1 = has a page */
    /* Slots low..high have never been in a window; blocks grow up from below, shared pages down. */
    uint32_t low, high;
    brim_window_list used, idle;

    size_t limit_pages;
    size_t n_held;   /* pages present */
    size_t n_in_use; /* of them, in the used slots of windows */
    size_t n_tail;   /* of them, spare ones of windows in use */
    size_t peak_held;
    uint64_t n_moves, n_moved, n_fresh, n_released, n_failed_moves;
} brim_windows;

/* Takes the backend over on success only. n_slots may come out smaller where address space is
 * short, but not below min_slots. */
brim_status brim_windows_init(brim_windows *windows, brim_pages *pages, const brim_alloc *memory,
                              size_t page_bytes, size_t n_slots, size_t min_slots, brim_error *err);

/* Destroys the backend. */
void brim_windows_fini(brim_windows *windows);

/*
 * A window in use with pages in its first n slots. With an owner it is one page, to be cut up.
 * BRIM_E_BUDGET: not under the limit, or no address space; BRIM_E_NOMEM: the system refused.
 */
brim_status brim_windows_take(brim_windows *windows, size_t n, void *owner, uint32_t *slot);
void brim_windows_give_back(brim_windows *windows, uint32_t slot);

/* The window in use that begins at p, or for a cut-up page the one around p; p is inside. */
uint32_t brim_windows_slot_of(const brim_windows *windows, const void *p);
static inline uint8_t *brim_windows_address(const brim_windows *windows, uint32_t slot)
{
    return windows->base + (size_t)slot * windows->page_bytes;
}

/* All windows by address: from first, by next, while below n_slots. */
static inline uint32_t brim_windows_first(const brim_windows *windows)
{
    return windows->low > 0 ? 0 : windows->high;
}

static inline uint32_t brim_windows_next(const brim_windows *windows, uint32_t slot)
{
    slot += windows->at[slot].n_slots;
    return slot == windows->low ? windows->high : slot;
}

/* Gives idle pages back until at most keep are held; returns how many went. */
size_t brim_windows_trim(brim_windows *windows, size_t keep);

/* BRIM_E_BUDGET: more is in use, or the system would not take idle pages back. */
brim_status brim_windows_set_limit(brim_windows *windows, size_t limit_pages);

/* Pages that one more window could have now. */
size_t brim_windows_largest_free(const brim_windows *windows);

brim_status brim_windows_check(const brim_windows *windows, brim_error *err);

#endif /* BRIM_MEMORY_WINDOWS_H */
