/*
 * processor_size.c - sizes, with the roundings of the references.
 *
 * Each of them finds its sizes in double precision, in an order of operations that shows where a
 * quotient is close to a whole number: the formulas here keep that order.
 */
#include "image/processor_size.h"

#include <math.h>

#include "base/fail.h"
#include "base/size.h"

/* Longest side of a resized picture, before the crop: Pillow's own limit. */
#define MAX_RESIZED 0x7fffffff

/* YOLOS takes multiples of this. */
#define YOLOS_MULTIPLE 16

/* What is known of the picture while its new size is sought. */
typedef struct sizing {
    double width, height; /* upright */
    double new_width, new_height;
} sizing;

/* The longer side is rounded down from the exact quotient. */
static void by_shortest_edge(double edge, sizing *s)
{
    if (s->width <= s->height) {
        s->new_width = edge;
        s->new_height = floor(edge * s->height / s->width);
    } else {
        s->new_height = edge;
        s->new_width = floor(edge * s->width / s->height);
    }
}

/*
 * The longer side goes before the shorter one's wish, which then is rounded to the nearest, while
 * the longer one is found from the number before that rounding.
 */
static void by_both_edges(const brim_processor_config *c, sizing *s)
{
    double shorter = fmin(s->width, s->height), longer = fmax(s->width, s->height);
    double edge = c->shortest_edge, raw = edge;
    bool is_tall = s->width < s->height, is_yolos = c->resize == BRIM_RESIZE_YOLOS_EDGE;

    if (longer / shorter * edge > c->longest_edge) {
        raw = c->longest_edge * shorter / longer;
        edge = rint(raw);
    }
    s->new_width = s->width;
    s->new_height = s->height;
    if (shorter == edge && !(is_yolos && is_tall)) {
        /* as it is, even where the longer side is not what it would be */
    } else if (is_tall) {
        s->new_width = edge;
        s->new_height = floor(raw * s->height / s->width);
    } else {
        s->new_height = edge;
        s->new_width = floor(raw * s->width / s->height);
    }
    if (is_yolos) {
        s->new_width -= fmod(s->new_width, YOLOS_MULTIPLE);
        s->new_height -= fmod(s->new_height, YOLOS_MULTIPLE);
    }
}

static void by_max_sides(const brim_processor_config *c, sizing *s)
{
    double scale = fmin(c->height / s->height, c->width / s->width);

    s->new_width = floor(s->width * scale);
    s->new_height = floor(s->height * scale);
}

static void by_ratio(const brim_processor_config *c, sizing *s)
{
    double down = s->height / c->height, across = s->width / c->width;
    double ratio = c->resize == BRIM_RESIZE_INSIDE ? fmax(down, across) : fmin(down, across);

    s->new_width = rint(s->width / ratio);
    s->new_height = rint(s->height / ratio);
}

static double whole_patches(double side, double scale, double patch)
{
    return fmax(patch, ceil(side * scale / patch) * patch);
}

/* The largest scale that does not take too many patches, by bisection as far as the reference. */
static void by_patches(const brim_processor_config *c, sizing *s)
{
    const double near = 1e-5;
    double patch = c->patch_size, low = near / 10, high = 100;

    while (high - low >= near) {
        double scale = (low + high) / 2;
        double n = whole_patches(s->width, scale, patch) / patch *
                   (whole_patches(s->height, scale, patch) / patch);
        if (n <= c->max_patches)
            low = scale;
        else
            high = scale;
    }
    s->new_width = whole_patches(s->width, low, patch);
    s->new_height = whole_patches(s->height, low, patch);
}

static void find_size(const brim_processor_config *c, sizing *s)
{
    s->new_width = s->width;
    s->new_height = s->height;
    switch (c->resize) {
    case BRIM_RESIZE_NONE:
        break;
    case BRIM_RESIZE_EXACT:
    case BRIM_RESIZE_SMOOTH:
        s->new_width = c->width;
        s->new_height = c->height;
        break;
    case BRIM_RESIZE_SHORTEST_EDGE:
        by_shortest_edge(c->shortest_edge, s);
        break;
    case BRIM_RESIZE_BOUNDED_EDGE:
    case BRIM_RESIZE_YOLOS_EDGE:
        by_both_edges(c, s);
        break;
    case BRIM_RESIZE_MAX_SIDES:
        by_max_sides(c, s);
        break;
    case BRIM_RESIZE_INSIDE:
    case BRIM_RESIZE_OUTSIDE:
        by_ratio(c, s);
        break;
    case BRIM_RESIZE_PATCHES:
        by_patches(c, s);
        break;
    }
}

