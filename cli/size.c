/* size.c - sizes in bytes, read and written for people. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool cli_parse_bytes(const char *text, size_t *out)
{
    static const char *const UNITS = "kmgt";
    char *end;

    /* strtod knows more ways to write a number than a size has. */
    if (!isdigit((unsigned char)text[0]) || strspn(text, "0123456789.") == 0) return false;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return false;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || memchr(text, 'e', (size_t)(end - text)) ||
        memchr(text, 'E', (size_t)(end - text)))
        return false;
    while (*end == ' ')
        end++;
    if (*end && strcasecmp(end, "b") != 0) {
        const char *unit = strchr(UNITS, tolower((unsigned char)*end));
        if (!unit) return false;
        value = ldexp(value, 10 * (int)(unit - UNITS + 1));
        end++;
        if (*end && strcasecmp(end, "b") != 0 && strcasecmp(end, "ib") != 0) return false;
    }
    if (!(value >= 1.0) || value >= ldexp(1.0, 63)) return false;
    *out = (size_t)value;
    return true;
}

void cli_print_bytes(FILE *to, size_t bytes)
{
    if (bytes >= (size_t)1 << 30)
        fprintf(to, "%.1f GiB", (double)bytes / (1u << 30));
    else
        fprintf(to, "%.0f MiB", (double)bytes / (1u << 20));
}
