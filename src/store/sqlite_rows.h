/*
 * sqlite_rows.h - what a SQLite store does with each row of a run: claim it, write what became of
 * it. sqlite.c has the transactions around that, and the lock.
 */
#ifndef BRIM_STORE_SQLITE_ROWS_H
#define BRIM_STORE_SQLITE_ROWS_H

#include <sqlite3.h>

#include "store/store.h"

enum { BRIM_N_SQLITE_STATEMENTS = 8 };

typedef struct brim_sqlite_rows {
    sqlite3 *db;      /* borrowed */
    const char *path; /* borrowed; for messages */
    sqlite3_stmt *statements[BRIM_N_SQLITE_STATEMENTS];
    int64_t set_id, dim; /* of the set; dim 0 = not known yet */
    bool retry_failed, may_repeat;
} brim_sqlite_rows;

/* Prepares the statements; set_id and dim are filled in before. Close it after a failure too. */
brim_status brim_sqlite_rows_open(brim_sqlite_rows *rows, sqlite3 *db, const char *path,
                                  const brim_set_spec *spec, brim_error *err);

/* A zero one is fine. */
void brim_sqlite_rows_close(brim_sqlite_rows *rows);

/* As brim_store_claim(). */
brim_status brim_sqlite_rows_claim(brim_sqlite_rows *rows, const brim_row *row, brim_claim *out,
                                   brim_error *err);

/* Writes one record, within a transaction of the caller's. */
brim_status brim_sqlite_rows_put(brim_sqlite_rows *rows, const brim_record *record,
                                 brim_error *err);

#endif /* BRIM_STORE_SQLITE_ROWS_H */