static brim_status resize(const brim_processor_config *c, uint32_t width, uint32_t height,
                          brim_resample_spec *spec, brim_error *err)
{
    sizing s = {.width = width, .height = height};

    find_size(c, &s);
    if (s.new_width > MAX_RESIZED || s.new_height > MAX_RESIZED)
        return brim_fail(err, BRIM_E_ARG, "%u x %u pixels become too long when resized", width,
                         height);
    if (s.new_width < 1 || s.new_height < 1)
        return brim_fail(err, BRIM_E_ARG, "%u x %u pixels become none when resized", width, height);
    if (c->patch_size > 0 &&
        s.new_width / c->patch_size * (s.new_height / c->patch_size) > c->max_patches)
        return brim_fail(err, BRIM_E_ARG, "%u x %u pixels do not fit into %u patches", width,
                         height, c->max_patches);
    spec->new_width = (uint32_t)s.new_width;
    spec->new_height = (uint32_t)s.new_height;
    return BRIM_OK;
}

/*
 * One direction of the centre crop. transformers rounds down where it cuts and leaves the larger
 * half before the picture where it pads; torchvision rounds halves to even, and down.
 */
static void crop(bool half_even, uint32_t resized, uint32_t wanted, uint32_t *first, uint32_t *n,
                 uint32_t *pad)
{
    if (wanted <= resized) {
        uint32_t extra = resized - wanted;
        *first = half_even ? (uint32_t)rint(extra / 2.0) : extra / 2;
        *n = wanted;
        *pad = 0;
    } else {
        *first = 0;
        *n = resized;
        *pad = (wanted - resized + !half_even) / 2;
    }
}

static brim_status pad(const brim_processor_config *c, brim_placement *out, brim_error *err)
{
    out->width = out->inner_width;
    out->height = out->inner_height;
    if (c->pad_height == 0) return BRIM_OK;
    if (out->width > c->pad_width || out->height > c->pad_height)
        return brim_fail(err, BRIM_E_ARG,
                         "%u x %u pixels cannot be padded to %u x %u: raise pad_size", out->width,
                         out->height, c->pad_width, c->pad_height);
    out->width = c->pad_width;
    out->height = c->pad_height;
    return BRIM_OK;
}

static brim_status check_tensor(const brim_processor_config *c, const brim_placement *p,
                                brim_error *err)
{
    size_t bytes;
    size_t patch = (size_t)c->patch_size * c->patch_size;

    if (brim_mul_bytes(3 * sizeof(float) * (size_t)p->width, p->height, &bytes) != BRIM_OK ||
        brim_mul_bytes(3 * sizeof(float) * patch, c->max_patches, &bytes) != BRIM_OK)
        return brim_fail(err, BRIM_E_ARG, "a tensor of %u x %u pixels is too large", p->width,
                         p->height);
    return BRIM_OK;
}

brim_status brim_placement_plan(const brim_processor_config *c, brim_resample_order order,
                                const brim_image_info *info, brim_placement *out, brim_error *err)
{
    bool transposed = brim_orientation_is_transposed(info->orientation);
    brim_resample_spec *spec = &out->spec;

    *out = (brim_placement){.spec = {
                                .width = info->row_width,
                                .height = info->n_rows,
                                .orientation = info->orientation,
                                .filter = c->filter,
                                .order = order,
                            }};
    brim_status status = resize(c, transposed ? info->height : info->width,
                                transposed ? info->width : info->height, spec, err);
    if (status != BRIM_OK) return status;
    if (c->pad_square) out->side = info->row_width > info->n_rows ? info->row_width : info->n_rows;
    out->inner_width = c->do_center_crop ? c->crop_width : spec->new_width;
    out->inner_height = c->do_center_crop ? c->crop_height : spec->new_height;
    crop(c->crop_rounds_half_even, spec->new_width, out->inner_width, &spec->crop_x,
         &spec->crop_width, &out->left);
    crop(c->crop_rounds_half_even, spec->new_height, out->inner_height, &spec->crop_y,
         &spec->crop_height, &out->top);
    status = pad(c, out, err);
    return status == BRIM_OK ? check_tensor(c, out, err) : status;
}
