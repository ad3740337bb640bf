/*
 * log.h - where the library's words go.
 *
 * Threads: write is called from any of the library's threads, one call at a time is not promised.
 */
#ifndef BRIMFUL_LOG_H
#define BRIMFUL_LOG_H

typedef enum brim_log_level {
    BRIM_LOG_DETAIL, /* for --verbose */
    BRIM_LOG_NOTE,   /* worth one line in every run */
    BRIM_LOG_WARNING /* something was not as expected, and the run goes on */
} brim_log_level;

/* line: one line without its end, already safe to print; borrowed until write returns. */
typedef struct brim_log {
    void (*write)(void *ctx, brim_log_level level, const char *line);
    void *ctx;
} brim_log;

#endif /* BRIMFUL_LOG_H */
