/*
 * processor_config.c - preprocessor_config.json, old forms and new ones.
 *
 * A key that is missing or null has the value that its class of processor gives it. Nothing that
 * would change the pixels is passed over: a key is obeyed, known to be harmless, refused, or warned
 * about.
 *
 * jansson allocates by itself: a few times the size of the file, until parsing is over.
 */
#include "image/processor_config.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "image/processor_classes.h"

/* A side beyond this is a mistake in the file. */
#define MAX_SIDE 65535

/* What is read and where its words go. */
typedef struct file {
    const char *name;
    json_t *root;
    const brim_processor_class *class; /* NULL where it is not known */
    const brim_log *log;
    brim_error *err;
} file;

static const char *const OBEYED[] = {
    "crop_size", "default_to_square",      "do_center_crop", "do_normalize",         "do_rescale",
    "do_resize", "feature_extractor_type", "image_mean",     "image_processor_type", "image_std",
    "resample",  "rescale_factor",         "size",
};

/* What does not touch pixels, or says what is done anyway. */
static const char *const HARMLESS[] = {
    "_commit_hash",      "_name_or_path",  "_processor_class", "_valid_processor_keys",
    "data_format",       "device",         "disable_grouping", "do_convert_rgb",
    "do_reduce_labels",  "format",         "image_seq_length", "input_data_format",
    "model_input_names", "num_channels",   "pad_size",         "processor_class",
    "reduce_labels",     "return_tensors", "torch_dtype",      "transformers_version",
};

/* Steps that do not exist here; false, null and 0 switch them off. */
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
    "do_pad",
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

#define COUNT(A) (sizeof(A) / sizeof((A)[0]))

static bool is_among(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(key, keys[i]) == 0) return true;
    }
    return false;
}

/* --- values ---------------------------------------------------------------------------------- */

/* NULL where the key is missing or null. */
static json_t *value(const file *f, const char *key)
{
    json_t *v = json_object_get(f->root, key);

    return json_is_null(v) ? NULL : v;
}

static brim_status bad(const file *f, const char *key, const char *fact)
{
    return brim_fail(f->err, BRIM_E_ARG, "%s: %s: %s", f->name, key, fact);
}

static brim_status unsupported(const file *f, const char *key, const char *fact)
{
    return brim_fail(f->err, BRIM_E_UNSUPPORTED, "%s: %s: %s", f->name, key, fact);
}

static brim_status read_bool(const file *f, const char *key, bool *out)
{
    json_t *v = value(f, key);

    if (!v) return BRIM_OK;
    if (!json_is_boolean(v)) return bad(f, key, "neither true nor false");
    *out = json_is_true(v);
    return BRIM_OK;
}

/* A side in pixels; whole numbers may be written as 224.0. */
static brim_status read_side(const file *f, const char *key, const json_t *v, uint32_t *out)
{
    if (!json_is_number(v)) return bad(f, key, "not a number of pixels");
    double side = json_number_value(v);
    if (!(side >= 1 && side <= MAX_SIDE) || side != floor(side))
        return bad(f, key, "not a number of pixels between 1 and 65535");
    *out = (uint32_t)side;
    return BRIM_OK;
}

static brim_status read_factor(const file *f, const char *key, const json_t *v, double *out)
{
    if (!json_is_number(v) || !isfinite(json_number_value(v))) return bad(f, key, "not a number");
    *out = json_number_value(v);
    return BRIM_OK;
}

/* One number for all channels, or a list of three. */
static brim_status read_channels(const file *f, const char *key, double out[3])
{
    json_t *v = value(f, key);
    brim_status status = BRIM_OK;

    if (!v) return BRIM_OK;
    if (json_is_array(v) && json_array_size(v) != 3) return bad(f, key, "not 3 numbers");
    for (size_t c = 0; c < 3 && status == BRIM_OK; c++)
        status = read_factor(f, key, json_is_array(v) ? json_array_get(v, c) : v, &out[c]);
    return status;
}

