/*
 * exif.c - finds the orientation tag in the first directory of an EXIF block.
 *
 * The block comes from strangers: every offset is checked against its length, no pointer is
 * followed twice, and what does not fit is treated as absent.
 */
#include "image/exif.h"

#include <stdbool.h>
#include <string.h>

enum {
    TAG_ORIENTATION = 0x0112,
    TYPE_SHORT = 3,
    TYPE_LONG = 4,
    TYPE_SSHORT = 8,
    TYPE_SLONG = 9,
    ENTRY_BYTES = 12,
};

typedef struct tiff {
    const uint8_t *data;
    size_t bytes;
    bool big_endian;
} tiff;

static uint32_t tiff_u16(const tiff *t, size_t at)
{
    const uint8_t *p = t->data + at;

    return t->big_endian ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t tiff_u32(const tiff *t, size_t at)
{
    uint32_t a = tiff_u16(t, at), b = tiff_u16(t, at + 2);

    return t->big_endian ? a << 16 | b : b << 16 | a;
}

/* Pillow takes the magic number in either byte order, so broken writers are understood too. */
static bool tiff_open(tiff *t, const uint8_t *data, size_t bytes)
{
    if (bytes < 8 || (memcmp(data, "II", 2) != 0 && memcmp(data, "MM", 2) != 0)) return false;
    if (data[2] + data[3] != 42 || data[2] * data[3] != 0) return false;
    *t = (tiff){.data = data, .bytes = bytes, .big_endian = data[0] == 'M'};
    return true;
}

/* The value of a whole number entry, 0 where the entry is of another kind. */
static uint32_t entry_value(const tiff *t, size_t at)
{
    uint32_t type = tiff_u16(t, at + 2);

    if (tiff_u32(t, at + 4) != 1) return 0;
    if (type == TYPE_SHORT || type == TYPE_SSHORT) return tiff_u16(t, at + 8);
    if (type == TYPE_LONG || type == TYPE_SLONG) return tiff_u32(t, at + 8);
    return 0;
}

bool brim_exif_find_orientation(const uint8_t *exif, size_t bytes, uint8_t *out)
{
    uint32_t orientation = 0;
    bool found = false;
    tiff t;

    *out = 1;
    while (bytes >= 6 && memcmp(exif, "Exif\0\0", 6) == 0) {
        exif += 6;
        bytes -= 6;
    }
    if (!tiff_open(&t, exif, bytes)) return false;

    size_t directory = tiff_u32(&t, 4);
    if (directory > bytes - 2) return false;
    size_t n_entries = tiff_u16(&t, directory);
    size_t at = directory + 2;
    for (size_t i = 0; i < n_entries && bytes - at >= ENTRY_BYTES; i++, at += ENTRY_BYTES) {
        if (tiff_u16(&t, at) != TAG_ORIENTATION) continue;
        orientation = entry_value(&t, at);
        found = true;
    }
    if (orientation >= 1 && orientation <= 8) *out = (uint8_t)orientation;
    return found;
}
