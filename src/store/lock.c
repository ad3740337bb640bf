/* lock.c - an exclusive flock on DATABASE-brim-SET.lock, which holds the process's number. */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"

static brim_status somebody_else(int fd, const char *database, brim_error *err)
{
    char pid[32] = "";
    ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

    pid[n > 0 ? n : 0] = '\0';
    pid[strspn(pid, "0123456789")] = '\0';
    return brim_fail(err, BRIM_E_BUSY,
                     "%s: another brimful%s%s is running in this set; wait for it or stop it",
                     database, pid[0] ? ", process " : "", pid);
}

/* The holder before us may have removed the file between our open and our lock. */
static bool is_still_there(int fd, const char *path)
{
    struct stat held, named;

    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

brim_status brim_set_lock_take(brim_set_lock *lock, const char *database, int64_t set_id,
                               brim_error *err)
{
    char pid[32];

    lock->fd = -1;
    if (snprintf(lock->path, sizeof(lock->path), "%s-brim-%" PRId64 ".lock", database, set_id) >=
        (int)sizeof(lock->path))
        return brim_fail(err, BRIM_E_ARG, "%s: the path is too long", database);
    for (;;) {
        int fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return brim_fail(err, BRIM_E_IO, "%s: %s", lock->path, strerror(errno));
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            brim_status status = errno == EWOULDBLOCK ? somebody_else(fd, database, err)
                                                      : brim_fail(err, BRIM_E_IO, "%s: %s",
                                                                  lock->path, strerror(errno));
            close(fd);
            return status;
        }
        if (is_still_there(fd, lock->path)) {
            lock->fd = fd;
            break;
        }
        close(fd);
    }
    int length = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    /* Only a courtesy to whoever comes second: a full disk must not stop the first. */
    if (ftruncate(lock->fd, 0) != 0 || pwrite(lock->fd, pid, (size_t)length, 0) < 0) return BRIM_OK;
    return BRIM_OK;
}

void brim_set_lock_drop(brim_set_lock *lock)
{
    if (lock->fd < 0) return;
    unlink(lock->path); /* still locked: nobody can have taken it over */
    close(lock->fd);
    lock->fd = -1;
}
