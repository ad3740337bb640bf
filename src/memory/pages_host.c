/*
 * pages_host.c - pages of the host: one private mapping, moved about by the kernel.
 *
 * The whole reservation may be read and written from the start, and a page is there once it was
 * touched; so only moving and giving back need the system. A move leaves its source mapped
 * (MREMAP_DONTUNMAP) and replaces its destination in one step. Where a large mapping with access is
 * refused (vm.overcommit_memory = 2), access is given page by page, and nothing is moved: a move
 * unmaps its destination before it asks for the commit charge, and may be refused in between.
 */
#include "memory/pages.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/fail.h"
#include "base/size.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define MAP_KIND (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
#define PROT_ALL (PROT_READ | PROT_WRITE)

static const uint64_t MISSING = UINT64_MAX;

typedef struct host_pages {
    brim_pages base; /* first: a brim_pages pointer is a pointer to us */
    brim_pages_host_quirks quirks;
    bool can_move; /* MREMAP_DONTUNMAP, as far as is known, and no strict commit */
    bool is_strict;
    uint8_t *mapping; /* with room to align the slots in it */
    size_t mapping_bytes;
    uint8_t *start;
    size_t page_bytes, n_slots;
    /*
     * By slot: neighbours with the same number lie in one mapping of the kernel's for certain.
     * mremap() of more than one is no good: kernels before 6.17 refuse it after they have unmapped
     * the destination, later ones may stop in the middle. MISSING: could not be mapped again.
     */
    uint64_t *piece;
    uint64_t last_piece;
} host_pages;

/* ---- Slots ---- */

static uint8_t *address_of(const host_pages *self, size_t slot)
{
    return self->start + slot * self->page_bytes;
}

static size_t slot_of(const host_pages *self, const void *at)
{
    size_t offset = (size_t)((const uint8_t *)at - self->start);

    assert(offset % self->page_bytes == 0 && offset / self->page_bytes < self->n_slots);
    return offset / self->page_bytes;
}

static size_t slots_in(const host_pages *self, size_t bytes)
{
    assert(bytes > 0 && bytes % self->page_bytes == 0);
    return bytes / self->page_bytes;
}

static void set_piece(host_pages *self, size_t slot, size_t n, uint64_t piece)
{
    for (size_t i = slot; i < slot + n; i++)
        self->piece[i] = piece;
}

/* How many of the n slots lie in the mapping of the first. */
static size_t same_piece(const host_pages *self, size_t slot, size_t n)
{
    size_t i = 1;

    while (i < n && self->piece[slot + i] == self->piece[slot])
        i++;
    return i;
}

/* ---- Mappings ---- */

/* A wish: where there are no huge pages, small ones serve. */
static void wish_huge_pages(const host_pages *self, void *at, size_t bytes)
{
    if (!self->quirks.no_huge_pages) madvise(at, bytes, MADV_HUGEPAGE);
}

/* Maps slots that are not mapped; EEXIST where something is. */
static bool map_again(host_pages *self, size_t slot, size_t n)
{
    size_t bytes = n * self->page_bytes;
    uint8_t *at = address_of(self, slot);

    void *got = mmap(at, bytes, PROT_ALL, MAP_KIND | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) return false;
    if (got != at) { /* before Linux 4.17 the address is a mere hint */
        munmap(got, bytes);
        errno = EEXIST;
        return false;
    }
    wish_huge_pages(self, at, bytes);
    set_piece(self, slot, n, ++self->last_piece);
    return true;
}

/*
 * A move that was refused late (a limit of the process lowered below what it uses, the kernel's own
 * memory used up) has unmapped its destination; one that was refused early may have split it.
 */
static void mend(host_pages *self, size_t slot, size_t n)
{
    if (!map_again(self, slot, n))
        set_piece(self, slot, n, errno == EEXIST ? ++self->last_piece : MISSING);
}

/* By now somebody else's mapping may lie there, so what is missing may stay so. */
static bool none_missing(host_pages *self, size_t slot, size_t n)
{
    for (size_t i = slot; i < slot + n; i++)
        if (self->piece[i] == MISSING && !map_again(self, i, 1)) return false;
    return true;
}

static bool move_piece(host_pages *self, size_t from, size_t to, size_t n)
{
    const int UNKNOWN = 1 << 20; /* what DONTUNMAP is to an old kernel */
    int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    size_t bytes = n * self->page_bytes;

    if (self->quirks.no_dontunmap) how |= UNKNOWN;
    if (mremap(address_of(self, from), bytes, bytes, how, address_of(self, to)) != MAP_FAILED) {
        set_piece(self, to, n, ++self->last_piece);
        return true;
    }
    if (errno == EINVAL) self->can_move = false;
    mend(self, to, n);
    return false;
}

/* What is missing is not ours to unmap. */
static void unmap_all(host_pages *self)
{
    uint8_t *low = self->mapping;

    for (size_t i = 0; i < self->n_slots; i++) {
        if (self->piece[i] != MISSING) continue;
        if (address_of(self, i) > low) munmap(low, (size_t)(address_of(self, i) - low));
        low = address_of(self, i + 1);
    }
    munmap(low, (size_t)(self->mapping + self->mapping_bytes - low));
}

