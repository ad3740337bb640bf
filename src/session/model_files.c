/*
 * model_files.c - which files of a model folder are used.
 *
 * The plain search is four paths tried in order. Only where none of them is there is the folder
 * read, to say what it holds instead and what can be done about it.
 */
#include "session/model_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/text.h"

#define PROCESSOR_NAME "preprocessor_config.json"
#define TIMM_NAME      "config.json"

enum { MAX_SUFFIX = 32, MAX_PRECISIONS = 16 };

/* The vision tower alone goes before a model that may want a text beside the picture. */
static const char *const STEMS[] = {"vision_model", "onnx/vision_model", "model", "onnx/model"};
enum { N_STEMS = sizeof(STEMS) / sizeof(STEMS[0]) };

/* What a folder without the wanted file holds instead. */
typedef struct survey {
    char precisions[MAX_PRECISIONS][MAX_SUFFIX]; /* sorted */
    size_t n_precisions;
    char other_onnx[PATH_MAX]; /* one with a name of its own, "" without any */
    bool has_safetensors;
    bool has_torch;
} survey;

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A path too long to be one is "", which is no file. */
__attribute__((format(printf, 2, 3))) static void make_path(char path[PATH_MAX], const char *fmt,
                                                            ...)
{
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(path, PATH_MAX, fmt, args);
    va_end(args);
    if (length < 0 || length >= PATH_MAX) path[0] = '\0';
}

static brim_status copy_text(const brim_alloc *mem, const char *text, char **out, brim_error *err)
{
    size_t bytes = strlen(text) + 1;
    void *copy = NULL;

    brim_status status = mem->alloc(mem->ctx, bytes, 1, &copy);
    if (status != BRIM_OK) return brim_fail(err, status, "model: no memory for %zu bytes", bytes);
    *out = memcpy(copy, text, bytes);
    return BRIM_OK;
}

static void release_text(const brim_alloc *mem, char *text)
{
    if (text) brim_alloc_release(mem, text, strlen(text) + 1);
}

/* "." and the like have no name of their own to show: the real folder's is taken. */
static brim_status copy_name(const brim_alloc *mem, const char *model, char **out, brim_error *err)
{
    char real[PATH_MAX], name[PATH_MAX];

    make_path(name, "%s", model);
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        name[--length] = '\0';
    const char *slash = strrchr(name, '/');
    const char *base = slash && slash[1] ? slash + 1 : name;

    if ((strcmp(base, ".") == 0 || strcmp(base, "..") == 0) && realpath(model, real)) {
        slash = strrchr(real, '/');
        base = slash && slash[1] ? slash + 1 : real;
    }
    return copy_text(mem, base, out, err);
}

/* The suffix of "model.onnx" is "", of "vision_model_fp16.onnx" "fp16"; NULL for other names. */
static const char *precision_of(const char *name, char buffer[MAX_SUFFIX])
{
    size_t stem = strncmp(name, "vision_model", 12) == 0 ? 12 : strncmp(name, "model", 5) ? 0 : 5;
    size_t length = strlen(name);

    if (stem == 0 || !brim_ends_with(name, ".onnx") || length - 5 < stem) return NULL;
    size_t n = length - 5 - stem;
    if (n == 0) return "fp32";
    if (name[stem] != '_' || n < 2 || n > MAX_SUFFIX) return NULL;
    memcpy(buffer, name + stem + 1, n - 1);
    buffer[n - 1] = '\0';
    return buffer;
}

static void add_precision(survey *found, const char *precision)
{
    size_t at = 0;

    while (at < found->n_precisions && strcmp(found->precisions[at], precision) < 0)
        at++;
    if (at < found->n_precisions && strcmp(found->precisions[at], precision) == 0) return;
    if (found->n_precisions == MAX_PRECISIONS) return;
    memmove(found->precisions[at + 1], found->precisions[at],
            (found->n_precisions - at) * sizeof(found->precisions[0]));
    snprintf(found->precisions[at], MAX_SUFFIX, "%s", precision);
    found->n_precisions++;
}

