/* sqlite_db.h - opening a SQLite file, and its failures in words that say what to do. */
#ifndef BRIM_STORE_SQLITE_DB_H
#define BRIM_STORE_SQLITE_DB_H

#include <limits.h>
#include <sqlite3.h>

#include "brimful/status.h"

typedef enum brim_sqlite_mode { BRIM_SQLITE_READ, BRIM_SQLITE_WRITE } brim_sqlite_mode;

/*
 * Opens the file (made where it is not there, in mode WRITE) and waits up to 30 s for other
 * programs' locks ever after. absolute receives its path. On failure *out is NULL.
 */
brim_status brim_sqlite_open(const char *path, brim_sqlite_mode mode, char absolute[PATH_MAX],
                             sqlite3 **out, brim_error *err);

/* The connection's last failure as a status and a line. */
brim_status brim_sqlite_fail(sqlite3 *db, const char *path, brim_error *err);

#endif /* BRIM_STORE_SQLITE_DB_H */
