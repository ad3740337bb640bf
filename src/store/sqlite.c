/*
 * sqlite.c - a store in a SQLite database, which may be the user's own.
 *
 * One connection, one lock: claims and commits take turns. Every write of several steps is a BEGIN
 * IMMEDIATE transaction (a reader that turns writer fails at once under somebody else's lock,
 * whatever the timeout), and the database's journal mode stays as its owner set it.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/hash.h"
#include "base/sync.h"
#include "store/lock.h"
#include "store/schema.h"
#include "store/sqlite_db.h"
#include "store/sqlite_rows.h"
#include "store/store.h"

typedef struct sqlite_store {
    brim_store base; /* first: a brim_store pointer is a pointer to us */
    const brim_alloc *mem;
    brim_monitor monitor; /* guards the connection and all below */
    bool has_monitor;
    char path[PATH_MAX];
    sqlite3 *db;
    brim_sqlite_rows rows;
    brim_set_lock lock;
    int64_t run;
} sqlite_store;

static brim_status fail_sqlite(const sqlite_store *self, brim_error *err)
{
    return brim_sqlite_fail(self->db, self->path, err);
}

static brim_status execute(sqlite_store *self, const char *sql, brim_error *err)
{
    return sqlite3_exec(self->db, sql, NULL, NULL, NULL) == SQLITE_OK ? BRIM_OK
                                                                      : fail_sqlite(self, err);
}

