/*
 * arena.c - the lock, the sizes and the figures of an arena; windows.c has its pages, small.c its
 * small blocks.
 */
#include "brimful/arena.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/size.h"
#include "base/system.h"
#include "memory/poison.h"
#include "memory/small.h"

enum {
    DEFAULT_ALIGN = 64,
    SPARE_BYTES = 64, /* behind each block, for vector code that reads past its end */
    DEFAULT_MAPPINGS = 65530,
    OUR_SHARE_OF_MAPPINGS = 4, /* a quarter */
    FEWEST_SLOTS = 64,
    CHECKED_SLOTS = 512, /* up to here a debug build checks after each operation */
};

/* Address space, as multiples of what may be held: wanted, and needed. Windows keep their slots
 * while their pages are elsewhere. */
static const size_t WANTED_SLOTS = 4;
static const double NEEDED_SLOTS = 1.5;
/* Small blocks, up to nearly a page, are counted in 32 bits. */
static const size_t LARGEST_PAGE = (size_t)4 << 30;

struct brim_arena {
    brim_alloc alloc; /* alloc.ctx points back here */
    const brim_alloc *memory;
    size_t max_bytes;
    pthread_mutex_t lock; /* guards all below */
    brim_windows windows;
    brim_small small;
    size_t limit_bytes;
    size_t live_bytes, peak_live_bytes;
    size_t n_windows, peak_windows;
    uint64_t n_blocks, n_refusals;
};

/* ---- Blocks ---- */

/* A small arena of a debug build looks at itself after each operation. Called with the lock held.
 */
static void check_if_small(const brim_arena *self)
{
#ifndef NDEBUG
    size_t live_bytes;

    if (self->windows.n_slots > CHECKED_SLOTS) return;
    assert(brim_windows_check(&self->windows, NULL) == BRIM_OK);
    assert(brim_small_check(&self->small, &live_bytes, NULL) == BRIM_OK);
#else
    (void)self;
#endif
}

static void note_taken(brim_arena *self, size_t bytes)
{
    self->n_blocks++;
    self->live_bytes += bytes;
    if (self->live_bytes <= self->peak_live_bytes) return;
    self->peak_live_bytes = self->live_bytes;
    self->peak_windows = self->n_windows;
}

static brim_status take_window(brim_arena *self, size_t bytes, void **out)
{
    size_t whole = bytes;
    uint32_t slot;

    if (self->windows.pages->faults_behind && brim_add_bytes(bytes, SPARE_BYTES, &whole) != BRIM_OK)
        return BRIM_E_BUDGET;
    size_t n = whole / self->windows.page_bytes + (whole % self->windows.page_bytes != 0);
    brim_status status = brim_windows_take(&self->windows, n, NULL, &slot);
    if (status != BRIM_OK) return status;
    self->windows.at[slot].bytes = bytes;
    self->n_windows++;
    *out = brim_windows_address(&self->windows, slot);
    brim_poison(*out, n * self->windows.page_bytes);
    brim_unpoison(*out, bytes);
    return BRIM_OK;
}

static brim_status take(brim_arena *self, size_t bytes, size_t align, void **out)
{
    const brim_small *small = &self->small;
    size_t spare = self->windows.pages->faults_behind ? SPARE_BYTES : 0;

    if (align > self->windows.page_bytes) return BRIM_E_ARG;
    if (bytes > small->max_bytes - spare || align > small->unit_bytes)
        return take_window(self, bytes, out);
    return brim_small_take(&self->small, bytes, spare, align, out);
}

static brim_status arena_alloc(void *ctx, size_t bytes, size_t align, void **out)
{
    brim_arena *self = ctx;

    *out = NULL;
    if (bytes == 0) bytes = 1;
    pthread_mutex_lock(&self->lock);
    brim_status status = take(self, bytes, align ? align : DEFAULT_ALIGN, out);
    if (status == BRIM_OK)
        note_taken(self, bytes);
    else
        self->n_refusals++;
    check_if_small(self);
    pthread_mutex_unlock(&self->lock);
    return status;
}

