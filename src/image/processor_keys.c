/*
 * processor_keys.c - what is done about each key of a preprocessor_config.json.
 *
 * Nothing that would change the pixels is passed over: a key is obeyed, known to be harmless,
 * refused, or warned about.
 */
#include "image/processor_keys.h"

#include <stdio.h>
#include <string.h>

static const char *const OBEYED[] = {
    "crop_size",  "default_to_square",    "do_center_crop", "do_normalize",
    "do_pad",     "do_rescale",           "do_resize",      "feature_extractor_type",
    "image_mean", "image_processor_type", "image_std",      "pad_size",
    "resample",   "rescale_factor",       "size",
};

/* Obeyed where the class knows them. */
static const struct {
    const char *key;
    int kinds;
} OWN[] = {
    {"crop_pct", BRIM_CLASS_CONVNEXT},
    {"include_top", BRIM_CLASS_EFFICIENTNET},
    {"max_num_patches", BRIM_CLASS_PATCHES},
    {"max_size", BRIM_CLASS_DETECTION | BRIM_CLASS_YOLOS | BRIM_CLASS_UNKNOWN},
    {"pad_and_return_pixel_mask", BRIM_CLASS_DETECTION | BRIM_CLASS_YOLOS},
    {"patch_size", BRIM_CLASS_PATCHES},
    {"rescale", BRIM_CLASS_OWLVIT | BRIM_CLASS_OWLV2},
    {"rescale_offset", BRIM_CLASS_EFFICIENTNET},
};

/* What does not touch pixels, or says what is done anyway. */
static const char *const HARMLESS[] = {
    "_commit_hash",
    "_name_or_path",
    "_processor_class",
    "_valid_processor_keys",
    "data_format",
    "device",
    "disable_grouping",
    "do_convert_annotations",
    "do_convert_rgb",
    "do_reduce_labels",
    "format",
    "image_seq_length",
    "input_data_format",
    "masks_path",
    "model_input_names",
    "num_channels",
    "processor_class",
    "reduce_labels",
    "return_segmentation_masks",
    "return_tensors",
    "torch_dtype",
    "transformers_version",
};

/* Steps that do not exist here, or not in this class; false, null and 0 switch them off. */
static const char *const REFUSED[] = {
    "apply_ocr",
    "crop_pct",
    "crop_to_patches",
    "do_align_long_axis",
    "do_color_quantize",
    "do_crop_margin",
    "do_flip_channel_order",
    "do_grayscale",
    "do_image_splitting",
    "do_pan_and_scan",
    "do_split_image",
    "do_thumbnail",
    "ensure_multiple_of",
    "include_top",
    "keep_aspect_ratio",
    "max_num_patches",
    "max_pixels",
    "max_size",
    "min_pixels",
    "patch_size",
    "reducing_gap",
    "rescale_offset",
    "size_divisor",
    "use_square_size",
};

static bool is_among(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(key, keys[i]) == 0) return true;
    }
    return false;
}

static bool is_own(const char *key, brim_class_kind kind)
{
    for (size_t i = 0; i < BRIM_COUNT(OWN); i++) {
        if (strcmp(key, OWN[i].key) == 0) return (OWN[i].kinds & (int)kind) != 0;
    }
    return false;
}

static bool is_off(const json_t *v)
{
    return json_is_null(v) || json_is_false(v) || (json_is_number(v) && json_number_value(v) == 0);
}

/* Refuses what would change the result, warns about what is not known. */
brim_status brim_processor_keys_check(const brim_config_file *f, brim_class_kind kind)
{
    char unknown[300] = "";
    size_t used = 0;
    const char *key;
    json_t *v;

    json_object_foreach(f->root, key, v)
    {
        if (is_among(key, OBEYED, BRIM_COUNT(OBEYED)) || is_own(key, kind) ||
            is_among(key, HARMLESS, BRIM_COUNT(HARMLESS)))
            continue;
        if (is_among(key, REFUSED, BRIM_COUNT(REFUSED))) {
            if (is_off(v)) continue;
            return brim_config_unsupported(f, key, "not supported yet");
        }
        if (used >= sizeof(unknown)) continue;
        int n = snprintf(unknown + used, sizeof(unknown) - used, "%s%s", used ? ", " : "", key);
        used += n > 0 ? (size_t)n : 0;
    }
    if (used > 0)
        brim_log_write(f->log, BRIM_LOG_WARNING, "%s: keys not known here are ignored: %s", f->name,
                       unknown);
    return BRIM_OK;
}

bool brim_processor_keys_known(const json_t *root)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)root, key, v)
    {
        if (is_among(key, OBEYED, BRIM_COUNT(OBEYED)) ||
            is_among(key, REFUSED, BRIM_COUNT(REFUSED)))
            return true;
    }
    return false;
}
