/*
 * folder.c - the pictures of a folder and all folders below it, in the order the system gives them.
 *
 * One open directory a level, no list of names: a folder of any size takes the same memory. Linked
 * folders are not followed (they may lead in circles); linked files are. No file is looked at
 * unless the file system does not say what kind of entry it is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "source/names.h"
#include "source/source.h"

enum { MAX_DEPTH = 200 };

typedef struct level {
    DIR *dir;
    size_t path_length, name_length; /* of the two texts, up to this folder */
} level;

typedef struct folder_source {
    brim_source base; /* first: a brim_source pointer is a pointer to us */
    const brim_alloc *mem;
    const brim_source_options *options;
    brim_path path, name;
    size_t depth; /* levels open; 0 = finished */
    level levels[MAX_DEPTH];
} folder_source;

static void warn_incomplete(folder_source *self, const char *path, const char *why)
{
    atomic_fetch_add(&self->base.counts.n_incomplete, 1);
    if (!self->options->counting)
        brim_log_write(self->options->log, BRIM_LOG_WARNING, "%s: %s", path, why);
}

/* Goes into the folder that path and name now spell out; on failure errno says why. */
static bool descend(folder_source *self)
{
    if (self->depth == MAX_DEPTH) {
        errno = ELOOP;
        return false;
    }
    int parent = self->depth > 0 ? dirfd(self->levels[self->depth - 1].dir) : AT_FDCWD;
    size_t above = self->depth > 0 ? self->levels[self->depth - 1].path_length : 0;
    const char *entry = self->path.text + above;
    while (self->depth > 0 && *entry == '/')
        entry++;
    int follow = self->depth > 0 ? O_NOFOLLOW : 0; /* the INPUT itself may be a link */
    int fd = openat(parent, entry, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        int why = errno;
        if (fd >= 0) close(fd);
        errno = why;
        return false;
    }
    self->levels[self->depth++] = (level){dir, self->path.length, self->name.length};
    return true;
}

typedef enum entry_kind { ENTRY_FILE, ENTRY_FOLDER, ENTRY_OTHER } entry_kind;

static entry_kind kind_of_mode(mode_t mode)
{
    return S_ISREG(mode) ? ENTRY_FILE : S_ISDIR(mode) ? ENTRY_FOLDER : ENTRY_OTHER;
}

static entry_kind kind_of(const level *at, const struct dirent *entry)
{
    struct stat info;

    if (entry->d_type == DT_REG) return ENTRY_FILE;
    if (entry->d_type == DT_DIR) return ENTRY_FOLDER;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) return ENTRY_OTHER;
    if (entry->d_type == DT_UNKNOWN) {
        if (fstatat(dirfd(at->dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            return ENTRY_FILE; /* its failure is told when it is read */
        if (!S_ISLNK(info.st_mode)) return kind_of_mode(info.st_mode);
    }
    if (fstatat(dirfd(at->dir), entry->d_name, &info, 0) != 0) return ENTRY_FILE;
    return S_ISREG(info.st_mode) ? ENTRY_FILE : ENTRY_OTHER;
}

/* Looks at one entry of the deepest open folder. BRIM_OK with *out NULL: it was no picture. */
static brim_status take_entry(folder_source *self, const struct dirent *entry, brim_row **out)
{
    const level *at = &self->levels[self->depth - 1];

    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) return BRIM_OK;
    if (brim_names_hidden(entry->d_name)) return BRIM_OK;
    entry_kind kind = kind_of(at, entry);
    if (kind == ENTRY_OTHER || (kind == ENTRY_FILE && !brim_names_picture(entry->d_name))) {
        atomic_fetch_add(&self->base.counts.n_skipped, 1);
        return BRIM_OK;
    }

    brim_status status = brim_path_put(&self->path, at->path_length, entry->d_name);
    if (status == BRIM_OK) status = brim_path_put(&self->name, at->name_length, entry->d_name);
    if (status != BRIM_OK) return status;
    if (kind == ENTRY_FOLDER) {
        if (!descend(self))
            warn_incomplete(self, self->path.text,
                            self->depth == MAX_DEPTH ? "more than 200 folders in one another"
                                                     : strerror(errno));
        return BRIM_OK;
    }
    return brim_row_create(self->mem, self->name.text, self->path.text, out);
}

static brim_status folder_source_next(brim_source *base, brim_row **out, brim_error *err)
{
    folder_source *self = (folder_source *)base;

    *out = NULL;
    while (self->depth > 0 && !*out) {
        level *at = &self->levels[self->depth - 1];
        errno = 0;
        const struct dirent *entry = readdir(at->dir);
        if (!entry) {
            if (errno != 0) {
                self->path.text[at->path_length] = '\0';
                warn_incomplete(self, self->path.text, strerror(errno));
            }
            closedir(at->dir);
            self->depth--;
            continue;
        }
        brim_status status = take_entry(self, entry, out);
        if (status != BRIM_OK)
            return brim_fail(err, status, "%s: no memory for the next name", self->path.text);
    }
    return *out ? BRIM_OK : BRIM_END;
}

static void folder_source_close(brim_source *base)
{
    folder_source *self = (folder_source *)base;

    while (self->depth > 0)
        closedir(self->levels[--self->depth].dir);
    brim_path_fini(&self->path);
    brim_path_fini(&self->name);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static const struct brim_source_ops FOLDER_SOURCE_OPS = {
    .next = folder_source_next,
    .close = folder_source_close,
};

brim_status brim_source_open_folder(const brim_alloc *mem, const char *name, const char *path,
                                    const brim_source_options *options, brim_source **out,
                                    brim_error *err)
{
    brim_status status;

    *out = NULL;
    folder_source *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "%s: no memory to list it", path);
    self->base.ops = &FOLDER_SOURCE_OPS;
    self->mem = self->path.mem = self->name.mem = mem;
    self->options = options;

    status = brim_path_put(&self->path, 0, path);
    if (status == BRIM_OK) status = brim_path_put(&self->name, 0, name);
    if (status != BRIM_OK) {
        brim_fail(err, status, "%s: no memory to list it", path);
        goto fail;
    }
    if (!descend(self)) {
        status = brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
        goto fail;
    }
    *out = &self->base;
    return BRIM_OK;

fail:
    folder_source_close(&self->base);
    return status;
}
