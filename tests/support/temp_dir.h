/*
 * temp_dir.h - a folder for one test, made before and removed after, with everything in it.
 * Use temp_dir_setup and temp_dir_teardown with cmocka_unit_test_setup_teardown; *state is the
 * path.
 */
#ifndef TEMP_DIR_H
#define TEMP_DIR_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline int temp_dir_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    char *path = malloc(4096);

    snprintf(path, 4096, "%s/brimtest.XXXXXX", base && base[0] == '/' ? base : "/tmp");
    if (!mkdtemp(path)) return -1;
    *state = path;
    return 0;
}

static int temp_dir_remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline int temp_dir_teardown(void **state)
{
    int rc = nftw(*state, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);

    free(*state);
    return rc;
}

/* "FOLDER/name" in a static buffer, one of eight in turn. */
static inline const char *temp_path(void **state, const char *name)
{
    static char paths[8][4096];
    static int at;

    at = (at + 1) % 8;
    snprintf(paths[at], sizeof(paths[at]), "%s/%s", (const char *)*state, name);
    return paths[at];
}

static inline const char *temp_mkdir(void **state, const char *name)
{
    const char *path = temp_path(state, name);

    if (mkdir(path, 0777) != 0) perror(path);
    return path;
}

static inline const char *temp_write(void **state, const char *name, const void *data, size_t bytes)
{
    const char *path = temp_path(state, name);
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) perror(path);
    return path;
}

static inline const char *temp_write_text(void **state, const char *name, const char *text)
{
    return temp_write(state, name, text, strlen(text));
}

#endif /* TEMP_DIR_H */
