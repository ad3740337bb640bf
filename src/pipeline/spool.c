/* spool.c - an unlinked file that pixels are appended to and read back from. */
#include "pipeline/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

void brim_spool_init(brim_spool *spool, const char *folder)
{
    const char *temporary = getenv("TMPDIR");

    if (!folder) folder = temporary && temporary[0] ? temporary : "/tmp";
    *spool = (brim_spool){.folder = folder, .fd = -1};
}

void brim_spool_fini(brim_spool *spool)
{
    if (spool->fd >= 0) close(spool->fd);
    spool->fd = -1;
}

/* Where the file system knows no file without a name, one with a name is made and unlinked. */
static int make_file(const char *folder)
{
    char path[PATH_MAX];

    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    int n = snprintf(path, sizeof(path), "%s/.brim-spool-XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof(path)) return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) unlink(path);
    return fd;
}

brim_status brim_spool_put(brim_spool *spool, const void *data, size_t bytes, int64_t *at,
                           brim_error *err)
{
    const char *from = data;
    size_t done = 0;

    if (spool->fd < 0) spool->fd = make_file(spool->folder);
    if (spool->fd < 0)
        return brim_fail(err, BRIM_E_IO, "setting it aside: %s: %s", spool->folder,
                         strerror(errno));
    while (done < bytes) {
        ssize_t n = pwrite(spool->fd, from + done, bytes - done, spool->end + (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return brim_fail(err, BRIM_E_IO, "setting it aside: %s: %s", spool->folder,
                             n < 0 ? strerror(errno) : "nothing is written");
        done += (size_t)n;
    }
    *at = spool->end;
    spool->end += (int64_t)bytes;
    spool->n_kept++;
    return BRIM_OK;
}

brim_status brim_spool_take(brim_spool *spool, int64_t at, void *data, size_t bytes,
                            brim_error *err)
{
    char *to = data;
    size_t done = 0;
    int why = 0;

    while (done < bytes && !why) {
        ssize_t n = pread(spool->fd, to + done, bytes - done, at + (off_t)done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            why = n == 0 ? EIO : errno;
    }
    if (--spool->n_kept == 0 && ftruncate(spool->fd, 0) == 0) spool->end = 0;
    if (!why) return BRIM_OK;
    return brim_fail(err, BRIM_E_IO, "what was set aside cannot be read: %s", strerror(why));
}
