/*
 * sniff.c - recognises what no decoder here reads, so that the failure can say what it is.
 */
#include "image/sniff.h"

#include <string.h>
#include <strings.h>

typedef struct signature {
    const char *name;
    bool is_picture;
    uint8_t at;     /* where the bytes stand */
    uint8_t length; /* how many there are */
    const char *bytes;
} signature;

#define SIGNATURE(NAME, IS_PICTURE, AT, BYTES)                                                     \
    {                                                                                              \
        NAME, IS_PICTURE, AT, sizeof(BYTES) - 1, BYTES                                             \
    }

/* Longer marks stand before shorter ones that they begin with. */
static const signature SIGNATURES[] = {
    SIGNATURE("a GIF picture", true, 0, "GIF87a"),
    SIGNATURE("a GIF picture", true, 0, "GIF89a"),
    SIGNATURE("a TIFF picture", true, 0, "II*\0"),
    SIGNATURE("a TIFF picture", true, 0, "MM\0*"),
    SIGNATURE("a BigTIFF picture", true, 0, "II+\0"),
    SIGNATURE("a BigTIFF picture", true, 0, "MM\0+"),
    SIGNATURE("a JPEG XL picture", true, 0, "\xff\x0a"),
    SIGNATURE("a JPEG XL picture", true, 0, "\0\0\0\x0cJXL \r\n\x87\n"),
    SIGNATURE("a JPEG 2000 picture", true, 0, "\0\0\0\x0cjP  \r\n\x87\n"),
    SIGNATURE("a JPEG 2000 picture", true, 0, "\xff\x4f\xff\x51"),
    SIGNATURE("a Photoshop picture", true, 0, "8BPS"),
    SIGNATURE("an OpenEXR picture", true, 0, "\x76\x2f\x31\x01"),
    SIGNATURE("a Radiance picture", true, 0, "#?RADIANCE"),
    SIGNATURE("a DirectDraw picture", true, 0, "DDS "),
    SIGNATURE("a QOI picture", true, 0, "qoif"),
    SIGNATURE("a FITS picture", true, 0, "SIMPLE  ="),
    SIGNATURE("an icon", true, 0, "\0\0\1\0"),
    SIGNATURE("a HEIC picture", true, 4, "ftypheic"),
    SIGNATURE("a HEIC picture", true, 4, "ftypheix"),
    SIGNATURE("a HEIC picture", true, 4, "ftyphevc"),
    SIGNATURE("a HEIF picture", true, 4, "ftypmif1"),
    SIGNATURE("a HEIF picture", true, 4, "ftypmsf1"),
    SIGNATURE("an AVIF picture", true, 4, "ftypavif"),
    SIGNATURE("an AVIF picture", true, 4, "ftypavis"),
    SIGNATURE("a Canon raw picture", true, 4, "ftypcrx "),
    SIGNATURE("an MP4 video", false, 4, "ftyp"),
    SIGNATURE("a PDF document", false, 0, "%PDF-"),
    SIGNATURE("a ZIP archive", false, 0, "PK\3\4"),
    SIGNATURE("a gzip archive", false, 0, "\x1f\x8b"),
    SIGNATURE("a git-LFS pointer", false, 0, "version https://git-lfs"),
    SIGNATURE("an AVI video", false, 8, "AVI "),
    SIGNATURE("a Matroska video", false, 0, "\x1a\x45\xdf\xa3"),
    SIGNATURE("AppleDouble", false, 0, "\0\5\x16\7"),
};

/* Text formats: what stands after blanks and a byte-order mark, in any case. */
static const signature TEXTS[] = {
    SIGNATURE("HTML", false, 0, "<!doctype html"), SIGNATURE("HTML", false, 0, "<html"),
    SIGNATURE("HTML", false, 0, "<head"),          SIGNATURE("an SVG drawing", true, 0, "<svg"),
    SIGNATURE("XML", false, 0, "<?xml"),           SIGNATURE("JSON", false, 0, "{\""),
};

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* P1 .. P7 and a blank; PF and Pf hold floats. */
static bool is_netpbm(const uint8_t *data, size_t bytes)
{
    return bytes >= 3 && data[0] == 'P' && is_blank(data[2]) &&
           ((data[1] >= '1' && data[1] <= '7') || data[1] == 'F' || data[1] == 'f');
}

static const char *sniff_text(const uint8_t *data, size_t bytes, bool *is_picture)
{
    if (bytes >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        data += 3;
        bytes -= 3;
    }
    while (bytes > 0 && is_blank(*data)) {
        data++;
        bytes--;
    }
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        const signature *s = &TEXTS[i];
        if (bytes < s->length || strncasecmp((const char *)data, s->bytes, s->length) != 0)
            continue;
        *is_picture = s->is_picture;
        return s->name;
    }
    return NULL;
}

const char *brim_sniff(const uint8_t *data, size_t bytes, bool *is_picture)
{
    for (size_t i = 0; i < sizeof(SIGNATURES) / sizeof(SIGNATURES[0]); i++) {
        const signature *s = &SIGNATURES[i];
        if (bytes < (size_t)s->at + s->length) continue;
        if (memcmp(data + s->at, s->bytes, s->length) != 0) continue;
        *is_picture = s->is_picture;
        return s->name;
    }
    *is_picture = true;
    if (is_netpbm(data, bytes)) return "a Netpbm picture";
    *is_picture = false;
    return sniff_text(data, bytes, is_picture);
}
