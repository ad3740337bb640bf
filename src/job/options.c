/* options.c - ranges and defaults of a job's options. */
#include "job/options.h"

#include <string.h>

#include "base/fail.h"
#include "base/system.h"
#include "job/model.h"
#include "job/room.h"
#include "source/null.h"

enum {
    MAX_THREADS = 1024,
    MAX_TILE = 65535,
    MAX_BAND = 99999,
    DEFAULT_TIMEOUT_S = 30,
    DEFAULT_PROGRESS_MS = 500,
};

/* Where Pillow refuses a picture as a decompression bomb: twice its own warning. */
static const uint64_t DEFAULT_MAX_PX = 178956970;

/* ---- Pictures ---- */

static brim_status check_bands(const uint32_t bands[3], brim_error *err)
{
    int n_bands = (bands[0] > 0) + (bands[1] > 0) + (bands[2] > 0);

    for (int i = 0; i < 3; i++)
        if (bands[i] > MAX_BAND)
            return brim_fail(err, BRIM_E_ARG, "band %u is beyond %d", bands[i], MAX_BAND);
    if (n_bands != 0 && n_bands != 3)
        return brim_fail(err, BRIM_E_ARG, "bands: three are needed, each counted from 1");
    return BRIM_OK;
}

static brim_status check_tiles(const brim_embed_options *options, brim_error *err)
{
    if (options->tile > MAX_TILE)
        return brim_fail(err, BRIM_E_ARG, "tile %u is beyond %d pixels", options->tile, MAX_TILE);
    if (options->overlap > 0 && options->overlap >= options->tile)
        return brim_fail(err, BRIM_E_ARG, "an overlap of %u pixels needs a larger tile than %u",
                         options->overlap, options->tile);
    for (size_t i = 0; options->tile > 0 && i < options->n_inputs; i++)
        if (brim_null_is_input(options->inputs[i]))
            return brim_fail(err, BRIM_E_ARG, "%s: has no pictures to cut into tiles (--tile)",
                             options->inputs[i]);
    return BRIM_OK;
}

static brim_status check_pixels(const brim_embed_options *options, brim_error *err)
{
    if ((unsigned)options->depth > BRIM_DEPTH_CLAMP ||
        (unsigned)options->decode > BRIM_DECODE_FAST ||
        (unsigned)options->resample_order > BRIM_ORDER_CLASSIC)
        return brim_fail(err, BRIM_E_ARG, "depth %d, decode %d, resample order %d: out of range",
                         (int)options->depth, (int)options->decode, (int)options->resample_order);
    brim_status status = check_bands(options->bands, err);
    return status == BRIM_OK ? check_tiles(options, err) : status;
}

/* ---- The governor ---- */

/* 0, the default, is in every range. */
typedef struct number_range {
    const char *name;
    size_t offset;
    double least, most;
} number_range;

static const number_range NUMBERS[] = {
    {"within", offsetof(brim_governor_options, within_frac), 0, 1},
    {"explore", offsetof(brim_governor_options, explore_frac), 0, 1},
    {"spill-factor", offsetof(brim_governor_options, spill_factor), 1, 1e6},
    {"estimate-frac", offsetof(brim_governor_options, estimate_frac), 0, 1},
    {"margin-frac", offsetof(brim_governor_options, margin_frac), 0, 1},
    {"bytes-per-pixel", offsetof(brim_governor_options, bytes_per_pixel), 0, 1e12},
    {"bytes-per-token", offsetof(brim_governor_options, bytes_per_token), 0, 1e12},
    {"low-frac", offsetof(brim_governor_options, low_frac), 0, 1},
    {"high-frac", offsetof(brim_governor_options, high_frac), 0, 1},
};

static brim_status check_governor(const brim_governor_options *options, brim_error *err)
{
    if ((unsigned)options->policy >= BRIM_N_POLICIES)
        return brim_fail(err, BRIM_E_ARG, "policy %d: out of range", (int)options->policy);
    if (options->max_batch > BRIM_MAX_BATCH || options->start_batch > BRIM_MAX_BATCH)
        return brim_fail(err, BRIM_E_ARG, "--max-batch %u, --start-batch %u: at most %d",
                         options->max_batch, options->start_batch, BRIM_MAX_BATCH);
    for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
        const number_range *range = &NUMBERS[i];
        double value;
        memcpy(&value, (const char *)options + range->offset, sizeof(value));
        if (!(value >= 0 && value <= range->most) || (value > 0 && value < range->least))
            return brim_fail(err, BRIM_E_ARG, "--%s %g: not from %g to %g", range->name, value,
                             range->least, range->most);
    }
    if (options->low_frac > 0 && options->high_frac > 0 && options->low_frac >= options->high_frac)
        return brim_fail(err, BRIM_E_ARG, "--low-frac %g: not below --high-frac %g",
                         options->low_frac, options->high_frac);
    return BRIM_OK;
}

/* ---- All ---- */

/* A simulated device has a memory of its own, as small as it likes. */
static brim_status check_memory(const brim_embed_options *options, brim_error *err)
{
    if (options->memory_bytes == 0 || brim_device_is_simulated(options->device) ||
        options->memory_bytes >= BRIM_LEAST_MEMORY_BYTES)
        return BRIM_OK;
    return brim_fail(err, BRIM_E_ARG, "--memory: at least %d MiB are needed",
                     BRIM_LEAST_MEMORY_BYTES >> 20);
}

static brim_status check(const brim_embed_options *options, brim_error *err)
{
    if (!options->model) return brim_fail(err, BRIM_E_ARG, "no model: give a folder (-m MODEL)");
    if (options->batch > BRIM_MAX_BATCH)
        return brim_fail(err, BRIM_E_ARG, "batch %u is beyond %d", options->batch, BRIM_MAX_BATCH);
    if (options->n_threads > MAX_THREADS)
        return brim_fail(err, BRIM_E_ARG, "threads %u is beyond %d", options->n_threads,
                         MAX_THREADS);
    brim_status status = brim_embed_check_device(options->model, options->device, err);
    if (status == BRIM_OK) status = check_memory(options, err);
    if (status == BRIM_OK) status = check_pixels(options, err);
    return status == BRIM_OK ? check_governor(&options->governor, err) : status;
}

/* --batch is a policy too, and overrules the one that is named. */
static void fill_in(brim_embed_options *options)
{
    if (options->n_threads == 0) options->n_threads = brim_system_n_cpus("");
    if (options->max_px == 0) options->max_px = DEFAULT_MAX_PX;
    if (options->file_timeout_s == 0) options->file_timeout_s = DEFAULT_TIMEOUT_S;
    if (options->progress_ms == 0) options->progress_ms = DEFAULT_PROGRESS_MS;
    if (options->batch == 0) return;
    options->governor.policy = BRIM_POLICY_FIXED;
    options->governor.start_batch = options->batch;
}

/* Of an older caller's options the missing tail is zero; a newer one's tail is not looked at. */
brim_status brim_options_take(brim_embed_options *to, const brim_embed_options *from,
                              brim_error *err)
{
    size_t bytes = from->struct_bytes < sizeof(*to) ? from->struct_bytes : sizeof(*to);

    if (from->struct_bytes == 0)
        return brim_fail(err, BRIM_E_ARG, "options must start from BRIM_OPTIONS()");
    memcpy(to, from, bytes);
    brim_status status = check(to, err);
    if (status == BRIM_OK) fill_in(to);
    return status;
}