/* A dictionary's two sides; *found says whether both are there. */
static brim_status read_sides(const file *f, const char *key, const json_t *v, uint32_t *height,
                              uint32_t *width, bool *found)
{
    json_t *h = json_object_get(v, "height");
    json_t *w = json_object_get(v, "width");

    *found = h && w && !json_is_null(h) && !json_is_null(w);
    if (!*found) return BRIM_OK;
    brim_status status = read_side(f, key, h, height);
    return status == BRIM_OK ? read_side(f, key, w, width) : status;
}

/* [height, width] */
static brim_status read_pair(const file *f, const char *key, const json_t *v, uint32_t *height,
                             uint32_t *width)
{
    if (json_array_size(v) != 2) return bad(f, key, "not 2 numbers");
    brim_status status = read_side(f, key, json_array_get(v, 0), height);
    return status == BRIM_OK ? read_side(f, key, json_array_get(v, 1), width) : status;
}

/* --- keys ------------------------------------------------------------------------------------ */

static brim_status read_size_dictionary(const file *f, const json_t *v, brim_processor_config *out)
{
    static const char *const OTHER[] = {"longest_edge", "max_height", "max_width"};
    json_t *edge = json_object_get(v, "shortest_edge");
    bool found;

    for (size_t i = 0; i < COUNT(OTHER); i++) {
        json_t *other = json_object_get(v, OTHER[i]);
        if (!other || json_is_null(other)) continue;
        return brim_fail(f->err, BRIM_E_UNSUPPORTED, "%s: size.%s is not supported yet", f->name,
                         OTHER[i]);
    }
    if (edge && !json_is_null(edge)) {
        out->resize = BRIM_RESIZE_SHORTEST_EDGE;
        return read_side(f, "size.shortest_edge", edge, &out->shortest_edge);
    }
    brim_status status = read_sides(f, "size", v, &out->height, &out->width, &found);
    if (status != BRIM_OK) return status;
    if (!found) return bad(f, "size", "neither height and width nor shortest_edge");
    out->resize = BRIM_RESIZE_EXACT;
    return BRIM_OK;
}

/* Where the class is not known, a number goes with a crop as CLIP's does, else it is square. */
static brim_status read_size_number(const file *f, const json_t *v, brim_processor_config *out)
{
    bool square = f->class ? f->class->number_is_square : !out->do_center_crop;

    brim_status status = read_bool(f, "default_to_square", &square);
    if (status != BRIM_OK) return status;
    out->resize = square ? BRIM_RESIZE_EXACT : BRIM_RESIZE_SHORTEST_EDGE;
    if (!square) return read_side(f, "size", v, &out->shortest_edge);
    status = read_side(f, "size", v, &out->height);
    out->width = out->height;
    return status;
}

static brim_status read_resample(const file *f, brim_processor_config *out)
{
    json_t *v = value(f, "resample");

    if (!v) return BRIM_OK;
    json_int_t number = json_is_integer(v) ? json_integer_value(v) : -1;
    if (number == 0) return unsupported(f, "resample", "0 (nearest) is not supported yet");
    if (number < 0 || number > 5 || !brim_filter_name((int)number))
        return bad(f, "resample", "not a number from 0 to 5, as Pillow counts its filters");
    out->filter = (brim_filter)number;
    return BRIM_OK;
}

static brim_status read_resize(const file *f, brim_processor_config *out)
{
    json_t *v = value(f, "size");
    bool wanted = out->resize != BRIM_RESIZE_NONE || v;
    brim_status status = read_bool(f, "do_resize", &wanted);

    if (status != BRIM_OK) return status;
    if (!wanted) {
        out->resize = BRIM_RESIZE_NONE;
        return BRIM_OK;
    }
    status = read_resample(f, out);
    if (status != BRIM_OK) return status;
    if (!v) return out->resize != BRIM_RESIZE_NONE ? BRIM_OK : bad(f, "size", "missing");
    if (json_is_object(v)) return read_size_dictionary(f, v, out);
    if (json_is_number(v)) return read_size_number(f, v, out);
    if (!json_is_array(v)) return bad(f, "size", "neither a number nor height and width");
    out->resize = BRIM_RESIZE_EXACT;
    return read_pair(f, "size", v, &out->height, &out->width);
}

