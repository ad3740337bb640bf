/*
 * fake_walk.h - a source, a store and a session that need no files, databases or models, for tests
 * of the pipeline between them. Set the fields before the run, look at them after it.
 */
#ifndef FAKE_WALK_H
#define FAKE_WALK_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "session/session.h"
#include "source/source.h"
#include "store/store.h"

enum { FAKE_MAX_ROWS = 2000 };

/* Rows k0, k1, ... whose paths come from path_of. */
typedef struct fake_source {
    brim_source base;
    int n_rows, at, fail_at; /* fail_at: the row that ends in an error; 0 = none */
    const char *(*path_of)(void *ctx, int i);
    void *ctx;
} fake_source;

static brim_status fake_source_next(brim_source *base, brim_row **out, brim_error *err)
{
    fake_source *self = (fake_source *)base;
    char name[32];

    *out = NULL;
    if (self->fail_at && self->at == self->fail_at)
        return brim_fail(err, BRIM_E_IO, "the source broke");
    if (self->at == self->n_rows) return BRIM_END;
    snprintf(name, sizeof(name), "k%d", self->at);
    const char *path = self->path_of(self->ctx, self->at);
    self->at++;
    return brim_row_create(brim_heap(), name, path, out);
}

static void fake_source_close(brim_source *base)
{
    (void)base;
}

static const struct brim_source_ops FAKE_SOURCE_OPS = {fake_source_next, fake_source_close};

/* Counts what is committed, by the number in the key. */
typedef struct fake_store {
    brim_store base;
    int n_done[FAKE_MAX_ROWS], n_failed[FAKE_MAX_ROWS], n_tiled[FAKE_MAX_ROWS];
    float first[FAKE_MAX_ROWS]; /* the first number of the vector */
    char reason[FAKE_MAX_ROWS][sizeof(((brim_error *)0)->message)];
    brim_step step[FAKE_MAX_ROWS];
    int done_before; /* rows below this are claimed as done */
    int n_commits, break_at;
} fake_store;

static brim_status fake_store_claim(brim_store *base, const brim_row *row, brim_claim *out,
                                    brim_error *err)
{
    fake_store *self = (fake_store *)base;

    (void)err;
    *out = atoi(row->key + 1) < self->done_before ? BRIM_CLAIM_DONE : BRIM_CLAIM_TODO;
    return BRIM_OK;
}

static brim_status fake_store_commit(brim_store *base, const brim_record *const *records, size_t n,
                                     brim_error *err)
{
    fake_store *self = (fake_store *)base;

    if (++self->n_commits == self->break_at) return brim_fail(err, BRIM_E_IO, "the disk is full");
    for (size_t i = 0; i < n; i++) {
        int number = atoi(records[i]->row->key + 1);
        if (records[i]->vector) {
            self->n_done[number]++;
            self->first[number] = records[i]->vector[0];
        } else if (records[i]->is_tiled) {
            self->n_tiled[number]++;
        } else {
            self->n_failed[number]++;
            self->step[number] = records[i]->step;
            snprintf(self->reason[number], sizeof(self->reason[number]), "%s",
                     records[i]->error.message);
        }
    }
    return BRIM_OK;
}

static const struct brim_store_ops FAKE_STORE_OPS = {.claim = fake_store_claim,
                                                     .commit = fake_store_commit};

/*
 * Gives (mean of the picture, 1); refuses batches beyond max_batch, a mean of poison, and what its
 * budget has no activations for.
 */
typedef struct fake_session {
    brim_session base;
    brim_budget *budget; /* NULL: it needs no memory */
    size_t bytes_per_px; /* of activations */
    size_t max_batch;    /* 0 = any */
    float poison;
    brim_status poison_status;
    size_t largest_run, n_runs;
    size_t n_runs_of[65]; /* by batch size, of those that went well */
    float *out;
    brim_port port;
} fake_session;

static brim_status fake_session_run(brim_session *base, const void *pixels, size_t n,
                                    uint32_t height, uint32_t width, brim_output *out,
                                    brim_error *err)
{
    fake_session *self = (fake_session *)base;
    size_t size = (size_t)3 * height * width;

    self->n_runs++;
    if (n > self->largest_run) self->largest_run = n;
    if (self->max_batch && n > self->max_batch) return brim_fail(err, BRIM_E_BUDGET, "did not fit");
    if (self->budget) {
        const brim_alloc *mem = brim_budget_alloc(self->budget, BRIM_ACCOUNT_ACTIVATIONS);
        size_t bytes = n * height * width * self->bytes_per_px;
        void *activations;
        if (mem->alloc(mem->ctx, bytes, 0, &activations) != BRIM_OK)
            return brim_fail(err, BRIM_E_BUDGET, "the model needs %zu bytes", bytes);
        memset(activations, 1, bytes);
        mem->release(mem->ctx, activations, bytes);
        self->base.run_peak_bytes = bytes;
    }
    self->out = malloc(n * 2 * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < size; k++)
            sum += ((const float *)pixels)[i * size + k];
        self->out[2 * i] = (float)(sum / (double)size);
        self->out[2 * i + 1] = 1.0f;
        if (self->poison_status != BRIM_OK && self->out[2 * i] == self->poison) {
            free(self->out);
            self->out = NULL;
            return brim_fail(err, self->poison_status, "a poisonous picture");
        }
    }
    *out = (brim_output){.data = self->out, .n_dims = 2, .dims = {n, 2}};
    if (n <= 64) self->n_runs_of[n]++;
    return BRIM_OK;
}

static void fake_session_give_back(brim_session *base)
{
    fake_session *self = (fake_session *)base;

    free(self->out);
    self->out = NULL;
}

static const struct brim_session_ops FAKE_SESSION_OPS = {.run = fake_session_run,
                                                         .give_back = fake_session_give_back};

#endif /* FAKE_WALK_H */
