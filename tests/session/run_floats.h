/* run_floats.h - runs a session on float32 pixels, whatever its input wants. */
#ifndef RUN_FLOATS_H
#define RUN_FLOATS_H

#include <stdlib.h>

#include "base/half.h"
#include "session/session.h"

static inline brim_status run_floats(brim_session *session, const float *pixels, size_t n,
                                     uint32_t height, uint32_t width, brim_output *out,
                                     brim_error *err)
{
    size_t n_floats = n * 3 * height * width;

    if (session->image.dtype != BRIM_F16)
        return brim_session_run(session, pixels, n, height, width, out, err);
    uint16_t *halves = malloc(n_floats * sizeof(*halves));
    if (!halves) abort();
    brim_half_from_float(halves, pixels, n_floats);
    brim_status status = brim_session_run(session, halves, n, height, width, out, err);
    free(halves);
    return status;
}

#endif /* RUN_FLOATS_H */
