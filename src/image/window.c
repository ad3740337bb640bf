/* window.c - a small buffer that follows whoever looks. */
#include "image/window.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

void brim_window_init(brim_window *w, const brim_encoded *file)
{
    w->file = file;
    w->at = 0;
    w->n = 0;
    w->failed = false;
}

static void move_to(brim_window *w, uint64_t at, size_t least)
{
    size_t got = 0;
    ssize_t n = 1;

    while (n != 0 && got < least) {
        n = pread(w->file->fd, w->bytes + got, BRIM_WINDOW_BYTES - got, (off_t)(at + got));
        if (n > 0) got += (size_t)n;
        if (n < 0 && errno != EINTR) break;
    }
    if (got < least) {
        w->failed = true;
        memset(w->bytes + got, 0, least - got);
        got = least;
    }
    w->at = at;
    w->n = got;
}

const uint8_t *brim_window_look(brim_window *w, uint64_t at, size_t n)
{
    const brim_encoded *file = w->file;

    assert(n <= BRIM_WINDOW_BYTES && at <= file->bytes && n <= file->bytes - at);
    if (file->fd < 0) return file->data + at;
    if (at < w->at || n > w->n || at - w->at > w->n - n) move_to(w, at, n);
    return w->bytes + (at - w->at);
}
