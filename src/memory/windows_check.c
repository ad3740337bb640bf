/* windows_check.c - walks what must hold of the windows of an arena and of their pages. */
#include "memory/windows.h"

#include "base/fail.h"

typedef struct tally {
    size_t n_windows, n_held, n_in_use, n_tail;
} tally;

static brim_status check_window(const brim_windows *self, uint32_t slot, tally *sum,
                                brim_error *err)
{
    const brim_window *window = &self->at[slot];
    uint32_t n_leading = 0, n_spare = 0;

    if (window->n_slots == 0 || window->n_slots > self->n_slots - slot)
        return brim_fail(err, BRIM_E_RUNTIME, "slot %u is in no window", slot);
    if (window->n_used > window->n_slots)
        return brim_fail(err, BRIM_E_RUNTIME, "window %u uses slots beyond its own", slot);
    for (uint32_t i = 0; i < window->n_slots; i++) {
        bool present = self->present[slot + i];
        if (i > 0 && self->at[slot + i].n_slots > 0)
            return brim_fail(err, BRIM_E_RUNTIME, "a window begins inside window %u", slot);
        if (!present && i < window->n_used)
            return brim_fail(err, BRIM_E_RUNTIME, "window %u lacks page %u", slot, i);
        if (present && n_leading == i) n_leading++;
        sum->n_held += present;
        n_spare += present && i >= window->n_used;
    }
    if (n_leading != window->n_leading || n_spare != window->n_spare)
        return brim_fail(err, BRIM_E_RUNTIME, "window %u has miscounted its pages", slot);
    sum->n_windows++;
    sum->n_in_use += window->n_used;
    if (window->n_used > 0) sum->n_tail += n_spare;
    return BRIM_OK;
}

/* Counts the windows of a list; SIZE_MAX where it is torn or holds the wrong kind. */
static size_t check_list(const brim_windows *self, const brim_window_list *list, bool used)
{
    uint32_t newer = BRIM_NO_SLOT;
    size_t n = 0;

    for (uint32_t s = list->newest; s != BRIM_NO_SLOT; s = self->at[s].older) {
        const brim_window *window = &self->at[s];
        if (window->newer != newer || window->n_slots == 0 || (window->n_used > 0) != used ||
            n > self->n_slots)
            return SIZE_MAX;
        newer = s;
        n++;
    }
    return list->oldest == newer ? n : SIZE_MAX;
}

brim_status brim_windows_check(const brim_windows *windows, brim_error *err)
{
    tally sum = {0};

    for (uint32_t s = brim_windows_first(windows); s < windows->n_slots;
         s = brim_windows_next(windows, s)) {
        brim_status status = check_window(windows, s, &sum, err);
        if (status != BRIM_OK) return status;
    }
    for (uint32_t s = windows->low; s < windows->high; s++)
        if (windows->present[s])
            return brim_fail(err, BRIM_E_RUNTIME, "a page lies in untouched slot %u", s);
    if (sum.n_held != windows->n_held || sum.n_in_use != windows->n_in_use ||
        sum.n_tail != windows->n_tail)
        return brim_fail(err, BRIM_E_RUNTIME,
                         "pages: %zu held, %zu in use, %zu in tails, not %zu, %zu, %zu", sum.n_held,
                         sum.n_in_use, sum.n_tail, windows->n_held, windows->n_in_use,
                         windows->n_tail);
    if (windows->n_held > windows->limit_pages)
        return brim_fail(err, BRIM_E_RUNTIME, "%zu pages held, limit %zu", windows->n_held,
                         windows->limit_pages);
    size_t n_used = check_list(windows, &windows->used, true);
    size_t n_idle = check_list(windows, &windows->idle, false);
    if (n_used == SIZE_MAX || n_idle == SIZE_MAX || n_used + n_idle != sum.n_windows)
        return brim_fail(err, BRIM_E_RUNTIME, "a list of windows is torn");
    return BRIM_OK;
}
