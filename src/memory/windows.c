/*
 * windows.c - windows over a pool of pages: choosing one, filling it, and finding address space.
 *
 * Nothing is moved before it is certain that there are pages enough, so a request beyond the limit
 * leaves everything as it was. When address space runs out, idle windows that lie side by side are
 * joined, with the unused tails of windows in use; what cannot be had even then is refused.
 */
#include "memory/windows.h"

#include "base/fail.h"
#include "memory/poison.h"

/* ---- Lists, newest first ---- */

/* Puts a window between two neighbours; BRIM_NO_SLOT is the end of the list. */
static void list_insert(brim_windows *self, brim_window_list *list, uint32_t newer, uint32_t slot,
                        uint32_t older)
{
    self->at[slot].newer = newer;
    self->at[slot].older = older;
    *(newer != BRIM_NO_SLOT ? &self->at[newer].older : &list->newest) = slot;
    *(older != BRIM_NO_SLOT ? &self->at[older].newer : &list->oldest) = slot;
}

static void list_push(brim_windows *self, brim_window_list *list, uint32_t slot)
{
    list_insert(self, list, BRIM_NO_SLOT, slot, list->newest);
}

static void list_push_oldest(brim_windows *self, brim_window_list *list, uint32_t slot)
{
    list_insert(self, list, list->oldest, slot, BRIM_NO_SLOT);
}

static void list_remove(brim_windows *self, brim_window_list *list, uint32_t slot)
{
    uint32_t newer = self->at[slot].newer, older = self->at[slot].older;

    *(newer != BRIM_NO_SLOT ? &self->at[newer].older : &list->newest) = older;
    *(older != BRIM_NO_SLOT ? &self->at[older].newer : &list->oldest) = newer;
}

/* ---- Pages of a window ---- */

/* Counts a window's pages anew from its slots. */
static void recount(brim_windows *self, uint32_t slot)
{
    brim_window *window = &self->at[slot];
    const uint8_t *present = self->present + slot;
    uint32_t i;

    for (i = 0; i < window->n_slots && present[i]; i++)
        ;
    window->n_leading = i;
    window->n_spare = 0;
    for (i = window->n_used; i < window->n_slots; i++)
        window->n_spare += present[i];
}

static void mark(brim_windows *self, uint32_t first, uint32_t n, bool present)
{
    memset(self->present + first, present, n);
}

/* The last run of spare pages in the window, at most `most` of them. */
static uint32_t last_run(const brim_windows *self, uint32_t slot, uint32_t most, uint32_t *first)
{
    const brim_window *window = &self->at[slot];
    const uint8_t *present = self->present + slot;
    uint32_t end = window->n_slots, n = 0;

    while (end > window->n_used && !present[end - 1])
        end--;
    while (n < most && end - n > window->n_used && present[end - n - 1])
        n++;
    *first = slot + end - n;
    return n;
}

/* Spare pages first..first+n leave their window. */
static void take_out(brim_windows *self, uint32_t slot, uint32_t first, uint32_t n)
{
    brim_window *window = &self->at[slot];

    mark(self, first, n, false);
    window->n_spare -= n;
    if (first - slot < window->n_leading) window->n_leading = first - slot;
    if (window->n_used > 0) self->n_tail -= n;
}

/* Of a list, the oldest window that has n spare pages, else the one that has most; few moves do. */
static uint32_t find_spare(const brim_windows *self, const brim_window_list *list, uint32_t n)
{
    uint32_t most = BRIM_NO_SLOT;

    for (uint32_t s = list->oldest; s != BRIM_NO_SLOT; s = self->at[s].newer) {
        uint32_t n_spare = self->at[s].n_spare;
        if (n_spare >= n) return s;
        if (n_spare > 0 && (most == BRIM_NO_SLOT || n_spare > self->at[most].n_spare)) most = s;
    }
    return most;
}

/* Where up to n pages are to come from: tails of windows in use, then what has idled longest. */
static uint32_t find_spare_pages(const brim_windows *self, uint32_t n)
{
    return find_spare(self, self->n_tail > 0 ? &self->used : &self->idle, n);
}

static bool give_pages_back(brim_windows *self, uint32_t slot, uint32_t first, uint32_t n)
{
    if (self->pages->ops->release(self->pages, brim_windows_address(self, first),
                                  n * self->page_bytes) != BRIM_OK)
        return false;
    take_out(self, slot, first, n);
    self->n_held -= n;
    self->n_released += n;
    return true;
}

