/* config_json.c - values of a configuration file. */
#include "image/config_json.h"

#include <math.h>

#include "base/fail.h"

/* A side beyond this is a mistake in the file. */
#define MAX_SIDE 65535

json_t *brim_config_value(const brim_config_file *f, const char *key)
{
    json_t *v = json_object_get(f->root, key);

    return json_is_null(v) ? NULL : v;
}

brim_status brim_config_bad(const brim_config_file *f, const char *key, const char *fact)
{
    return brim_fail(f->err, BRIM_E_ARG, "%s: %s: %s", f->name, key, fact);
}

brim_status brim_config_unsupported(const brim_config_file *f, const char *key, const char *fact)
{
    return brim_fail(f->err, BRIM_E_UNSUPPORTED, "%s: %s: %s", f->name, key, fact);
}

brim_status brim_config_bool(const brim_config_file *f, const char *key, bool *out)
{
    json_t *v = brim_config_value(f, key);

    if (!v) return BRIM_OK;
    if (!json_is_boolean(v)) return brim_config_bad(f, key, "neither true nor false");
    *out = json_is_true(v);
    return BRIM_OK;
}

static brim_status read_number(const brim_config_file *f, const char *key, const json_t *v,
                               double *out)
{
    if (!json_is_number(v) || !isfinite(json_number_value(v)))
        return brim_config_bad(f, key, "not a number");
    *out = json_number_value(v);
    return BRIM_OK;
}

brim_status brim_config_factor(const brim_config_file *f, const char *key, double *out)
{
    json_t *v = brim_config_value(f, key);

    return v ? read_number(f, key, v, out) : BRIM_OK;
}

brim_status brim_config_channels(const brim_config_file *f, const char *key, double out[3])
{
    json_t *v = brim_config_value(f, key);
    brim_status status = BRIM_OK;

    if (!v) return BRIM_OK;
    if (json_is_array(v) && json_array_size(v) != 3)
        return brim_config_bad(f, key, "not 3 numbers");
    for (size_t c = 0; c < 3 && status == BRIM_OK; c++)
        status = read_number(f, key, json_is_array(v) ? json_array_get(v, c) : v, &out[c]);
    return status;
}

static brim_status read_whole(const brim_config_file *f, const char *key, const json_t *v,
                              const char *fact, uint32_t *out)
{
    double side = json_number_value(v);

    if (!(side >= 1 && side <= MAX_SIDE) || side != floor(side))
        return brim_config_bad(f, key, fact);
    *out = (uint32_t)side;
    return BRIM_OK;
}

brim_status brim_config_count(const brim_config_file *f, const char *key, uint32_t *out)
{
    json_t *v = brim_config_value(f, key);

    return v ? read_whole(f, key, v, "not a number between 1 and 65535", out) : BRIM_OK;
}

brim_status brim_config_side(const brim_config_file *f, const char *key, const json_t *v,
                             uint32_t *out)
{
    if (!json_is_number(v)) return brim_config_bad(f, key, "not a number of pixels");
    return read_whole(f, key, v, "not a number of pixels between 1 and 65535", out);
}

brim_status brim_config_named_sides(const brim_config_file *f, const char *key, const json_t *v,
                                    const char *height, const char *width, brim_config_sides *out)
{
    json_t *h = json_object_get(v, height);
    json_t *w = json_object_get(v, width);

    *out = (brim_config_sides){0};
    if (!h || !w || json_is_null(h) || json_is_null(w)) return BRIM_OK;
    brim_status status = brim_config_side(f, key, h, &out->height);
    return status == BRIM_OK ? brim_config_side(f, key, w, &out->width) : status;
}

brim_status brim_config_area(const brim_config_file *f, const char *key, const json_t *v,
                             brim_config_sides *out)
{
    brim_status status;

    *out = (brim_config_sides){0};
    if (json_is_object(v)) {
        status = brim_config_named_sides(f, key, v, "height", "width", out);
        if (status == BRIM_OK && out->height == 0)
            status = brim_config_bad(f, key, "not height and width");
        return status;
    }
    if (json_is_array(v)) {
        if (json_array_size(v) != 2) return brim_config_bad(f, key, "not 2 numbers");
        status = brim_config_side(f, key, json_array_get(v, 0), &out->height);
        return status == BRIM_OK ? brim_config_side(f, key, json_array_get(v, 1), &out->width)
                                 : status;
    }
    status = brim_config_side(f, key, v, &out->height);
    out->width = out->height;
    return status;
}
