/*
 * store.h - what a store holds: its sets, their runs, their failures. (Vectors are read with SQL:
 * see docs/store.md.)
 *
 * Threads: a call opens the store, reads and closes it again; any thread may do so.
 */
#ifndef BRIMFUL_STORE_H
#define BRIMFUL_STORE_H

#include <stdint.h>

#include "brimful/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are borrowed until the callback returns. */
typedef struct brim_set_info {
    int64_t set_id;
    const char *task, *model, *model_hash, *settings;
    int64_t dim; /* floats of a vector; 0 before the first result */
    int64_t n_results, n_failures, n_runs;
} brim_set_info;

typedef struct brim_run_info {
    int64_t run, set_id;
    const char *started, *finished, *outcome, *summary; /* NULL where not (yet) known */
} brim_run_info;

typedef struct brim_failure_info {
    int64_t set_id;
    const char *key, *step, *reason;
    int64_t attempts;
} brim_failure_info;

/* Whoever is NULL is not called. Sets and runs come by number, failures by set and key. */
typedef struct brim_store_visitor {
    void (*set)(void *ctx, const brim_set_info *info);
    void (*run)(void *ctx, const brim_run_info *info);
    void (*failure)(void *ctx, const brim_failure_info *info);
    void *ctx;
} brim_store_visitor;

/*
 * Tells the visitor what the store holds, without changing it. Fails in one line where there is no
 * such store, or it is none.
 */
BRIM_API brim_status brim_store_visit(const char *name, const brim_store_visitor *visitor,
                                      brim_error *err);

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_STORE_H */