static brim_status take_fresh(brim_windows *self, uint32_t first, uint32_t n)
{
    brim_status status = self->pages->ops->fresh(self->pages, brim_windows_address(self, first),
                                                 n * self->page_bytes);
    if (status != BRIM_OK) return status;
    mark(self, first, n, true);
    self->n_held += n;
    self->n_fresh += n;
    if (self->n_held > self->peak_held) self->peak_held = self->n_held;
    return BRIM_OK;
}

/*
 * Up to n idle pages move to the slots from `to` on; *n says how many did. Where the system refuses
 * the move (it has a limit of its own on mappings) the pages are given back and fresh ones taken,
 * which splits no mapping.
 */
static brim_status move_in(brim_windows *self, uint32_t from, uint32_t to, uint32_t *n)
{
    uint32_t first;

    *n = last_run(self, from, *n, &first);
    brim_status status =
        self->pages->ops->move(self->pages, brim_windows_address(self, first),
                               brim_windows_address(self, to), *n * self->page_bytes);
    if (status == BRIM_OK) {
        take_out(self, from, first, *n);
        mark(self, to, *n, true);
        self->n_moves++;
        self->n_moved += *n;
        return BRIM_OK;
    }
    self->n_failed_moves++;
    if (!give_pages_back(self, from, first, *n)) return BRIM_E_BUDGET;
    return take_fresh(self, to, *n);
}

/* One step of filling: pages for (some of) the *n empty slots from `first` on. */
static brim_status fill_some(brim_windows *self, uint32_t first, uint32_t *n)
{
    uint32_t from = find_spare_pages(self, *n);

    if (from != BRIM_NO_SLOT) return move_in(self, from, first, n);
    size_t room = self->limit_pages - self->n_held;
    if (room == 0) return BRIM_E_BUDGET;
    if (*n > room) *n = (uint32_t)room;
    return take_fresh(self, first, *n);
}

/* Puts pages into the used slots of a window that have none. */
static brim_status fill(brim_windows *self, uint32_t slot)
{
    const brim_window *window = &self->at[slot];
    const uint8_t *present = self->present + slot;
    brim_status status = BRIM_OK;

    for (uint32_t k = window->n_leading; k < window->n_used && status == BRIM_OK;) {
        uint32_t end = k;
        while (end < window->n_used && !present[end])
            end++;
        uint32_t got = end - k;
        if (got > 0) status = fill_some(self, slot + k, &got);
        k += got > 0 ? got : 1;
    }
    return status;
}

/* ---- Choosing a window ---- */

/* Its pages fit: as few as possible beyond n. Else the one that lacks fewest. */
static bool is_better(const brim_window *window, const brim_window *best, uint32_t n)
{
    bool fits = window->n_leading >= n, best_fits = best->n_leading >= n;

    if (fits != best_fits) return fits;
    if (window->n_leading != best->n_leading)
        return fits ? window->n_leading < best->n_leading : window->n_leading > best->n_leading;
    return window->n_slots < best->n_slots;
}

/* Among equals the newest idle, whose memory is likeliest to be in the caches. */
static uint32_t find_idle_window(const brim_windows *self, uint32_t n, bool single)
{
    uint32_t best = BRIM_NO_SLOT;

    for (uint32_t s = self->idle.newest; s != BRIM_NO_SLOT; s = self->at[s].older) {
        const brim_window *window = &self->at[s];
        if (window->n_slots < n || (single && window->n_slots > 1)) continue;
        if (best == BRIM_NO_SLOT || is_better(window, &self->at[best], n)) best = s;
    }
    return best;
}

static uint32_t new_window(brim_windows *self, uint32_t slot, uint32_t n_slots)
{
    self->at[slot] = (brim_window){.n_slots = n_slots};
    recount(self, slot);
    list_push_oldest(self, &self->idle, slot);
    return slot;
}

/* A new window out of slots that were never in one; a quarter larger, for a somewhat larger block
 * next time. */
static uint32_t carve(brim_windows *self, uint32_t n, bool single)
{
    uint32_t left = self->high - self->low, wanted = n + n / 4;

    if (left < n) return BRIM_NO_SLOT;
    if (single) return new_window(self, --self->high, 1);
    if (wanted > left) wanted = n;
    self->low += wanted;
    return new_window(self, self->low - wanted, wanted);
}

/* ---- Address space, when there is no more untouched ---- */

