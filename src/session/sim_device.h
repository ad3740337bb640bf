/*
 * sim_device.h - a device made of a few numbers: what a batch would take of memory and of time.
 *
 * Pure arithmetic. The file's form and the formulas are those of docs/simulated-device.md.
 *
 * Threads: a device belongs to one thread at a time.
 */
#ifndef BRIM_SESSION_SIM_DEVICE_H
#define BRIM_SESSION_SIM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

enum { BRIM_SIM_MAX_COTENANTS = 64, BRIM_SIM_NAME_BYTES = 64 };

typedef struct brim_sim_cotenant {
    uint64_t after_batches;
    double bytes; /* that others hold from then on */
} brim_sim_cotenant;

typedef struct brim_sim_device {
    char name[BRIM_SIM_NAME_BYTES];
    bool is_real_time; /* clock "real": seconds are slept */
    double capacity_bytes, weights_bytes;
    struct {
        double fixed, per_item, per_pixel, per_token, per_token_squared;
    } bytes;
    struct {
        double fixed, per_item, per_pixel, parallel_items, knee_items, knee_slope;
    } seconds;
    double spill_bytes, spill_slowdown;
    double noise_sigma;
    uint64_t noise_state;                                /* of its random numbers */
    brim_sim_cotenant cotenants[BRIM_SIM_MAX_COTENANTS]; /* by after_batches */
    size_t n_cotenants;

    /* What happened so far. */
    uint64_t n_batches; /* done */
    uint64_t n_refusals;
    uint64_t n_spills;        /* batches done beyond the capacity */
    uint64_t n_spill_entries; /* of them, those after one that was not */
    bool is_spilling;
    double seconds_run; /* in all, refusals too */
    double peak_bytes;  /* of batches that were done, weights and co-tenants left out */
} brim_sim_device;

/* Reads a device's file. Unknown names, and numbers out of range, are errors that name them. */
brim_status brim_sim_device_load(const char *path, brim_sim_device *out, brim_error *err);

/* The same from the text of such a file, which messages call name. */
brim_status brim_sim_device_parse(const char *text, size_t bytes, const char *name,
                                  brim_sim_device *out, brim_error *err);

/* What one batch came to. */
typedef struct brim_sim_run {
    bool refused, spilled;
    double seconds;
    double bytes; /* that it needed beyond weights and co-tenants */
} brim_sim_run;

/* ceiling_bytes: of --memory, weights included; 0 = none beside the capacity. */
brim_sim_run brim_sim_device_run(brim_sim_device *device, size_t n, uint64_t pixels,
                                 uint32_t tokens, double ceiling_bytes);

/* What a batch needs now beyond weights and co-tenants, and the seconds it takes without noise and
 * spill. */
double brim_sim_device_bytes(const brim_sim_device *device, size_t n, uint64_t pixels,
                             uint32_t tokens);
double brim_sim_device_seconds(const brim_sim_device *device, size_t n, uint64_t pixels);

/*
 * What the device would say is free for a run: its memory, also that into which it spills, since a
 * device that spills does not tell where, less weights and co-tenants. 0 where none is.
 */
double brim_sim_device_free_bytes(const brim_sim_device *device, double ceiling_bytes);

#endif /* BRIM_SESSION_SIM_DEVICE_H */
