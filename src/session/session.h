/*
 * session.h - a model that can be run on batches, whatever runs it.
 *
 * ONNX Runtime on the CPU stands behind it, or a simulated device. The interface knows
 * tensors and names, nothing about pictures or tasks.
 *
 * Threads: one run at a time; describing is free.
 */
#ifndef BRIM_SESSION_SESSION_H
#define BRIM_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/log.h"
#include "brimful/memory.h"
#include "brimful/status.h"

enum { BRIM_MAX_DIMS = 8 };

/* dims[i] is -1 where the model leaves it open. Names live as long as the session. */
typedef struct brim_port {
    const char *name;
    brim_dtype dtype;
    size_t n_dims;
    int64_t dims[BRIM_MAX_DIMS];
} brim_port;

/* A result lent until brim_session_give_back() or the next run; float16 arrives widened. */
typedef struct brim_output {
    const float *data;
    size_t n_dims;
    size_t dims[BRIM_MAX_DIMS];
} brim_output;

typedef struct brim_session brim_session;

struct brim_session_ops {
    brim_status (*run)(brim_session *self, const void *pixels, size_t n, uint32_t height,
                       uint32_t width, brim_output *out, brim_error *err);
    void (*give_back)(brim_session *self);
    size_t (*free_bytes)(const brim_session *self); /* NULL: its memory is the budget's */
    void (*close)(brim_session *self);
};

struct brim_session {
    const struct brim_session_ops *ops;
    brim_port image;         /* the one image input: (batch, 3, height, width) */
    const brim_port *layers; /* the outputs, in the model's order */
    size_t n_layers;
    size_t run_peak_bytes; /* most that the last run held at once, where it is known */
    double run_seconds;    /* that the last run took, refused or not: of a virtual clock, those */
    size_t stub_bytes;     /* not 0: a picture of any shape takes a slot of these bytes, since the
                              session looks at shapes alone, */
    uint32_t stub_height;  /* and one that comes from a file counts as of this shape */
    uint32_t stub_width;
    size_t own_limit_bytes; /* of a device with memory of its own: what we may take of it, weights
                               included; 0 = its memory is the budget's */
    size_t own_weights_bytes;
    size_t layer; /* index of the output that run() fetches, set before the first run */
};

/* Batch size the model insists on, or 0 where it takes any. */
static inline size_t brim_session_fixed_batch(const brim_session *session)
{
    return session->image.dims[0] > 0 ? (size_t)session->image.dims[0] : 0;
}

/*
 * Runs pixels (n, 3, height, width) of the image input's dtype and lends the chosen layer in *out
 * (n first). A model with a fixed batch must be given exactly that n. BRIM_E_BUDGET: did not fit,
 * fewer may; the session goes on working. BRIM_E_ARG: the model does not take this shape.
 * BRIM_E_RUNTIME: anything else.
 */
static inline brim_status brim_session_run(brim_session *session, const void *pixels, size_t n,
                                           uint32_t height, uint32_t width, brim_output *out,
                                           brim_error *err)
{
    return session->ops->run(session, pixels, n, height, width, out, err);
}

/*
 * Bytes that the next run may hold at once, as the device tells it; SIZE_MAX where it has no memory
 * of its own, so that the budget alone decides.
 */
static inline size_t brim_session_free_bytes(const brim_session *session)
{
    return session->ops->free_bytes ? session->ops->free_bytes(session) : SIZE_MAX;
}

/* Ends the loan of the last run's output; free of effect without one. */
static inline void brim_session_give_back(brim_session *session)
{
    session->ops->give_back(session);
}

/* Accepts NULL. */
static inline void brim_session_close(brim_session *session)
{
    if (session) session->ops->close(session);
}

#endif /* BRIM_SESSION_SESSION_H */
