/* names.c - names of files: pictures by their suffix, paths by appending. */
#include "source/names.h"

#include <strings.h>

#include "base/size.h"

static const char *const PICTURE_SUFFIXES[] = {
    "jpg", "jpeg", "jpe",  "jfif", "png", "apng", "webp", "gif", "tif", "tiff",
    "bmp", "dib",  "heic", "heif", "hif", "avif", "jxl",  "jp2", "j2k", "jpx",
    "ppm", "pgm",  "pbm",  "pnm",  "dng", "nef",  "cr2",  "arw",
};

bool brim_names_hidden(const char *file_name)
{
    return file_name[0] == '.' || strcmp(file_name, "@eaDir") == 0;
}

bool brim_names_picture(const char *file_name)
{
    const char *dot = strrchr(file_name, '.');

    if (!dot || brim_names_hidden(file_name)) return false;
    for (size_t i = 0; i < sizeof(PICTURE_SUFFIXES) / sizeof(PICTURE_SUFFIXES[0]); i++)
        if (strcasecmp(dot + 1, PICTURE_SUFFIXES[i]) == 0) return true;
    return false;
}

const char *brim_names_strip(const char *name)
{
    while (name[0] == '.' && name[1] == '/') {
        name += 2;
        while (*name == '/')
            name++;
    }
    return name;
}

static brim_status reserve(brim_path *path, size_t bytes)
{
    void *grown = NULL;

    if (bytes <= path->capacity) return BRIM_OK;
    size_t capacity = bytes < 256 ? 256 : bytes * 2;
    brim_status status = path->mem->alloc(path->mem->ctx, capacity, 0, &grown);
    if (status != BRIM_OK) return status;
    if (path->text) memcpy(grown, path->text, path->length + 1);
    brim_alloc_release(path->mem, path->text, path->capacity);
    path->text = grown;
    path->capacity = capacity;
    return BRIM_OK;
}

brim_status brim_path_put(brim_path *path, size_t keep, const char *name)
{
    size_t name_length = strlen(name);
    bool slash = keep > 0 && name_length > 0 && path->text[keep - 1] != '/';
    size_t bytes;

    if (brim_add_bytes(keep + 2, name_length, &bytes) != BRIM_OK) return BRIM_E_ARG;
    brim_status status = reserve(path, bytes);
    if (status != BRIM_OK) return status;
    if (slash) path->text[keep++] = '/';
    memcpy(path->text + keep, name, name_length + 1);
    path->length = keep + name_length;
    return BRIM_OK;
}

void brim_path_fini(brim_path *path)
{
    brim_alloc_release(path->mem, path->text, path->capacity);
    path->text = NULL;
    path->length = path->capacity = 0;
}
