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
#include "store/store.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "vectors are stored little-endian");

typedef enum statement {
    CLAIM,
    SEE, /* used where a key may come twice */
    PUT_IMAGE,
    PUT_VECTOR,
    PUT_FAILURE,
    DROP_FAILURE,
    SET_DIM,
    N_STATEMENTS,
} statement;

static const char *const SQL[N_STATEMENTS] = {
    [CLAIM] = "SELECT path,"
              " EXISTS(SELECT 1 FROM brim_embeddings e WHERE e.set_id=?2 AND e.image=i.image),"
              " EXISTS(SELECT 1 FROM brim_failures f WHERE f.set_id=?2 AND f.image=i.image)"
              " FROM brim_images i WHERE key=?1",
    [SEE] = "INSERT OR IGNORE INTO temp.brim_seen(key) VALUES(?1)",
    [PUT_IMAGE] = "INSERT INTO brim_images(key,path,bytes,mtime_ns,width,height)"
                  " VALUES(?1,?2,?3,?4,?5,?6) ON CONFLICT(key) DO UPDATE SET"
                  " bytes=COALESCE(excluded.bytes,bytes),"
                  " mtime_ns=COALESCE(excluded.mtime_ns,mtime_ns),"
                  " width=COALESCE(excluded.width,width),"
                  " height=COALESCE(excluded.height,height) RETURNING image",
    /* A folder that changes while it is walked may tell a name twice: the first result stays. */
    [PUT_VECTOR] = "INSERT INTO brim_embeddings(set_id,image,vector) VALUES(?1,?2,?3)"
                   " ON CONFLICT(set_id,image) DO NOTHING",
    [PUT_FAILURE] = "INSERT INTO brim_failures(set_id,image,step,reason,attempts)"
                    " VALUES(?1,?2,?3,?4,1) ON CONFLICT(set_id,image) DO UPDATE SET"
                    " step=excluded.step, reason=excluded.reason, attempts=attempts+1",
    [DROP_FAILURE] = "DELETE FROM brim_failures WHERE set_id=?1 AND image=?2",
    [SET_DIM] = "UPDATE brim_sets SET dim=?2 WHERE set_id=?1 AND dim IS NULL",
};

typedef struct sqlite_store {
    brim_store base; /* first: a brim_store pointer is a pointer to us */
    const brim_alloc *mem;
    brim_monitor monitor; /* guards the connection and all below */
    bool has_monitor;
    char path[PATH_MAX];
    sqlite3 *db;
    sqlite3_stmt *statements[N_STATEMENTS];
    brim_set_lock lock;
    int64_t set_id, run, dim;
    bool retry_failed, may_repeat;
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

/* Runs a prepared statement that gives no row, and makes it ready for the next time. */
static brim_status run_statement(sqlite_store *self, statement which, brim_error *err)
{
    sqlite3_stmt *stmt = self->statements[which];
    int rc = sqlite3_step(stmt);
    brim_status status = rc == SQLITE_DONE ? BRIM_OK : fail_sqlite(self, err);

    sqlite3_reset(stmt);
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
        self->set_id = sqlite3_column_int64(stmt, 0);
        self->dim = sqlite3_column_int64(stmt, 1);
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
             (long long)self->set_id, (long long)self->set_id);
    brim_status status = execute(self, sql, err);
    if (status == BRIM_OK) self->run = sqlite3_last_insert_rowid(self->db);
    return status;
}