static brim_status read_crop(const file *f, brim_processor_config *out)
{
    json_t *v = value(f, "crop_size");
    bool found = true;

    brim_status status = read_bool(f, "do_center_crop", &out->do_center_crop);
    if (status != BRIM_OK || !out->do_center_crop) return status;
    if (json_is_object(v)) {
        status = read_sides(f, "crop_size", v, &out->crop_height, &out->crop_width, &found);
    } else if (json_is_array(v)) {
        status = read_pair(f, "crop_size", v, &out->crop_height, &out->crop_width);
    } else if (v) {
        status = read_side(f, "crop_size", v, &out->crop_height);
        out->crop_width = out->crop_height;
    }
    if (status != BRIM_OK) return status;
    if (!found) return bad(f, "crop_size", "not height and width");
    return out->crop_height > 0 ? BRIM_OK : bad(f, "crop_size", "missing");
}

static brim_status read_values(const file *f, brim_processor_config *out)
{
    json_t *factor = value(f, "rescale_factor");

    brim_status status = read_bool(f, "do_rescale", &out->do_rescale);
    if (status == BRIM_OK && factor)
        status = read_factor(f, "rescale_factor", factor, &out->rescale_factor);
    if (status == BRIM_OK) status = read_bool(f, "do_normalize", &out->do_normalize);
    if (status == BRIM_OK) status = read_channels(f, "image_mean", out->mean);
    if (status == BRIM_OK) status = read_channels(f, "image_std", out->std);
    if (status != BRIM_OK || !out->do_normalize) return status;
    for (int c = 0; c < 3; c++) {
        if ((float)out->std[c] == 0) return bad(f, "image_std", "missing or 0");
    }
    return BRIM_OK;
}

/* --- the whole file -------------------------------------------------------------------------- */

static bool is_off(const json_t *v)
{
    return json_is_null(v) || json_is_false(v) || (json_is_number(v) && json_number_value(v) == 0);
}

