/*
 * pages.h - where an arena's pages come from: one interface, a backend for each kind of memory.
 *
 * A backend deals in ranges of one reservation, whole pages at page boundaries; which pages are
 * where is the arena's to know. The address space of a reservation is never unmapped before
 * destroy, not for an instant: another thread's mapping could land in the hole.
 *
 * Threads: calls on one backend must not overlap (the arena's lock sees to that).
 */
#ifndef BRIM_MEMORY_PAGES_H
#define BRIM_MEMORY_PAGES_H

#include <stdbool.h>

#include "brimful/arena.h"

struct brim_pages_ops {
    /* Address space for bytes, at a multiple of page_bytes (a power of two), once; no pages in it
     * yet. BRIM_E_NOMEM.
     */
    brim_status (*reserve)(brim_pages *self, size_t bytes, size_t page_bytes, void **out);
    /* Pages appear in a range that has none; their content is undefined. BRIM_E_NOMEM. */
    brim_status (*fresh)(brim_pages *self, void *at, size_t bytes);
    /*
     * The pages of one range move to another of the same size, which has none and does not overlap
     * it; their content is undefined after. BRIM_E_NOMEM: the pages are where they were, their
     * content may be lost.
     */
    brim_status (*move)(brim_pages *self, void *from, void *to, size_t bytes);
    /* Pages go back to the system. BRIM_E_NOMEM: they stay. */
    brim_status (*release)(brim_pages *self, void *at, size_t bytes);
    /* Ends the reservation, pages and all, and frees the backend. */
    void (*destroy)(brim_pages *self);
};

struct brim_pages {
    const struct brim_pages_ops *ops;
    bool faults_behind; /* known after reserve: reading where there is no page faults: blocks need
                           their spare bytes inside their own pages */
};

/* The least that a host page may be, since huge pages are moved whole. */
enum { BRIM_HOST_PAGE_BYTES = 2 << 20 };

/* For tests: makes a backend behave as on a system that lacks these. All false on a real one. */
typedef struct brim_pages_host_quirks {
    bool no_dontunmap;  /* mremap() knows no MREMAP_DONTUNMAP (before Linux 5.7) */
    bool no_huge_pages; /* madvise() knows no MADV_HUGEPAGE */
    bool strict_commit; /* vm.overcommit_memory = 2: a large reservation must be without access */
} brim_pages_host_quirks;

/* The host's memory: private, anonymous, in huge pages where they are to be had. */
brim_status brim_pages_create_host(const brim_pages_host_quirks *quirks, brim_pages **out,
                                   brim_error *err);

#endif /* BRIM_MEMORY_PAGES_H */
