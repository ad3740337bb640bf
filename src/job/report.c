/* report.c - what a run did, for programs as JSON and for people as a line about its memory. */
#include "brimful/job.h"

#include <jansson.h>

#include "base/line.h"

/* ---- JSON: by jansson, which writes numbers the same way in every locale ---- */

static json_t *accounts_json(const brim_report *report)
{
    json_t *all = json_object();

    for (size_t i = 0; i < BRIM_N_ACCOUNTS; i++) {
        const brim_account_usage *usage = &report->accounts[i];
        json_object_set_new(all, brim_account_name((brim_account)i),
                            json_pack("{s:I, s:I}", "peak", (json_int_t)usage->peak_bytes,
                                      "refusals", (json_int_t)usage->n_refusals));
    }
    return all;
}

static json_t *arena_json(const brim_report *report)
{
    const brim_arena_usage *a = &report->arena;
    json_t *huge = report->huge_frac >= 0 ? json_real(report->huge_frac) : json_null();

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "live",
        (json_int_t)a->live_bytes, "reserved", (json_int_t)a->reserved_bytes, "peak_live",
        (json_int_t)a->peak_live_bytes, "peak_reserved", (json_int_t)a->peak_reserved_bytes,
        "largest_free", (json_int_t)a->largest_free_bytes, "waste", a->waste_frac, "moves",
        (json_int_t)a->n_moves, "moved_pages", (json_int_t)a->n_moved_pages, "fresh_pages",
        (json_int_t)a->n_fresh_pages, "released_pages", (json_int_t)a->n_released_pages, "refusals",
        (json_int_t)a->n_refusals, "page_bytes", (json_int_t)a->page_bytes, "huge_frac", huge);
}

static json_t *memory_json(const brim_report *report)
{
    return json_pack("{s:I, s:I, s:o, s:o}", "limit", (json_int_t)report->limit_bytes, "unrouted",
                     (json_int_t)report->unrouted_bytes, "accounts", accounts_json(report), "arena",
                     arena_json(report));
}

static json_t *report_json(const brim_report *report)
{
    const brim_progress *c = &report->counts;

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:f, s:f, s:f, s:I, s:I,"
        " s:I, s:I, s:o}",
        "images", (json_int_t)c->n_done, "failed", (json_int_t)c->n_failed, "already_done",
        (json_int_t)c->n_already, "failed_earlier", (json_int_t)c->n_failed_earlier,
        "repeated_keys", (json_int_t)c->n_repeats, "skipped_files", (json_int_t)c->n_skipped,
        "incomplete_inputs", (json_int_t)c->n_incomplete, "batches", (json_int_t)c->n_batches,
        "refusals", (json_int_t)c->n_refusals, "splits", (json_int_t)c->n_splits, "set_aside",
        (json_int_t)c->n_set_aside, "trims", (json_int_t)c->n_trims, "stopped",
        (int)report->stopped, "load_s", report->load_s, "run_s", c->elapsed_s, "rows_per_s",
        c->rows_per_s, "memory_limit_bytes", (json_int_t)report->limit_bytes, "peak_reserved_bytes",
        (json_int_t)report->peak_bytes, "peak_live_bytes", (json_int_t)report->peak_live_bytes,
        "peak_resident_bytes", (json_int_t)report->peak_resident_bytes, "memory",
        memory_json(report));
}

brim_status brim_report_json(const brim_report *report, char *out, size_t capacity)
{
    json_t *all = report_json(report);
    size_t n = all ? json_dumpb(all, out, capacity, JSON_REAL_PRECISION(6)) : 0;

    json_decref(all);
    if (n == 0 || n >= capacity) {
        if (capacity > 0) out[0] = '\0';
        return all ? BRIM_E_ARG : BRIM_E_NOMEM;
    }
    out[n] = '\0';
    return BRIM_OK;
}

/* ---- The line ---- */

static unsigned long long to_mib(size_t bytes)
{
    return (bytes >> 20) + (bytes >> 19 & 1);
}

static void add_bytes(brim_line *to, size_t bytes)
{
    if (bytes >= (size_t)1 << 30)
        brim_line_add(to, "%.1f GiB", (double)bytes / (1u << 30));
    else
        brim_line_add(to, "%llu MiB", to_mib(bytes));
}

static void add_accounts(brim_line *to, const brim_report *report)
{
    const char *before = " (peaks in MiB: ";

    for (size_t i = 0; i < BRIM_N_ACCOUNTS; i++) {
        unsigned long long mib = to_mib(report->accounts[i].peak_bytes);
        if (mib == 0) continue;
        brim_line_add(to, "%s%s %llu", before, brim_account_name((brim_account)i), mib);
        before = ", ";
    }
    if (before[0] == ',') brim_line_add(to, ")");
}

static void add_number(brim_line *to, const char *before, uint64_t n, const char *one,
                       const char *many)
{
    brim_line_add(to, "%s%llu %s", before, (unsigned long long)n, n == 1 ? one : many);
}

size_t brim_report_memory_line(const brim_report *report, char *out, size_t capacity)
{
    const brim_arena_usage *arena = &report->arena;
    const brim_progress *c = &report->counts;

    if (capacity == 0) return 0;
    brim_line to = brim_line_begin(out, capacity);
    brim_line_add(&to, "memory: limit ");
    add_bytes(&to, report->limit_bytes);
    brim_line_add(&to, ", held at most ");
    add_bytes(&to, report->peak_bytes);
    add_accounts(&to, report);
    if (arena->peak_reserved_bytes > 0)
        brim_line_add(&to, "; arena %llu of %llu MiB live, waste %.0f %%",
                      to_mib(arena->peak_live_bytes), to_mib(arena->peak_reserved_bytes),
                      100 * arena->waste_frac);
    add_number(&to, "; ", c->n_refusals, "refusal", "refusals");
    add_number(&to, ", ", c->n_splits, "split", "splits");
    if (c->n_set_aside > 0)
        add_number(&to, ", ", c->n_set_aside, "picture run alone", "pictures run alone");
    return to.length;
}
