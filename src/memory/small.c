/* small.c - slabs of one size class, and runs of units, in pages shared by many blocks. */
#include "memory/small.h"

#include "base/fail.h"
#include "memory/poison.h"

enum {
    SLAB_UNITS = 4,
    SLAB_BLOCKS = 256, /* at most: SLAB_UNITS of 4 KiB in blocks of 64 bytes */
    WORD_BITS = 64,
    CLASSES_A_DOUBLING = 4,
};

/* Book-keeping of a run of units, at its first one. */
typedef struct unit_run {
    uint32_t asked_bytes; /* of a block that is a run by itself */
    uint16_t n_units;     /* 0 = no run begins here */
    brim_slab *slab;      /* the run is cut into blocks */
} unit_run;

struct brim_small_page {
    brim_small_page *next, *previous;
    uint32_t slot;
    uint32_t n_free;                                  /* units */
    uint64_t free_units[BRIM_PAGE_UNITS / WORD_BITS]; /* a set bit is a free unit */
    unit_run runs[BRIM_PAGE_UNITS];
};

struct brim_slab {
    brim_slab *next, *previous; /* in the list of partial ones */
    brim_small_page *page;
    uint32_t first_unit;
    uint32_t class_idx;
    uint32_t n_blocks, n_free;
    uint64_t free_blocks[SLAB_BLOCKS / WORD_BITS];
    uint32_t asked_bytes[SLAB_BLOCKS]; /* 0 = free */
};

/* ---- Bits ---- */

static bool get_bit(const uint64_t *bits, uint32_t i)
{
    return bits[i / WORD_BITS] >> (i % WORD_BITS) & 1;
}

static void set_bits(uint64_t *bits, uint32_t first, uint32_t n, bool on)
{
    for (uint32_t i = first; i < first + n; i++) {
        uint64_t mask = (uint64_t)1 << (i % WORD_BITS);
        bits[i / WORD_BITS] = on ? bits[i / WORD_BITS] | mask : bits[i / WORD_BITS] & ~mask;
    }
}

/* The first set bit of n_bits; there is one. */
static uint32_t first_bit(const uint64_t *bits)
{
    uint32_t word = 0;

    while (bits[word] == 0)
        word++;
    return word * WORD_BITS + (uint32_t)__builtin_ctzll(bits[word]);
}

/* The first n set bits in a row among the units of a page, or BRIM_PAGE_UNITS. */
static uint32_t find_bits(const uint64_t *bits, uint32_t n)
{
    uint32_t in_a_row = 0;

    for (uint32_t i = 0; i < BRIM_PAGE_UNITS; i++) {
        if (in_a_row == 0 && i % WORD_BITS == 0 && bits[i / WORD_BITS] == 0) {
            i += WORD_BITS - 1;
            continue;
        }
        in_a_row = get_bit(bits, i) ? in_a_row + 1 : 0;
        if (in_a_row == n) return i + 1 - n;
    }
    return BRIM_PAGE_UNITS;
}

/* ---- Size classes: 64, 80, 96, 112, 128, 160, ... ---- */

static size_t class_bytes(uint32_t class_idx)
{
    size_t base = (size_t)BRIM_SMALLEST_BLOCK << (class_idx / CLASSES_A_DOUBLING);

    return base + base / CLASSES_A_DOUBLING * (class_idx % CLASSES_A_DOUBLING);
}

static uint32_t class_of(size_t bytes)
{
    uint32_t class_idx = 0;

    while (class_bytes(class_idx) < bytes)
        class_idx++;
    return class_idx;
}

/* ---- Pages ---- */

static uint8_t *unit_address(const brim_small *self, const brim_small_page *page, uint32_t unit)
{
    return brim_windows_address(self->windows, page->slot) + unit * self->unit_bytes;
}

static brim_small_page *add_page(brim_small *self, brim_status *why)
{
    brim_small_page *page = brim_alloc_zeroed(self->windows->memory, sizeof(*page), why);

    if (!page) return NULL;
    *why = brim_windows_take(self->windows, 1, page, &page->slot);
    if (*why != BRIM_OK) {
        brim_alloc_release(self->windows->memory, page, sizeof(*page));
        return NULL;
    }
    brim_poison(unit_address(self, page, 0), self->windows->page_bytes);
    page->n_free = BRIM_PAGE_UNITS;
    set_bits(page->free_units, 0, BRIM_PAGE_UNITS, true);
    page->next = self->pages;
    if (self->pages) self->pages->previous = page;
    self->pages = page;
    return page;
}

