/* line.c - adds to a line. */
#include "base/line.h"

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