/* Cuts a window after its first n slots; the rest is idle. */
static void split(brim_windows *self, uint32_t slot, uint32_t n)
{
    brim_window *window = &self->at[slot];
    uint32_t rest = window->n_slots - n;

    if (window->n_used > 0) self->n_tail -= window->n_spare;
    window->n_slots = n;
    recount(self, slot);
    if (window->n_used > 0) self->n_tail += window->n_spare;
    new_window(self, slot + n, rest);
}

/* Untouched slots become an idle window, and so do the tails of windows in use. */
static void free_address_space(brim_windows *self)
{
    if (self->low < self->high) {
        uint32_t slot = self->low, n = self->high - self->low;
        self->low = self->high; /* the windows tile everything from now on */
        new_window(self, slot, n);
    }
    for (uint32_t s = self->used.newest; s != BRIM_NO_SLOT; s = self->at[s].older)
        if (self->at[s].n_slots > self->at[s].n_used) split(self, s, self->at[s].n_used);
}

/* Joins idle windows that lie side by side, first to last (by address), into one of n slots. */
static uint32_t join(brim_windows *self, uint32_t first, uint32_t end, uint32_t n)
{
    for (uint32_t s = first, next; s < end; s = next) {
        next = s + self->at[s].n_slots;
        list_remove(self, &self->idle, s);
        self->at[s].n_slots = 0;
    }
    new_window(self, first, end - first);
    if (end - first > n) split(self, first, n);
    return first;
}

/* The shortest stretch of idle windows side by side that has n slots. */
static uint32_t find_stretch(const brim_windows *self, uint32_t n, uint32_t *end)
{
    uint32_t best = BRIM_NO_SLOT, from = brim_windows_first(self);

    for (uint32_t s = from; s < self->n_slots;) {
        uint32_t next = brim_windows_next(self, s);
        if (self->at[s].n_used > 0) {
            from = next;
        } else {
            while (next - from >= n && next - from - self->at[from].n_slots >= n)
                from += self->at[from].n_slots;
            if (next - from >= n && (best == BRIM_NO_SLOT || next - from < *end - best)) {
                best = from;
                *end = next;
            }
        }
        s = next;
    }
    return best;
}

static uint32_t reclaim(brim_windows *self, uint32_t n)
{
    uint32_t end = 0;

    free_address_space(self);
    uint32_t first = find_stretch(self, n, &end);
    return first == BRIM_NO_SLOT ? first : join(self, first, end, n);
}

/* ---- The interface ---- */

static uint32_t choose_window(brim_windows *self, uint32_t n, bool single)
{
    uint32_t slot = find_idle_window(self, n, single);

    if (slot == BRIM_NO_SLOT) slot = carve(self, n, single);
    if (slot == BRIM_NO_SLOT && single) slot = find_idle_window(self, n, false);
    if (slot == BRIM_NO_SLOT) slot = reclaim(self, n);
    /* Where a shared page has to take a longer window, the rest of it stays idle. */
    if (slot != BRIM_NO_SLOT && single && self->at[slot].n_slots > 1) split(self, slot, 1);
    return slot;
}

/* From now on what the window has behind its first n slots is a tail, and serves as such. */
static void begin_use(brim_windows *self, uint32_t slot, uint32_t n)
{
    brim_window *window = &self->at[slot];

    list_remove(self, &self->idle, slot);
    window->n_used = n;
    recount(self, slot);
    list_push(self, &self->used, slot);
    self->n_tail += window->n_spare;
    self->n_in_use += n;
}

static void end_use(brim_windows *self, uint32_t slot)
{
    brim_window *window = &self->at[slot];

    list_remove(self, &self->used, slot);
    self->n_tail -= window->n_spare;
    self->n_in_use -= window->n_used;
    window->n_used = 0;
    window->bytes = 0;
    window->owner = NULL;
    recount(self, slot);
    list_push(self, &self->idle, slot);
}

brim_status brim_windows_take(brim_windows *windows, size_t n, void *owner, uint32_t *slot)
{
    brim_windows *self = windows;

    if (n > self->limit_pages || self->n_in_use > self->limit_pages - n || n > self->n_slots)
        return BRIM_E_BUDGET;
    uint32_t s = choose_window(self, (uint32_t)n, owner != NULL);
    if (s == BRIM_NO_SLOT) return BRIM_E_BUDGET;

    begin_use(self, s, (uint32_t)n);
    brim_status status = fill(self, s);
    if (status != BRIM_OK) {
        end_use(self, s);
        return status;
    }
    recount(self, s);
    self->at[s].owner = owner;
    *slot = s;
    return BRIM_OK;
}

