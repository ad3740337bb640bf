/*
 * parity_tool.c - reads, turns upright and resizes pictures on request, for comparison with Pillow.
 *
 * A request is a line of key=value fields between tabs; all but the first may be left out:
 *
 *   file=PATH        the picture, in any format that brim_reader knows
 *   orientation=N    1..8 in place of the stored one
 *   filter=N         numbered as Pillow's (3)
 *   order=N          brim_resample_order (0)
 *   depth=N          brim_depth (0)
 *   size=WxH         of the whole resized upright picture (its own)
 *   crop=X,Y,W,H     the window wanted of it (all)
 *
 * The answer is a line "ok WIDTH HEIGHT" and width x height x 3 bytes, or a line "fail REASON".
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "image/reader.h"
#include "image/resample.h"
#include "support/failing_alloc.h"

typedef struct request {
    const char *path;
    brim_reader_options options;
    brim_resample_spec spec;
    unsigned orientation, filter, order, depth; /* orientation 0: as stored */
} request;

typedef struct window {
    const brim_resample_spec *spec;
    uint8_t *rgb; /* crop_height rows of crop_width pixels */
} window;

static void *room(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);

    if (!p) abort();
    return p;
}

/* One field; false where it makes no sense. */
static bool parse_field(const char *text, request *r)
{
    brim_resample_spec *s = &r->spec;

    if (strncmp(text, "file=", 5) == 0) {
        r->path = text + 5;
        return true;
    }
    return sscanf(text, "orientation=%u", &r->orientation) == 1 ||
           sscanf(text, "filter=%u", &r->filter) == 1 || sscanf(text, "order=%u", &r->order) == 1 ||
           sscanf(text, "depth=%u", &r->depth) == 1 ||
           sscanf(text, "size=%ux%u", &s->new_width, &s->new_height) == 2 ||
           sscanf(text, "crop=%u,%u,%u,%u", &s->crop_x, &s->crop_y, &s->crop_width,
                  &s->crop_height) == 4;
}

static brim_status parse(char *line, request *r, brim_error *err)
{
    *r = (request){.filter = BRIM_FILTER_BICUBIC};
    for (char *field = strtok(line, "\t\n"); field; field = strtok(NULL, "\t\n")) {
        if (!parse_field(field, r)) return brim_fail(err, BRIM_E_ARG, "what is %s?", field);
    }
    if (!r->path || r->orientation > 8 || !brim_filter_name((int)r->filter))
        return brim_fail(err, BRIM_E_ARG, "no file, or a number out of range");
    r->options.depth = (brim_depth)r->depth;
    r->spec.filter = (brim_filter)r->filter;
    r->spec.order = (brim_resample_order)r->order;
    return BRIM_OK;
}

/* What the request leaves open comes from the picture. */
static brim_status complete(request *r, const brim_image_info *info, brim_error *err)
{
    brim_resample_spec *s = &r->spec;

    s->width = info->row_width;
    s->height = info->n_rows;
    s->orientation = r->orientation > 0 ? (uint8_t)r->orientation : info->orientation;
    bool transposed = brim_orientation_is_transposed(s->orientation);
    if (s->new_width == 0 || s->new_height == 0) {
        s->new_width = transposed ? s->height : s->width;
        s->new_height = transposed ? s->width : s->height;
    }
    if (s->crop_width == 0 || s->crop_height == 0) {
        s->crop_width = s->new_width;
        s->crop_height = s->new_height;
    }
    if ((uint64_t)s->crop_x + s->crop_width > s->new_width ||
        (uint64_t)s->crop_y + s->crop_height > s->new_height)
        return brim_fail(err, BRIM_E_ARG, "the crop does not lie within the picture");
    return BRIM_OK;
}

static void put(void *ctx, uint32_t idx, const uint8_t *rgb)
{
    const window *w = ctx;
    size_t width = w->spec->crop_width, height = w->spec->crop_height;

    if (!brim_orientation_is_transposed(w->spec->orientation)) {
        memcpy(w->rgb + 3 * idx * width, rgb, 3 * width);
        return;
    }
    for (size_t y = 0; y < height; y++)
        memcpy(w->rgb + 3 * (y * width + idx), rgb + 3 * y, 3);
}

/* As a caller's account would see it: what was foretold is what is taken. */
static brim_status resize(brim_reader *reader, const brim_resample_spec *spec, uint8_t *rgb,
                          brim_error *err)
{
    window w = {spec, rgb};
    brim_resampler *resampler;
    failing_alloc mem;
    size_t bytes;

    failing_alloc_init(&mem, LONG_MAX);
    brim_status status = brim_resampler_bytes(spec, &bytes, err);
    if (status == BRIM_OK)
        status = brim_resampler_create(&mem.base, spec, put, &w, &resampler, err);
    if (status != BRIM_OK) return status;
    if (mem.live_bytes != bytes) abort();
    for (;;) {
        status = brim_reader_next_row(reader, brim_resampler_row(resampler), err);
        if (status != BRIM_OK) break;
        brim_resampler_push(resampler);
    }
    brim_resampler_destroy(resampler);
    return status == BRIM_END ? BRIM_OK : status;
}

/* The file stays in memory until another one is asked for. */
static brim_status read_file(const char *path, const uint8_t **out_data, size_t *out_bytes,
                             brim_error *err)
{
    static char known[4096];
    static uint8_t *data;
    static size_t bytes;

    if (strcmp(path, known) != 0) {
        FILE *f = fopen(path, "rb");
        if (!f) return brim_fail(err, BRIM_E_IO, "%s: cannot be opened", path);
        fseek(f, 0, SEEK_END);
        bytes = (size_t)ftell(f);
        rewind(f);
        free(data);
        data = room(bytes);
        snprintf(known, sizeof(known), "%s", fread(data, 1, bytes, f) == bytes ? path : "");
        fclose(f);
    }
    *out_data = data;
    *out_bytes = bytes;
    return BRIM_OK;
}

static brim_status answer(char *line, brim_error *err)
{
    brim_reader *reader;
    const uint8_t *data = NULL;
    size_t bytes = 0;
    request r;

    brim_status status = parse(line, &r, err);
    if (status == BRIM_OK) status = read_file(r.path, &data, &bytes, err);
    if (status == BRIM_OK)
        status = brim_reader_open(brim_heap(), data, bytes, &r.options, &reader, err);
    if (status != BRIM_OK) return status;
    status = complete(&r, brim_reader_info(reader), err);
    if (status == BRIM_OK) {
        size_t n = 3 * (size_t)r.spec.crop_width * r.spec.crop_height;
        uint8_t *rgb = room(n);
        status = resize(reader, &r.spec, rgb, err);
        if (status == BRIM_OK) {
            printf("ok %u %u\n", r.spec.crop_width, r.spec.crop_height);
            fwrite(rgb, 1, n, stdout);
        }
        free(rgb);
    }
    brim_reader_close(reader);
    return status;
}

int main(void)
{
    char line[8192];

    while (fgets(line, sizeof(line), stdin)) {
        brim_error err = {0};
        if (answer(line, &err) != BRIM_OK) printf("fail %s\n", err.message);
        fflush(stdout);
    }
    return 0;
}
