/* line.h - words that are put together piece by piece, cut where there is no more room. */
#ifndef BRIM_BASE_LINE_H
#define BRIM_BASE_LINE_H

#include <stddef.h>
#include <stdint.h>

typedef struct brim_line {
    char *out;
    size_t capacity; /* at least 1 */
    size_t length;
} brim_line;

/* An empty line in out. */
brim_line brim_line_begin(char *out, size_t capacity);

void brim_line_add(brim_line *line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* 1234567 as "1,234,567". */
void brim_line_add_count(brim_line *line, uint64_t n);

/* "5.1 GiB", "84 MiB", "5.7 MiB", "312 KiB" */
void brim_line_add_bytes(brim_line *line, uint64_t bytes);

/* "2 d 3 h", "1 h 05 min", "3 min 32 s", "8 s" */
void brim_line_add_duration(brim_line *line, double seconds);

#endif /* BRIM_BASE_LINE_H */
