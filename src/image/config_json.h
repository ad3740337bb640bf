/* config_json.h - values of a configuration file, checked, with messages that name file and key. */
#ifndef BRIM_IMAGE_CONFIG_JSON_H
#define BRIM_IMAGE_CONFIG_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "brimful/status.h"

#define BRIM_COUNT(A) (sizeof(A) / sizeof((A)[0]))

/* What is read and where its words go. */
typedef struct brim_config_file {
    const char *name;
    json_t *root;
    const brim_log *log;
    brim_error *err;
} brim_config_file;

/* Two sides in the order of the files. */
typedef struct brim_config_sides {
    uint32_t height, width; /* 0 where there are none */
} brim_config_sides;

/* NULL where the key is missing or null. */
json_t *brim_config_value(const brim_config_file *f, const char *key);

/* BRIM_E_ARG and BRIM_E_UNSUPPORTED with "FILE: KEY: FACT". */
brim_status brim_config_bad(const brim_config_file *f, const char *key, const char *fact);
brim_status brim_config_unsupported(const brim_config_file *f, const char *key, const char *fact);

/* These leave *out as it is where the key is missing or null. */
brim_status brim_config_bool(const brim_config_file *f, const char *key, bool *out);
brim_status brim_config_factor(const brim_config_file *f, const char *key, double *out);
brim_status brim_config_count(const brim_config_file *f, const char *key, uint32_t *out);

/* One number for all channels, or a list of three. */
brim_status brim_config_channels(const brim_config_file *f, const char *key, double out[3]);

/* A number of pixels in v, 1 .. 65535; it may be written as 224.0. */
brim_status brim_config_side(const brim_config_file *f, const char *key, const json_t *v,
                             uint32_t *out);

/* A dictionary's two entries of these names, where both are there. */
brim_status brim_config_named_sides(const brim_config_file *f, const char *key, const json_t *v,
                                    const char *height, const char *width, brim_config_sides *out);

/* A square's side, [height, width], or a dictionary of them; anything else is BRIM_E_ARG. */
brim_status brim_config_area(const brim_config_file *f, const char *key, const json_t *v,
                             brim_config_sides *out);

#endif /* BRIM_IMAGE_CONFIG_JSON_H */
