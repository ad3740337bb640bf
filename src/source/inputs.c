/*
 * inputs.c - the INPUTs of a command as one source: each is opened when the one before is finished.
 *
 * What an INPUT is (file, folder, @list, null:COUNT) is settled for all of them at the start, so a
 * misspelt one ends the run before the first picture is read.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"
#include "source/names.h"
#include "source/null.h"
#include "source/source.h"

typedef struct inputs_source {
    brim_source base; /* first: a brim_source pointer is a pointer to us */
    const brim_alloc *mem;
    const brim_source_options *options;
    char root[PATH_MAX]; /* absolute; "" without --root */
    size_t at;           /* input to open next */
    brim_source *now;    /* what is being read, unless a file; NULL between inputs */
} inputs_source;

/* The absolute path of a folder or file, links in it resolved. */
static brim_status resolve(const char *path, char out[PATH_MAX], brim_error *err)
{
    if (realpath(path, out)) return BRIM_OK;
    if (errno == ENOENT || errno == ENOTDIR)
        return brim_fail(err, BRIM_E_ARG, "%s: no such file or folder", path);
    return brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
}

/* The absolute path of the folder that holds `path`, with the last component left as it is. */
static brim_status resolve_parent(const char *path, char out[PATH_MAX], brim_error *err)
{
    char parent[PATH_MAX];

    if (!brim_folder_of(path, parent, sizeof(parent)))
        return brim_fail(err, BRIM_E_ARG, "%s: the path is too long", path);
    return resolve(parent, out, err);
}

/* Where keys begin in an absolute path below the root. NULL where it is not below. */
static const char *below_root(const inputs_source *self, const char *path)
{
    size_t length = strlen(self->root);

    if (length == 1) return path + 1; /* "/" */
    if (strncmp(path, self->root, length) != 0) return NULL;
    if (path[length] == '\0') return path + length;
    return path[length] == '/' ? path + length + 1 : NULL;
}

static brim_status not_below_root(const inputs_source *self, const char *input, brim_error *err)
{
    return brim_fail(err, BRIM_E_ARG, "%s: not below --root %s", input, self->options->root);
}

static brim_status open_folder(inputs_source *self, const char *input, brim_error *err)
{
    char path[PATH_MAX], name[PATH_MAX];

    brim_status status = resolve(input, path, err);
    if (status != BRIM_OK) return status;
    const char *shown = brim_names_strip(input);
    if (self->root[0]) {
        shown = below_root(self, path);
        if (!shown) return not_below_root(self, input, err);
    }
    size_t length = strlen(shown);
    while (length > 1 && shown[length - 1] == '/')
        length--;
    if (length >= sizeof(name))
        return brim_fail(err, BRIM_E_ARG, "%s: the path is too long", input);
    memcpy(name, shown, length);
    name[length] = '\0';
    return brim_source_open_folder(self->mem, strcmp(name, ".") == 0 ? "" : name, path,
                                   self->options, &self->now, err);
}

static brim_status open_list(inputs_source *self, const char *path, brim_error *err)
{
    char base[PATH_MAX];
    brim_status status = BRIM_OK;

    if (self->root[0])
        memcpy(base, self->root, sizeof(base));
    else if (strcmp(path, "-") == 0)
        status = resolve(".", base, err);
    else
        status = resolve_parent(path, base, err);
    if (status != BRIM_OK) return status;
    return brim_source_open_list(self->mem, path, base, self->options, &self->now, err);
}

static brim_status take_file(inputs_source *self, const char *input, brim_row **out,
                             brim_error *err)
{
    char folder[PATH_MAX];
    brim_path path = {.mem = self->mem};
    const char *slash = strrchr(input, '/');
    const char *name = brim_names_strip(input);

    brim_status status = resolve_parent(input, folder, err);
    if (status != BRIM_OK) return status;
    status = brim_path_put(&path, 0, folder);
    if (status == BRIM_OK) status = brim_path_put(&path, path.length, slash ? slash + 1 : input);
    if (status == BRIM_OK && self->root[0]) {
        name = below_root(self, path.text);
        if (!name) {
            status = not_below_root(self, input, err);
            goto out;
        }
    }
    if (status == BRIM_OK) status = brim_row_create(self->mem, name, path.text, out);
    if (status != BRIM_OK) brim_fail(err, status, "%s: no memory for its name", input);

out:
    brim_path_fini(&path);
    return status;
}

/* Opens the next input, or takes it at once where it is a file. */
static brim_status begin_input(inputs_source *self, brim_row **out, brim_error *err)
{
    const char *input = self->options->inputs[self->at++];
    struct stat info;

    if (brim_null_is_input(input)) return brim_source_open_null(self->mem, input, &self->now, err);
    if (input[0] == '@') return open_list(self, input + 1, err);
    if (stat(input, &info) == 0 && S_ISDIR(info.st_mode)) return open_folder(self, input, err);
    return take_file(self, input, out, err);
}

