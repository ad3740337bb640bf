/*
 * null.h - INPUTs that name no files: "null:COUNT" or "null:COUNT:WxH" is so many grey pictures of
 * that size (224x224), for rehearsals.
 */
#ifndef BRIM_SOURCE_NULL_H
#define BRIM_SOURCE_NULL_H

#include <stdbool.h>
#include <stdint.h>

#include "brimful/status.h"

typedef struct brim_null_spec {
    uint64_t count;
    uint32_t width, height;
} brim_null_spec;

/* Does it begin with "null:"? A folder of such a name is "./null:". */
bool brim_null_is_input(const char *input);

/* BRIM_E_ARG says in one line what is wrong with it. */
brim_status brim_null_read(const char *input, brim_null_spec *out, brim_error *err);

#endif /* BRIM_SOURCE_NULL_H */
