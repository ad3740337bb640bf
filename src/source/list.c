/*
 * list.c - a list of names, one a line, from a file or standard input.
 *
 * Lines are read as they are needed, so a list may be a pipe that never ends. Empty lines are
 * passed over; so is the carriage return of lists from elsewhere, and a byte-order mark.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "source/names.h"
#include "source/source.h"

enum {
    STOP_CHECK_MS = 100,
    BUFFER_BYTES = 1 << 16, /* a line and its end; one byte is kept for a NUL */
};

typedef struct list_source {
    brim_source base; /* first: a brim_source pointer is a pointer to us */
    const brim_alloc *mem;
    const brim_source_options *options;
    const char *shown; /* the list's path, for messages; the options' text */
    brim_path folder;  /* base of relative lines, then the line behind it */
    size_t folder_length;
    int fd;
    bool at_start, at_end;
    size_t first, filled; /* unread bytes of buffer */
    char buffer[BUFFER_BYTES];
} list_source;

/* Waits for bytes, as long as the run is on; a pipe may stay silent for hours. */
static bool wait_for_bytes(const list_source *self)
{
    struct pollfd look = {.fd = self->fd, .events = POLLIN};

    while (poll(&look, 1, STOP_CHECK_MS) <= 0)
        if (self->options->stop && atomic_load(self->options->stop)) return false;
    return true;
}

/* Makes room and reads more; false when nothing more came. */
static bool refill(list_source *self)
{
    memmove(self->buffer, self->buffer + self->first, self->filled - self->first);
    self->filled -= self->first;
    self->first = 0;
    while (!self->at_end && self->filled < sizeof(self->buffer) - 1) {
        if (!wait_for_bytes(self)) {
            self->at_end = true;
            self->first = self->filled = 0; /* half a name is none */
            return false;
        }
        ssize_t n =
            read(self->fd, self->buffer + self->filled, sizeof(self->buffer) - 1 - self->filled);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            atomic_fetch_add(&self->base.counts.n_incomplete, 1);
            if (!self->options->counting)
                brim_log_write(self->options->log, BRIM_LOG_WARNING, "%s: %s", self->shown,
                               strerror(errno));
        }
        if (n <= 0) {
            self->at_end = true;
            return false;
        }
        self->filled += (size_t)n;
        return true;
    }
    return false;
}

static brim_status refuse_line(const list_source *self, const char *why, brim_error *err)
{
    brim_fail(err, BRIM_E_FORMAT, "%s: a line %s", self->shown, why);
    return BRIM_E_FORMAT;
}

/* The next line without its end, in the buffer until the next call; BRIM_END after the last. */
static brim_status next_line(list_source *self, char **out, brim_error *err)
{
    char end = self->options->nul_lists ? '\0' : '\n';
    size_t looked = 0;

    for (;;) {
        char *start = self->buffer + self->first;
        size_t have = self->filled - self->first;
        char *found = memchr(start + looked, end, have - looked);
        if (found || (self->at_end && have > 0)) {
            size_t length = found ? (size_t)(found - start) : have;
            start[length] = '\0';
            if (strlen(start) != length)
                return refuse_line(self, "has a NUL byte (names that end in NUL want -0)", err);
            self->first += length + (found ? 1 : 0);
            if (!self->options->nul_lists && length > 0 && start[length - 1] == '\r')
                start[length - 1] = '\0';
            *out = start;
            return BRIM_OK;
        }
        if (self->at_end) return BRIM_END;
        looked = have;
        if (refill(self)) continue;
        if (!self->at_end)
            return refuse_line(self, "is longer than 65534 bytes (is it a list of names?)", err);
        looked = 0;
    }
}

/* The key of a line: below the root where there is one and the line lies there, else the line. */
static const char *name_of_line(const list_source *self, const char *line)
{
    const char *base = self->folder.text;
    size_t length = self->folder_length;

    if (*line != '/') {
        const char *name = brim_names_strip(line);
        return *name ? name : line;
    }
    if (!self->options->root || strncmp(line, base, length) != 0) return line;
    line += length;
    if (length > 1 && *line != '/') return line - length;
    while (*line == '/')
        line++;
    return line;
}

static brim_status list_source_next(brim_source *base, brim_row **out, brim_error *err)
{
    list_source *self = (list_source *)base;
    char *line;

    *out = NULL;
    do {
        brim_status status = next_line(self, &line, err);
        if (status != BRIM_OK) return status;
        if (self->at_start && strncmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3;
        self->at_start = false;
    } while (*line == '\0');

    brim_status status = BRIM_OK;
    const char *path = line;
    const char *name = name_of_line(self, line); /* before the folder's text grows by the line */
    if (*line != '/') {
        status = brim_path_put(&self->folder, self->folder_length, brim_names_strip(line));
        path = self->folder.text;
    }
    if (status == BRIM_OK) status = brim_row_create(self->mem, name, path, out);
    if (status != BRIM_OK)
        return brim_fail(err, status, "%s: no memory for the next name", self->shown);
    return BRIM_OK;
}

static void list_source_close(brim_source *base)
{
    list_source *self = (list_source *)base;

    if (self->fd > STDIN_FILENO) close(self->fd);
    brim_path_fini(&self->folder);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static const struct brim_source_ops LIST_SOURCE_OPS = {
    .next = list_source_next,
    .close = list_source_close,
};

/* Asked before it is opened, as opening a pipe may wait for ever. */
bool brim_source_list_is_countable(const char *path)
{
    struct stat info;

    return strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

brim_status brim_source_open_list(const brim_alloc *mem, const char *path, const char *base,
                                  const brim_source_options *options, brim_source **out,
                                  brim_error *err)
{
    brim_status status;

    *out = NULL;
    list_source *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "%s: no memory to read it", path);
    self->base.ops = &LIST_SOURCE_OPS;
    self->base.may_repeat = true;
    self->mem = self->folder.mem = mem;
    self->options = options;
    self->shown = path;
    self->at_start = true;
    self->fd = -1;

    status = brim_path_put(&self->folder, 0, base);
    if (status != BRIM_OK) {
        brim_fail(err, status, "%s: no memory to read it", path);
        goto fail;
    }
    self->folder_length = self->folder.length;
    if (options->counting && !brim_source_list_is_countable(path)) {
        status = brim_fail(err, BRIM_E_UNSUPPORTED, "%s: cannot be counted ahead", path);
        goto fail;
    }
    self->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (self->fd < 0) {
        status = brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
        goto fail;
    }
    *out = &self->base;
    return BRIM_OK;

fail:
    list_source_close(&self->base);
    return status;
}
