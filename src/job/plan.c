/*
 * plan.c - a plan: count and sample by name, try the sample for a while, and reckon from that.
 */
#include "brimful/plan.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fail.h"
#include "brimful/text.h"
#include "job/identity.h"
#include "job/probe.h"
#include "job/sample.h"
#include "job/setup.h"
#include "session/sim.h"

enum {
    MOST_SECONDS = 30,
    WALK_SHARE = 3, /* of the time, that counting may take */
};

/* ---- What is refused ---- */

static brim_status take_seconds(const brim_plan_options *planning, uint32_t *out, brim_error *err)
{
    *out = planning && planning->seconds > 0 ? planning->seconds : MOST_SECONDS;
    if (*out <= MOST_SECONDS) return BRIM_OK;
    return brim_fail(err, BRIM_E_ARG, "seconds %u is beyond %d", *out, MOST_SECONDS);
}

/* Whoever plans wants to run afterwards. */
static brim_status check_inputs(const brim_embed_options *options, brim_error *err)
{
    struct stat info;

    for (size_t i = 0; i < options->n_inputs; i++) {
        const char *input = options->inputs[i];
        if (input[0] != '@' || brim_source_list_is_countable(input + 1)) continue;
        if (strcmp(input, "@-") != 0 && stat(input + 1, &info) != 0) continue; /* told later */
        return brim_fail(err, BRIM_E_ARG,
                         "%s: can be read only once, and a plan would use it up: write it to a"
                         " file, and give @FILE",
                         input);
    }
    return BRIM_OK;
}

/* ---- What is known before the probe ---- */

static void tell_model(const brim_setup *setup, brim_plan *plan)
{
    const brim_sim_device *simulated = brim_session_sim_device(setup->model.session);
    const char *file = simulated ? simulated->name : setup->model.files.onnx;
    const char *device = setup->options.device ? setup->options.device : "cpu";

    brim_escape_line(brim_model_name(&setup->model), plan->model, sizeof(plan->model));
    brim_escape_line(file, plan->file, sizeof(plan->file));
    brim_escape_line(device, plan->device, sizeof(plan->device));
    plan->weights_bytes = simulated ? (uint64_t)simulated->weights_bytes
                                    : brim_model_bytes(setup->model.files.onnx, UINT64_MAX);
}

static brim_budget_origin origin_of(const brim_setup *setup)
{
    static const brim_budget_origin FREE[] = {
        [BRIM_BOUND_MACHINE] = BRIM_BUDGET_MACHINE,
        [BRIM_BOUND_GROUP] = BRIM_BUDGET_GROUP,
        [BRIM_BOUND_ADDRESSES] = BRIM_BUDGET_ADDRESSES,
    };
    size_t wanted = setup->options.memory_bytes;

    if (wanted == 0) return FREE[setup->bound];
    return wanted > brim_budget_limit_bytes(setup->budget) ? BRIM_BUDGET_LOWERED
                                                           : BRIM_BUDGET_ASKED;
}

/* A device with memory of its own is bound by that. */
static void tell_budget(const brim_setup *setup, brim_plan *plan)
{
    const brim_session *session = setup->model.session;

    plan->budget_bytes = brim_budget_limit_bytes(setup->budget);
    plan->origin = origin_of(setup);
    if (session->own_limit_bytes == 0) return;
    plan->budget_bytes = session->own_limit_bytes;
    plan->origin = BRIM_BUDGET_DEVICE;
    if (setup->options.memory_bytes == 0) return;
    plan->origin =
        setup->options.memory_bytes > plan->budget_bytes ? BRIM_BUDGET_LOWERED : BRIM_BUDGET_ASKED;
}

static void tell_inputs(const brim_sample *sample, brim_plan *plan)
{
    plan->n_images = sample->n_images;
    plan->is_counted = sample->is_counted;
    plan->n_skipped = sample->n_skipped;
    plan->n_incomplete = sample->n_incomplete;
}

/* ---- What the probe says ---- */

/* Wilson's interval of 95 % for a share of which k of n were seen. */
static void tell_unreadable(uint64_t n_images, const brim_probe *probe, brim_plan *plan)
{
    static const double Z = 1.96;
    double n = (double)probe->n_sampled, share = (double)probe->n_unreadable / fmax(n, 1.0);
    double middle = share + Z * Z / (2 * n);
    double half = Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n));
    double scale = 1 + Z * Z / n;

    plan->n_sampled = probe->n_sampled;
    plan->n_unreadable = probe->n_unreadable;
    plan->n_failed = probe->n_failed;
    memcpy(plan->unreadable, probe->unreadable, sizeof(plan->unreadable));
    plan->unreadable_least_frac = plan->unreadable_most_frac = share;
    if (plan->is_counted && probe->n_sampled == n_images) return; /* all of them were tried */
    plan->unreadable_least_frac = n > 0 ? fmax(0.0, (middle - half) / scale) : 0.0;
    plan->unreadable_most_frac = n > 0 ? fmin(1.0, (middle + half) / scale) : 1.0;
    if (probe->n_unreadable == 0) plan->unreadable_least_frac = 0.0; /* not by rounding */
}