/* Refuses what would change the result, warns about what is not known. */
static brim_status check_keys(const file *f)
{
    char unknown[300] = "";
    size_t used = 0;
    const char *key;
    json_t *v;

    json_object_foreach(f->root, key, v)
    {
        if (is_among(key, OBEYED, COUNT(OBEYED)) || is_among(key, HARMLESS, COUNT(HARMLESS)))
            continue;
        if (is_among(key, REFUSED, COUNT(REFUSED))) {
            if (is_off(v)) continue;
            return unsupported(f, key, "not supported yet");
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

static brim_status find_class(file *f)
{
    const char *key = "image_processor_type";
    const char *type = json_string_value(value(f, key));

    if (!type) {
        key = "feature_extractor_type";
        type = json_string_value(value(f, key));
    }
    if (!type) return BRIM_OK;
    f->class = brim_processor_class_find(type);
    if (!f->class)
        brim_log_write(f->log, BRIM_LOG_WARNING,
                       "%s: %s is not known here: taken as resize, crop, rescale, normalise",
                       f->name, type);
    else if (!f->class->is_supported)
        return brim_fail(f->err, BRIM_E_UNSUPPORTED, "%s: %s: %s is not supported yet", f->name,
                         key, type);
    return BRIM_OK;
}

/* Of a class that is not known: what the file says, and no more than that. */
static brim_processor_config plain_defaults(const file *f)
{
    return (brim_processor_config){
        .filter = BRIM_FILTER_BICUBIC,
        .do_rescale = true,
        .rescale_factor = 1.0 / 255,
        .do_normalize = value(f, "image_mean") && value(f, "image_std"),
    };
}

/* A file of another kind would pass for a processor that leaves pictures as they are. */
static brim_status check_is_processor(const file *f)
{
    const char *key;
    json_t *v;

    json_object_foreach(f->root, key, v)
    {
        if (is_among(key, OBEYED, COUNT(OBEYED)) || is_among(key, REFUSED, COUNT(REFUSED)))
            return BRIM_OK;
    }
    return brim_fail(f->err, BRIM_E_ARG,
                     "%s: not the configuration of an image processor (no image_processor_type,"
                     " size, ...)",
                     f->name);
}

static brim_status read_all(file *f, brim_processor_config *out)
{
    if (!json_is_object(f->root))
        return brim_fail(f->err, BRIM_E_FORMAT, "%s: not a JSON object", f->name);
    /* processor_config.json of newer versions holds the image processor beside the tokenizer. */
    json_t *nested = json_object_get(f->root, "image_processor");
    if (json_is_object(nested)) f->root = nested;
    brim_status status = check_is_processor(f);
    if (status != BRIM_OK) return status;
    status = find_class(f);
    if (status == BRIM_OK) status = check_keys(f);
    if (status != BRIM_OK) return status;
    *out = f->class ? f->class->defaults : plain_defaults(f);
    status = read_crop(f, out);
    if (status == BRIM_OK) status = read_resize(f, out);
    return status == BRIM_OK ? read_values(f, out) : status;
}

brim_status brim_processor_config_parse(const char *text, size_t bytes, const char *name,
                                        const brim_log *log, brim_processor_config *out,
                                        brim_error *err)
{
    json_error_t trouble;
    file f = {.name = name, .log = log, .err = err};

    *out = (brim_processor_config){0};
    f.root = json_loadb(text, bytes, 0, &trouble);
    if (!f.root && json_error_code(&trouble) == json_error_out_of_memory)
        return brim_fail(err, BRIM_E_NOMEM, "%s: no memory to parse it", name);
    if (!f.root)
        return brim_fail(err, BRIM_E_FORMAT, "%s: line %d: %s", name, trouble.line, trouble.text);
    json_t *whole = f.root;
    brim_status status = read_all(&f, out);
    json_decref(whole);
    return status;
}

static json_t *resize_to_json(const brim_processor_config *c)
{
    if (c->resize == BRIM_RESIZE_EXACT)
        return json_pack("{s:i,s:i}", "height", (int)c->height, "width", (int)c->width);
    if (c->resize == BRIM_RESIZE_SHORTEST_EDGE)
        return json_pack("{s:i}", "shortest_edge", (int)c->shortest_edge);
    return json_null();
}

size_t brim_processor_config_write(const brim_processor_config *c, char *out, size_t capacity)
{
    json_t *crop = c->do_center_crop ? json_pack("{s:i,s:i}", "height", (int)c->crop_height,
                                                 "width", (int)c->crop_width)
                                     : json_null();
    json_t *mean =
        c->do_normalize ? json_pack("[f,f,f]", c->mean[0], c->mean[1], c->mean[2]) : json_null();
    json_t *std =
        c->do_normalize ? json_pack("[f,f,f]", c->std[0], c->std[1], c->std[2]) : json_null();
    json_t *factor = c->do_rescale ? json_real(c->rescale_factor) : json_null();
    const char *filter = c->resize != BRIM_RESIZE_NONE ? brim_filter_name((int)c->filter) : NULL;

    /* Takes over every part, also where one of them could not be made. */
    json_t *all = json_pack("{s:o,s:o,s:o,s:o,s:s?,s:o}", "crop", crop, "mean", mean, "rescale",
                            factor, "std", std, "resample", filter, "resize", resize_to_json(c));
    size_t n = all ? json_dumpb(all, out, capacity, JSON_SORT_KEYS | JSON_COMPACT) : 0;
    json_decref(all);
    if (n == 0 || n >= capacity) return 0;
    out[n] = '\0';
    return n;
}