/* ---- The interface ---- */

static brim_status host_reserve(brim_pages *base, size_t bytes, size_t page_bytes, void **out)
{
    host_pages *self = (host_pages *)base;
    void *got = MAP_FAILED;
    size_t total;
    brim_status status;

    *out = NULL;
    assert(!self->mapping && bytes > 0 && bytes % page_bytes == 0);
    assert(page_bytes % BRIM_HOST_PAGE_BYTES == 0 && (page_bytes & (page_bytes - 1)) == 0);
    if (brim_add_bytes(bytes, page_bytes, &total) != BRIM_OK) return BRIM_E_NOMEM;

    if (!self->quirks.strict_commit) got = mmap(NULL, total, PROT_ALL, MAP_KIND, -1, 0);
    self->is_strict = got == MAP_FAILED;
    if (self->is_strict) got = mmap(NULL, total, PROT_NONE, MAP_KIND, -1, 0);
    if (got == MAP_FAILED) return BRIM_E_NOMEM;

    size_t n_slots = bytes / page_bytes;
    self->piece = brim_alloc_zeroed(brim_heap(), n_slots * sizeof(*self->piece), &status);
    if (!self->piece) {
        munmap(got, total);
        return status;
    }
    self->mapping = got;
    self->mapping_bytes = total;
    self->start = self->mapping + (-(uintptr_t)got & (page_bytes - 1));
    self->page_bytes = page_bytes;
    self->n_slots = n_slots;
    self->can_move = !self->is_strict;
    base->faults_behind = self->is_strict;
    if (!self->is_strict) wish_huge_pages(self, self->start, bytes);
    *out = self->start;
    return BRIM_OK;
}

static brim_status host_release(brim_pages *base, void *at, size_t bytes)
{
    host_pages *self = (host_pages *)base;

    assert(slot_of(self, at) + slots_in(self, bytes) <= self->n_slots);
    /* Only a mapping without access costs no commit charge; it replaces the old one in one step. */
    if (self->is_strict && mmap(at, bytes, PROT_NONE, MAP_KIND | MAP_FIXED, -1, 0) != MAP_FAILED)
        return BRIM_OK;
    return madvise(at, bytes, MADV_DONTNEED) == 0 ? BRIM_OK : BRIM_E_NOMEM;
}

static brim_status host_fresh(brim_pages *base, void *at, size_t bytes)
{
    host_pages *self = (host_pages *)base;

    if (!none_missing(self, slot_of(self, at), slots_in(self, bytes))) return BRIM_E_NOMEM;
    if (!self->is_strict) return BRIM_OK;
    if (mprotect(at, bytes, PROT_ALL) != 0) {
        host_release(base, at, bytes); /* a part may have been given */
        return BRIM_E_NOMEM;
    }
    wish_huge_pages(self, at, bytes);
    return BRIM_OK;
}

static brim_status move_by_replacing(brim_pages *base, void *from, void *to, size_t bytes)
{
    brim_status status = host_fresh(base, to, bytes);

    if (status != BRIM_OK) return status;
    status = host_release(base, from, bytes);
    if (status != BRIM_OK) host_release(base, to, bytes);
    return status;
}

static brim_status host_move(brim_pages *base, void *from, void *to, size_t bytes)
{
    host_pages *self = (host_pages *)base;
    size_t first = slot_of(self, from), onto = slot_of(self, to), n = slots_in(self, bytes);
    size_t done = 0;

    if (!none_missing(self, onto, n)) return BRIM_E_NOMEM;
    while (self->can_move && done < n) {
        size_t run = same_piece(self, first + done, n - done);
        if (!move_piece(self, first + done, onto + done, run)) break;
        done += run;
    }
    if (done == n) return BRIM_OK;

    /* What has moved is let go: where it came from, pages appear again when they are touched. */
    if (done > 0) madvise(to, done * self->page_bytes, MADV_DONTNEED);
    return self->can_move ? BRIM_E_NOMEM : move_by_replacing(base, from, to, bytes);
}

static void host_destroy(brim_pages *base)
{
    host_pages *self = (host_pages *)base;

    if (self->mapping) unmap_all(self);
    brim_alloc_release(brim_heap(), self->piece, self->n_slots * sizeof(*self->piece));
    brim_alloc_release(brim_heap(), self, sizeof(*self));
}

static const struct brim_pages_ops HOST_PAGES_OPS = {
    .reserve = host_reserve,
    .fresh = host_fresh,
    .move = host_move,
    .release = host_release,
    .destroy = host_destroy,
};

brim_status brim_pages_create_host(const brim_pages_host_quirks *quirks, brim_pages **out,
                                   brim_error *err)
{
    brim_status status;

    *out = NULL;
    host_pages *self = brim_alloc_zeroed(brim_heap(), sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "pages: no memory for %zu bytes", sizeof(*self));
    self->base.ops = &HOST_PAGES_OPS;
    if (quirks) self->quirks = *quirks;
    *out = &self->base;
    return BRIM_OK;
}