static const brim_work_rung *chosen_rung(const brim_work *work)
{
    for (size_t i = 0; i < work->n_rungs; i++)
        if (work->ladder[i].is_chosen) return &work->ladder[i];
    return NULL;
}

/* Policies that do not measure may have chosen what is not on the ladder. */
static void tell_batch(const brim_setup *setup, const brim_probe *probe, brim_plan *plan)
{
    const brim_work_rung *chosen = chosen_rung(&plan->work);
    size_t most = brim_setup_most_items(setup), by_run = plan->work.memory.most_items;

    if (plan->work.n_rungs == 0) return;
    plan->batch = setup->batch == 0 && chosen ? chosen->n_items : probe->batch;
    plan->most_items = by_run < most ? by_run : most;
}

/* Items a second in the device's own time: at the chosen size, or else of all that was run. */
static double device_per_s(const brim_work *work)
{
    const brim_work_rung *chosen = chosen_rung(work);
    double n_items = 0.0;

    if (chosen) return chosen->items_per_s;
    for (size_t i = 0; i < work->n_sizes; i++)
        n_items += (double)work->sizes[i].n_items * (double)work->sizes[i].n_runs;
    return work->device_s > 0 ? n_items / work->device_s : 0.0;
}

/* On a virtual clock the device took none of the probe's time: it is as fast as it says, unless
 * everything else is slower. */
static void take_virtual_clock(brim_plan *plan)
{
    brim_work *work = &plan->work;
    double device = device_per_s(work), others = plan->images_per_s;

    if (!(device > 0) || !(others > 0)) return;
    double busy = others < device ? others / device : 1.0;
    work->stages[BRIM_STAGE_MODEL].busy_frac = busy;
    work->idle_frac = 1.0 - busy;
    if (device < others) {
        work->limit = BRIM_STAGE_MODEL;
        plan->images_per_s = device;
    }
}

static void tell_time(const brim_setup *setup, const brim_probe *probe, brim_plan *plan)
{
    const brim_sim_device *simulated = brim_session_sim_device(setup->model.session);

    if (probe->work.n_rungs > 0) plan->images_per_s = probe->images_per_s;
    plan->has_settled = probe->has_settled;
    plan->probe_s = probe->seconds;
    if (simulated && !simulated->is_real_time) take_virtual_clock(plan);
    if (plan->images_per_s > 0)
        plan->run_s = plan->load_s + (double)plan->n_images / plan->images_per_s;
}

/* ---- All ---- */

static brim_status count_and_try(brim_setup *setup, uint32_t seconds, brim_plan *plan,
                                 brim_error *err)
{
    uint64_t now_ns = brim_now_ns(), time_ns = seconds * 1000000000ull;
    brim_sample sample;
    brim_probe probe = {0};

    brim_status status = brim_sample_draw(brim_heap(), &setup->source_options, setup->options.limit,
                                          now_ns + time_ns / WALK_SHARE, &sample, err);
    if (status != BRIM_OK) return status;
    tell_inputs(&sample, plan);
    if (sample.n_rows > 0) status = brim_probe_run(setup, &sample, now_ns + time_ns, &probe, err);
    brim_sample_fini(&sample);
    if (status != BRIM_OK) return status;
    plan->work = probe.work;
    tell_unreadable(plan->n_images, &probe, plan);
    tell_batch(setup, &probe, plan);
    tell_time(setup, &probe, plan);
    return BRIM_OK;
}

static brim_status make(brim_setup *setup, const brim_embed_options *options, uint32_t seconds,
                        brim_plan *plan, brim_error *err)
{
    uint64_t started_ns = brim_now_ns();

    brim_status status = brim_setup_open(setup, options, err);
    if (status == BRIM_OK) status = brim_setup_settle(setup, err);
    if (status != BRIM_OK) return status;
    plan->load_s = (double)(brim_now_ns() - started_ns) / 1e9;
    tell_model(setup, plan);
    tell_budget(setup, plan);
    return count_and_try(setup, seconds, plan, err);
}

/* As much as an older caller has room for. */
static void hand_out(const brim_plan *plan, brim_plan *out)
{
    size_t bytes = out->struct_bytes, known = sizeof(*plan);

    memcpy(out, plan, bytes < known ? bytes : known);
    out->struct_bytes = bytes;
}

brim_status brim_plan_make(const brim_embed_options *options, const brim_plan_options *planning,
                           brim_plan *out, brim_error *err)
{
    brim_plan plan = {.struct_bytes = sizeof(plan), .run_s = -1.0};
    uint32_t seconds;
    brim_status status;

    brim_setup *setup = brim_alloc_zeroed(brim_heap(), sizeof(*setup), &status);
    if (!setup) return brim_fail(err, status, "no memory for a plan");
    status = take_seconds(planning, &seconds, err);
    if (status == BRIM_OK) status = check_inputs(options, err);
    if (status == BRIM_OK) status = make(setup, options, seconds, &plan, err);
    brim_setup_close(setup);
    brim_alloc_release(brim_heap(), setup, sizeof(*setup));
    if (status == BRIM_OK) hand_out(&plan, out);
    return status;
}