/* The first by name, so that the same folder always gets the same advice. */
static void keep_first_onnx(survey *found, const char *folder, const char *name)
{
    char path[PATH_MAX];

    if (strncmp(name, "text_", 5) == 0) return;
    make_path(path, "%s/%s", folder, name);
    if (!found->other_onnx[0] || strcmp(path, found->other_onnx) < 0)
        memcpy(found->other_onnx, path, sizeof(path));
}

static void survey_folder(survey *found, const char *folder)
{
    DIR *dir = opendir(folder);

    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char buffer[MAX_SUFFIX];
        const char *precision = precision_of(entry->d_name, buffer);

        if (precision)
            add_precision(found, precision);
        else if (brim_ends_with(entry->d_name, ".onnx"))
            keep_first_onnx(found, folder, entry->d_name);
        else if (brim_ends_with(entry->d_name, ".safetensors"))
            found->has_safetensors = true;
        else if (strncmp(entry->d_name, "pytorch_model", 13) == 0)
            found->has_torch = true;
    }
    closedir(dir);
}

/* Says what stands in the way, for a folder that lacks the file looked for. */
static brim_status fail_without_onnx(const char *model, const char *precision, brim_error *err)
{
    survey found = {.n_precisions = 0};
    char inner[PATH_MAX];

    survey_folder(&found, model);
    make_path(inner, "%s/onnx", model);
    survey_folder(&found, inner);

    if (found.n_precisions > 0) {
        char list[MAX_PRECISIONS * (MAX_SUFFIX + 2)] = "";
        size_t used = 0;
        for (size_t i = 0; i < found.n_precisions; i++)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                                     found.precisions[i]);
        return brim_fail(err, BRIM_E_ARG, "%s: no precision %s here; --precision can be: %s", model,
                         precision, list);
    }
    if (found.other_onnx[0])
        return brim_fail(err, BRIM_E_ARG,
                         "%s: no model.onnx or vision_model.onnx here; give the file itself, as %s",
                         model, found.other_onnx);
    if (found.has_safetensors || found.has_torch)
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "%s: only %s here; export it first: optimum-cli export onnx --model %s"
                         " --task feature-extraction OUT",
                         model, found.has_safetensors ? "safetensors" : "PyTorch weights", model);
    return brim_fail(err, BRIM_E_ARG,
                     "%s: no model.onnx or vision_model.onnx here, nor in its folder onnx", model);
}

/* Letters, digits and _, so that it is part of a file's name and nothing else. */
static bool precision_is_sane(const char *precision)
{
    size_t n = strlen(precision);

    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)precision[i]) && precision[i] != '_') return false;
    return n > 0 && n < MAX_SUFFIX;
}

static brim_status find_onnx(const brim_alloc *mem, const char *model, const char *folder,
                             const char *precision, char **out, brim_error *err)
{
    bool plain = strcmp(precision, "fp32") == 0;

    for (size_t i = 0; i < N_STEMS; i++) {
        char path[PATH_MAX];
        make_path(path, "%s%s%s%s.onnx", folder, STEMS[i], plain ? "" : "_",
                  plain ? "" : precision);
        if (is_file(path)) return copy_text(mem, path, out, err);
    }
    return fail_without_onnx(model, precision, err);
}

/* Every folder has a config.json; timm's alone says how pictures are prepared. */
static bool is_timm_config(const char *path)
{
    json_t *root = is_file(path) ? json_load_file(path, 0, NULL) : NULL;
    bool is_timm = json_is_object(json_object_get(root, "pretrained_cfg")) ||
                   (json_is_string(json_object_get(root, "architecture")) &&
                    json_is_array(json_object_get(root, "input_size")));

    json_decref(root);
    return is_timm;
}

