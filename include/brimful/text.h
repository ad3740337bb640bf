/*
 * text.h - words that come from strangers (names of files, messages of libraries), made safe to
 * show.
 */
#ifndef BRIMFUL_TEXT_H
#define BRIMFUL_TEXT_H

#include <stddef.h>

#include "brimful/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes text into out (capacity bytes with the NUL, at least 1) as one printable line of UTF-8:
 * control characters, line and paragraph separators, direction marks and bytes that are not UTF-8
 * become \xNN, byte by byte. What does not fit is cut at a whole character. Returns the length.
 */
BRIM_API size_t brim_escape_line(const char *text, char *out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_TEXT_H */
