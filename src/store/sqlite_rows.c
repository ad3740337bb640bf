/* sqlite_rows.c - the statements that a run executes for each row. */
#include "store/sqlite_rows.h"

#include <string.h>

#include "base/fail.h"
#include "store/sqlite_db.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "vectors are stored little-endian");

enum statement { CLAIM, SEE, PUT_IMAGE, PUT_VECTOR, PUT_FAILURE, PUT_TILED, DROP_FAILURE, SET_DIM };

static const char *const SQL[BRIM_N_SQLITE_STATEMENTS] = {
    [CLAIM] = "SELECT path,"
              " EXISTS(SELECT 1 FROM brim_embeddings e WHERE e.set_id=?2 AND e.image=i.image)"
              " OR EXISTS(SELECT 1 FROM brim_tiled t WHERE t.set_id=?2 AND t.image=i.image),"
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
    [PUT_TILED] = "INSERT OR IGNORE INTO brim_tiled(set_id,image) VALUES(?1,?2)",
    [DROP_FAILURE] = "DELETE FROM brim_failures WHERE set_id=?1 AND image=?2",
    [SET_DIM] = "UPDATE brim_sets SET dim=?2 WHERE set_id=?1 AND dim IS NULL",
};

/* Runs a prepared statement that gives no row, and makes it ready for the next time. */
static brim_status run_statement(brim_sqlite_rows *self, enum statement which, brim_error *err)
{
    sqlite3_stmt *stmt = self->statements[which];
    int rc = sqlite3_step(stmt);
    brim_status status = rc == SQLITE_DONE ? BRIM_OK : brim_sqlite_fail(self->db, self->path, err);

    sqlite3_reset(stmt);
    return status;
}

static brim_status prepare_statements(brim_sqlite_rows *self, brim_error *err)
{
    for (int i = 0; i < BRIM_N_SQLITE_STATEMENTS; i++) {
        if (i == SEE && !self->may_repeat) continue;
        if (sqlite3_prepare_v3(self->db, SQL[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &self->statements[i], NULL) != SQLITE_OK)
            return brim_sqlite_fail(self->db, self->path, err);
    }
    return BRIM_OK;
}

brim_status brim_sqlite_rows_open(brim_sqlite_rows *self, sqlite3 *db, const char *path,
                                  const brim_set_spec *spec, brim_error *err)
{
    self->db = db;
    self->path = path;
    self->retry_failed = spec->retry_failed;
    self->may_repeat = spec->may_repeat;
    if (spec->may_repeat && sqlite3_exec(db,
                                         "PRAGMA temp_store=FILE; CREATE TEMP TABLE"
                                         " brim_seen(key TEXT PRIMARY KEY) WITHOUT ROWID",
                                         NULL, NULL, NULL) != SQLITE_OK)
        return brim_sqlite_fail(db, path, err);
    return prepare_statements(self, err);
}

void brim_sqlite_rows_close(brim_sqlite_rows *self)
{
    for (int i = 0; i < BRIM_N_SQLITE_STATEMENTS; i++)
        sqlite3_finalize(self->statements[i]);
}

/* Marks the key as seen; *repeat says that it was before. */
static brim_status see(brim_sqlite_rows *self, const char *key, bool *repeat, brim_error *err)
{
    sqlite3_bind_text(self->statements[SEE], 1, key, -1, SQLITE_STATIC);
    brim_status status = run_statement(self, SEE, err);
    *repeat = status == BRIM_OK && sqlite3_changes(self->db) == 0;
    return status;
}

static brim_status check_path(const brim_sqlite_rows *self, sqlite3_stmt *stmt, const brim_row *row,
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

brim_status brim_sqlite_rows_claim(brim_sqlite_rows *self, const brim_row *row, brim_claim *out,
                                   brim_error *err)
{
    sqlite3_stmt *stmt = self->statements[CLAIM];
    brim_status status = BRIM_OK;
    bool repeat = false;

    *out = BRIM_CLAIM_TODO;
    if (self->may_repeat) status = see(self, row->key, &repeat, err);
    if (status != BRIM_OK || repeat) {
        *out = BRIM_CLAIM_REPEAT;
        return status;
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
        status = brim_sqlite_fail(self->db, self->path, err);
    }
    sqlite3_reset(stmt);
    return status;
}

static void bind_known(sqlite3_stmt *stmt, int at, int64_t value, bool known)
{
    if (known)
        sqlite3_bind_int64(stmt, at, value);
    else
        sqlite3_bind_null(stmt, at);
}

static brim_status put_image(brim_sqlite_rows *self, const brim_record *record, int64_t *out,
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
    if (rc != SQLITE_DONE) status = brim_sqlite_fail(self->db, self->path, err);
    sqlite3_reset(stmt);
    return status;
}

static brim_status put_failure(brim_sqlite_rows *self, const brim_record *record, int64_t image,
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
static brim_status check_dim(brim_sqlite_rows *self, size_t dim, brim_error *err)
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

static brim_status drop_failure(brim_sqlite_rows *self, int64_t image, brim_error *err)
{
    sqlite3_bind_int64(self->statements[DROP_FAILURE], 1, self->set_id);
    sqlite3_bind_int64(self->statements[DROP_FAILURE], 2, image);
    return run_statement(self, DROP_FAILURE, err);
}

static brim_status put_vector(brim_sqlite_rows *self, const brim_record *record, int64_t image,
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
    return drop_failure(self, image, err);
}

/* The tiles have rows of their own; that a failure kept them from coming is over. */
static brim_status put_tiled(brim_sqlite_rows *self, int64_t image, brim_error *err)
{
    sqlite3_bind_int64(self->statements[PUT_TILED], 1, self->set_id);
    sqlite3_bind_int64(self->statements[PUT_TILED], 2, image);
    brim_status status = run_statement(self, PUT_TILED, err);
    return status == BRIM_OK ? drop_failure(self, image, err) : status;
}

brim_status brim_sqlite_rows_put(brim_sqlite_rows *self, const brim_record *record, brim_error *err)
{
    int64_t image = 0;

    brim_status status = put_image(self, record, &image, err);
    if (status != BRIM_OK) return status;
    if (record->is_tiled) return put_tiled(self, image, err);
    return record->vector ? put_vector(self, record, image, err)
                          : put_failure(self, record, image, err);
}
