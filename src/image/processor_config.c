/*
 * processor_config.c - preprocessor_config.json, old forms and new ones.
 *
 * A key that is missing or null has the value that its class of processor gives it.
 *
 * jansson allocates by itself: a few times the size of the file, until parsing is over.
 */
#include "image/processor_config.h"

#include <jansson.h>
#include <math.h>

#include "base/fail.h"
#include "image/config_json.h"
#include "image/processor_classes.h"
#include "image/processor_keys.h"
#include "image/processor_timm.h"

/* The longest edge of detection models whose file holds a number for the shortest one. */
#define OLD_MAX_SIZE 1333

/* From this size on ConvNeXt squashes and does not crop. */
#define CONVNEXT_SQUASHED 384

/* The file and what its kind of processor is. */
typedef struct reading {
    brim_config_file file;
    brim_processor_class class; /* without a name where it is not known */
} reading;

/* --- sizes ----------------------------------------------------------------------------------- */

/* Both edges: the shorter one's wish, as far as the longer one lets it. */
static brim_status set_edges(const reading *r, const json_t *shortest, const json_t *longest,
                             brim_processor_config *out)
{
    brim_status status =
        brim_config_side(&r->file, "size.shortest_edge", shortest, &out->shortest_edge);
    if (status != BRIM_OK) return status;
    out->resize =
        r->class.kind == BRIM_CLASS_YOLOS ? BRIM_RESIZE_YOLOS_EDGE : BRIM_RESIZE_BOUNDED_EDGE;
    out->longest_edge = OLD_MAX_SIZE;
    return longest ? brim_config_side(&r->file, "size.longest_edge", longest, &out->longest_edge)
                   : BRIM_OK;
}

static json_t *entry(const json_t *v, const char *key)
{
    json_t *found = json_object_get(v, key);

    return json_is_null(found) ? NULL : found;
}

static brim_status read_edges(const reading *r, const json_t *v, brim_processor_config *out)
{
    json_t *shortest = entry(v, "shortest_edge"), *longest = entry(v, "longest_edge");
    bool needs_both = r->class.kind & (BRIM_CLASS_DETECTION | BRIM_CLASS_YOLOS);

    if (shortest && longest) return set_edges(r, shortest, longest, out);
    if (!shortest)
        return brim_config_unsupported(&r->file, "size.longest_edge",
                                       "not supported without shortest_edge");
    if (needs_both) return brim_config_bad(&r->file, "size.longest_edge", "missing");
    out->resize = BRIM_RESIZE_SHORTEST_EDGE;
    return brim_config_side(&r->file, "size.shortest_edge", shortest, &out->shortest_edge);
}

static brim_status read_size_dictionary(const reading *r, const json_t *v,
                                        brim_processor_config *out)
{
    brim_config_sides sides;

    if (entry(v, "shortest_edge") || (entry(v, "longest_edge") && !entry(v, "height")))
        return read_edges(r, v, out);
    brim_status status =
        brim_config_named_sides(&r->file, "size", v, "max_height", "max_width", &sides);
    out->resize = BRIM_RESIZE_MAX_SIDES;
    if (status == BRIM_OK && sides.height == 0) {
        status = brim_config_named_sides(&r->file, "size", v, "height", "width", &sides);
        out->resize = BRIM_RESIZE_EXACT;
    }
    if (status == BRIM_OK && sides.height == 0)
        return brim_config_bad(&r->file, "size", "neither height and width nor shortest_edge");
    out->height = sides.height;
    out->width = sides.width;
    return status;
}

/* Where the class is not known, a number goes with a crop as CLIP's does, else it is square. */
static brim_status read_size_number(const reading *r, const json_t *v, brim_processor_config *out)
{
    bool square = r->class.name ? r->class.number_is_square : !out->do_center_crop;
    json_t *max_size = brim_config_value(&r->file, "max_size");

    if (r->class.kind & (BRIM_CLASS_DETECTION | BRIM_CLASS_YOLOS) || max_size)
        return set_edges(r, v, max_size, out);
    brim_status status = brim_config_bool(&r->file, "default_to_square", &square);
    if (status != BRIM_OK) return status;
    out->resize = square ? BRIM_RESIZE_EXACT : BRIM_RESIZE_SHORTEST_EDGE;
    if (!square) return brim_config_side(&r->file, "size", v, &out->shortest_edge);
    status = brim_config_side(&r->file, "size", v, &out->height);
    out->width = out->height;
    return status;
}

