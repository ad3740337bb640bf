/*
 * processor_timm.c - timm's evaluation transform out of its config.json.
 *
 * A picture is made somewhat larger than the model's input, by crop_pct, and its middle cut out.
 * That is torchvision over Pillow: halves of pixels are rounded to even, and where the crop is
 * larger than the picture its surroundings are black ("border": the mean colour). Sizes for
 * training or testing only (test_input_size, ...) are passed over, as timm itself does.
 */
#include "image/processor_timm.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"

#define DEFAULT_SIDE     224
#define DEFAULT_CROP_PCT 0.875

/* data_config is what transformers' wrapper of timm calls it. */
static json_t *nested_config(const json_t *root)
{
    json_t *nested = json_object_get(root, "pretrained_cfg");

    if (!json_is_object(nested)) nested = json_object_get(root, "data_config");
    return json_is_object(nested) ? nested : NULL;
}

bool brim_timm_config_is(const json_t *root)
{
    return nested_config(root) || (json_is_string(json_object_get(root, "architecture")) &&
                                   json_is_array(json_object_get(root, "input_size")));
}

static brim_status read_input_size(const brim_config_file *f, brim_processor_config *out)
{
    json_t *v = brim_config_value(f, "input_size");

    out->crop_height = out->crop_width = DEFAULT_SIDE;
    if (!v) return BRIM_OK;
    if (json_array_size(v) != 3) return brim_config_bad(f, "input_size", "not 3 numbers");
    if (json_number_value(json_array_get(v, 0)) != 3)
        return brim_config_unsupported(f, "input_size", "only 3 channels are supported");
    brim_status status = brim_config_side(f, "input_size", json_array_get(v, 1), &out->crop_height);
    return status == BRIM_OK
               ? brim_config_side(f, "input_size", json_array_get(v, 2), &out->crop_width)
               : status;
}

static brim_status read_interpolation(const brim_config_file *f, brim_processor_config *out)
{
    static const char *const NAMES[] = {"nearest", "lanczos", "bilinear",
                                        "bicubic", "box",     "hamming"};
    json_t *v = brim_config_value(f, "interpolation");

    out->filter = BRIM_FILTER_BICUBIC;
    if (!v) return BRIM_OK;
    for (size_t i = 0; json_is_string(v) && i < BRIM_COUNT(NAMES); i++) {
        if (strcmp(json_string_value(v), NAMES[i]) != 0) continue;
        out->filter = (brim_filter)i;
        return BRIM_OK;
    }
    return brim_config_bad(f, "interpolation",
                           "neither nearest, bilinear, bicubic, lanczos, box nor hamming");
}

/* The larger picture that the middle is cut out of. */
static brim_status read_scale(const brim_config_file *f, brim_processor_config *out)
{
    double crop_pct = DEFAULT_CROP_PCT;

    brim_status status = brim_config_factor(f, "crop_pct", &crop_pct);
    if (status != BRIM_OK) return status;
    if (crop_pct == 0) crop_pct = DEFAULT_CROP_PCT; /* as if it were not there */
    double height = floor(out->crop_height / crop_pct), width = floor(out->crop_width / crop_pct);
    if (!(crop_pct > 0.01 && height >= 1 && width >= 1))
        return brim_config_bad(f, "crop_pct", "no share of a picture");
    out->height = (uint32_t)height;
    out->width = (uint32_t)width;
    return BRIM_OK;
}

static brim_status read_crop_mode(const brim_config_file *f, brim_processor_config *out)
{
    json_t *v = brim_config_value(f, "crop_mode");
    const char *mode = v ? json_string_value(v) : "center";

    if (mode && strcmp(mode, "squash") == 0) {
        out->resize = BRIM_RESIZE_EXACT;
    } else if (mode && strcmp(mode, "border") == 0) {
        out->resize = BRIM_RESIZE_INSIDE;
        for (int c = 0; c < 3; c++)
            out->crop_fill[c] = (uint8_t)fmin(fmax(rint(255 * out->mean[c]), 0), 255);
    } else if (!mode || strcmp(mode, "center") != 0) {
        return brim_config_bad(f, "crop_mode", "neither center, squash nor border");
    } else if (out->height == out->width) {
        out->resize = BRIM_RESIZE_SHORTEST_EDGE;
        out->shortest_edge = out->height;
    } else {
        out->resize = BRIM_RESIZE_OUTSIDE;
    }
    return BRIM_OK;
}

static brim_status read_channels(const brim_config_file *f, brim_processor_config *out)
{
    brim_status status = brim_config_channels(f, "mean", out->mean);
    if (status == BRIM_OK) status = brim_config_channels(f, "std", out->std);
    for (int c = 0; c < 3 && status == BRIM_OK; c++) {
        if ((float)out->std[c] == 0) status = brim_config_bad(f, "std", "it is 0");
    }
    return status;
}

brim_status brim_timm_config_read(const brim_config_file *f, brim_processor_config *out)
{
    brim_config_file inner = *f;
    json_t *nested = nested_config(f->root);

    if (nested) inner.root = nested;
    *out = (brim_processor_config){
        .do_center_crop = true,
        .crop_rounds_half_even = true,
        .do_rescale = true,
        .rescale_factor = 1.0 / 255,
        .do_normalize = true,
        .mean = {0.485, 0.456, 0.406},
        .std = {0.229, 0.224, 0.225},
    };
    brim_status status = read_input_size(&inner, out);
    if (status == BRIM_OK) status = read_interpolation(&inner, out);
    if (status == BRIM_OK) status = read_channels(&inner, out);
    if (status == BRIM_OK) status = read_scale(&inner, out);
    return status == BRIM_OK ? read_crop_mode(&inner, out) : status;
}