static void arena_release(void *ctx, void *p, size_t bytes)
{
    brim_arena *self = ctx;

    (void)bytes;
    if (!p) return;
    pthread_mutex_lock(&self->lock);
    uint32_t slot = brim_windows_slot_of(&self->windows, p);
    const brim_window *window = &self->windows.at[slot];
    assert(window->n_used > 0); /* or p was given back before, or is no block */
    if (window->owner) {
        self->live_bytes -= brim_small_give_back(&self->small, p);
    } else {
        self->live_bytes -= window->bytes;
        self->n_windows--;
        brim_windows_give_back(&self->windows, slot);
    }
    check_if_small(self);
    pthread_mutex_unlock(&self->lock);
}

/* ---- Making and ending ---- */

static size_t read_max_mappings(void)
{
    uint64_t n;

    if (!brim_system_read_number("", "/proc/sys/vm/max_map_count", &n) || n > SIZE_MAX)
        return DEFAULT_MAPPINGS;
    return (size_t)n;
}

/*
 * Pages that lie scattered are a mapping each to the kernel, which counts them: pages are made
 * larger until the slots that are needed are few enough.
 */
static brim_status choose_sizes(const brim_arena_options *options, size_t *page_bytes,
                                size_t *n_slots, size_t *min_slots)
{
    size_t most = options->max_mappings ? options->max_mappings : read_max_mappings();
    size_t page = options->page_bytes ? options->page_bytes : BRIM_HOST_PAGE_BYTES;

    most /= OUR_SHARE_OF_MAPPINGS;
    if (most < FEWEST_SLOTS) most = FEWEST_SLOTS;
    for (;; page *= 2) {
        size_t n_pages = options->max_bytes / page + 1;
        size_t needed = (size_t)(NEEDED_SLOTS * (double)n_pages);
        if (needed < FEWEST_SLOTS) needed = FEWEST_SLOTS;
        if (needed <= most || page >= LARGEST_PAGE) {
            *n_slots = WANTED_SLOTS * n_pages < most ? WANTED_SLOTS * n_pages : most;
            if (*n_slots < needed) *n_slots = needed;
            *min_slots = needed;
            *page_bytes = page;
            size_t bytes;
            return needed <= most ? brim_mul_bytes(*n_slots, page, &bytes) : BRIM_E_ARG;
        }
    }
}

static brim_status check_options(brim_arena_options *to, const brim_arena_options *from,
                                 brim_error *err)
{
    size_t bytes = from->struct_bytes < sizeof(*to) ? from->struct_bytes : sizeof(*to);

    *to = (brim_arena_options){0};
    memcpy(to, from, bytes);
    if (from->struct_bytes == 0)
        return brim_fail(err, BRIM_E_ARG, "options must start from BRIM_OPTIONS()");
    if (to->limit_bytes == 0) return brim_fail(err, BRIM_E_ARG, "an arena needs a limit");
    if (to->max_bytes == 0) to->max_bytes = to->limit_bytes;
    if (to->max_bytes < to->limit_bytes)
        return brim_fail(err, BRIM_E_ARG, "an arena's limit is above the highest it may be");
    size_t page = to->page_bytes;
    if (page > LARGEST_PAGE)
        return brim_fail(err, BRIM_E_ARG, "a page of %zu MiB is too large", page >> 20);
    if (page != 0 && page < BRIM_HOST_PAGE_BYTES && !to->pages)
        return brim_fail(err, BRIM_E_ARG, "a page of the host has at least %d bytes",
                         BRIM_HOST_PAGE_BYTES);
    if (page != 0 && ((page & (page - 1)) != 0 || page < BRIM_PAGE_UNITS * BRIM_SMALLEST_BLOCK))
        return brim_fail(err, BRIM_E_ARG, "a page of %zu bytes is no power of two from %d on", page,
                         BRIM_PAGE_UNITS * BRIM_SMALLEST_BLOCK);
    return BRIM_OK;
}

