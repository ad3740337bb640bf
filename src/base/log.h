/*
 * log.h - words for the user that are not errors (a model file chosen, a key ignored).
 *
 * The library never prints: it hands whole lines, without the line's end, to the sink it was given.
 */
#ifndef BRIM_BASE_LOG_H
#define BRIM_BASE_LOG_H

#include "brimful/log.h"

/* log may be NULL, or its write may be: then the words go nowhere. */
void brim_log_write(const brim_log *log, brim_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* BRIM_BASE_LOG_H */
