/*
 * arena.h - memory without fragmentation: blocks of any size over one pool of pages.
 *
 * A large block is a window of reserved address space into which pages are moved from wherever they
 * lie; small blocks share pages of the same pool. Freed pages stay in the pool, so that the next
 * run finds them warm; fresh ones are taken only when the pool is empty and the limit allows.
 * brim_arena_trim() gives idle pages back to the system.
 *
 * Threads: any; one lock guards an arena.
 */
#ifndef BRIMFUL_ARENA_H
#define BRIMFUL_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/memory.h"
#include "brimful/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct brim_pages brim_pages; /* where pages come from; the host's memory by default */

/* Start from BRIM_OPTIONS(brim_arena_options); 0 means "the default". */
typedef struct brim_arena_options {
    size_t struct_bytes;
    size_t limit_bytes; /* pages held, at most; needed */
    size_t max_bytes;   /* the highest limit that brim_arena_set_limit() may set; 0 = limit_bytes */
    size_t page_bytes;  /* a power of two, 2 MiB or more on the host; 0 = 2 MiB, doubled until
                            max_mappings suffices */
    size_t max_mappings; /* of the process; 0 = what the system says. A quarter of it is ours */
    brim_pages *pages;   /* taken over on success; NULL = the host's memory */
    const brim_alloc *memory; /* for its books, borrowed for its life; NULL = the C heap */
} brim_arena_options;

/* On success *out is the caller's, for brim_arena_destroy(); on failure *out is NULL. */
BRIM_API brim_status brim_arena_create(const brim_arena_options *options, brim_arena **out,
                                       brim_error *err);

/* Every block must have been given back. Accepts NULL. */
BRIM_API void brim_arena_destroy(brim_arena *arena);

/*
 * The arena as an allocator; lives as long as it. Blocks may be aligned to anything up to a page,
 * and 64 bytes behind each may be read (vector code does; AddressSanitizer minds). BRIM_E_BUDGET:
 * not under this limit. Released sizes are not looked at: the arena knows them.
 */
BRIM_API const brim_alloc *brim_arena_alloc(brim_arena *arena);

/* Is p inside the arena's address space? Takes no lock. */
BRIM_API bool brim_arena_owns(const brim_arena *arena, const void *p);

/* The bytes that were asked for at p, a block in use. */
BRIM_API size_t brim_arena_size_of(brim_arena *arena, const void *p);

/*
 * Changes the limit, at most to max_bytes. Idle pages are given back until what is held fits;
 * BRIM_E_BUDGET, and no change, where pages in use alone are more.
 */
BRIM_API brim_status brim_arena_set_limit(brim_arena *arena, size_t limit_bytes);

/* Gives idle pages back to the system until at most keep_bytes are held. Returns bytes given. */
BRIM_API size_t brim_arena_trim(brim_arena *arena, size_t keep_bytes);

/* The two figures that decide what others may have; quick to ask. */
typedef struct brim_arena_holding {
    size_t reserved_bytes; /* pages held */
    size_t in_use_bytes;   /* of them, those that blocks need; the rest lies idle */
} brim_arena_holding;

BRIM_API brim_arena_holding brim_arena_held(brim_arena *arena);

typedef struct brim_arena_usage {
    size_t page_bytes;
    size_t limit_bytes;
    size_t live_bytes;      /* asked for and not given back */
    size_t reserved_bytes;  /* pages held, idle ones included */
    size_t idle_bytes;      /* pages held that no block needs */
    size_t peak_live_bytes; /* highest live_bytes since the start or the last reset */
    size_t peak_reserved_bytes;
    size_t n_windows;          /* large blocks in use */
    size_t peak_windows;       /* n_windows when live_bytes was highest */
    size_t largest_free_bytes; /* one block of that size would be given now */
    double waste_frac;         /* 1 - peak_live_bytes / peak_reserved_bytes */
    uint64_t n_blocks;         /* blocks given out so far */
    uint64_t n_moves;          /* moves of one or more neighbouring pages */
    uint64_t n_moved_pages;
    uint64_t n_fresh_pages;    /* taken from the system */
    uint64_t n_released_pages; /* given back to it */
    uint64_t n_refusals;
    uint64_t n_failed_moves; /* refused by the system; other pages served */
} brim_arena_usage;

BRIM_API brim_arena_usage brim_arena_usage_now(brim_arena *arena);

/* Peaks start anew from what is now. */
BRIM_API void brim_arena_reset_peak(brim_arena *arena);

/*
 * The share of resident bytes of the arena that lie in huge pages, 0..1; below 0 where it cannot be
 * found out. Reads /proc/self/smaps: milliseconds.
 */
BRIM_API double brim_arena_huge_frac(brim_arena *arena);

/* Walks every invariant; BRIM_E_RUNTIME names the first that does not hold. For tests. */
BRIM_API brim_status brim_arena_check(brim_arena *arena, brim_error *err);

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_ARENA_H */
