/* plan_words.c - a plan for people, line by line, and for programs as JSON. */
#include <jansson.h>
#include <string.h>

#include "base/line.h"
#include "brimful/plan.h"
#include "job/report.h"

const char *brim_budget_origin_name(brim_budget_origin origin)
{
    static const char *const NAMES[] = {
        [BRIM_BUDGET_ASKED] = "memory",
        [BRIM_BUDGET_LOWERED] = "memory lowered",
        [BRIM_BUDGET_MACHINE] = "free",
        [BRIM_BUDGET_GROUP] = "control group",
        [BRIM_BUDGET_ADDRESSES] = "address space",
        [BRIM_BUDGET_DEVICE] = "device",
    };
    return (unsigned)origin <= BRIM_BUDGET_DEVICE ? NAMES[origin] : "unknown";
}

/* ---- Lines ---- */

#define LABEL "%-10s" /* before each line */

static const char *words_of(brim_budget_origin origin)
{
    static const char *const WORDS[] = {
        [BRIM_BUDGET_ASKED] = "as --memory says",
        [BRIM_BUDGET_LOWERED] = "less than --memory, since no more is free",
        [BRIM_BUDGET_MACHINE] = "80 % of what is free",
        [BRIM_BUDGET_GROUP] = "80 % of what the control group leaves",
        [BRIM_BUDGET_ADDRESSES] = "80 % of the address space that is allowed (ulimit -v)",
        [BRIM_BUDGET_DEVICE] = "all of the simulated device",
    };
    return (unsigned)origin <= BRIM_BUDGET_DEVICE ? WORDS[origin] : "unknown";
}

static void add_model(brim_line *to, const brim_plan *plan)
{
    const char *slash = strrchr(plan->file, '/');

    brim_line_add(to, LABEL "%s (%s, ", "model", plan->model, slash ? slash + 1 : plan->file);
    brim_line_add_bytes(to, plan->weights_bytes);
    brim_line_add(to, " of weights) on %s\n", plan->device);
}

static void add_memory(brim_line *to, const brim_plan *plan)
{
    const brim_work_memory *memory = &plan->work.memory;

    if (plan->work.n_rungs == 0) return;
    brim_line_add(to, LABEL, "memory");
    brim_line_add_bytes(to, memory->item_bytes);
    brim_line_add(to, " per image +- %.*f %%", memory->error_frac < 0.1 ? 1 : 0,
                  100 * memory->error_frac);
    if (memory->token_bytes > 0) {
        brim_line_add(to, ", ");
        brim_line_add_bytes(to, memory->token_bytes);
        brim_line_add(to, " per token");
    }
    if (memory->fixed_bytes >= 1024) {
        brim_line_add(to, ", ");
        brim_line_add_bytes(to, memory->fixed_bytes);
        brim_line_add(to, " fixed");
    }
    brim_line_add(to, ", while the model runs\n");
}

static void add_budget(brim_line *to, const brim_plan *plan)
{
    const brim_work *work = &plan->work;

    brim_line_add(to, LABEL, "budget");
    brim_line_add_bytes(to, plan->budget_bytes);
    brim_line_add(to, ": %s", words_of(plan->origin));
    if (work->n_rungs > 0) {
        brim_line_add(to, "; ");
        brim_line_add_bytes(to, work->memory.room_bytes);
        brim_line_add(to, " of it for a run of the model");
    }
    brim_line_add(to, "\n");
}

static void add_padded_bytes(brim_line *to, size_t bytes)
{
    char text[24];
    brim_line inner = brim_line_begin(text, sizeof(text));

    brim_line_add_bytes(&inner, bytes);
    brim_line_add(to, "%10s", text);
}

static void add_rung(brim_line *to, const brim_work_rung *rung)
{
    const char *word = rung->is_chosen ? "  chosen" : rung->is_walled ? "  too large" : "";
    double per_s = rung->items_per_s;

    brim_line_add(to, LABEL "%6zu %9.*f ", "", rung->n_items, per_s < 100 ? 1 : 0, per_s);
    add_padded_bytes(to, rung->bytes);
    if (rung->n_runs > 0)
        brim_line_add(to, " %6llu%s\n", (unsigned long long)rung->n_runs, word);
    else
        brim_line_add(to, " %6s%s\n", "-", word);
}

static void add_ladder(brim_line *to, const brim_plan *plan)
{
    const brim_work *work = &plan->work;

    if (work->n_rungs == 0) return;
    brim_line_add(to, LABEL "%zu is chosen, at most %zu fit%s\n", "batch", plan->batch,
                  plan->most_items, plan->has_settled ? "" : " (it had not settled)");
    brim_line_add(to, LABEL "%6s %9s %10s %6s\n", "ladder", "batch", "img/s", "memory", "runs");
    for (size_t i = 0; i < work->n_rungs; i++)
        add_rung(to, &work->ladder[i]);
    brim_line_add(to, LABEL, "stages");
    brim_report_add_limit(to, work);
    brim_line_add(to, "\n");
}

