/*
 * sqlite_faults.h - a file system under SQLite that fills up, dies, or finds everything locked.
 *
 * sqlite_faults_install() puts it in front of the system's own for the whole program; nothing goes
 * wrong until a test says so. Changes of files (writes, cuts, removals) are counted.
 */
#ifndef SQLITE_FAULTS_H
#define SQLITE_FAULTS_H

#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

typedef struct sqlite_faults {
    atomic_long changes_left;      /* after so many changes the fault comes; below 0 = never */
    atomic_bool kills;             /* SIGKILL instead of "disk full" */
    atomic_bool locked;            /* every lock is somebody else's, and waiting takes no time */
    atomic_bool syncs;             /* really wait for the disk; off makes sweeps quick */
    atomic_long n_refusals;        /* locks that somebody held, really or not */
    sqlite3_vfs vfs, *real;        /* ours, and the one behind it */
    sqlite3_io_methods patched[4]; /* one for each kind of file met */
    const sqlite3_io_methods *met[4];
} sqlite_faults;

static sqlite_faults FAULTS;

static inline void sqlite_faults_none(void)
{
    FAULTS.changes_left = -1;
    FAULTS.kills = FAULTS.locked = FAULTS.syncs = false;
    FAULTS.n_refusals = 0;
}

static const sqlite3_io_methods *faults_real(const sqlite3_file *file)
{
    return FAULTS.met[file->pMethods - FAULTS.patched];
}

/* True when the disk is full from now on. */
static bool faults_change(void)
{
    if (FAULTS.changes_left < 0) return false;
    if (FAULTS.changes_left > 0) {
        FAULTS.changes_left--;
        return false;
    }
    if (FAULTS.kills) raise(SIGKILL);
    return true;
}

static int faults_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 at)
{
    return faults_change() ? SQLITE_FULL : faults_real(file)->xWrite(file, data, bytes, at);
}

/* A full disk still lets files be cut and removed: so do we, but may die there. */
static int faults_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
    faults_change();
    return faults_real(file)->xTruncate(file, bytes);
}

static int faults_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    faults_change();
    return FAULTS.real->xDelete(FAULTS.real, name, FAULTS.syncs ? sync : 0);
}

static int faults_sync(sqlite3_file *file, int flags)
{
    return FAULTS.syncs ? faults_real(file)->xSync(file, flags) : SQLITE_OK;
}

static int faults_lock(sqlite3_file *file, int level)
{
    int rc = FAULTS.locked ? SQLITE_BUSY : faults_real(file)->xLock(file, level);

    if (rc == SQLITE_BUSY) FAULTS.n_refusals++;
    return rc;
}

static int faults_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return FAULTS.locked ? us : FAULTS.real->xSleep(FAULTS.real, us);
}

static int faults_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    size_t i = 0;

    (void)vfs;
    int rc = FAULTS.real->xOpen(FAULTS.real, name, file, flags, out);
    if (!file->pMethods) return rc;
    while (FAULTS.met[i] && FAULTS.met[i] != file->pMethods)
        if (++i == 4) raise(SIGABRT);
    FAULTS.met[i] = file->pMethods;
    FAULTS.patched[i] = *file->pMethods;
    FAULTS.patched[i].xWrite = faults_write;
    FAULTS.patched[i].xTruncate = faults_truncate;
    FAULTS.patched[i].xSync = faults_sync;
    FAULTS.patched[i].xLock = faults_lock;
    file->pMethods = &FAULTS.patched[i];
    return rc;
}

static inline void sqlite_faults_install(void)
{
    sqlite_faults_none();
    FAULTS.real = sqlite3_vfs_find(NULL);
    FAULTS.vfs = *FAULTS.real;
    FAULTS.vfs.zName = "faults";
    FAULTS.vfs.xOpen = faults_open;
    FAULTS.vfs.xDelete = faults_delete;
    FAULTS.vfs.xSleep = faults_sleep;
    sqlite3_vfs_register(&FAULTS.vfs, 1);
}

#endif /* SQLITE_FAULTS_H */
