/* visit.c - reads a store's sets, runs and failures for whoever wants to know. */
#include <string.h>

#include "base/fail.h"
#include "store/sqlite_db.h"

#include "brimful/store.h"

static const char SETS[] = "SELECT set_id, task, model, model_hash, settings, dim,"
                           " (SELECT count(*) FROM brim_embeddings e WHERE e.set_id=s.set_id),"
                           " (SELECT count(*) FROM brim_failures f WHERE f.set_id=s.set_id),"
                           " (SELECT count(*) FROM brim_runs r WHERE r.set_id=s.set_id)"
                           " FROM brim_sets s ORDER BY set_id";
static const char RUNS[] =
    "SELECT run, set_id, started, finished, outcome, summary FROM brim_runs ORDER BY run";
static const char FAILURES[] =
    "SELECT f.set_id, i.key, f.step, f.reason, f.attempts FROM brim_failures f"
    " JOIN brim_images i ON i.image=f.image ORDER BY f.set_id, i.key";

static const char *text_at(sqlite3_stmt *stmt, int column)
{
    return (const char *)sqlite3_column_text(stmt, column);
}

static const char *text_or_empty(sqlite3_stmt *stmt, int column)
{
    const char *text = text_at(stmt, column);

    return text ? text : "";
}

static void tell_set(const brim_store_visitor *visitor, sqlite3_stmt *stmt)
{
    brim_set_info info = {
        .set_id = sqlite3_column_int64(stmt, 0),
        .task = text_or_empty(stmt, 1),
        .model = text_or_empty(stmt, 2),
        .model_hash = text_or_empty(stmt, 3),
        .settings = text_or_empty(stmt, 4),
        .dim = sqlite3_column_int64(stmt, 5),
        .n_results = sqlite3_column_int64(stmt, 6),
        .n_failures = sqlite3_column_int64(stmt, 7),
        .n_runs = sqlite3_column_int64(stmt, 8),
    };
    visitor->set(visitor->ctx, &info);
}

static void tell_run(const brim_store_visitor *visitor, sqlite3_stmt *stmt)
{
    brim_run_info info = {
        .run = sqlite3_column_int64(stmt, 0),
        .set_id = sqlite3_column_int64(stmt, 1),
        .started = text_at(stmt, 2),
        .finished = text_at(stmt, 3),
        .outcome = text_at(stmt, 4),
        .summary = text_at(stmt, 5),
    };
    visitor->run(visitor->ctx, &info);
}

static void tell_failure(const brim_store_visitor *visitor, sqlite3_stmt *stmt)
{
    brim_failure_info info = {
        .set_id = sqlite3_column_int64(stmt, 0),
        .key = text_or_empty(stmt, 1),
        .step = text_or_empty(stmt, 2),
        .reason = text_or_empty(stmt, 3),
        .attempts = sqlite3_column_int64(stmt, 4),
    };
    visitor->failure(visitor->ctx, &info);
}

static brim_status visit_rows(sqlite3 *db, const char *name, const char *sql,
                              const brim_store_visitor *visitor,
                              void (*tell)(const brim_store_visitor *, sqlite3_stmt *),
                              brim_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    if (rc == SQLITE_ERROR && strstr(sqlite3_errmsg(db), "no such table"))
        return brim_fail(err, BRIM_E_ARG, "%s: nothing of brimful's is in this database", name);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW) tell(visitor, stmt);
    }
    brim_status status = rc == SQLITE_DONE ? BRIM_OK : brim_sqlite_fail(db, name, err);
    sqlite3_finalize(stmt);
    return status;
}

brim_status brim_store_visit(const char *name, const brim_store_visitor *visitor, brim_error *err)
{
    char absolute[PATH_MAX];
    sqlite3 *db = NULL;

    brim_status status = brim_sqlite_open(name, BRIM_SQLITE_READ, absolute, &db, err);
    if (status == BRIM_OK && visitor->set)
        status = visit_rows(db, name, SETS, visitor, tell_set, err);
    if (status == BRIM_OK && visitor->run)
        status = visit_rows(db, name, RUNS, visitor, tell_run, err);
    if (status == BRIM_OK && visitor->failure)
        status = visit_rows(db, name, FAILURES, visitor, tell_failure, err);
    sqlite3_close(db);
    return status;
}
