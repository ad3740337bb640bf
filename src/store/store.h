/*
 * store.h - where results go, and what is known to be done.
 *
 * A store holds sets. A set is "this task with this model and these settings"; a row is done in a
 * set when the set's results or failures hold its key. One transaction writes the results and
 * failures of a batch, so that a row is never half there.
 *
 * Threads: any thread may call; calls on one store take turns.
 */
#ifndef BRIM_STORE_STORE_H
#define BRIM_STORE_STORE_H

#include <stdbool.h>

#include "base/log.h"
#include "brimful/store.h"
#include "store/record.h"

typedef struct brim_store brim_store;

/* What makes a set. All texts are borrowed during the call only. */
typedef struct brim_set_spec {
    const char *task;
    const char *model;      /* its name, for people */
    const char *model_hash; /* its identity */
    const char *settings;   /* JSON with sorted keys */
    bool retry_failed;      /* earlier failures of the set are to be done again */
    bool may_repeat;        /* a key may come twice in this run and must be recognised */
} brim_set_spec;

typedef enum brim_claim {
    BRIM_CLAIM_TODO,
    BRIM_CLAIM_DONE,   /* a result is there */
    BRIM_CLAIM_FAILED, /* a failure is there, and is not to be tried again */
    BRIM_CLAIM_REPEAT, /* the key came before in this run */
} brim_claim;

struct brim_store_ops {
    brim_status (*begin)(brim_store *self, const brim_set_spec *spec, brim_error *err);
    brim_status (*claim)(brim_store *self, const brim_row *row, brim_claim *out, brim_error *err);
    brim_status (*commit)(brim_store *self, const brim_record *const *records, size_t n,
                          brim_error *err);
    brim_status (*finish)(brim_store *self, const char *outcome, const char *summary,
                          brim_error *err);
    brim_status (*count_done)(brim_store *self, uint64_t *out, brim_error *err);
    bool (*recall_hash)(brim_store *self, const char *path, int64_t bytes, int64_t mtime_ns,
                        char *out, size_t capacity);
    void (*remember_hash)(brim_store *self, const char *path, int64_t bytes, int64_t mtime_ns,
                          const char *hash);
    void (*close)(brim_store *self);
};

struct brim_store {
    const struct brim_store_ops *ops;
};

/*
 * Opens (and makes, where there is none) a store by its name: x.db, or any name that is not one of
 * another kind. Failures name the file: not a database, not writable, no such folder, a kind of
 * store that this version does not have.
 */
brim_status brim_store_open(const brim_alloc *mem, const char *name, brim_store **out,
                            brim_error *err);
brim_status brim_store_open_sqlite(const brim_alloc *mem, const char *path, brim_store **out,
                                   brim_error *err);

/*
 * Finds or makes the set and starts a run in it. Until the store is closed no other process may run
 * in the same set: BRIM_E_BUSY says which process does.
 */
static inline brim_status brim_store_begin(brim_store *store, const brim_set_spec *spec,
                                           brim_error *err)
{
    return store->ops->begin(store, spec, err);
}

/* Is this row to be done? BRIM_E_ARG: its key is in the store with another path. */
static inline brim_status brim_store_claim(brim_store *store, const brim_row *row, brim_claim *out,
                                           brim_error *err)
{
    return store->ops->claim(store, row, out, err);
}

/* Writes n results and failures in one transaction; on failure none of them is there. */
static inline brim_status brim_store_commit(brim_store *store, const brim_record *const *records,
                                            size_t n, brim_error *err)
{
    return store->ops->commit(store, records, n, err);
}

/* Ends the run: outcome is "done", "stopped" or "failed", summary is JSON. */
static inline brim_status brim_store_finish(brim_store *store, const char *outcome,
                                            const char *summary, brim_error *err)
{
    return store->ops->finish(store, outcome, summary, err);
}

/* Rows of the set that are done, failures included. */
static inline brim_status brim_store_count_done(brim_store *store, uint64_t *out, brim_error *err)
{
    return store->ops->count_done(store, out, err);
}

/*
 * The fingerprint of a file as it was found earlier, so that a model of gigabytes is read once. A
 * store may forget.
 */
static inline bool brim_store_recall_hash(brim_store *store, const char *path, int64_t bytes,
                                          int64_t mtime_ns, char *out, size_t capacity)
{
    return store->ops->recall_hash(store, path, bytes, mtime_ns, out, capacity);
}

static inline void brim_store_remember_hash(brim_store *store, const char *path, int64_t bytes,
                                            int64_t mtime_ns, const char *hash)
{
    store->ops->remember_hash(store, path, bytes, mtime_ns, hash);
}

/* Accepts NULL. */
static inline void brim_store_close(brim_store *store)
{
    if (store) store->ops->close(store);
}

#endif /* BRIM_STORE_STORE_H */
