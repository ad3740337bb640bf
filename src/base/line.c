/* line.c - adds to a line. */
#include "base/line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

brim_line brim_line_begin(char *out, size_t capacity)
{
    out[0] = '\0';
    return (brim_line){out, capacity, 0};
}

void brim_line_add(brim_line *line, const char *fmt, ...)
{
    va_list args;

    if (line->length + 1 >= line->capacity) return;
    va_start(args, fmt);
    int n = vsnprintf(line->out + line->length, line->capacity - line->length, fmt, args);
    va_end(args);
    if (n < 0) return;
    line->length += (size_t)n;
    if (line->length >= line->capacity) line->length = line->capacity - 1;
}

void brim_line_add_count(brim_line *line, uint64_t n)
{
    if (n >= 1000) {
        brim_line_add_count(line, n / 1000);
        brim_line_add(line, ",%03u", (unsigned)(n % 1000));
    } else {
        brim_line_add(line, "%u", (unsigned)n);
    }
}

void brim_line_add_bytes(brim_line *line, uint64_t bytes)
{
    if (bytes >= (uint64_t)1 << 30)
        brim_line_add(line, "%.1f GiB", (double)bytes / (1u << 30));
    else if (bytes >= 1u << 20 && bytes < 10u << 20)
        brim_line_add(line, "%.1f MiB", (double)bytes / (1u << 20));
    else if (bytes >= 1u << 20 || bytes == 0)
        brim_line_add(line, "%" PRIu64 " MiB", (bytes >> 20) + (bytes >> 19 & 1));
    else
        brim_line_add(line, "%" PRIu64 " KiB", (bytes >> 10) + (bytes >> 9 & 1));
}

void brim_line_add_duration(brim_line *line, double seconds)
{
    uint64_t s = (uint64_t)(seconds + 0.5);

    if (s >= 86400)
        brim_line_add(line, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        brim_line_add(line, "%" PRIu64 " h %02" PRIu64 " min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        brim_line_add(line, "%" PRIu64 " min %02" PRIu64 " s", s / 60, s % 60);
    else
        brim_line_add(line, "%" PRIu64 " s", s);
}