/* Ends a transaction one way or the other; what went wrong before is what is told. */
static brim_status end_transaction(sqlite_store *self, brim_status status, brim_error *err)
{
    if (status == BRIM_OK) status = execute(self, "COMMIT", err);
    if (status != BRIM_OK && !sqlite3_get_autocommit(self->db))
        sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static brim_status find_set(sqlite_store *self, const brim_set_spec *spec, brim_error *err)
{
    char hash[BRIM_HASH_BYTES];
    sqlite3_stmt *stmt = NULL;
    brim_status status = BRIM_OK;

    brim_hash_bytes(spec->settings, strlen(spec->settings), hash);
    int rc = sqlite3_prepare_v2(
        self->db,
        "INSERT INTO brim_sets(task,model,model_hash,settings,settings_hash) VALUES(?1,?2,?3,?4,?5)"
        " ON CONFLICT(task,model_hash,settings_hash) DO UPDATE SET model=model"
        " RETURNING set_id, dim",
        -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        const char *texts[] = {spec->task, spec->model, spec->model_hash, spec->settings, hash};
        for (int i = 0; i < 5; i++)
            sqlite3_bind_text(stmt, i + 1, texts[i], -1, SQLITE_STATIC);
        rc = sqlite3_step(stmt);
    }
    if (rc == SQLITE_ROW) {
        self->rows.set_id = sqlite3_column_int64(stmt, 0);
        self->rows.dim = sqlite3_column_int64(stmt, 1);
        rc = sqlite3_step(stmt);
    }
    if (rc != SQLITE_DONE) status = fail_sqlite(self, err);
    sqlite3_finalize(stmt);
    return status;
}

static brim_status start_run(sqlite_store *self, brim_error *err)
{
    char sql[512];

    /* Whoever ran here before has lost the lock: its run cannot end any more. */
    snprintf(sql, sizeof(sql),
             "UPDATE brim_runs SET outcome='killed' WHERE set_id=%lld AND outcome='running';"
             "INSERT INTO brim_runs(set_id,started,outcome)"
             " VALUES(%lld,strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ','now'),'running')",
             (long long)self->rows.set_id, (long long)self->rows.set_id);
    brim_status status = execute(self, sql, err);
    if (status == BRIM_OK) self->run = sqlite3_last_insert_rowid(self->db);
    return status;
}

static brim_status sqlite_store_begin(brim_store *base, const brim_set_spec *spec, brim_error *err)
{
    sqlite_store *self = (sqlite_store *)base;
    brim_status status;

    brim_monitor_enter(&self->monitor);
    status = execute(self, "BEGIN IMMEDIATE", err);
    if (status == BRIM_OK) status = end_transaction(self, find_set(self, spec, err), err);
    if (status == BRIM_OK)
        status = brim_set_lock_take(&self->lock, self->path, self->rows.set_id, err);
    if (status == BRIM_OK) status = execute(self, "BEGIN IMMEDIATE", err);
    if (status == BRIM_OK) status = end_transaction(self, start_run(self, err), err);
    if (status == BRIM_OK)
        status = brim_sqlite_rows_open(&self->rows, self->db, self->path, spec, err);
    brim_monitor_leave(&self->monitor);
    return status;
}

static brim_status sqlite_store_claim(brim_store *base, const brim_row *row, brim_claim *out,
                                      brim_error *err)
{
    sqlite_store *self = (sqlite_store *)base;

    brim_monitor_enter(&self->monitor);
    brim_status status = brim_sqlite_rows_claim(&self->rows, row, out, err);
    brim_monitor_leave(&self->monitor);
    return status;
}

static brim_status sqlite_store_commit(brim_store *base, const brim_record *const *records,
                                       size_t n, brim_error *err)
{
    sqlite_store *self = (sqlite_store *)base;

    brim_monitor_enter(&self->monitor);
    int64_t dim_before = self->rows.dim;
    brim_status status = execute(self, "BEGIN IMMEDIATE", err);
    for (size_t i = 0; status == BRIM_OK && i < n; i++)
        status = brim_sqlite_rows_put(&self->rows, records[i], err);
    status = end_transaction(self, status, err);
    if (status != BRIM_OK) self->rows.dim = dim_before;
    brim_monitor_leave(&self->monitor);
    return status;
}

static brim_status sqlite_store_finish(brim_store *base, const char *outcome, const char *summary,
                                       brim_error *err)
{
    sqlite_store *self = (sqlite_store *)base;
    sqlite3_stmt *stmt = NULL;

    brim_monitor_enter(&self->monitor);
    brim_status status = execute(self, "BEGIN IMMEDIATE", err);
    if (status == BRIM_OK) {
        int rc = sqlite3_prepare_v2(self->db,
                                    "UPDATE brim_runs SET outcome=?2, summary=?3,"
                                    " finished=strftime('%Y-%m-%dT%H:%M:%SZ','now') WHERE run=?1",
                                    -1, &stmt, NULL);
        if (rc == SQLITE_OK) {
            sqlite3_bind_int64(stmt, 1, self->run);
            sqlite3_bind_text(stmt, 2, outcome, -1, SQLITE_STATIC);
            sqlite3_bind_text(stmt, 3, summary, -1, SQLITE_STATIC);
            rc = sqlite3_step(stmt);
        }
        if (rc != SQLITE_DONE) status = fail_sqlite(self, err);
        sqlite3_finalize(stmt);
        status = end_transaction(self, status, err);
    }
    brim_monitor_leave(&self->monitor);
    return status;
}

static brim_status sqlite_store_count_done(brim_store *base, uint64_t *out, brim_error *err)
{
    sqlite_store *self = (sqlite_store *)base;
    sqlite3_stmt *stmt = NULL;
    brim_status status = BRIM_OK;

    *out = 0;
    brim_monitor_enter(&self->monitor);
    int rc = sqlite3_prepare_v2(self->db,
                                "SELECT (SELECT count(*) FROM brim_embeddings WHERE set_id=?1)"
                                " + (SELECT count(*) FROM brim_failures WHERE set_id=?1)",
                                -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, self->rows.set_id);
        rc = sqlite3_step(stmt);
    }
    if (rc == SQLITE_ROW)
        *out = (uint64_t)sqlite3_column_int64(stmt, 0);
    else
        status = fail_sqlite(self, err);
    sqlite3_finalize(stmt);
    brim_monitor_leave(&self->monitor);
    return status;
}

