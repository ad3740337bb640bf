/*
 * fake_pages.h - pages that obey: a backend of an arena with a capacity, failures to order, and a
 * check of every call against the contract in memory/pages.h. The first breach is kept in why.
 *
 * The test owns the struct, so that it can be looked at after the arena is gone; what lies behind
 * the addresses is real memory. A page that moves loses its content, as the contract allows.
 */
#ifndef FAKE_PAGES_H
#define FAKE_PAGES_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "memory/pages.h"

typedef enum fake_pages_op {
    FAKE_RESERVE,
    FAKE_FRESH,
    FAKE_MOVE,
    FAKE_RELEASE,
    FAKE_DESTROY,
    FAKE_N_OPS,
} fake_pages_op;

typedef struct fake_pages {
    brim_pages base;
    /* For the test to set. */
    size_t capacity;              /* pages that fresh() gives at most at a time */
    long fail_nth[FAKE_N_OPS];    /* this many calls from now one fails; 0 = none */
    bool fail_always[FAKE_N_OPS]; /* every call fails */
    /* For the test to read. */
    long n_calls[FAKE_N_OPS]; /* those that failed included */
    size_t n_present, peak_present;
    bool broken; /* a call broke the contract, as why says */
    char why[200];

    atomic_flag in_call;
    bool is_destroyed;
    uint8_t *mapping, *start;
    size_t page_bytes, n_slots;
    bool *present;
} fake_pages;

__attribute__((format(printf, 2, 3))) static inline bool fake_pages_blame(fake_pages *self,
                                                                          const char *fmt, ...)
{
    va_list args;

    if (self->broken) return false;
    self->broken = true;
    va_start(args, fmt);
    vsnprintf(self->why, sizeof(self->why), fmt, args);
    va_end(args);
    return false;
}

static inline const char *fake_pages_op_name(fake_pages_op op)
{
    static const char *const NAMES[] = {"reserve", "fresh", "move", "release", "destroy"};
    return NAMES[op];
}

/* Counts the call; false where it must fail, by order or because it breaks the contract. */
static inline bool fake_pages_enter(fake_pages *self, fake_pages_op op)
{
    const char *name = fake_pages_op_name(op);

    if (atomic_flag_test_and_set(&self->in_call))
        return fake_pages_blame(self, "%s during another call", name);
    self->n_calls[op]++;
    if (self->is_destroyed) return fake_pages_blame(self, "%s after destroy", name);
    if ((op == FAKE_RESERVE) == (self->mapping != NULL) && op != FAKE_DESTROY)
        return fake_pages_blame(self, self->mapping ? "%s twice" : "%s before reserve", name);
    if (self->fail_nth[op] > 0 && --self->fail_nth[op] == 0) return false;
    return !self->fail_always[op];
}

static inline brim_status fake_pages_leave(fake_pages *self, bool done)
{
    atomic_flag_clear(&self->in_call);
    return done ? BRIM_OK : BRIM_E_NOMEM;
}

/* Is this a range of slots, all of them with a page (or all without)? */
static inline bool fake_pages_is_range(fake_pages *self, fake_pages_op op, const void *at,
                                       size_t bytes, bool with_pages)
{
    const char *name = fake_pages_op_name(op);
    size_t whole = self->n_slots * self->page_bytes;
    size_t offset = (size_t)((uintptr_t)at - (uintptr_t)self->start);

    if ((uintptr_t)at < (uintptr_t)self->start || offset >= whole || bytes > whole - offset)
        return fake_pages_blame(self, "%s outside of the reservation", name);
    if (bytes == 0 || offset % self->page_bytes != 0 || bytes % self->page_bytes != 0)
        return fake_pages_blame(self, "%s of something else than whole pages", name);
    for (size_t i = offset / self->page_bytes; i < (offset + bytes) / self->page_bytes; i++)
        if (self->present[i] != with_pages)
            return fake_pages_blame(self, "%s: slot %zu %s", name, i,
                                    with_pages ? "has no page" : "has a page already");
    return true;
}

