/*
 * identity.c - fingerprints of models.
 *
 * Weights may lie in files of their own, under names that only the .onnx file knows. Rather than
 * read that format, every file of the folder whose name stands somewhere in the .onnx file is taken
 * to be part of the model: one too many does no harm.
 */
#include "job/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"

static brim_status hash_file(brim_store *store, const char *path, char out[BRIM_HASH_BYTES],
                             brim_error *err)
{
    char absolute[PATH_MAX];
    struct stat info;

    if (!realpath(path, absolute) || stat(absolute, &info) != 0)
        return brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
    int64_t mtime_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    if (brim_store_recall_hash(store, absolute, info.st_size, mtime_ns, out, BRIM_HASH_BYTES))
        return BRIM_OK;
    brim_status status = brim_hash_file(absolute, out, err);
    if (status == BRIM_OK) brim_store_remember_hash(store, absolute, info.st_size, mtime_ns, out);
    return status;
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), n = strlen(suffix);

    return length >= n && strcmp(text + length - n, suffix) == 0;
}

/* Other models, configurations and papers in the folder are no weights. */
static bool may_hold_weights(const char *name)
{
    static const char *const OTHERS[] = {".onnx", ".json", ".txt", ".md", ".py", ".jpg", ".png"};

    if (name[0] == '.') return false;
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
        if (ends_with(name, OTHERS[i])) return false;
    return true;
}

/*
 * Adds up fingerprints of the folder's files whose names stand in data[0..bytes): a sum does not
 * depend on the order in which a folder lists them.
 */
static brim_status sum_named(brim_store *store, const char *folder, const void *data, size_t bytes,
                             uint64_t *sum, brim_error *err)
{
    char path[PATH_MAX], line[NAME_MAX + 1 + BRIM_HASH_BYTES], hash[BRIM_HASH_BYTES];
    struct stat info;
    brim_status status = BRIM_OK;
    const struct dirent *entry;
    DIR *dir = opendir(folder);

    *sum = 0;
    if (!dir) return brim_fail(err, BRIM_E_IO, "%s: %s", folder, strerror(errno));
    while (status == BRIM_OK && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (!may_hold_weights(name) || !memmem(data, bytes, name, strlen(name))) continue;
        if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) continue;
        if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) continue;
        status = hash_file(store, path, hash, err);
        int length = snprintf(line, sizeof(line), "%s:%s", name, hash);
        *sum += brim_hash_64(line, (size_t)length);
    }
    closedir(dir);
    return status;
}

static brim_status sum_data_files(brim_store *store, const char *onnx, uint64_t *sum,
                                  brim_error *err)
{
    char folder[PATH_MAX];
    struct stat info;
    const char *slash = strrchr(onnx, '/');
    size_t length = !slash ? 1 : slash == onnx ? 1 : (size_t)(slash - onnx);
    int fd = open(onnx, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &info) != 0) {
        brim_status status = brim_fail(err, BRIM_E_IO, "%s: %s", onnx, strerror(errno));
        if (fd >= 0) close(fd);
        return status;
    }
    size_t bytes = (size_t)info.st_size;
    void *data = bytes > 0 ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (data == MAP_FAILED || length >= sizeof(folder))
        return brim_fail(err, BRIM_E_IO, "%s: cannot be read", onnx);
    memcpy(folder, slash ? onnx : ".", length);
    folder[length] = '\0';
    brim_status status = sum_named(store, folder, data, bytes, sum, err);
    munmap(data, bytes);
    return status;
}

brim_status brim_identify_model(brim_store *store, const char *onnx, char out[BRIM_HASH_BYTES],
                                brim_error *err)
{
    char both[BRIM_HASH_BYTES + 32];
    uint64_t sum = 0;

    brim_status status = hash_file(store, onnx, out, err);
    if (status == BRIM_OK) status = sum_data_files(store, onnx, &sum, err);
    if (status != BRIM_OK || sum == 0) return status;
    int length = snprintf(both, sizeof(both), "%s+%016llx", out, (unsigned long long)sum);
    brim_hash_bytes(both, (size_t)length, out);
    return BRIM_OK;
}
