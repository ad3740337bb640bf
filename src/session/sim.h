/*
 * sim.h - a session over the simulated device: it computes nothing, and takes what the device's
 * file says of memory and of time.
 *
 * Pictures are never looked at: the slot of each is a stub, whatever shape it counts as, and run()
 * is given the counted shape. An output holds no numbers; vectors are made from the keys
 * (task/sim.c).
 */
#ifndef BRIM_SESSION_SIM_H
#define BRIM_SESSION_SIM_H

#include "session/session.h"
#include "session/sim_device.h"

enum {
    BRIM_SIM_STUB_SIDE = 8,      /* a stub is a picture of that many pixels a side, */
    BRIM_SIM_COUNTED_SIDE = 224, /* and what a picture of a real file counts as */
    BRIM_SIM_DIM = 8,            /* numbers in a vector */
};

typedef struct brim_sim_options {
    const char *path;     /* the device's file */
    size_t ceiling_bytes; /* of the simulated memory, weights included; 0 = the device's own. More
                             than the device has is lowered with a word */
    const brim_log *log;  /* for that word; not kept */
} brim_sim_options;

/*
 * Fails with what brim_sim_device_load() says, and with BRIM_E_BUDGET where the weights alone are
 * more than the ceiling or the device. A run that is refused took the device's seconds too. With
 * a clock "real" seconds are slept.
 */
brim_status brim_session_open_sim(const brim_alloc *mem, const brim_sim_options *options,
                                  brim_session **out, brim_error *err);

/* The device, with what happened on it so far; NULL where the session is none of these. */
const brim_sim_device *brim_session_sim_device(const brim_session *session);

#endif /* BRIM_SESSION_SIM_H */
