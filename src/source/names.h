/* names.h - which files are pictures by their names, and paths put together. */
#ifndef BRIM_SOURCE_NAMES_H
#define BRIM_SOURCE_NAMES_H

#include <stdbool.h>

#include "brimful/memory.h"

/* A text that grows; its memory comes from an account. Zero with mem set is an empty one. */
typedef struct brim_path {
    const brim_alloc *mem;
    char *text; /* NUL-terminated; NULL before the first set */
    size_t length, capacity;
} brim_path;

/* text = what was there up to keep bytes, then "/" where both sides need one, then name. */
brim_status brim_path_put(brim_path *path, size_t keep, const char *name);
void brim_path_fini(brim_path *path);

/* A file with a picture's suffix, whatever its case, that is neither hidden nor AppleDouble. */
bool brim_names_picture(const char *file_name);

/* Entries passed over in every folder: hidden ones, AppleDouble ("._x"), "@eaDir". */
bool brim_names_hidden(const char *file_name);

/* The name without leading "./" (any number, doubled slashes too). */
const char *brim_names_strip(const char *name);

#endif /* BRIM_SOURCE_NAMES_H */