static brim_status read_size(const reading *r, const json_t *v, brim_processor_config *out)
{
    brim_config_sides sides;

    if (json_is_object(v)) return read_size_dictionary(r, v, out);
    if (json_is_number(v)) return read_size_number(r, v, out);
    if (!json_is_array(v))
        return brim_config_bad(&r->file, "size", "neither a number nor height and width");
    brim_status status = brim_config_area(&r->file, "size", v, &sides);
    out->resize = BRIM_RESIZE_EXACT;
    out->height = sides.height;
    out->width = sides.width;
    return status;
}

static brim_status read_resample(const reading *r, brim_processor_config *out)
{
    json_t *v = brim_config_value(&r->file, "resample");

    if (!v) return BRIM_OK;
    json_int_t number = json_is_integer(v) ? json_integer_value(v) : -1;
    if (number < 0 || number > 5)
        return brim_config_bad(&r->file, "resample",
                               "not a number from 0 to 5, as Pillow counts its filters");
    out->filter = (brim_filter)number;
    return BRIM_OK;
}

static brim_status read_resize(const reading *r, brim_processor_config *out)
{
    bool has_own_size = r->class.kind == BRIM_CLASS_PATCHES;
    json_t *v = has_own_size ? NULL : brim_config_value(&r->file, "size");
    bool wanted = out->resize != BRIM_RESIZE_NONE || v;
    brim_status status = brim_config_bool(&r->file, "do_resize", &wanted);

    if (status != BRIM_OK) return status;
    if (!wanted) {
        out->resize = BRIM_RESIZE_NONE;
        return BRIM_OK;
    }
    status = read_resample(r, out);
    if (status != BRIM_OK) return status;
    if (v) return read_size(r, v, out);
    return out->resize != BRIM_RESIZE_NONE ? BRIM_OK : brim_config_bad(&r->file, "size", "missing");
}

static brim_status read_crop(const reading *r, brim_processor_config *out)
{
    json_t *v = brim_config_value(&r->file, "crop_size");
    brim_config_sides sides;

    brim_status status = brim_config_bool(&r->file, "do_center_crop", &out->do_center_crop);
    if (status != BRIM_OK || !out->do_center_crop) return status;
    if (v) {
        status = brim_config_area(&r->file, "crop_size", v, &sides);
        if (status != BRIM_OK) return status;
        out->crop_height = sides.height;
        out->crop_width = sides.width;
    }
    return out->crop_height > 0 ? BRIM_OK : brim_config_bad(&r->file, "crop_size", "missing");
}

/* Padding to the largest picture of a batch is none: those of a batch have one shape. */
static brim_status read_padding(const reading *r, brim_processor_config *out)
{
    bool wanted = r->class.kind & (BRIM_CLASS_DETECTION | BRIM_CLASS_YOLOS | BRIM_CLASS_OWLV2);
    json_t *v = brim_config_value(&r->file, "pad_size");
    const char *key =
        brim_config_value(&r->file, "do_pad") ? "do_pad" : "pad_and_return_pixel_mask";
    brim_config_sides sides;

    if (r->class.kind & (BRIM_CLASS_CONVNEXT | BRIM_CLASS_EFFICIENTNET | BRIM_CLASS_PATCHES))
        return BRIM_OK;
    brim_status status = brim_config_bool(&r->file, key, &wanted);
    if (r->class.kind == BRIM_CLASS_OWLV2) out->pad_square = wanted;
    if (status != BRIM_OK || !wanted || !v || out->pad_square) return status;
    status = brim_config_area(&r->file, "pad_size", v, &sides);
    out->pad_height = sides.height;
    out->pad_width = sides.width;
    return status;
}