void brim_windows_give_back(brim_windows *windows, uint32_t slot)
{
    brim_poison(brim_windows_address(windows, slot),
                windows->at[slot].n_used * windows->page_bytes);
    end_use(windows, slot);
}

uint32_t brim_windows_slot_of(const brim_windows *windows, const void *p)
{
    return (uint32_t)((size_t)((const uint8_t *)p - windows->base) / windows->page_bytes);
}

/* Idle windows first, the longest idle one first; tails may be wanted by their windows soon. */
static uint32_t find_dispensable_pages(const brim_windows *self)
{
    return find_spare(self,
                      self->n_held - self->n_in_use > self->n_tail ? &self->idle : &self->used, 1);
}

size_t brim_windows_trim(brim_windows *windows, size_t keep)
{
    size_t before = windows->n_held;

    while (windows->n_held > keep) {
        uint32_t first, slot = find_dispensable_pages(windows);
        if (slot == BRIM_NO_SLOT) break;
        size_t surplus = windows->n_held - keep;
        uint32_t most = surplus < UINT32_MAX ? (uint32_t)surplus : UINT32_MAX;
        uint32_t n = last_run(windows, slot, most, &first);
        if (!give_pages_back(windows, slot, first, n)) break;
    }
    return before - windows->n_held;
}

brim_status brim_windows_set_limit(brim_windows *windows, size_t limit_pages)
{
    if (windows->n_in_use > limit_pages) return BRIM_E_BUDGET;
    brim_windows_trim(windows, limit_pages);
    if (windows->n_held > limit_pages) return BRIM_E_BUDGET;
    windows->limit_pages = limit_pages;
    return BRIM_OK;
}

size_t brim_windows_largest_free(const brim_windows *windows)
{
    size_t pages = windows->limit_pages - windows->n_in_use;
    size_t stretch = 0, longest = windows->high - windows->low;

    for (uint32_t s = brim_windows_first(windows); s < windows->n_slots;
         s = brim_windows_next(windows, s)) {
        const brim_window *window = &windows->at[s];
        stretch = window->n_used > 0 ? window->n_slots - window->n_used : stretch + window->n_slots;
        if (stretch > longest) longest = stretch;
    }
    return pages < longest ? pages : longest;
}

brim_status brim_windows_init(brim_windows *windows, brim_pages *pages, const brim_alloc *memory,
                              size_t page_bytes, size_t n_slots, size_t min_slots, brim_error *err)
{
    void *base = NULL;
    brim_status status;

    for (;;) {
        status = pages->ops->reserve(pages, n_slots * page_bytes, page_bytes, &base);
        if (status == BRIM_OK || n_slots == min_slots) break;
        n_slots = n_slots / 2 > min_slots ? n_slots / 2 : min_slots;
    }
    if (status != BRIM_OK)
        return brim_fail(err, status, "no address space for %zu MiB (see ulimit -v)",
                         n_slots * page_bytes >> 20);
    *windows = (brim_windows){.pages = pages,
                              .memory = memory,
                              .base = base,
                              .page_bytes = page_bytes,
                              .n_slots = (uint32_t)n_slots,
                              .high = (uint32_t)n_slots,
                              .used = {BRIM_NO_SLOT, BRIM_NO_SLOT},
                              .idle = {BRIM_NO_SLOT, BRIM_NO_SLOT}};
    windows->at = brim_alloc_zeroed(memory, n_slots * sizeof(*windows->at), &status);
    if (windows->at) windows->present = brim_alloc_zeroed(memory, n_slots, &status);
    if (windows->present) return BRIM_OK;
    brim_alloc_release(memory, windows->at, n_slots * sizeof(*windows->at));
    return brim_fail(err, status, "no memory for an arena of %zu pages", n_slots);
}

void brim_windows_fini(brim_windows *windows)
{
    brim_unpoison(windows->base, windows->low * windows->page_bytes);
    brim_unpoison(brim_windows_address(windows, windows->high),
                  (windows->n_slots - windows->high) * windows->page_bytes);
    windows->pages->ops->destroy(windows->pages);
    brim_alloc_release(windows->memory, windows->present, windows->n_slots);
    brim_alloc_release(windows->memory, windows->at, windows->n_slots * sizeof(*windows->at));
}
