/*
 * boxes.c - walks boxes. Each step is at least a header long, so a walk always ends.
 */
#include "image/boxes.h"

#include <string.h>

enum {
    HEADER = 8,
    LONG_HEADER = 16,
};

static uint64_t read_number(const uint8_t *p, size_t n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

bool brim_box_next(const uint8_t *data, size_t bytes, size_t *at, brim_box *out)
{
    size_t left = bytes - *at, header = HEADER;
    const uint8_t *p = data + *at;

    if (left < HEADER) return false;
    uint64_t claimed = read_number(p, 4);
    if (claimed == 1) {
        if (left < LONG_HEADER) return false;
        claimed = read_number(p + 8, 8);
        header = LONG_HEADER;
    }
    if (claimed == 0) claimed = left; /* to the end of the file */
    if (claimed < header) return false;

    *out = (brim_box){.data = p + header, .complete = claimed <= left};
    memcpy(out->name, p + 4, 4);
    size_t there = out->complete ? (size_t)claimed : left;
    out->bytes = there - header;
    *at += there;
    return true;
}

/* Names are printable, which what trails the boxes seldom is. */
static bool is_name(const char *name)
{
    for (size_t i = 0; i < 4; i++) {
        if (name[i] < ' ' || name[i] > '~') return false;
    }
    return true;
}

bool brim_boxes_are_cut(const uint8_t *data, size_t bytes)
{
    brim_box box;

    for (size_t at = 0; brim_box_next(data, bytes, &at, &box) && is_name(box.name);) {
        if (!box.complete) return true;
    }
    return false;
}

bool brim_box_has_brand(const uint8_t *data, size_t bytes, const char *brand)
{
    size_t at = 0;
    brim_box box;

    if (!brim_box_next(data, bytes, &at, &box) || memcmp(box.name, "ftyp", 4) != 0) return false;
    for (size_t i = 0; i + 4 <= box.bytes; i += i == 0 ? 8 : 4) { /* a version behind the first */
        if (memcmp(box.data + i, brand, 4) == 0) return true;
    }
    return false;
}

/* hvcC: the chroma's format in byte 16, bits less 8 in 17. av1C: all of it in byte 2. */
static void add_codec(const brim_box *box, brim_heif_facts *facts)
{
    uint32_t bits = 0;

    if (memcmp(box->name, "hvcC", 4) == 0 && box->bytes > 17) {
        bits = 8 + (box->data[17] & 7u);
        if ((box->data[16] & 3) == 3) facts->full_chroma = true;
    }
    if (memcmp(box->name, "av1C", 4) == 0 && box->bytes > 2) {
        uint8_t flags = box->data[2];

        bits = flags & 0x40 ? (flags & 0x20 ? 12 : 10) : 8;
        if (!(flags & 0x18)) facts->full_chroma = true; /* colour, and not subsampled */
    }
    if (bits > facts->bits) facts->bits = bits;
}

brim_heif_facts brim_heif_read_facts(const uint8_t *data, size_t bytes)
{
    static const char *const PATH[] = {"meta", "iprp", "ipco"};
    static const size_t VERSION_BYTES[] = {4, 0, 0};
    brim_heif_facts facts = {0};
    brim_box box;

    for (size_t step = 0; step < 3; step++) {
        bool found = false;

        for (size_t at = 0; !found && brim_box_next(data, bytes, &at, &box);)
            found = memcmp(box.name, PATH[step], 4) == 0 && box.bytes >= VERSION_BYTES[step];
        if (!found) return facts;
        data = box.data + VERSION_BYTES[step];
        bytes = box.bytes - VERSION_BYTES[step];
    }
    for (size_t at = 0; brim_box_next(data, bytes, &at, &box);)
        add_codec(&box, &facts);
    return facts;
}
