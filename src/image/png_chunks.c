/*
 * png_chunks.c - walks the chunks of a PNG, and unpacks the text in which orientation may stand and
 * the colour profile.
 *
 * Of compressed text only the beginning is unpacked, into a buffer of fixed size: orientation is in
 * the first directory of an EXIF block and in the first element of an XMP packet.
 */
#include "image/png_chunks.h"

#include <string.h>

#include <zlib.h>

#include "image/exif.h"
#include "image/xmp.h"

enum { TEXT_BYTES = 16384 };

static const uint8_t SIGNATURE[BRIM_PNG_SIGNATURE_BYTES] = {0x89, 'P',  'N',  'G',
                                                            '\r', '\n', 0x1a, '\n'};

/* What has been found on the way through the chunks. */
typedef struct orientations {
    uint8_t exif, profile, xmp;
    bool has_exif, has_profile;
} orientations;

bool brim_png_matches(const uint8_t *data, size_t bytes)
{
    size_t n = bytes < sizeof(SIGNATURE) ? bytes : sizeof(SIGNATURE);

    return n >= 4 && memcmp(data, SIGNATURE, n) == 0;
}

static uint32_t read_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool brim_png_next_chunk(const uint8_t *data, size_t bytes, size_t *at, brim_png_chunk *out)
{
    if (bytes - *at < 12) return false;
    size_t length = read_u32(data + *at);
    if (length > bytes - *at - 12) return false;
    memcpy(out->type, data + *at + 4, 4);
    out->type[4] = '\0';
    out->data = data + *at + 8;
    out->bytes = length;
    *at += 12 + length;
    return true;
}

/* Moves *p, of *n bytes, behind the next NUL; false where there is none. */
static bool skip_string(const uint8_t **p, size_t *n)
{
    const uint8_t *nul = *n > 0 ? memchr(*p, 0, *n) : NULL;

    if (!nul) return false;
    *n -= (size_t)(nul + 1 - *p);
    *p = nul + 1;
    return true;
}