/* Pages come or go. Where reading without a page shall fault, the kernel sees to it. */
static inline void fake_pages_set(fake_pages *self, void *at, size_t bytes, bool present)
{
    size_t first = (size_t)((uint8_t *)at - self->start) / self->page_bytes;
    size_t n = bytes / self->page_bytes;

    for (size_t i = first; i < first + n; i++)
        self->present[i] = present;
    self->n_present = present ? self->n_present + n : self->n_present - n;
    if (self->n_present > self->peak_present) self->peak_present = self->n_present;
    if (!present) madvise(at, bytes, MADV_DONTNEED);
    if (self->base.faults_behind &&
        mprotect(at, bytes, present ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        fake_pages_blame(self, "the fake itself got no memory");
}

static inline brim_status fake_pages_reserve(brim_pages *base, size_t bytes, size_t page_bytes,
                                             void **out)
{
    fake_pages *self = (fake_pages *)base;
    bool ok = fake_pages_enter(self, FAKE_RESERVE);

    *out = NULL;
    if (ok && (page_bytes < 4096 || (page_bytes & (page_bytes - 1)) != 0 || bytes == 0 ||
               bytes % page_bytes != 0))
        ok = fake_pages_blame(self, "reserve of %zu bytes in pages of %zu", bytes, page_bytes);
    if (!ok) return fake_pages_leave(self, false);

    void *got = mmap(NULL, bytes + page_bytes,
                     self->base.faults_behind ? PROT_NONE : PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return fake_pages_leave(self, false);
    self->mapping = got;
    self->start = self->mapping + (-(uintptr_t)got & (page_bytes - 1));
    self->page_bytes = page_bytes;
    self->n_slots = bytes / page_bytes;
    self->present = calloc(self->n_slots, sizeof(*self->present));
    *out = self->start;
    return fake_pages_leave(self, true);
}

static inline brim_status fake_pages_fresh(brim_pages *base, void *at, size_t bytes)
{
    fake_pages *self = (fake_pages *)base;
    bool ok = fake_pages_enter(self, FAKE_FRESH) &&
              fake_pages_is_range(self, FAKE_FRESH, at, bytes, false) &&
              self->n_present + bytes / self->page_bytes <= self->capacity;

    if (ok) fake_pages_set(self, at, bytes, true);
    return fake_pages_leave(self, ok);
}

static inline brim_status fake_pages_move(brim_pages *base, void *from, void *to, size_t bytes)
{
    fake_pages *self = (fake_pages *)base;
    bool ok = fake_pages_enter(self, FAKE_MOVE);
    uintptr_t a = (uintptr_t)from, b = (uintptr_t)to;

    if (ok && a < b + bytes && b < a + bytes)
        ok = fake_pages_blame(self, "move onto a range that overlaps its own");
    ok = ok && fake_pages_is_range(self, FAKE_MOVE, from, bytes, true) &&
         fake_pages_is_range(self, FAKE_MOVE, to, bytes, false);
    if (ok) {
        fake_pages_set(self, from, bytes, false);
        fake_pages_set(self, to, bytes, true);
    }
    return fake_pages_leave(self, ok);
}

static inline brim_status fake_pages_release(brim_pages *base, void *at, size_t bytes)
{
    fake_pages *self = (fake_pages *)base;
    bool ok = fake_pages_enter(self, FAKE_RELEASE) &&
              fake_pages_is_range(self, FAKE_RELEASE, at, bytes, true);

    if (ok) fake_pages_set(self, at, bytes, false);
    return fake_pages_leave(self, ok);
}

static inline void fake_pages_destroy(brim_pages *base)
{
    fake_pages *self = (fake_pages *)base;

    if (fake_pages_enter(self, FAKE_DESTROY)) {
        if (self->mapping) munmap(self->mapping, (self->n_slots + 1) * self->page_bytes);
        free(self->present);
        self->present = NULL;
        self->n_present = 0;
        self->is_destroyed = true;
    }
    fake_pages_leave(self, true);
}

/* faults_behind: reading where there is no page shall fault. */
static inline void fake_pages_init(fake_pages *self, size_t capacity, bool faults_behind)
{
    static const struct brim_pages_ops OPS = {
        .reserve = fake_pages_reserve,
        .fresh = fake_pages_fresh,
        .move = fake_pages_move,
        .release = fake_pages_release,
        .destroy = fake_pages_destroy,
    };

    *self = (fake_pages){.base = {.ops = &OPS, .faults_behind = faults_behind},
                         .capacity = capacity,
                         .in_call = ATOMIC_FLAG_INIT};
}

/* Pages among the slots of a range, for a look from outside. */
static inline size_t fake_pages_n_present(const fake_pages *self, const void *at, size_t bytes)
{
    size_t first = (size_t)((const uint8_t *)at - self->start) / self->page_bytes, n = 0;

    for (size_t i = first; i < first + bytes / self->page_bytes; i++)
        n += self->present[i];
    return n;
}

#endif /* FAKE_PAGES_H */
