/* sqlite_db.c - SQLite connections as brimful wants them. */
#include "store/sqlite_db.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"

enum { LOCK_WAIT_MS = 30000 };

/* SQLite's own memory is in no account, only measured at the start: whatever it was built with, its
 * cache of pages is bounded, in KiB, and no file is mapped, which would count as resident. */
static const char BOUNDS[] = "PRAGMA cache_size=-2048; PRAGMA mmap_size=0";

brim_status brim_sqlite_fail(sqlite3 *db, const char *path, brim_error *err)
{
    int code = sqlite3_errcode(db);

    switch (code) {
    case SQLITE_FULL:
        return brim_fail(err, BRIM_E_IO, "%s: the disk is full; make room and run again", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return brim_fail(err, BRIM_E_BUSY, "%s: another program has held it locked for %d s", path,
                         LOCK_WAIT_MS / 1000);
    case SQLITE_NOTADB:
        return brim_fail(err, BRIM_E_FORMAT, "%s: not a SQLite database", path);
    case SQLITE_READONLY:
        return brim_fail(err, BRIM_E_IO, "%s: not writable, or its folder is not", path);
    case SQLITE_CANTOPEN:
        return brim_fail(err, BRIM_E_IO, "%s: cannot be opened, or its folder is not writable",
                         path);
    case SQLITE_NOMEM:
        return brim_fail(err, BRIM_E_NOMEM, "%s: SQLite is out of memory", path);
    default:
        if (sqlite3_extended_errcode(db) == SQLITE_IOERR_WRITE)
            return brim_fail(err, BRIM_E_IO,
                             "%s: writing failed; a quota or a limit on file sizes is reached, or"
                             " the disk is broken",
                             path);
        return brim_fail(err, BRIM_E_IO, "%s: %s", path, sqlite3_errmsg(db));
    }
}

/* The file's absolute path, so that names with a meaning to SQLite (":memory:") are plain names. */
static brim_status make_absolute(const char *path, char absolute[PATH_MAX], brim_error *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    if (*name == '\0')
        return brim_fail(err, BRIM_E_ARG, "%s: a store is a file, give its name", path);
    if (realpath(path, absolute)) return BRIM_OK;
    if (!brim_folder_of(path, folder, sizeof(folder)))
        return brim_fail(err, BRIM_E_ARG, "%s: the path is too long", path);
    if (!realpath(folder, absolute))
        return brim_fail(err, BRIM_E_IO, "%s: %s: %s", path, folder, strerror(errno));
    size_t length = strlen(absolute);
    int n = snprintf(absolute + length, PATH_MAX - length, "%s%s",
                     length > 0 && absolute[length - 1] == '/' ? "" : "/", name);
    if (n < 0 || (size_t)n >= PATH_MAX - length)
        return brim_fail(err, BRIM_E_ARG, "%s: the path is too long", path);
    return BRIM_OK;
}

brim_status brim_sqlite_open(const char *path, brim_sqlite_mode mode, char absolute[PATH_MAX],
                             sqlite3 **out, brim_error *err)
{
    struct stat info;

    *out = NULL;
    brim_status status = make_absolute(path, absolute, err);
    if (status != BRIM_OK) return status;
    bool there = stat(absolute, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        return brim_fail(err, BRIM_E_ARG, "%s: a folder; a store is a file, as photos.db", path);
    if (there && !S_ISREG(info.st_mode))
        return brim_fail(err, BRIM_E_ARG, "%s: not a plain file", path);
    if (!there && mode == BRIM_SQLITE_READ)
        return brim_fail(err, BRIM_E_ARG, "%s: no such store", path);
    if (there && mode == BRIM_SQLITE_WRITE && access(absolute, W_OK) != 0)
        return brim_fail(err, BRIM_E_IO, "%s: not writable: %s", path, strerror(errno));

    int flags = mode == BRIM_SQLITE_READ ? SQLITE_OPEN_READONLY
                                         : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(absolute, out, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (!*out) return brim_fail(err, BRIM_E_NOMEM, "%s: no memory to open it", path);
    if (rc == SQLITE_OK) {
        sqlite3_busy_timeout(*out, LOCK_WAIT_MS);
        rc = sqlite3_exec(*out, BOUNDS, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) return BRIM_OK;
    status = brim_sqlite_fail(*out, path, err);
    sqlite3_close(*out);
    *out = NULL;
    return status;
}
