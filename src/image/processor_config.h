/* processor_config.h - what a preprocessor_config.json asks for, every default filled in. */
#ifndef BRIM_IMAGE_PROCESSOR_CONFIG_H
#define BRIM_IMAGE_PROCESSOR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "image/resample.h"

/* How large a picture becomes. All but EXACT and SMOOTH keep its shape. */
typedef enum brim_resize_rule {
    BRIM_RESIZE_NONE,
    BRIM_RESIZE_EXACT,         /* height x width, whatever the picture's shape */
    BRIM_RESIZE_SHORTEST_EDGE, /* the shorter side becomes shortest_edge */
    BRIM_RESIZE_BOUNDED_EDGE,  /* the same, but the longer one at most longest_edge */
    BRIM_RESIZE_YOLOS_EDGE,    /* the same, down to multiples of 16 */
    BRIM_RESIZE_MAX_SIDES,     /* as large as height x width allow, rounded down */
    BRIM_RESIZE_INSIDE,        /* the same, rounded to the nearest */
    BRIM_RESIZE_OUTSIDE,       /* so that height x width are covered, rounded to the nearest */
    BRIM_RESIZE_PATCHES,       /* at most max_patches patches, sides of whole patches */
    BRIM_RESIZE_SMOOTH,        /* exact, by Gaussian and linear interpolation: see smooth.h */
} brim_resize_rule;

typedef struct brim_processor_config {
    brim_resize_rule resize;
    uint32_t height, width;
    uint32_t shortest_edge, longest_edge;
    uint32_t patch_size, max_patches; /* the tensor is patches where patch_size is not 0 */
    bool pad_square;                  /* black at right or below, before BRIM_RESIZE_SMOOTH */
    brim_filter filter;
    bool do_center_crop;
    bool crop_rounds_half_even; /* an odd number of pixels is halved so, not rounded down */
    uint32_t crop_height, crop_width;
    uint8_t crop_fill[3];           /* where the crop is larger than the picture */
    uint32_t pad_height, pad_width; /* not 0: zeros at right and below, after all else */
    bool do_rescale;
    double rescale_factor;
    bool rescale_offset; /* 1 is taken off after rescaling */
    bool do_normalize;
    double mean[3], std[3];
    bool divide_again; /* by std, once more at the end */
} brim_processor_config;

/*
 * Reads the JSON text of a file that messages call name: a preprocessor_config.json or timm's
 * config.json. Unknown keys and kinds of processor are warned about in one line each. BRIM_E_ARG
 * names the key whose value is impossible, BRIM_E_UNSUPPORTED the one that asks for a step that
 * does not exist here.
 */
brim_status brim_processor_config_parse(const char *text, size_t bytes, const char *name,
                                        const brim_log *log, brim_processor_config *out,
                                        brim_error *err);

/*
 * The config and the order of resizing as one line of JSON with sorted keys, the same for equal
 * ones. Writes at most capacity bytes with the NUL and returns the length; 0 where it would not
 * fit or memory is short.
 */
size_t brim_processor_config_write(const brim_processor_config *config, brim_resample_order order,
                                   char *out, size_t capacity);

#endif /* BRIM_IMAGE_PROCESSOR_CONFIG_H */