static brim_status init(brim_arena *self, const brim_arena_options *options, brim_error *err)
{
    size_t page_bytes, n_slots, min_slots;
    brim_pages *pages = options->pages;
    brim_status status = choose_sizes(options, &page_bytes, &n_slots, &min_slots);

    if (status != BRIM_OK)
        return brim_fail(err, status, "an arena of %zu MiB is beyond all pages",
                         options->max_bytes >> 20);
    if (!pages) status = brim_pages_create_host(NULL, &pages, err);
    if (status != BRIM_OK) return status;
    status =
        brim_windows_init(&self->windows, pages, self->memory, page_bytes, n_slots, min_slots, err);
    if (status != BRIM_OK) {
        if (!options->pages) pages->ops->destroy(pages);
        return status;
    }
    brim_small_init(&self->small, &self->windows);
    self->max_bytes = options->max_bytes;
    self->limit_bytes = options->limit_bytes;
    return brim_windows_set_limit(&self->windows, options->limit_bytes / page_bytes);
}

brim_status brim_arena_create(const brim_arena_options *options, brim_arena **out, brim_error *err)
{
    brim_arena_options checked;

    *out = NULL;
    brim_status status = check_options(&checked, options, err);
    if (status != BRIM_OK) return status;
    const brim_alloc *memory = checked.memory ? checked.memory : brim_heap();
    brim_arena *self = brim_alloc_zeroed(memory, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "no memory for an arena");
    self->alloc = (brim_alloc){arena_alloc, arena_release, self};
    self->memory = memory;
    if (pthread_mutex_init(&self->lock, NULL) != 0) {
        brim_alloc_release(memory, self, sizeof(*self));
        return brim_fail(err, BRIM_E_NOMEM, "no memory for an arena");
    }
    status = init(self, &checked, err);
    if (status != BRIM_OK) {
        pthread_mutex_destroy(&self->lock);
        brim_alloc_release(memory, self, sizeof(*self));
        return status;
    }
    *out = self;
    return BRIM_OK;
}

void brim_arena_destroy(brim_arena *arena)
{
    if (!arena) return;
    assert(arena->live_bytes == 0);
    brim_windows_fini(&arena->windows);
    pthread_mutex_destroy(&arena->lock);
    brim_alloc_release(arena->memory, arena, sizeof(*arena));
}

/* ---- What others may ask and tell ---- */

const brim_alloc *brim_arena_alloc(brim_arena *arena)
{
    return &arena->alloc;
}

bool brim_arena_owns(const brim_arena *arena, const void *p)
{
    const brim_windows *windows = &arena->windows;

    return (uintptr_t)p - (uintptr_t)windows->base < windows->n_slots * windows->page_bytes;
}

size_t brim_arena_size_of(brim_arena *arena, const void *p)
{
    pthread_mutex_lock(&arena->lock);
    const brim_window *window = &arena->windows.at[brim_windows_slot_of(&arena->windows, p)];
    size_t bytes = window->owner ? brim_small_size_of(&arena->small, p) : window->bytes;
    pthread_mutex_unlock(&arena->lock);
    return bytes;
}

brim_status brim_arena_set_limit(brim_arena *arena, size_t limit_bytes)
{
    if (limit_bytes > arena->max_bytes) return BRIM_E_ARG;
    pthread_mutex_lock(&arena->lock);
    brim_status status =
        brim_windows_set_limit(&arena->windows, limit_bytes / arena->windows.page_bytes);
    if (status == BRIM_OK) arena->limit_bytes = limit_bytes;
    check_if_small(arena);
    pthread_mutex_unlock(&arena->lock);
    return status;
}

size_t brim_arena_trim(brim_arena *arena, size_t keep_bytes)
{
    size_t page_bytes = arena->windows.page_bytes;

    pthread_mutex_lock(&arena->lock);
    size_t n = brim_windows_trim(&arena->windows, keep_bytes / page_bytes);
    check_if_small(arena);
    pthread_mutex_unlock(&arena->lock);
    return n * page_bytes;
}

