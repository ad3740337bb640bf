/* scratch.h - a folder of files for one test, gone after it. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka_all.h"

typedef struct scratch {
    char root[64];
    char path[PATH_MAX]; /* of the last scratch_path() */
} scratch;

static inline int scratch_setup(void **state)
{
    scratch *self = calloc(1, sizeof(*self));
    snprintf(self->root, sizeof(self->root), "/tmp/brim-session-XXXXXX");
    *state = self;
    return mkdtemp(self->root) ? 0 : -1;
}

static int scratch_remove(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

static inline int scratch_teardown(void **state)
{
    scratch *self = *state;
    nftw(self->root, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
    free(self);
    return 0;
}

/* Valid until the next call. */
static inline const char *scratch_path(scratch *self, const char *below)
{
    snprintf(self->path, sizeof(self->path), "%s/%s", self->root, below);
    return self->path;
}

/* Makes the folders on the way too. */
static inline void scratch_write(scratch *self, const char *below, const void *bytes, size_t n)
{
    scratch_path(self, below);
    for (char *slash = self->path + strlen(self->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(self->path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(self->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static inline void scratch_touch(scratch *self, const char *below)
{
    scratch_write(self, below, "x", 1);
}

/* Free with free(). */
static inline void *scratch_read(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*n + 1);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

#endif /* SCRATCH_H */