static brim_status prepare_statements(sqlite_store *self, brim_error *err)
{
    for (int i = 0; i < N_STATEMENTS; i++) {
        if (i == SEE && !self->may_repeat) continue;
        if (sqlite3_prepare_v3(self->db, SQL[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &self->statements[i], NULL) != SQLITE_OK)
            return fail_sqlite(self, err);
    }
    return BRIM_OK;
}

static brim_status sqlite_store_begin(brim_store *base, const brim_set_spec *spec, brim_error *err)
{
    sqlite_store *self = (sqlite_store *)base;
    brim_status status;

    brim_monitor_enter(&self->monitor);
    self->retry_failed = spec->retry_failed;
    self->may_repeat = spec->may_repeat;
    status = execute(self, "BEGIN IMMEDIATE", err);
    if (status == BRIM_OK) status = end_transaction(self, find_set(self, spec, err), err);
    if (status == BRIM_OK) status = brim_set_lock_take(&self->lock, self->path, self->set_id, err);
    if (status == BRIM_OK) status = execute(self, "BEGIN IMMEDIATE", err);
    if (status == BRIM_OK) status = end_transaction(self, start_run(self, err), err);
    if (status == BRIM_OK && spec->may_repeat)
        status = execute(self,
                         "PRAGMA temp_store=FILE; CREATE TEMP TABLE"
                         " brim_seen(key TEXT PRIMARY KEY) WITHOUT ROWID",
                         err);
    if (status == BRIM_OK) status = prepare_statements(self, err);
    brim_monitor_leave(&self->monitor);
    return status;
}

/* Marks the key as seen; *repeat says that it was before. */
static brim_status see(sqlite_store *self, const char *key, bool *repeat, brim_error *err)
{
    sqlite3_bind_text(self->statements[SEE], 1, key, -1, SQLITE_STATIC);
    brim_status status = run_statement(self, SEE, err);
    *repeat = status == BRIM_OK && sqlite3_changes(self->db) == 0;
    return status;
}

static brim_status check_path(const sqlite_store *self, sqlite3_stmt *stmt, const brim_row *row,
                              brim_error *err)
{
    const void *path = sqlite3_column_blob(stmt, 0);
    size_t bytes = (size_t)sqlite3_column_bytes(stmt, 0);

    if (!path || (bytes == strlen(row->path) && memcmp(path, row->path, bytes) == 0))
        return BRIM_OK;
    return brim_fail(err, BRIM_E_ARG,
                     "%s: key %s stands for %.*s there, and for %s now: take another store (-o), or"
                     " --root for other keys",
                     self->path, row->key, (int)bytes, (const char *)path, row->path);
}

static brim_status sqlite_store_claim(brim_store *base, const brim_row *row, brim_claim *out,
                                      brim_error *err)
{
    sqlite_store *self = (sqlite_store *)base;
    sqlite3_stmt *stmt = self->statements[CLAIM];
    brim_status status = BRIM_OK;
    bool repeat = false;

    *out = BRIM_CLAIM_TODO;
    brim_monitor_enter(&self->monitor);
    if (self->may_repeat) status = see(self, row->key, &repeat, err);
    if (status != BRIM_OK || repeat) {
        *out = BRIM_CLAIM_REPEAT;
        goto out;
    }
    sqlite3_bind_text(stmt, 1, row->key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, self->set_id);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        status = check_path(self, stmt, row, err);
        if (sqlite3_column_int(stmt, 1))
            *out = BRIM_CLAIM_DONE;
        else if (sqlite3_column_int(stmt, 2) && !self->retry_failed)
            *out = BRIM_CLAIM_FAILED;
    } else if (rc != SQLITE_DONE) {
        status = fail_sqlite(self, err);
    }
    sqlite3_reset(stmt);

out:
    brim_monitor_leave(&self->monitor);
    return status;
}

static void bind_known(sqlite3_stmt *stmt, int at, int64_t value, bool known)
{
    if (known)
        sqlite3_bind_int64(stmt, at, value);
    else
        sqlite3_bind_null(stmt, at);
}

