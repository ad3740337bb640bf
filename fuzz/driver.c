/* driver.c - the account of the fuzz targets, and a main() over files for builds without libFuzzer.
 */
#include "driver.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_INPUT_BYTES (1 << 20)

void fuzz_fail(const char *file, int line, const char *words)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, words);
    abort();
}

static brim_status take(void *ctx, size_t bytes, size_t align, void **out)
{
    fuzz_account *self = ctx;
    brim_status status = brim_heap()->alloc(NULL, bytes, align, out);

    if (status != BRIM_OK) return status;
    self->live_bytes += bytes;
    if (self->live_bytes > self->peak_bytes) self->peak_bytes = self->live_bytes;
    return BRIM_OK;
}

static void give_back(void *ctx, void *p, size_t bytes)
{
    fuzz_account *self = ctx;

    FUZZ_MUST(!p || bytes <= self->live_bytes);
    if (p) self->live_bytes -= bytes;
    brim_heap()->release(NULL, p, bytes);
}

void fuzz_account_init(fuzz_account *self)
{
    *self = (fuzz_account){.base = {take, give_back, self}};
}

#ifndef BRIM_LIBFUZZER
static void run_file(const char *path)
{
    static uint8_t data[MAX_INPUT_BYTES];
    FILE *f = fopen(path, "rb");

    if (!f) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        exit(1);
    }
    size_t n = fread(data, 1, sizeof(data), f);
    fclose(f);
    uint8_t *copy = malloc(n > 0 ? n : 1); /* of that size, so that sanitizers see its end */
    FUZZ_MUST(copy != NULL);
    memcpy(copy, data, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

/* The files in it, not those of folders in it; their number, -1 where it is no folder. */
static int run_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int n = 0;

    if (!folder) return -1;
    while ((entry = readdir(folder)) != NULL) {
        char name[4096];
        struct stat st;

        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (stat(name, &st) != 0 || !S_ISREG(st.st_mode)) continue;
        run_file(name);
        n++;
    }
    closedir(folder);
    return n;
}

int main(int argc, char **argv)
{
    int n_all = 0;

    for (int i = 1; i < argc; i++) {
        int n = run_folder(argv[i]);
        if (n < 0) run_file(argv[i]);
        n_all += n < 0 ? 1 : n;
    }
    printf("%d inputs\n", n_all);
    return n_all > 0 ? 0 : 1;
}
#endif
