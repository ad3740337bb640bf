/* room.c - limits at the start of a job. */
#include "job/room.h"

#include <sys/stat.h>

#include "base/fail.h"
#include "base/size.h"
#include "base/system.h"
#include "brimful/arena.h"
#include "job/identity.h"

/* What the queues, one small picture and the smallest of models need beside what is loaded. */
static const size_t LEAST_LEFT_BYTES = 12u << 20;

/*
 * Loading holds the file as it was read, the graph made of it, and its weights once more as the
 * kernels want them: up to three times the file at the peak (2.9 to 3.1 by trial, less with large
 * matrices). Weights in files of their own are mapped, not read: 1.6 times by trial.
 */
static const uint64_t LOAD_FACTOR = 3, DATA_FACTOR = 2;
/* The runtime itself, with what it works on while it loads. */
static const uint64_t RUNTIME_BYTES = 32u << 20;

/* A limit above what is free would be none. */
static size_t lower_to_free(size_t wanted_bytes, const brim_log *log)
{
    size_t free_bytes = brim_memory_free_bytes("");

    if (free_bytes == 0 || wanted_bytes <= free_bytes) return wanted_bytes;
    brim_log_write(log, BRIM_LOG_NOTE, "--memory is lowered to %zu MiB, which is what is free",
                   free_bytes >> 20);
    return free_bytes > BRIM_LEAST_MEMORY_BYTES ? free_bytes : BRIM_LEAST_MEMORY_BYTES;
}

/* An arena takes up to four times its limit in address space. Where that is short (ulimit -v) it
 * may have half of it, since everything else needs some too. */
static brim_status make_arena(size_t limit_bytes, brim_arena **out, brim_error *err)
{
    brim_arena_options options = BRIM_OPTIONS(brim_arena_options);
    uint64_t share = brim_system_free_address_space("") / 8;

    options.limit_bytes = share < limit_bytes ? (size_t)share : limit_bytes;
    return brim_arena_create(&options, out, err);
}

brim_status brim_room_open(size_t wanted_bytes, const brim_log *log, brim_budget **out,
                           brim_error *err)
{
    brim_arena *arena;

    brim_status status = brim_budget_create(lower_to_free(wanted_bytes, log), out, err);
    if (status != BRIM_OK) return status;
    status = make_arena(brim_budget_limit_bytes(*out), &arena, err);
    if (status == BRIM_OK) {
        brim_budget_set_arena(*out, arena);
    } else {
        brim_budget_destroy(*out);
        *out = NULL;
    }
    return status;
}

brim_status brim_room_check_load(const brim_budget *budget, const char *onnx, brim_error *err)
{
    struct stat info;
    uint64_t limit = brim_budget_limit_bytes(budget);
    uint64_t needed = brim_system_resident_bytes() + RUNTIME_BYTES;
    uint64_t most = limit > needed ? (limit - needed) / DATA_FACTOR : 0;
    uint64_t onnx_bytes = stat(onnx, &info) == 0 ? (uint64_t)info.st_size : 0;
    uint64_t all_bytes = brim_model_bytes(onnx, most);

    if (all_bytes < onnx_bytes)
        all_bytes = onnx_bytes; /* it could not be read: loading will tell */
    needed += LOAD_FACTOR * onnx_bytes + DATA_FACTOR * (all_bytes - onnx_bytes);
    if (needed <= limit) return BRIM_OK;
    return brim_fail(err, BRIM_E_BUDGET,
                     "%s: loading it takes about %llu MiB, limit %llu MiB (--memory)", onnx,
                     (unsigned long long)brim_mib_up(needed), (unsigned long long)(limit >> 20));
}

brim_status brim_room_check_left(brim_budget *budget, brim_error *err)
{
    brim_status status = brim_budget_measure(budget, 0);

    if (status == BRIM_OK && brim_budget_usable_bytes(budget) >= LEAST_LEFT_BYTES) return BRIM_OK;
    return brim_fail(
        err, BRIM_E_BUDGET,
        "the model and its runtime take %zu MiB of the limit of %zu MiB: give more --memory",
        brim_mib_up(brim_budget_usage(budget, BRIM_ACCOUNT_UNROUTED).live_bytes),
        brim_budget_limit_bytes(budget) >> 20);
}