static brim_status put_image(sqlite_store *self, const brim_record *record, int64_t *out,
                             brim_error *err)
{
    sqlite3_stmt *stmt = self->statements[PUT_IMAGE];
    const char *path = record->row->path;
    brim_status status = BRIM_OK;

    sqlite3_bind_text(stmt, 1, record->row->key, -1, SQLITE_STATIC);
    sqlite3_bind_blob64(stmt, 2, path, strlen(path), SQLITE_STATIC);
    bind_known(stmt, 3, record->file_bytes, record->file_bytes >= 0);
    bind_known(stmt, 4, record->mtime_ns, record->file_bytes >= 0);
    bind_known(stmt, 5, record->width, record->width > 0);
    bind_known(stmt, 6, record->height, record->height > 0);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        *out = sqlite3_column_int64(stmt, 0);
        rc = sqlite3_step(stmt);
    }
    if (rc != SQLITE_DONE) status = fail_sqlite(self, err);
    sqlite3_reset(stmt);
    return status;
}

static brim_status put_failure(sqlite_store *self, const brim_record *record, int64_t image,
                               brim_error *err)
{
    sqlite3_stmt *stmt = self->statements[PUT_FAILURE];

    sqlite3_bind_int64(stmt, 1, self->set_id);
    sqlite3_bind_int64(stmt, 2, image);
    sqlite3_bind_text(stmt, 3, brim_step_name(record->step), -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 4, record->error.message, -1, SQLITE_STATIC);
    return run_statement(self, PUT_FAILURE, err);
}

/* All vectors of a set have one length: the first one settles it. */
static brim_status check_dim(sqlite_store *self, size_t dim, brim_error *err)
{
    if (self->dim == 0) {
        sqlite3_bind_int64(self->statements[SET_DIM], 1, self->set_id);
        sqlite3_bind_int64(self->statements[SET_DIM], 2, (int64_t)dim);
        brim_status status = run_statement(self, SET_DIM, err);
        if (status != BRIM_OK) return status;
        self->dim = (int64_t)dim;
    }
    if (self->dim == (int64_t)dim) return BRIM_OK;
    return brim_fail(err, BRIM_E_ARG, "%s: the model gives %zu numbers, set %lld holds %lld",
                     self->path, dim, (long long)self->set_id, (long long)self->dim);
}

static brim_status put_vector(sqlite_store *self, const brim_record *record, int64_t image,
                              brim_error *err)
{
    sqlite3_stmt *stmt = self->statements[PUT_VECTOR];

    brim_status status = check_dim(self, record->dim, err);
    if (status != BRIM_OK) return status;
    sqlite3_bind_int64(stmt, 1, self->set_id);
    sqlite3_bind_int64(stmt, 2, image);
    sqlite3_bind_blob64(stmt, 3, record->vector, record->dim * sizeof(float), SQLITE_STATIC);
    status = run_statement(self, PUT_VECTOR, err);
    if (status != BRIM_OK) return status;
    sqlite3_bind_int64(self->statements[DROP_FAILURE], 1, self->set_id);
    sqlite3_bind_int64(self->statements[DROP_FAILURE], 2, image);
    return run_statement(self, DROP_FAILURE, err);
}

static brim_status sqlite_store_commit(brim_store *base, const brim_record *const *records,
                                       size_t n, brim_error *err)
{
    sqlite_store *self = (sqlite_store *)base;

    brim_monitor_enter(&self->monitor);
    int64_t dim_before = self->dim;
    brim_status status = execute(self, "BEGIN IMMEDIATE", err);
    for (size_t i = 0; status == BRIM_OK && i < n; i++) {
        int64_t image = 0;
        status = put_image(self, records[i], &image, err);
        if (status != BRIM_OK) break;
        status = records[i]->vector ? put_vector(self, records[i], image, err)
                                    : put_failure(self, records[i], image, err);
    }
    status = end_transaction(self, status, err);
    if (status != BRIM_OK) self->dim = dim_before;
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
        sqlite3_bind_int64(stmt, 1, self->set_id);
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

    for (int i = 0; i < N_STATEMENTS; i++)
        sqlite3_finalize(self->statements[i]);
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