static void add_unreadable(brim_line *to, const brim_plan *plan)
{
    double least = 100 * plan->unreadable_least_frac, most = 100 * plan->unreadable_most_frac;

    if (plan->n_sampled == 0) return;
    brim_line_add(to, "; unreadable: ");
    brim_line_add_count(to, plan->n_unreadable);
    brim_line_add(to, " of ");
    brim_line_add_count(to, plan->n_sampled);
    if (plan->is_counted && plan->n_sampled == plan->n_images)
        brim_line_add(to, ", which are all");
    else if (plan->n_unreadable == 0)
        brim_line_add(to, " sampled (at most %.2g %%)", most);
    else
        brim_line_add(to, " sampled (%.2g to %.2g %%)", least, most);
}

static void add_images(brim_line *to, const brim_plan *plan)
{
    brim_line_add(to, LABEL "%s", "images", plan->is_counted ? "" : "at least ");
    brim_line_add_count(to, plan->n_images);
    add_unreadable(to, plan);
    brim_line_add(to, "\n");
    if (plan->n_unreadable > 0) brim_line_add(to, LABEL "%s\n", "", plan->unreadable);
    if (plan->n_failed > 0)
        brim_line_add(to, LABEL "%llu of the sample failed in the model\n", "",
                      (unsigned long long)plan->n_failed);
    if (plan->n_skipped > 0)
        brim_line_add(to, LABEL "%llu files are no pictures by their names\n", "",
                      (unsigned long long)plan->n_skipped);
    if (plan->n_incomplete > 0)
        brim_line_add(to, LABEL "%llu inputs could not be read to their end\n", "",
                      (unsigned long long)plan->n_incomplete);
}

static void add_time(brim_line *to, const brim_plan *plan)
{
    if (plan->run_s < 0) return;
    brim_line_add(to, LABEL "%s ", "time", plan->is_counted ? "about" : "more than");
    brim_line_add_duration(to, plan->run_s);
    brim_line_add(to, " at %.*f img/s, with %.1f s to load\n", plan->images_per_s < 100 ? 1 : 0,
                  plan->images_per_s, plan->load_s);
}

size_t brim_plan_text(const brim_plan *plan, char *out, size_t capacity)
{
    if (capacity == 0) return 0;
    brim_line to = brim_line_begin(out, capacity);
    add_model(&to, plan);
    add_memory(&to, plan);
    add_budget(&to, plan);
    add_ladder(&to, plan);
    add_images(&to, plan);
    add_time(&to, plan);
    return to.length;
}

/* ---- JSON ---- */

static json_t *known_or_null(double value, bool is_known)
{
    return is_known ? json_real(value) : json_null();
}

static json_t *model_json(const brim_plan *plan)
{
    return json_pack("{s:s, s:s, s:s, s:I}", "name", plan->model, "file", plan->file, "device",
                     plan->device, "weights_bytes", (json_int_t)plan->weights_bytes);
}

static json_t *budget_json(const brim_plan *plan)
{
    size_t room = plan->work.memory.room_bytes;

    return json_pack("{s:I, s:s, s:I}", "bytes", (json_int_t)plan->budget_bytes, "from",
                     brim_budget_origin_name(plan->origin), "run_bytes",
                     (json_int_t)(room < INT64_MAX ? room : INT64_MAX));
}

static json_t *unreadable_json(const brim_plan *plan)
{
    json_t *example = plan->unreadable[0] ? json_string(plan->unreadable) : json_null();

    return json_pack("{s:I, s:I, s:f, s:f, s:o}", "sampled", (json_int_t)plan->n_sampled, "failed",
                     (json_int_t)plan->n_unreadable, "least", plan->unreadable_least_frac, "most",
                     plan->unreadable_most_frac, "example", example);
}

static json_t *plan_json(const brim_plan *plan)
{
    return json_pack(
        "{s:o, s:o, s:I, s:I, s:b, s:I, s:b, s:o, s:I, s:I, s:I, s:o, s:f, s:f, s:o}", "model",
        model_json(plan), "budget", budget_json(plan), "batch", (json_int_t)plan->batch,
        "largest_batch", (json_int_t)plan->most_items, "settled", (int)plan->has_settled, "images",
        (json_int_t)plan->n_images, "counted", (int)plan->is_counted, "unreadable",
        unreadable_json(plan), "failed_in_model", (json_int_t)plan->n_failed, "skipped_files",
        (json_int_t)plan->n_skipped, "incomplete_inputs", (json_int_t)plan->n_incomplete,
        "images_per_s", known_or_null(plan->images_per_s, plan->images_per_s > 0), "load_s",
        plan->load_s, "probe_s", plan->probe_s, "run_s",
        known_or_null(plan->run_s, plan->run_s >= 0));
}

brim_status brim_plan_json(const brim_plan *plan, char *out, size_t capacity)
{
    json_t *all = plan_json(plan);

    if (!brim_report_add_work(all, &plan->work)) {
        json_decref(all);
        all = NULL;
    }
    return brim_report_write_json(all, out, capacity);
}
