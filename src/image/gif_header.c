/* gif_header.c - a walk over a GIF's blocks, as Pillow understands them. */
#include "image/gif_header.h"

#include <string.h>

#include "base/fail.h"

enum {
    SCREEN_BYTES = 13, /* with the signature */
    FRAME_BYTES = 9,
    HAS_PALETTE = 0x80,
    IS_INTERLACED = 0x40,
    GRAPHIC_CONTROL = 0xf9,
    HAS_TRANSPARENCY = 1,
};

/* The bytes and how far they are read. */
typedef struct walk {
    const uint8_t *data;
    size_t bytes, at;
} walk;

static brim_status truncated(brim_error *err)
{
    return brim_fail(err, BRIM_E_FORMAT, "truncated GIF");
}

/* The next n bytes; NULL where there are fewer. */
static const uint8_t *take(walk *w, size_t n)
{
    const uint8_t *p = w->data + w->at;

    if (w->bytes - w->at < n) return NULL;
    w->at += n;
    return p;
}

static uint32_t read_u16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

/* A palette where flags say that one follows; *palette stays as it is where not. */
static brim_status take_palette(walk *w, uint8_t flags, brim_gif_header *out, brim_error *err)
{
    uint32_t n_colors = 2u << (flags & 7);

    if (!(flags & HAS_PALETTE)) return BRIM_OK;
    const uint8_t *palette = take(w, 3 * (size_t)n_colors);
    if (!palette) return truncated(err);
    out->palette = palette;
    out->n_colors = n_colors;
    return BRIM_OK;
}

/* Of several control blocks the last one with a transparent index counts. */
static brim_status skip_extension(walk *w, brim_gif_header *out, brim_error *err)
{
    const uint8_t *label = take(w, 1);
    const uint8_t *n = label ? take(w, 1) : NULL;

    for (bool first = true; n; first = false) {
        const uint8_t *block = take(w, *n);
        if (!block) break;
        if (*n == 0) return BRIM_OK;
        if (first && *label == GRAPHIC_CONTROL && *n >= 4 && (block[0] & HAS_TRANSPARENCY))
            out->fill = block[3];
        n = take(w, 1);
    }
    return truncated(err);
}

static brim_status take_frame(walk *w, brim_gif_header *out, brim_error *err)
{
    const uint8_t *p = take(w, FRAME_BYTES);

    if (!p) return truncated(err);
    out->x = read_u16(p);
    out->y = read_u16(p + 2);
    out->frame_width = read_u16(p + 4);
    out->frame_height = read_u16(p + 6);
    out->interlaced = p[8] & IS_INTERLACED;
    if (out->x + out->frame_width > out->width) out->width = out->x + out->frame_width;
    if (out->y + out->frame_height > out->height) out->height = out->y + out->frame_height;
    if (out->frame_width == 0 || out->frame_height == 0)
        return brim_fail(err, BRIM_E_FORMAT, "broken GIF: a frame without pixels");
    return take_palette(w, p[8], out, err);
}

brim_status brim_gif_read_header(const uint8_t *data, size_t bytes, brim_gif_header *out,
                                 brim_error *err)
{
    walk w = {data, bytes, 0};
    const uint8_t *p = take(&w, SCREEN_BYTES);

    *out = (brim_gif_header){0};
    if (!p) return truncated(err);
    out->width = read_u16(p + 6);
    out->height = read_u16(p + 8);
    brim_status status = take_palette(&w, p[10], out, err);
    while (status == BRIM_OK) {
        const uint8_t *kind = take(&w, 1);
        if (!kind) return truncated(err);
        if (*kind == ',') return take_frame(&w, out, err);
        if (*kind == ';') return brim_fail(err, BRIM_E_FORMAT, "broken GIF: no frame");
        if (*kind == '!') status = skip_extension(&w, out, err);
    }
    return status;
}