static void remove_page(brim_small *self, brim_small_page *page)
{
    if (page->next) page->next->previous = page->previous;
    if (page->previous)
        page->previous->next = page->next;
    else
        self->pages = page->next;
    brim_windows_give_back(self->windows, page->slot);
    brim_alloc_release(self->windows->memory, page, sizeof(*page));
}

/* The oldest page that has room, so that newer ones may empty: its units, or NULL. */
static brim_small_page *take_units(brim_small *self, uint32_t n, uint32_t *first, brim_status *why)
{
    brim_small_page *page, *found = NULL;

    for (page = self->pages; page; page = page->next) {
        if (page->n_free < n) continue;
        uint32_t unit = find_bits(page->free_units, n);
        if (unit == BRIM_PAGE_UNITS) continue;
        found = page;
        *first = unit;
    }
    if (!found) {
        found = add_page(self, why);
        if (!found) return NULL;
        *first = 0;
    }
    set_bits(found->free_units, *first, n, false);
    found->n_free -= n;
    found->runs[*first] = (unit_run){.n_units = (uint16_t)n};
    return found;
}

static void give_back_units(brim_small *self, brim_small_page *page, uint32_t first)
{
    uint32_t n = page->runs[first].n_units;

    brim_poison(unit_address(self, page, first), n * self->unit_bytes);
    page->runs[first] = (unit_run){0};
    set_bits(page->free_units, first, n, true);
    page->n_free += n;
    if (page->n_free == BRIM_PAGE_UNITS) remove_page(self, page);
}

/* ---- Slabs ---- */

static void link_slab(brim_small *self, brim_slab *slab)
{
    brim_slab **head = &self->partial[slab->class_idx];

    slab->previous = NULL;
    slab->next = *head;
    if (*head) (*head)->previous = slab;
    *head = slab;
}

static void unlink_slab(brim_small *self, brim_slab *slab)
{
    if (slab->next) slab->next->previous = slab->previous;
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        self->partial[slab->class_idx] = slab->next;
}

static brim_slab *add_slab(brim_small *self, uint32_t class_idx, brim_status *why)
{
    brim_slab *slab = brim_alloc_zeroed(self->windows->memory, sizeof(*slab), why);

    if (!slab) return NULL;
    slab->page = take_units(self, SLAB_UNITS, &slab->first_unit, why);
    if (!slab->page) {
        brim_alloc_release(self->windows->memory, slab, sizeof(*slab));
        return NULL;
    }
    slab->page->runs[slab->first_unit].slab = slab;
    slab->class_idx = class_idx;
    size_t n_blocks = SLAB_UNITS * self->unit_bytes / class_bytes(class_idx);
    slab->n_blocks = slab->n_free = n_blocks < SLAB_BLOCKS ? (uint32_t)n_blocks : SLAB_BLOCKS;
    set_bits(slab->free_blocks, 0, slab->n_blocks, true);
    link_slab(self, slab);
    return slab;
}

static uint8_t *block_address(const brim_small *self, const brim_slab *slab, uint32_t block)
{
    return unit_address(self, slab->page, slab->first_unit) + block * class_bytes(slab->class_idx);
}

static brim_status take_from_slab(brim_small *self, size_t bytes, size_t asked, void **out)
{
    uint32_t class_idx = class_of(bytes);
    brim_slab *slab = self->partial[class_idx];
    brim_status status = BRIM_OK;

    if (!slab) slab = add_slab(self, class_idx, &status);
    if (!slab) return status;
    uint32_t block = first_bit(slab->free_blocks);
    set_bits(slab->free_blocks, block, 1, false);
    slab->asked_bytes[block] = (uint32_t)asked;
    if (--slab->n_free == 0) unlink_slab(self, slab);
    *out = block_address(self, slab, block);
    return BRIM_OK;
}

static size_t give_back_to_slab(brim_small *self, brim_slab *slab, uint32_t block)
{
    size_t asked = slab->asked_bytes[block];

    brim_poison(block_address(self, slab, block), class_bytes(slab->class_idx));
    slab->asked_bytes[block] = 0;
    set_bits(slab->free_blocks, block, 1, true);
    if (slab->n_free++ == 0) link_slab(self, slab);
    if (slab->n_free == slab->n_blocks) {
        unlink_slab(self, slab);
        give_back_units(self, slab->page, slab->first_unit);
        brim_alloc_release(self->windows->memory, slab, sizeof(*slab));
    }
    return asked;
}

/* ---- The interface ---- */

/* Where a block lies: in a run of units, and in a slab's if it has one. */
typedef struct place {
    brim_small_page *page;
    uint32_t unit;
    brim_slab *slab;
    uint32_t block;
} place;