brim_arena_holding brim_arena_held(brim_arena *arena)
{
    size_t page_bytes = arena->windows.page_bytes;

    pthread_mutex_lock(&arena->lock);
    brim_arena_holding held = {
        .reserved_bytes = arena->windows.n_held * page_bytes,
        .in_use_bytes = arena->windows.n_in_use * page_bytes,
    };
    pthread_mutex_unlock(&arena->lock);
    return held;
}

brim_arena_usage brim_arena_usage_now(brim_arena *arena)
{
    const brim_windows *windows = &arena->windows;
    size_t page_bytes = windows->page_bytes;

    pthread_mutex_lock(&arena->lock);
    brim_arena_usage usage = {
        .page_bytes = page_bytes,
        .limit_bytes = arena->limit_bytes,
        .live_bytes = arena->live_bytes,
        .reserved_bytes = windows->n_held * page_bytes,
        .idle_bytes = (windows->n_held - windows->n_in_use) * page_bytes,
        .peak_live_bytes = arena->peak_live_bytes,
        .peak_reserved_bytes = windows->peak_held * page_bytes,
        .n_windows = arena->n_windows,
        .peak_windows = arena->peak_windows,
        .largest_free_bytes = brim_windows_largest_free(windows) * page_bytes,
        .n_blocks = arena->n_blocks,
        .n_moves = windows->n_moves,
        .n_moved_pages = windows->n_moved,
        .n_fresh_pages = windows->n_fresh,
        .n_released_pages = windows->n_released,
        .n_refusals = arena->n_refusals,
        .n_failed_moves = windows->n_failed_moves,
    };
    pthread_mutex_unlock(&arena->lock);
    if (usage.peak_reserved_bytes > 0)
        usage.waste_frac = 1 - (double)usage.peak_live_bytes / (double)usage.peak_reserved_bytes;
    return usage;
}

void brim_arena_reset_peak(brim_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    arena->peak_live_bytes = arena->live_bytes;
    arena->peak_windows = arena->n_windows;
    arena->windows.peak_held = arena->windows.n_held;
    pthread_mutex_unlock(&arena->lock);
}

/* Adds up a mapping's lines "Rss:" and "AnonHugePages:". */
double brim_arena_huge_frac(brim_arena *arena)
{
    FILE *maps = fopen("/proc/self/smaps", "re");
    uint64_t resident_kib = 0, huge_kib = 0, kib;
    uintptr_t from, to;
    bool ours = false;
    char line[512];

    if (!maps) return -1;
    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            ours = brim_arena_owns(arena, (const void *)from);
        else if (ours && sscanf(line, "Rss: %" SCNu64, &kib) == 1)
            resident_kib += kib;
        else if (ours && sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1)
            huge_kib += kib;
    }
    fclose(maps);
    return resident_kib > 0 ? (double)huge_kib / (double)resident_kib : -1;
}

brim_status brim_arena_check(brim_arena *arena, brim_error *err)
{
    size_t live_bytes, n_windows = 0;

    pthread_mutex_lock(&arena->lock);
    const brim_windows *windows = &arena->windows;
    brim_status status = brim_windows_check(windows, err);
    if (status == BRIM_OK) status = brim_small_check(&arena->small, &live_bytes, err);
    if (status == BRIM_OK) {
        for (uint32_t s = windows->used.newest; s != BRIM_NO_SLOT; s = windows->at[s].older) {
            live_bytes += windows->at[s].bytes;
            n_windows += windows->at[s].owner == NULL;
        }
        if (live_bytes != arena->live_bytes || n_windows != arena->n_windows)
            status = brim_fail(err, BRIM_E_RUNTIME, "%zu bytes live in %zu windows, not %zu in %zu",
                               live_bytes, n_windows, arena->live_bytes, arena->n_windows);
    }
    pthread_mutex_unlock(&arena->lock);
    return status;
}
