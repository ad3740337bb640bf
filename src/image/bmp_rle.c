/*
 * bmp_rle.c - RLE8 and RLE4, as Pillow unpacks them.
 *
 * Runs end with their row, literal pixels flow over into the next one, the end of a row that has
 * no pixel yet does nothing. Where a picture is said to end before all pixels came, which Pillow
 * refuses, the others have index 0, as those have that it skips.
 */
#include "image/bmp_rle.h"

#include <assert.h>

typedef struct unpacking {
    const uint8_t *data;
    size_t bytes, at; /* of the file: literal pixels are aligned in it */
    uint8_t *out;
    size_t n, n_out; /* indices that are unpacked; all */
    size_t width, x;
    bool is_rle4;
} unpacking;

/* Index i of a run or of literal pixels, two to a byte in RLE4. */
static uint8_t index_of(const unpacking *u, const uint8_t *p, size_t i)
{
    if (!u->is_rle4) return p[i];
    return i % 2 == 0 ? p[i / 2] >> 4 : p[i / 2] & 15;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void put_run(unpacking *u, size_t n, const uint8_t *pair)
{
    n = smaller(n, u->x < u->width ? u->width - u->x : 0);
    n = smaller(n, u->n_out - u->n);
    for (size_t i = 0; i < n; i++)
        u->out[u->n + i] = index_of(u, pair, u->is_rle4 ? i % 2 : 0);
    u->n += n;
    u->x += n;
}

/* False where the file ends in them. */
static bool put_literals(unpacking *u, size_t n_named)
{
    size_t n = smaller(n_named, u->n_out - u->n);
    size_t n_bytes = u->is_rle4 ? (n + 1) / 2 : n;
    bool ends = u->bytes - u->at < n_bytes;

    if (ends) {
        n_bytes = u->bytes - u->at;
        n = smaller(n, u->is_rle4 ? 2 * n_bytes : n_bytes);
    }
    for (size_t i = 0; i < n; i++)
        u->out[u->n + i] = index_of(u, u->data + u->at, i);
    u->n += n;
    u->x += n_named;
    u->at += n_bytes;
    if (u->at % 2 != 0 && u->at < u->bytes) u->at++;
    return !ends;
}

static bool skip(unpacking *u)
{
    if (u->bytes - u->at < 2) return false;
    size_t n = u->data[u->at] + u->width * u->data[u->at + 1];
    u->at += 2;
    u->n += smaller(n, u->n_out - u->n);
    u->x = u->n % u->width;
    return true;
}

/* What stands behind a 0; false where the file ends in it. */
static bool obey(unpacking *u, uint8_t code)
{
    switch (code) {
    case 0:
        u->n += (u->width - u->n % u->width) % u->width;
        u->x = 0;
        return true;
    case 1:
        u->n = u->n_out;
        return true;
    case 2:
        return skip(u);
    default:
        return put_literals(u, code);
    }
}

size_t brim_bmp_unpack(const brim_bmp_header *header, const uint8_t *data, size_t bytes,
                       uint8_t *indices)
{
    unpacking u = {
        .data = data,
        .bytes = bytes,
        .at = smaller(header->pixels_at, bytes),
        .out = indices,
        .n_out = (size_t)header->width * header->height,
        .width = header->width,
        .is_rle4 = header->packing == BRIM_BMP_RLE4,
    };

    assert(u.width > 0);
    while (u.n < u.n_out && u.bytes - u.at >= 2) {
        const uint8_t *p = u.data + u.at;
        u.at += 2;
        if (p[0] > 0)
            put_run(&u, p[0], p + 1);
        else if (!obey(&u, p[1]))
            break;
    }
    return u.n;
}