/* --- values ---------------------------------------------------------------------------------- */

static brim_status read_rescale(const reading *r, brim_processor_config *out)
{
    brim_status status = BRIM_OK;

    if (r->class.kind & (BRIM_CLASS_OWLVIT | BRIM_CLASS_OWLV2))
        status = brim_config_bool(&r->file, "rescale", &out->do_rescale);
    if (status == BRIM_OK) status = brim_config_bool(&r->file, "do_rescale", &out->do_rescale);
    if (status == BRIM_OK)
        status = brim_config_factor(&r->file, "rescale_factor", &out->rescale_factor);
    if (status == BRIM_OK && r->class.kind == BRIM_CLASS_EFFICIENTNET)
        status = brim_config_bool(&r->file, "rescale_offset", &out->rescale_offset);
    return status;
}

static brim_status read_values(const reading *r, brim_processor_config *out)
{
    brim_status status = read_rescale(r, out);
    if (status == BRIM_OK) status = brim_config_bool(&r->file, "do_normalize", &out->do_normalize);
    if (status == BRIM_OK) status = brim_config_channels(&r->file, "image_mean", out->mean);
    if (status == BRIM_OK) status = brim_config_channels(&r->file, "image_std", out->std);
    if (status == BRIM_OK && r->class.kind == BRIM_CLASS_EFFICIENTNET)
        status = brim_config_bool(&r->file, "include_top", &out->divide_again);
    if (status != BRIM_OK || !(out->do_normalize || out->divide_again)) return status;
    for (int c = 0; c < 3; c++) {
        if ((float)out->std[c] == 0) return brim_config_bad(&r->file, "image_std", "missing or 0");
    }
    return BRIM_OK;
}

/* --- classes of their own -------------------------------------------------------------------- */

/* Small pictures are cut out of somewhat larger ones, large ones squashed. */
static brim_status finish_convnext(const reading *r, brim_processor_config *out)
{
    double crop_pct = 224.0 / 256;

    if (out->do_center_crop)
        return brim_config_unsupported(&r->file, "do_center_crop", "not supported with ConvNext");
    if (out->resize == BRIM_RESIZE_NONE) return BRIM_OK;
    if (out->resize != BRIM_RESIZE_SHORTEST_EDGE)
        return brim_config_bad(&r->file, "size", "ConvNext takes shortest_edge only");
    if (out->shortest_edge >= CONVNEXT_SQUASHED) {
        out->resize = BRIM_RESIZE_EXACT;
        out->height = out->width = out->shortest_edge;
        return BRIM_OK;
    }
    brim_status status = brim_config_factor(&r->file, "crop_pct", &crop_pct);
    if (status != BRIM_OK) return status;
    if (!(crop_pct > 0.01 && crop_pct <= out->shortest_edge))
        return brim_config_bad(&r->file, "crop_pct", "no share of a picture");
    out->do_center_crop = true;
    out->crop_height = out->crop_width = out->shortest_edge;
    out->shortest_edge = (uint32_t)(out->shortest_edge / crop_pct);
    return BRIM_OK;
}

static brim_status finish_owlv2(const reading *r, brim_processor_config *out)
{
    out->do_center_crop = false;
    if (out->resize == BRIM_RESIZE_NONE)
        return brim_config_unsupported(&r->file, "do_resize", "Owlv2 needs it");
    if (!out->do_rescale) return brim_config_unsupported(&r->file, "do_rescale", "Owlv2 needs it");
    if (out->resize != BRIM_RESIZE_EXACT)
        return brim_config_bad(&r->file, "size", "Owlv2 takes height and width only");
    out->resize = BRIM_RESIZE_SMOOTH;
    return BRIM_OK;
}

static brim_status finish_patches(const reading *r, brim_processor_config *out)
{
    out->do_center_crop = false;
    if (out->resize == BRIM_RESIZE_NONE)
        return brim_config_unsupported(&r->file, "do_resize", "patches need it");
    brim_status status = brim_config_count(&r->file, "patch_size", &out->patch_size);
    return status == BRIM_OK ? brim_config_count(&r->file, "max_num_patches", &out->max_patches)
                             : status;
}