/* The beginning of what p, of n bytes, unpacks to; its length. */
static size_t unpack(const uint8_t *p, size_t n, uint8_t *out, size_t capacity)
{
    z_stream stream = {.next_in = (Bytef *)p, .avail_in = (uInt)n};

    if (inflateInit(&stream) != Z_OK) return 0;
    stream.next_out = out;
    stream.avail_out = (uInt)capacity;
    inflate(&stream, Z_SYNC_FLUSH);
    inflateEnd(&stream);
    return capacity - stream.avail_out;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "\nexif\n   1234\n4578..." to bytes, in place; their number. */
static size_t unhex_profile(uint8_t *text, size_t n)
{
    size_t at = 0, n_out = 0;

    for (int line = 0; line < 3; at++) {
        if (at == n) return 0;
        if (text[at] == '\n') line++;
    }
    for (; at + 1 < n; at++) {
        int high = hex_digit(text[at]), low = hex_digit(text[at + 1]);
        if (text[at] == '\n') continue;
        if (high < 0 || low < 0) break;
        text[n_out++] = (uint8_t)(high << 4 | low);
        at++;
    }
    return n_out;
}

/* p: text of a "Raw profile type exif", not packed, at most n bytes of it. */
static void note_profile(const uint8_t *p, size_t n, orientations *found)
{
    uint8_t text[TEXT_BYTES];

    if (n > sizeof(text)) n = sizeof(text);
    memcpy(text, p, n);
    n = unhex_profile(text, n);
    if (brim_exif_find_orientation(text, n, &found->profile)) found->has_profile = true;
}

/* iTXt behind its keyword: packed?, how, language, translated keyword, text. */
static void note_xmp(const uint8_t *p, size_t n, orientations *found)
{
    uint8_t text[TEXT_BYTES];

    if (n < 2) return;
    bool packed = p[0] != 0;
    p += 2;
    n -= 2;
    for (int i = 0; i < 2; i++) {
        if (!skip_string(&p, &n)) return;
    }
    if (packed) {
        n = unpack(p, n, text, sizeof(text));
        p = text;
    }
    found->xmp = brim_xmp_orientation(p, n);
}

/* A chunk of text: keyword, NUL, the rest by kind. */
static void note_text(const brim_png_chunk *chunk, orientations *found)
{
    static const char PROFILE[] = "Raw profile type exif", XMP[] = "XML:com.adobe.xmp";
    const uint8_t *p = chunk->data;
    size_t n = chunk->bytes;
    uint8_t text[TEXT_BYTES];

    if (!skip_string(&p, &n)) return;
    size_t keyword_bytes = (size_t)(p - chunk->data);
    bool is_profile =
        keyword_bytes == sizeof(PROFILE) && memcmp(chunk->data, PROFILE, sizeof(PROFILE)) == 0;
    bool is_xmp = keyword_bytes == sizeof(XMP) && memcmp(chunk->data, XMP, sizeof(XMP)) == 0;

    if (is_profile && strcmp(chunk->type, "tEXt") == 0) note_profile(p, n, found);
    if (is_profile && strcmp(chunk->type, "zTXt") == 0 && n > 1) {
        n = unpack(p + 1, n - 1, text, sizeof(text));
        note_profile(text, n, found);
    }
    if (is_xmp && strcmp(chunk->type, "iTXt") == 0) note_xmp(p, n, found);
}

uint8_t brim_png_orientation(const uint8_t *data, size_t bytes, size_t at)
{
    orientations found = {1, 1, 1, false, false};
    brim_png_chunk chunk;

    while (brim_png_next_chunk(data, bytes, &at, &chunk) && strcmp(chunk.type, "IEND") != 0) {
        if (strcmp(chunk.type, "eXIf") == 0) /* of several the last counts, as Pillow has it */
            found.has_exif = brim_exif_find_orientation(chunk.data, chunk.bytes, &found.exif);
        else if (strcmp(chunk.type + 1, "TXt") == 0 || strcmp(chunk.type, "tEXt") == 0)
            note_text(&chunk, &found);
    }
    if (found.has_exif) return found.exif;
    return found.has_profile ? found.profile : found.xmp;
}

/* Unpacks p, of n bytes, in pieces: counts up to limit, and keeps the first capacity. */
static size_t unpack_all(const uint8_t *p, size_t n, size_t limit, uint8_t *out, size_t capacity)
{
    z_stream stream = {.next_in = (Bytef *)p, .avail_in = (uInt)n};
    uint8_t piece[TEXT_BYTES];
    size_t total = 0;
    int rc = Z_OK;

    if (inflateInit(&stream) != Z_OK) return 0;
    while (rc == Z_OK && total <= limit) {
        stream.next_out = piece;
        stream.avail_out = sizeof(piece);
        rc = inflate(&stream, Z_NO_FLUSH);
        size_t got = sizeof(piece) - stream.avail_out;
        if (out && total < capacity)
            memcpy(out + total, piece, got < capacity - total ? got : capacity - total);
        total += got;
    }
    inflateEnd(&stream);
    return rc == Z_STREAM_END && total <= limit ? total : 0;
}

size_t brim_png_read_profile(const uint8_t *data, size_t bytes, size_t limit, uint8_t *out,
                             size_t capacity)
{
    size_t at = BRIM_PNG_SIGNATURE_BYTES;
    brim_png_chunk chunk;

    while (brim_png_next_chunk(data, bytes, &at, &chunk) && strcmp(chunk.type, "IDAT") != 0) {
        const uint8_t *p = chunk.data;
        size_t n = chunk.bytes;

        if (strcmp(chunk.type, "iCCP") != 0) continue;
        if (!skip_string(&p, &n) || n < 1) return 0;
        return unpack_all(p + 1, n - 1, limit, out, capacity);
    }
    return 0;
}