static place find_place(const brim_small *self, const void *p)
{
    uint32_t slot = brim_windows_slot_of(self->windows, p);
    place at = {.page = self->windows->at[slot].owner};
    size_t offset = (size_t)((const uint8_t *)p - brim_windows_address(self->windows, slot));

    at.unit = (uint32_t)(offset / self->unit_bytes);
    while (at.page->runs[at.unit].n_units == 0)
        at.unit--; /* a slab's block may lie behind its first unit */
    at.slab = at.page->runs[at.unit].slab;
    if (at.slab)
        at.block =
            (uint32_t)((offset - at.unit * self->unit_bytes) / class_bytes(at.slab->class_idx));
    return at;
}

void brim_small_init(brim_small *small, brim_windows *windows)
{
    *small = (brim_small){.windows = windows,
                          .unit_bytes = windows->page_bytes / BRIM_PAGE_UNITS,
                          .max_bytes = windows->page_bytes - windows->page_bytes / 8};
}

brim_status brim_small_take(brim_small *small, size_t bytes, size_t spare, size_t align, void **out)
{
    /* Blocks of a slab begin at multiples of 16, or of their class where that is a power of two. */
    size_t needed = bytes + spare;
    brim_status status;
    uint32_t unit;

    if (align > 16)
        while (needed < small->unit_bytes && class_bytes(class_of(needed)) % align != 0)
            needed = class_bytes(class_of(needed)) + 1;
    if (needed < small->unit_bytes) {
        status = take_from_slab(small, needed, bytes, out);
    } else {
        uint32_t n = (uint32_t)((needed + small->unit_bytes - 1) / small->unit_bytes);
        brim_small_page *page = take_units(small, n, &unit, &status);
        if (!page) return status;
        page->runs[unit].asked_bytes = (uint32_t)bytes;
        *out = unit_address(small, page, unit);
        status = BRIM_OK;
    }
    if (status == BRIM_OK) brim_unpoison(*out, bytes);
    return status;
}

size_t brim_small_give_back(brim_small *small, void *p)
{
    place at = find_place(small, p);

    if (at.slab) return give_back_to_slab(small, at.slab, at.block);
    size_t asked = at.page->runs[at.unit].asked_bytes;
    give_back_units(small, at.page, at.unit);
    return asked;
}

size_t brim_small_size_of(const brim_small *small, const void *p)
{
    place at = find_place(small, p);

    return at.slab ? at.slab->asked_bytes[at.block] : at.page->runs[at.unit].asked_bytes;
}

static brim_status check_slab(const brim_small *self, const brim_slab *slab, size_t *live_bytes,
                              brim_error *err)
{
    uint32_t n_free = 0;
    bool listed = false;

    for (uint32_t i = 0; i < slab->n_blocks; i++) {
        bool is_free = get_bit(slab->free_blocks, i);
        if (is_free != (slab->asked_bytes[i] == 0))
            return brim_fail(err, BRIM_E_RUNTIME, "a block is free and in use");
        n_free += is_free;
        *live_bytes += slab->asked_bytes[i];
    }
    for (const brim_slab *s = self->partial[slab->class_idx]; s; s = s->next)
        listed = listed || s == slab;
    if (n_free != slab->n_free || listed != (n_free > 0) || n_free == slab->n_blocks)
        return brim_fail(err, BRIM_E_RUNTIME, "a slab has miscounted its blocks");
    return BRIM_OK;
}

brim_status brim_small_check(const brim_small *small, size_t *live_bytes, brim_error *err)
{
    *live_bytes = 0;
    for (const brim_small_page *page = small->pages; page; page = page->next) {
        uint32_t n_free = 0;
        if (small->windows->at[page->slot].owner != page)
            return brim_fail(err, BRIM_E_RUNTIME, "a shared page has lost its window");
        for (uint32_t unit = 0; unit < BRIM_PAGE_UNITS;) {
            const unit_run *run = &page->runs[unit];
            bool is_free = get_bit(page->free_units, unit);
            if (is_free != (run->n_units == 0))
                return brim_fail(err, BRIM_E_RUNTIME, "a unit is free and in use");
            n_free += is_free;
            *live_bytes += run->asked_bytes;
            if (run->slab) {
                brim_status status = check_slab(small, run->slab, live_bytes, err);
                if (status != BRIM_OK) return status;
            }
            unit += is_free ? 1 : run->n_units;
        }
        if (n_free != page->n_free || n_free == BRIM_PAGE_UNITS)
            return brim_fail(err, BRIM_E_RUNTIME, "a shared page has miscounted its units");
    }
    return BRIM_OK;
}
