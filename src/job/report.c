/* report.c - what a run did, for programs as JSON, for people as lines about memory and limits. */
#include "job/report.h"

#include <stdio.h>

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

static json_t *sizes_json(const brim_work *work)
{
    json_t *all = json_object();

    for (size_t i = 0; i < work->n_sizes; i++) {
        char name[24];
        snprintf(name, sizeof(name), "%zu", work->sizes[i].n_items);
        json_object_set_new(all, name, json_integer((json_int_t)work->sizes[i].n_runs));
    }
    if (work->n_other_runs > 0)
        json_object_set_new(all, "other", json_integer((json_int_t)work->n_other_runs));
    return all;
}

static json_t *stages_json(const brim_work *work)
{
    json_t *all = json_object();

    for (size_t i = 0; i < BRIM_N_STAGES; i++)
        json_object_set_new(all, brim_stage_name((brim_stage)i),
                            json_pack("{s:f, s:f}", "busy_s", work->stages[i].busy_s, "busy",
                                      work->stages[i].busy_frac));
    return all;
}

static json_t *rung_json(const brim_work_rung *rung)
{
    json_t *rate = rung->items_per_s > 0 ? json_real(rung->items_per_s) : json_null();

    return json_pack("{s:I, s:I, s:o, s:I, s:b, s:b}", "items", (json_int_t)rung->n_items, "runs",
                     (json_int_t)rung->n_runs, "items_per_s", rate, "bytes",
                     (json_int_t)rung->bytes, "chosen", (int)rung->is_chosen, "walled",
                     (int)rung->is_walled);
}

static json_t *ladder_json(const brim_work *work)
{
    json_t *all = json_array();

    for (size_t i = 0; i < work->n_rungs; i++)
        json_array_append_new(all, rung_json(&work->ladder[i]));
    return all;
}

static json_t *run_memory_json(const brim_work_memory *memory)
{
    return json_pack("{s:I, s:I, s:I, s:f}", "fixed", (json_int_t)memory->fixed_bytes, "per_image",
                     (json_int_t)memory->item_bytes, "per_token", (json_int_t)memory->token_bytes,
                     "error", memory->error_frac);
}

bool brim_report_add_work(json_t *all, const brim_work *work)
{
    json_t *added = json_pack(
        "{s:f, s:o, s:I, s:f, s:{s:s, s:f}, s:o, s:I, s:I, s:o, s:o}", "device_seconds",
        work->device_s, "batches", sizes_json(work), "spill_events", (json_int_t)work->n_spills,
        "device_idle", work->idle_frac, "limit", "stage", brim_stage_name(work->limit), "share",
        work->stages[work->limit].busy_frac, "stages", stages_json(work), "n_decoders",
        (json_int_t)work->n_decoders, "ladder_pixels", (json_int_t)work->ladder_px, "ladder",
        ladder_json(work), "run_memory", run_memory_json(&work->memory));
    bool ok = all && added && json_object_update(all, added) == 0;

    json_decref(added);
    return ok;
}

static json_t *counts_json(const brim_report *report)
{
    const brim_progress *c = &report->counts;

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:f, s:f, s:f, s:I, s:I,"
        " s:I, s:I, s:o}",
        "images", (json_int_t)c->n_done, "failed", (json_int_t)c->n_failed, "already_done",
        (json_int_t)c->n_already, "failed_earlier", (json_int_t)c->n_failed_earlier,
        "repeated_keys", (json_int_t)c->n_repeats, "skipped_files", (json_int_t)c->n_skipped,
        "incomplete_inputs", (json_int_t)c->n_incomplete, "n_batches", (json_int_t)c->n_batches,
        "refusals", (json_int_t)c->n_refusals, "splits", (json_int_t)c->n_splits, "set_aside",
        (json_int_t)c->n_set_aside, "trims", (json_int_t)c->n_trims, "stopped",
        (int)report->stopped, "load_s", report->load_s, "run_s", c->elapsed_s, "rows_per_s",
        c->rows_per_s, "memory_limit_bytes", (json_int_t)report->limit_bytes, "peak_reserved_bytes",
        (json_int_t)report->peak_bytes, "peak_live_bytes", (json_int_t)report->peak_live_bytes,
        "peak_resident_bytes", (json_int_t)report->peak_resident_bytes, "memory",
        memory_json(report));
}

static json_t *report_json(const brim_report *report)
{
    json_t *all = counts_json(report);

    if (brim_report_add_work(all, &report->work)) return all;
    json_decref(all);
    return NULL;
}

brim_status brim_report_write_json(json_t *all, char *out, size_t capacity)
{
    size_t n = all ? json_dumpb(all, out, capacity, JSON_REAL_PRECISION(6)) : 0;

    json_decref(all);
    if (n == 0 || n >= capacity) {
        if (capacity > 0) out[0] = '\0';
        return all ? BRIM_E_ARG : BRIM_E_NOMEM;
    }
    out[n] = '\0';
    return BRIM_OK;
}

brim_status brim_report_json(const brim_report *report, char *out, size_t capacity)
{
    return brim_report_write_json(report_json(report), out, capacity);
}

/* ---- The line ---- */

static unsigned long long to_mib(size_t bytes)
{
    return (bytes >> 20) + (bytes >> 19 & 1);
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
    brim_line_add_bytes(&to, report->limit_bytes);
    brim_line_add(&to, ", held at most ");
    brim_line_add_bytes(&to, report->peak_bytes);
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

void brim_report_add_limit(brim_line *to, const brim_work *work)
{
    if (work->limit == BRIM_STAGE_MODEL)
        brim_line_add(to, "the model limits: it was busy %.0f %% of the time",
                      100 * work->stages[BRIM_STAGE_MODEL].busy_frac);
    else
        brim_line_add(to, "%s limits: the model waited %.0f %% of the time",
                      brim_stage_name(work->limit), 100 * work->idle_frac);
}

size_t brim_report_limit_line(const brim_report *report, char *out, size_t capacity)
{
    if (capacity == 0) return 0;
    brim_line to = brim_line_begin(out, capacity);
    brim_report_add_limit(&to, &report->work);
    return to.length;
}
