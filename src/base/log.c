/* log.c - hands finished lines to the sink. */
#include "base/log.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void brim_log_write(const brim_log *log, brim_log_level level, const char *fmt, ...)
{
    char words[1024], line[1024];

    if (!log || !log->write) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    brim_escape_line(words, line, sizeof(line));
    log->write(log->ctx, level, line);
}
