/*
 * processor_identity.c - the text that tells one processor from another.
 *
 * Result sets are kept apart by it, so it may not change for a processor that stays the same: what
 * came later is written only where it is asked for.
 */
#include <jansson.h>

#include "image/processor_config.h"

static json_t *sides(uint32_t height, uint32_t width)
{
    return json_pack("{s:i,s:i}", "height", (int)height, "width", (int)width);
}

static json_t *resize_to_json(const brim_processor_config *c)
{
    switch (c->resize) {
    case BRIM_RESIZE_NONE:
        return json_null();
    case BRIM_RESIZE_EXACT:
        return sides(c->height, c->width);
    case BRIM_RESIZE_SHORTEST_EDGE:
        return json_pack("{s:i}", "shortest_edge", (int)c->shortest_edge);
    case BRIM_RESIZE_BOUNDED_EDGE:
        return json_pack("{s:i,s:i}", "longest_edge", (int)c->longest_edge, "shortest_edge",
                         (int)c->shortest_edge);
    case BRIM_RESIZE_YOLOS_EDGE:
        return json_pack("{s:i,s:i,s:i}", "longest_edge", (int)c->longest_edge, "multiple", 16,
                         "shortest_edge", (int)c->shortest_edge);
    case BRIM_RESIZE_MAX_SIDES:
        return json_pack("{s:i,s:i}", "max_height", (int)c->height, "max_width", (int)c->width);
    case BRIM_RESIZE_INSIDE:
        return json_pack("{s:o}", "inside", sides(c->height, c->width));
    case BRIM_RESIZE_OUTSIDE:
        return json_pack("{s:o}", "outside", sides(c->height, c->width));
    case BRIM_RESIZE_PATCHES:
        return json_pack("{s:i,s:i}", "max_num_patches", (int)c->max_patches, "patch_size",
                         (int)c->patch_size);
    case BRIM_RESIZE_SMOOTH:
        return json_pack("{s:i,s:b,s:i}", "height", (int)c->height, "pad_square",
                         (int)c->pad_square, "width", (int)c->width);
    }
    return NULL;
}

static json_t *channels_to_json(bool wanted, const double v[3])
{
    return wanted ? json_pack("[f,f,f]", v[0], v[1], v[2]) : json_null();
}

static const char *filter_name(const brim_processor_config *c)
{
    if (c->resize == BRIM_RESIZE_NONE) return NULL;
    if (c->resize == BRIM_RESIZE_SMOOTH) return "gaussian";
    return c->filter == BRIM_FILTER_NEAREST ? "nearest" : brim_filter_name((int)c->filter);
}

/* False where memory is short, or a part could not be made. */
static bool add(json_t *all, bool wanted, const char *key, json_t *part)
{
    if (wanted) return json_object_set_new(all, key, part) == 0;
    json_decref(part);
    return true;
}

static bool add_newer(json_t *all, const brim_processor_config *c, brim_resample_order order)
{
    const uint8_t *fill = c->crop_fill;
    bool ordered = c->resize != BRIM_RESIZE_NONE && c->resize != BRIM_RESIZE_SMOOTH &&
                   c->filter != BRIM_FILTER_NEAREST;

    return add(all, c->do_center_crop && (fill[0] || fill[1] || fill[2]), "crop_fill",
               json_pack("[i,i,i]", (int)fill[0], (int)fill[1], (int)fill[2])) &&
           add(all, c->do_center_crop && c->crop_rounds_half_even, "crop_rounding",
               json_string("half_even")) &&
           add(all, ordered && order == BRIM_ORDER_CLASSIC, "order", json_string("classic")) &&
           add(all, c->pad_height > 0, "pad", sides(c->pad_height, c->pad_width)) &&
           add(all, c->do_rescale && c->rescale_offset, "rescale_offset", json_true()) &&
           add(all, c->divide_again, "std_again", channels_to_json(true, c->std));
}

size_t brim_processor_config_write(const brim_processor_config *c, brim_resample_order order,
                                   char *out, size_t capacity)
{
    json_t *crop = c->do_center_crop ? sides(c->crop_height, c->crop_width) : json_null();
    json_t *factor = c->do_rescale ? json_real(c->rescale_factor) : json_null();

    /* Takes over every part, also where one of them could not be made. */
    json_t *all = json_pack("{s:o,s:o,s:o,s:o,s:s?,s:o}", "crop", crop, "mean",
                            channels_to_json(c->do_normalize, c->mean), "rescale", factor, "std",
                            channels_to_json(c->do_normalize, c->std), "resample", filter_name(c),
                            "resize", resize_to_json(c));
    bool whole = all && add_newer(all, c, order);
    size_t n = whole ? json_dumpb(all, out, capacity, JSON_SORT_KEYS | JSON_COMPACT) : 0;
    json_decref(all);
    if (n == 0 || n >= capacity) return 0;
    out[n] = '\0';
    return n;
}