static void add_counts(brim_source_counts *to, const brim_source_counts *from)
{
    atomic_fetch_add(&to->n_skipped, atomic_load(&from->n_skipped));
    atomic_fetch_add(&to->n_incomplete, atomic_load(&from->n_incomplete));
}

static void end_input(inputs_source *self)
{
    if (!self->now) return;
    add_counts(&self->base.counts, &self->now->counts);
    brim_source_close(self->now);
    self->now = NULL;
}

static brim_status inputs_source_next(brim_source *base, brim_row **out, brim_error *err)
{
    inputs_source *self = (inputs_source *)base;

    *out = NULL;
    for (;;) {
        if (self->now) {
            brim_status status = brim_source_next(self->now, out, err);
            if (status != BRIM_END) return status;
            end_input(self);
        }
        if (self->at == self->options->n_inputs) return BRIM_END;
        brim_status status = begin_input(self, out, err);
        if (status != BRIM_OK || *out) return status;
    }
}

static void inputs_source_close(brim_source *base)
{
    inputs_source *self = (inputs_source *)base;

    brim_source_close(self->now);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static const struct brim_source_ops INPUTS_SOURCE_OPS = {
    .next = inputs_source_next,
    .close = inputs_source_close,
};

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Inputs of the design that this version does not read yet: better said than taken for pictures. */
static bool is_of_a_later_version(const char *input)
{
    static const char *const PREFIXES[] = {"sqlite:", "postgresql://", "postgres://"};
    static const char *const SUFFIXES[] = {".csv", ".jsonl", ".tar", ".tar.gz", ".tgz", ".tar.zst"};

    for (size_t i = 0; i < sizeof(PREFIXES) / sizeof(PREFIXES[0]); i++)
        if (begins_with(input, PREFIXES[i])) return true;
    for (size_t i = 0; i < sizeof(SUFFIXES) / sizeof(SUFFIXES[0]); i++)
        if (input[0] != '@' && brim_ends_with(input, SUFFIXES[i])) return true;
    return false;
}

/* Says early what would otherwise come to light after hours. */
static brim_status check_input(const char *input, brim_error *err)
{
    const char *path = input[0] == '@' ? input + 1 : input;
    struct stat info;

    if (*path == '\0') return brim_fail(err, BRIM_E_ARG, "an empty INPUT: give a file or folder");
    if (brim_null_is_input(input)) return brim_null_read(input, &(brim_null_spec){0}, err);
    if (input[0] == '@' && strcmp(path, "-") == 0) return BRIM_OK;
    bool there = stat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode)) {
        if (input[0] == '@')
            return brim_fail(err, BRIM_E_ARG, "%s: a folder, not a list (leave the @ out)", input);
        if (access(path, R_OK | X_OK) == 0) return BRIM_OK;
    } else if (is_of_a_later_version(input)) {
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "%s: this version reads files, folders and @lists only", input);
    } else if (there) {
        return BRIM_OK;
    }
    if (errno == ENOENT || errno == ENOTDIR)
        return brim_fail(err, BRIM_E_ARG, "%s: no such file or folder", path);
    return brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
}

/* The same for --root: nothing but lists, whose lines start there, may lie elsewhere, and null:
 * lies nowhere. */
static brim_status check_below_root(const inputs_source *self, const char *input, brim_error *err)
{
    char path[PATH_MAX];
    struct stat info;

    if (input[0] == '@' || brim_null_is_input(input)) return BRIM_OK;
    bool folder = stat(input, &info) == 0 && S_ISDIR(info.st_mode);
    brim_status status = folder ? resolve(input, path, err) : resolve_parent(input, path, err);
    if (status != BRIM_OK || below_root(self, path)) return status;
    return not_below_root(self, input, err);
}

brim_status brim_source_open(const brim_alloc *mem, const brim_source_options *options,
                             brim_source **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    if (options->n_inputs == 0) return brim_fail(err, BRIM_E_ARG, "no INPUT: give a folder");
    for (size_t i = 0; i < options->n_inputs; i++) {
        status = check_input(options->inputs[i], err);
        if (status != BRIM_OK) return status;
    }
    inputs_source *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "no memory for the inputs");
    self->base.ops = &INPUTS_SOURCE_OPS;
    self->base.may_repeat = options->n_inputs > 1 || options->inputs[0][0] == '@';
    self->mem = mem;
    self->options = options;
    if (options->root) status = resolve(options->root, self->root, err);
    for (size_t i = 0; options->root && status == BRIM_OK && i < options->n_inputs; i++)
        status = check_below_root(self, options->inputs[i], err);
    if (status != BRIM_OK) {
        inputs_source_close(&self->base);
        return status;
    }
    *out = &self->base;
    return BRIM_OK;
}
