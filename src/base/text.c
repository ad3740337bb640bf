/* text.c - UTF-8 checked byte by byte; escapes are written as \xNN. */
#include "base/text.h"

#include <string.h>

enum { ESCAPE_BYTES = 4 }; /* \xNN */

size_t brim_utf8_decode(const char *text, size_t n, unsigned *code)
{
    static const unsigned SMALLEST[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;

    if (n == 0) return 0;
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    if (length == 0 || length > n || s[0] > 0xF4) return 0;

    unsigned value = length == 1 ? s[0] : s[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        value = value << 6 | (s[i] & 0x3Fu);
    }
    if (value < SMALLEST[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *code = value;
    return length;
}

/* A character that could move the cursor, break the line or turn the reading direction. */
static bool is_unsafe_to_show(unsigned code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E ||
           code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

static char *write_escape(char *out, unsigned char byte)
{
    static const char HEX[] = "0123456789abcdef";

    out[0] = '\\';
    out[1] = 'x';
    out[2] = HEX[byte >> 4];
    out[3] = HEX[byte & 15];
    return out + ESCAPE_BYTES;
}

size_t brim_escape_line(const char *text, char *out, size_t capacity)
{
    char *end = out;
    size_t room = capacity - 1;
    size_t left = strlen(text);

    while (left > 0) {
        unsigned code = 0;
        size_t length = brim_utf8_decode(text, left, &code);
        bool as_is = length > 0 && !is_unsafe_to_show(code);
        if (length == 0) length = 1;

        size_t needed = as_is ? length : length * ESCAPE_BYTES;
        if (needed > room) break;
        if (as_is) {
            memcpy(end, text, length);
            end += length;
        } else {
            for (size_t i = 0; i < length; i++)
                end = write_escape(end, (unsigned char)text[i]);
        }
        room -= needed;
        text += length;
        left -= length;
    }
    *end = '\0';
    return (size_t)(end - out);
}

/* The next character of a name: how many bytes it has, and whether the key holds them as they are.
 */
static size_t next_of_name(const char *name, size_t left, bool *as_is)
{
    unsigned code = 0;
    size_t length = brim_utf8_decode(name, left, &code);

    *as_is = length > 0 && !(code == '\\' && left > 1 && name[1] == 'x');
    return length > 0 ? length : 1;
}

size_t brim_key_bytes(const char *name)
{
    size_t total = 0;

    for (size_t left = strlen(name); left > 0;) {
        bool as_is;
        size_t length = next_of_name(name, left, &as_is);
        total += as_is ? length : ESCAPE_BYTES;
        name += length;
        left -= length;
    }
    return total;
}

char *brim_key_write(const char *name, char *out)
{
    for (size_t left = strlen(name); left > 0;) {
        bool as_is;
        size_t length = next_of_name(name, left, &as_is);
        if (as_is) {
            memcpy(out, name, length);
            out += length;
        } else {
            out = write_escape(out, (unsigned char)*name);
        }
        name += length;
        left -= length;
    }
    *out = '\0';
    return out;
}

bool brim_folder_of(const char *path, char *out, size_t capacity)
{
    const char *slash = strrchr(path, '/');
    size_t length = !slash || slash == path ? 1 : (size_t)(slash - path);

    if (length >= capacity) return false;
    memcpy(out, slash ? path : ".", length);
    out[length] = '\0';
    return true;
}

bool brim_ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), n = strlen(suffix);

    return length >= n && memcmp(text + length - n, suffix, n) == 0;
}
