/* line.h - words that are put together piece by piece, cut where there is no more room. */
#ifndef BRIM_BASE_LINE_H
#define BRIM_BASE_LINE_H

#include <stddef.h>

typedef struct brim_line {
    char *out;
    size_t capacity; /* at least 1 */
    size_t length;
} brim_line;

/* An empty line in out. */
brim_line brim_line_begin(char *out, size_t capacity);

void brim_line_add(brim_line *line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* BRIM_BASE_LINE_H */
