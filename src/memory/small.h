/*
 * small.h - the small blocks of an arena: many to a page.
 *
 * A page is 512 units. A block up to a unit comes from a slab, a few units cut into blocks of one
 * size class (four classes to a doubling); a larger one is a run of units. Everything that is known
 * about a block lies outside the page, so the page can be poisoned and an overrun hits nothing.
 *
 * Threads: none of its own; the arena's lock guards it.
 */
#ifndef BRIM_MEMORY_SMALL_H
#define BRIM_MEMORY_SMALL_H

#include "memory/windows.h"

typedef struct brim_slab brim_slab;
typedef struct brim_small_page brim_small_page;

enum {
    BRIM_PAGE_UNITS = 512,
    BRIM_SMALLEST_BLOCK = 64,
    BRIM_MAX_CLASSES = 96,
};

typedef struct brim_small {
    brim_windows *windows;
    size_t unit_bytes;
    size_t max_bytes;                     /* of a small block */
    brim_small_page *pages;               /* newest first */
    brim_slab *partial[BRIM_MAX_CLASSES]; /* slabs with a free block, by class */
} brim_small;

void brim_small_init(brim_small *small, brim_windows *windows);

/* bytes and spare bytes behind them: 1..max_bytes; align: up to a unit. Statuses as
 * brim_windows_take(); BRIM_E_NOMEM also where the heap has nothing for the book-keeping. */
brim_status brim_small_take(brim_small *small, size_t bytes, size_t spare, size_t align,
                            void **out);

/* p: a small block in a page of ours. Returns what was asked for. */
size_t brim_small_give_back(brim_small *small, void *p);
size_t brim_small_size_of(const brim_small *small, const void *p);

/* Adds up what was asked for by blocks in use. */
brim_status brim_small_check(const brim_small *small, size_t *live_bytes, brim_error *err);

#endif /* BRIM_MEMORY_SMALL_H */
