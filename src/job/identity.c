/*
 * identity.c - fingerprints and sizes of models.
 *
 * Weights may lie in files of their own, which the .onnx file names. Their names are found by the
 * few bytes that stand before each, without reading the rest of the format.
 */
#include "job/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/text.h"

static brim_status hash_file(brim_store *store, const char *path, char out[BRIM_HASH_BYTES],
                             brim_error *err)
{
    char absolute[PATH_MAX];
    struct stat info;

    if (!realpath(path, absolute) || stat(absolute, &info) != 0)
        return brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
    int64_t mtime_ns = brim_timespec_ns(info.st_mtim);
    if (brim_store_recall_hash(store, absolute, info.st_size, mtime_ns, out, BRIM_HASH_BYTES))
        return BRIM_OK;
    brim_status status = brim_hash_file(absolute, out, err);
    if (status == BRIM_OK) brim_store_remember_hash(store, absolute, info.st_size, mtime_ns, out);
    return status;
}

/*
 * Finds the next mention of a data file at or after *at: an entry ("location", name) of
 * external_data in the model's protocol buffers, which is field 1 with the key and field 2 with the
 * value.
 */
static bool next_location(const uint8_t *data, size_t bytes, size_t *at, char name[PATH_MAX])
{
    static const uint8_t MARK[] = "\x0a\x08location\x12";
    enum { MARK_BYTES = sizeof(MARK) - 1 };

    while (*at < bytes) {
        const uint8_t *found = memmem(data + *at, bytes - *at, MARK, MARK_BYTES);
        if (!found) return false;
        size_t start = (size_t)(found - data) + MARK_BYTES;
        size_t length = 0;
        for (unsigned shift = 0; start < bytes && shift < 21; shift += 7) {
            uint8_t byte = data[start++];
            length |= (size_t)(byte & 0x7F) << shift;
            if (byte < 0x80) break;
        }
        *at = start;
        if (length == 0 || length >= PATH_MAX || length > bytes - start) continue;
        memcpy(name, data + start, length);
        name[length] = '\0';
        *at = start + length;
        return true;
    }
    return false;
}

/* A data file that a model names; anything but BRIM_OK ends the walk. */
typedef brim_status (*data_file_visitor)(void *ctx, const char *name, const char *path,
                                         const struct stat *info, brim_error *err);

/* One that is not there is passed over: if the model needed it, the runtime would not load it. */
static brim_status visit_named(const char *folder, const uint8_t *data, size_t bytes,
                               data_file_visitor visit, void *ctx, brim_error *err)
{
    char name[PATH_MAX], last[PATH_MAX] = "", path[2 * PATH_MAX];
    struct stat info;
    size_t at = 0;

    while (next_location(data, bytes, &at, name)) {
        if (strcmp(name, last) == 0) continue; /* the next tensor in the same file */
        memcpy(last, name, sizeof(last));
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        brim_status status = visit(ctx, name, path, &info, err);
        if (status != BRIM_OK) return status;
    }
    return BRIM_OK;
}

static brim_status visit_data_files(const char *onnx, data_file_visitor visit, void *ctx,
                                    brim_error *err)
{
    char folder[PATH_MAX];
    struct stat info;

    if (!brim_folder_of(onnx, folder, sizeof(folder)))
        return brim_fail(err, BRIM_E_ARG, "%s: the path is too long", onnx);
    int fd = open(onnx, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        brim_status status = brim_fail(err, BRIM_E_IO, "%s: %s", onnx, strerror(errno));
        if (fd >= 0) close(fd);
        return status;
    }
    size_t bytes = (size_t)info.st_size;
    void *data = bytes > 0 ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (data == MAP_FAILED) return brim_fail(err, BRIM_E_IO, "%s: cannot be read", onnx);
    brim_status status = visit_named(folder, data, bytes, visit, ctx, err);
    munmap(data, bytes);
    return status;
}

/* ---- Fingerprints ---- */

typedef struct hash_sum {
    brim_store *store;
    uint64_t sum;
} hash_sum;

/* Adds the fingerprint of a file and its name. */
static brim_status add_hash(void *ctx, const char *name, const char *path, const struct stat *info,
                            brim_error *err)
{
    hash_sum *self = ctx;
    char hash[BRIM_HASH_BYTES], line[PATH_MAX + BRIM_HASH_BYTES];

    (void)info;
    brim_status status = hash_file(self->store, path, hash, err);
    if (status != BRIM_OK) return status;
    int length = snprintf(line, sizeof(line), "%s:%s", name, hash);
    self->sum += brim_hash_64(line, (size_t)length);
    return BRIM_OK;
}

brim_status brim_identify_model(brim_store *store, const char *onnx, char out[BRIM_HASH_BYTES],
                                brim_error *err)
{
    hash_sum files = {.store = store};
    char both[BRIM_HASH_BYTES + 32];

    brim_status status = hash_file(store, onnx, out, err);
    if (status == BRIM_OK) status = visit_data_files(onnx, add_hash, &files, err);
    if (status != BRIM_OK || files.sum == 0) return status;
    int length = snprintf(both, sizeof(both), "%s+%016llx", out, (unsigned long long)files.sum);
    brim_hash_bytes(both, (size_t)length, out);
    return BRIM_OK;
}

/* ---- Sizes ---- */

enum { N_SEEN = 256 };

typedef struct size_sum {
    uint64_t bytes, enough_bytes;
    struct {
        dev_t device;
        ino_t inode;
    } seen[N_SEEN]; /* the last files, since tensors may take turns in them */
    size_t n_seen;
} size_sum;

static brim_status add_size(void *ctx, const char *name, const char *path, const struct stat *info,
                            brim_error *err)
{
    size_sum *self = ctx;

    (void)name;
    (void)path;
    (void)err;
    for (size_t i = 0; i < N_SEEN && i < self->n_seen; i++)
        if (self->seen[i].device == info->st_dev && self->seen[i].inode == info->st_ino)
            return BRIM_OK;
    self->seen[self->n_seen % N_SEEN].device = info->st_dev;
    self->seen[self->n_seen++ % N_SEEN].inode = info->st_ino;
    self->bytes += (uint64_t)info->st_size;
    return self->bytes > self->enough_bytes ? BRIM_END : BRIM_OK;
}

uint64_t brim_model_bytes(const char *onnx, uint64_t enough_bytes)
{
    size_sum files = {.enough_bytes = enough_bytes};
    struct stat info;

    if (stat(onnx, &info) != 0 || !S_ISREG(info.st_mode)) return 0;
    if (add_size(&files, NULL, NULL, &info, NULL) == BRIM_OK)
        visit_data_files(onnx, add_size, &files, NULL);
    return files.bytes;
}