static bool sqlite_store_recall_hash(brim_store *base, const char *path, int64_t bytes,
                                     int64_t mtime_ns, char *out, size_t capacity)
{
    sqlite_store *self = (sqlite_store *)base;
    sqlite3_stmt *stmt = NULL;
    bool found = false;

    brim_monitor_enter(&self->monitor);
    if (sqlite3_prepare_v2(self->db,
                           "SELECT hash FROM brim_file_hashes"
                           " WHERE path=?1 AND bytes=?2 AND mtime_ns=?3",
                           -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_blob64(stmt, 1, path, strlen(path), SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, bytes);
        sqlite3_bind_int64(stmt, 3, mtime_ns);
        if (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *hash = (const char *)sqlite3_column_text(stmt, 0);
            found = hash && snprintf(out, capacity, "%s", hash) < (int)capacity;
        }
    }
    sqlite3_finalize(stmt);
    brim_monitor_leave(&self->monitor);
    return found;
}

static void sqlite_store_remember_hash(brim_store *base, const char *path, int64_t bytes,
                                       int64_t mtime_ns, const char *hash)
{
    sqlite_store *self = (sqlite_store *)base;
    sqlite3_stmt *stmt = NULL;

    brim_monitor_enter(&self->monitor);
    if (sqlite3_prepare_v2(self->db,
                           "INSERT OR REPLACE INTO brim_file_hashes(path,bytes,mtime_ns,hash)"
                           " VALUES(?1,?2,?3,?4)",
                           -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_blob64(stmt, 1, path, strlen(path), SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, bytes);
        sqlite3_bind_int64(stmt, 3, mtime_ns);
        sqlite3_bind_text(stmt, 4, hash, -1, SQLITE_STATIC);
        sqlite3_step(stmt); /* a cache: what cannot be kept is found out again */
    }
    sqlite3_finalize(stmt);
    brim_monitor_leave(&self->monitor);
}

/* Also undoes a half-finished open: every field is either set or still empty. */
static void sqlite_store_close(brim_store *base)
{
    sqlite_store *self = (sqlite_store *)base;

    brim_sqlite_rows_close(&self->rows);
    sqlite3_close(self->db);
    brim_set_lock_drop(&self->lock);
    if (self->has_monitor) brim_monitor_fini(&self->monitor);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static const struct brim_store_ops SQLITE_STORE_OPS = {
    .begin = sqlite_store_begin,
    .claim = sqlite_store_claim,
    .commit = sqlite_store_commit,
    .finish = sqlite_store_finish,
    .count_done = sqlite_store_count_done,
    .recall_hash = sqlite_store_recall_hash,
    .remember_hash = sqlite_store_remember_hash,
    .close = sqlite_store_close,
};

brim_status brim_store_open_sqlite(const brim_alloc *mem, const char *path, brim_store **out,
                                   brim_error *err)
{
    brim_status status;

    *out = NULL;
    sqlite_store *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "%s: no memory for a store", path);
    self->base.ops = &SQLITE_STORE_OPS;
    self->mem = mem;
    self->lock.fd = -1;

    status = brim_monitor_init(&self->monitor);
    if (status != BRIM_OK) {
        brim_fail(err, status, "%s: no memory for a store", path);
        goto fail;
    }
    self->has_monitor = true;
    status = brim_sqlite_open(path, BRIM_SQLITE_WRITE, self->path, &self->db, err);
    if (status == BRIM_OK) status = execute(self, "BEGIN IMMEDIATE", err);
    if (status == BRIM_OK) status = end_transaction(self, execute(self, BRIM_SCHEMA, err), err);
    if (status != BRIM_OK) goto fail;
    *out = &self->base;
    return BRIM_OK;

fail:
    sqlite_store_close(&self->base);
    return status;
}