static brim_status finish_class(const reading *r, brim_processor_config *out)
{
    switch ((int)r->class.kind) {
    case BRIM_CLASS_CONVNEXT:
        return finish_convnext(r, out);
    case BRIM_CLASS_OWLV2:
        return finish_owlv2(r, out);
    case BRIM_CLASS_PATCHES:
        return finish_patches(r, out);
    default:
        return BRIM_OK;
    }
}

/* --- the whole file -------------------------------------------------------------------------- */

/* Of a class that is not known: what the file says, and no more than that. */
static brim_processor_config plain_defaults(const brim_config_file *f)
{
    return (brim_processor_config){
        .filter = BRIM_FILTER_BICUBIC,
        .do_rescale = true,
        .rescale_factor = 1.0 / 255,
        .do_normalize = brim_config_value(f, "image_mean") && brim_config_value(f, "image_std"),
    };
}

static brim_status find_class(reading *r)
{
    const brim_config_file *f = &r->file;
    const char *key = "image_processor_type";
    const char *type = json_string_value(brim_config_value(f, key));
    const brim_processor_class *found = NULL;

    if (!type) {
        key = "feature_extractor_type";
        type = json_string_value(brim_config_value(f, key));
    }
    if (type) found = brim_processor_class_find(type);
    if (found && found->kind == BRIM_CLASS_REFUSED)
        return brim_fail(f->err, BRIM_E_UNSUPPORTED, "%s: %s: %s is not supported yet", f->name,
                         key, type);
    if (type && !found)
        brim_log_write(f->log, BRIM_LOG_WARNING,
                       "%s: %s is not known here: taken as resize, crop, rescale, normalise",
                       f->name, type);
    r->class =
        found ? *found
              : (brim_processor_class){.kind = BRIM_CLASS_UNKNOWN, .defaults = plain_defaults(f)};
    return BRIM_OK;
}

static brim_status read_all(reading *r, brim_processor_config *out)
{
    brim_config_file *f = &r->file;

    if (!json_is_object(f->root))
        return brim_fail(f->err, BRIM_E_FORMAT, "%s: not a JSON object", f->name);
    if (brim_timm_config_is(f->root)) return brim_timm_config_read(f, out);
    /* processor_config.json of newer versions holds the image processor beside the tokenizer. */
    json_t *nested = json_object_get(f->root, "image_processor");
    if (json_is_object(nested)) f->root = nested;
    if (!brim_processor_keys_known(f->root))
        return brim_fail(f->err, BRIM_E_ARG,
                         "%s: not the configuration of an image processor (no image_processor_type,"
                         " size, ...)",
                         f->name);
    brim_status status = find_class(r);
    if (status == BRIM_OK) status = brim_processor_keys_check(f, r->class.kind);
    if (status != BRIM_OK) return status;
    *out = r->class.defaults;
    status = read_crop(r, out);
    if (status == BRIM_OK) status = read_resize(r, out);
    if (status == BRIM_OK) status = read_padding(r, out);
    if (status == BRIM_OK) status = read_values(r, out);
    return status == BRIM_OK ? finish_class(r, out) : status;
}

brim_status brim_processor_config_parse(const char *text, size_t bytes, const char *name,
                                        const brim_log *log, brim_processor_config *out,
                                        brim_error *err)
{
    json_error_t trouble;
    reading r = {.file = {.name = name, .log = log, .err = err}};

    *out = (brim_processor_config){0};
    json_t *whole = json_loadb(text, bytes, 0, &trouble);
    if (!whole && json_error_code(&trouble) == json_error_out_of_memory)
        return brim_fail(err, BRIM_E_NOMEM, "%s: no memory to parse it", name);
    if (!whole)
        return brim_fail(err, BRIM_E_FORMAT, "%s: line %d: %s", name, trouble.line, trouble.text);
    r.file.root = whole;
    brim_status status = read_all(&r, out);
    json_decref(whole);
    return status;
}
