/* processor_config.h - what a preprocessor_config.json asks for, every default filled in. */
#ifndef BRIM_IMAGE_PROCESSOR_CONFIG_H
#define BRIM_IMAGE_PROCESSOR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "image/axis.h"

typedef enum brim_resize_rule {
    BRIM_RESIZE_NONE,
    BRIM_RESIZE_EXACT,         /* to height x width, whatever the picture's shape */
    BRIM_RESIZE_SHORTEST_EDGE, /* shape kept, the shorter side becomes shortest_edge */
} brim_resize_rule;

typedef struct brim_processor_config {
    brim_resize_rule resize;
    uint32_t height, width; /* of BRIM_RESIZE_EXACT */
    uint32_t shortest_edge; /* of BRIM_RESIZE_SHORTEST_EDGE */
    brim_filter filter;
    bool do_center_crop;
    uint32_t crop_height, crop_width;
    bool do_rescale;
    double rescale_factor;
    bool do_normalize;
    double mean[3], std[3];
} brim_processor_config;

/*
 * Reads the JSON text of a file that messages call name. Unknown keys and kinds of processor are
 * warned about in one line each. BRIM_E_ARG names the key whose value is impossible,
 * BRIM_E_UNSUPPORTED the one that asks for a step that does not exist here.
 */
brim_status brim_processor_config_parse(const char *text, size_t bytes, const char *name,
                                        const brim_log *log, brim_processor_config *out,
                                        brim_error *err);

/*
 * The config as one line of JSON with sorted keys, the same for equal configs. Writes at most
 * capacity bytes with the NUL and returns the length; 0 where it would not fit or memory is short.
 */
size_t brim_processor_config_write(const brim_processor_config *config, char *out, size_t capacity);

#endif /* BRIM_IMAGE_PROCESSOR_CONFIG_H */
