/* sim.c - a session over the simulated device. */
#include "session/sim.h"

#include <errno.h>
#include <time.h>

#include "base/fail.h"
#include "base/size.h"

/* As long as a clock "real" sleeps for one run, whatever the file says. */
static const double LONGEST_SLEEP_S = 1e6;

typedef struct sim_session {
    brim_session base; /* first: a brim_session pointer is a pointer to us */
    const brim_alloc *mem;
    brim_sim_device device;
    double ceiling_bytes; /* 0 = none */
    brim_port layer;
} sim_session;

/* Of numbers that a file made as large as it liked. */
static size_t to_size(double bytes)
{
    return bytes < 0x1p63 ? (size_t)bytes : SIZE_MAX;
}

static void sleep_for(double seconds)
{
    if (seconds > LONGEST_SLEEP_S) seconds = LONGEST_SLEEP_S;
    struct timespec left = {.tv_sec = (time_t)seconds};

    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static brim_status refuse(const sim_session *self, size_t n, double needed_bytes, brim_error *err)
{
    double free_bytes = brim_sim_device_free_bytes(&self->device, self->ceiling_bytes);

    return brim_fail(err, BRIM_E_BUDGET,
                     "the simulated device has %zu MiB free, a batch of %zu needs %zu MiB"
                     " (--memory)",
                     to_size(free_bytes) >> 20, n, brim_mib_up(to_size(needed_bytes)));
}

static brim_status sim_session_run(brim_session *base, const void *pixels, size_t n,
                                   uint32_t height, uint32_t width, brim_output *out,
                                   brim_error *err)
{
    sim_session *self = (sim_session *)base;

    (void)pixels;
    *out = (brim_output){0};
    base->run_seconds = 0.0;
    base->run_peak_bytes = 0;
    if (n == 0 || height == 0 || width == 0)
        return brim_fail(err, BRIM_E_ARG, "%s: a batch without pixels", self->device.name);
    brim_sim_run run =
        brim_sim_device_run(&self->device, n, (uint64_t)height * width, 0, self->ceiling_bytes);
    base->run_seconds = run.seconds;
    if (self->device.is_real_time) sleep_for(run.seconds);
    if (run.refused) return refuse(self, n, run.bytes, err);
    base->run_peak_bytes = to_size(run.bytes);
    *out = (brim_output){.n_dims = 2, .dims = {n, 0}};
    return BRIM_OK;
}

static void sim_session_give_back(brim_session *base)
{
    (void)base;
}

static size_t sim_session_free_bytes(const brim_session *base)
{
    const sim_session *self = (const sim_session *)base;

    return to_size(brim_sim_device_free_bytes(&self->device, self->ceiling_bytes));
}

static void sim_session_close(brim_session *base)
{
    sim_session *self = (sim_session *)base;

    brim_alloc_release(self->mem, self, sizeof(*self));
}

static const struct brim_session_ops SIM_SESSION_OPS = {
    .run = sim_session_run,
    .give_back = sim_session_give_back,
    .free_bytes = sim_session_free_bytes,
    .close = sim_session_close,
};

/* A ceiling above what the device has would be none. */
static void take_ceiling(sim_session *self, const brim_sim_options *options)
{
    double ceiling = (double)options->ceiling_bytes;
    double most = brim_sim_device_free_bytes(&self->device, 0) + self->device.weights_bytes;

    self->ceiling_bytes = ceiling;
    if (ceiling <= most) return;
    brim_log_write(options->log, BRIM_LOG_NOTE,
                   "--memory is lowered to %zu MiB, which is what the simulated device has free",
                   to_size(most) >> 20);
    self->ceiling_bytes = most;
}

static brim_status load_weights(sim_session *self, const char *path, brim_error *err)
{
    const brim_sim_device *device = &self->device;
    double capacity = device->capacity_bytes + device->spill_bytes;
    bool is_ceiling = self->ceiling_bytes > 0 && self->ceiling_bytes < capacity;
    double most = is_ceiling ? self->ceiling_bytes : capacity;

    self->base.own_limit_bytes = to_size(most);
    self->base.own_weights_bytes = to_size(device->weights_bytes);
    if (device->weights_bytes < most) return BRIM_OK;
    return brim_fail(err, BRIM_E_BUDGET, "%s: the weights take %zu MiB, limit %zu MiB%s", path,
                     brim_mib_up(to_size(device->weights_bytes)), to_size(most) >> 20,
                     is_ceiling ? " (--memory)" : "");
}

/* What a model of these ports would look like. */
static void describe(sim_session *self)
{
    brim_session *base = &self->base;

    base->ops = &SIM_SESSION_OPS;
    base->image = (brim_port){"pixels", BRIM_F32, 4, {-1, 3, -1, -1}};
    self->layer = (brim_port){"vector", BRIM_F32, 2, {-1, BRIM_SIM_DIM}};
    base->layers = &self->layer;
    base->n_layers = 1;
    base->stub_bytes = (size_t)BRIM_SIM_STUB_SIDE * BRIM_SIM_STUB_SIDE * 3 * sizeof(float);
    base->stub_height = base->stub_width = BRIM_SIM_COUNTED_SIDE;
}

brim_status brim_session_open_sim(const brim_alloc *mem, const brim_sim_options *options,
                                  brim_session **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    sim_session *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self)
        return brim_fail(err, status, "the simulated device: no memory for %zu bytes",
                         sizeof(*self));
    self->mem = mem;
    describe(self);
    status = brim_sim_device_load(options->path, &self->device, err);
    if (status == BRIM_OK) {
        take_ceiling(self, options);
        status = load_weights(self, options->path, err);
    }
    if (status != BRIM_OK) {
        sim_session_close(&self->base);
        return status;
    }
    *out = &self->base;
    return BRIM_OK;
}

const brim_sim_device *brim_session_sim_device(const brim_session *session)
{
    return session->ops == &SIM_SESSION_OPS ? &((const sim_session *)session)->device : NULL;
}