/* The first of two folders, which end in a slash or are "". */
static brim_status find_processor(const brim_alloc *mem, const char *model, const char *first,
                                  const char *second, char **out, brim_error *err)
{
    const char *const folders[] = {first, second};
    char path[PATH_MAX];

    for (int i = 0; i < 2; i++) {
        make_path(path, "%s" PROCESSOR_NAME, folders[i]);
        if (is_file(path)) return copy_text(mem, path, out, err);
    }
    for (int i = 0; i < 2; i++) {
        make_path(path, "%s" TIMM_NAME, folders[i]);
        if (is_timm_config(path)) return copy_text(mem, path, out, err);
    }
    return brim_fail(err, BRIM_E_ARG,
                     "%s: no " PROCESSOR_NAME " with it; say where one is: --processor FILE",
                     model);
}

static brim_status find_in_folder(const brim_alloc *mem, const char *model, const char *precision,
                                  bool need_processor, brim_model_files *files, brim_error *err)
{
    char folder[PATH_MAX], inner[PATH_MAX];

    make_path(folder, "%s%s", model, brim_ends_with(model, "/") ? "" : "/");
    brim_status status = find_onnx(mem, model, folder, precision, &files->onnx, err);
    if (status != BRIM_OK || !need_processor) return status;
    make_path(inner, "%sonnx/", folder);
    return find_processor(mem, model, folder, inner, &files->processor, err);
}

static brim_status find_for_file(const brim_alloc *mem, const char *model, const char *precision,
                                 bool need_processor, brim_model_files *files, brim_error *err)
{
    char folder[PATH_MAX], above[PATH_MAX];
    const char *slash = strrchr(model, '/');
    int folder_length = slash ? (int)(slash - model) + 1 : 0;

    if (!brim_ends_with(model, ".onnx"))
        return brim_fail(err, BRIM_E_ARG, "%s: a model is a folder or a .onnx file", model);
    if (strcmp(precision, "fp32") != 0)
        return brim_fail(err, BRIM_E_ARG, "%s: --precision %s chooses within a folder: give that",
                         model, precision);
    brim_status status = copy_text(mem, model, &files->onnx, err);
    if (status != BRIM_OK || !need_processor) return status;
    make_path(folder, "%.*s", folder_length, model);
    make_path(above, "%.*s../", folder_length, model);
    return find_processor(mem, model, folder, above, &files->processor, err);
}

brim_status brim_model_files_find(const brim_alloc *mem, const char *model, const char *precision,
                                  const char *processor, const brim_log *log,
                                  brim_model_files *files, brim_error *err)
{
    struct stat st;
    brim_status status;

    *files = (brim_model_files){.mem = mem};
    if (!precision) precision = "fp32";
    if (!precision_is_sane(precision)) {
        status = brim_fail(err, BRIM_E_ARG, "--precision: %s is none", precision);
        goto fail;
    }
    if (stat(model, &st) != 0) {
        const char *why = errno != ENOENT ? strerror(errno)
                          : brim_ends_with(model, ".onnx")
                              ? "no such file"
                              : "no such folder (nothing is fetched from a hub)";
        status = brim_fail(err, BRIM_E_IO, "%s: %s", model, why);
        goto fail;
    }

    status = (S_ISDIR(st.st_mode) ? find_in_folder : find_for_file)(mem, model, precision,
                                                                    !processor, files, err);
    if (status == BRIM_OK) status = copy_name(mem, model, &files->name, err);
    if (status != BRIM_OK) goto fail;
    if (processor) {
        if (!is_file(processor)) {
            status = brim_fail(err, BRIM_E_IO, "--processor %s: no such file", processor);
            goto fail;
        }
        status = copy_text(mem, processor, &files->processor, err);
        if (status != BRIM_OK) goto fail;
    }
    brim_log_write(log, BRIM_LOG_NOTE, "model: %s", files->onnx);
    return BRIM_OK;

fail:
    brim_model_files_fini(files);
    return status;
}

void brim_model_files_fini(brim_model_files *files)
{
    release_text(files->mem, files->name);
    release_text(files->mem, files->onnx);
    release_text(files->mem, files->processor);
    *files = (brim_model_files){0};
}
