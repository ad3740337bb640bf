/* text.h - UTF-8, names of files as keys, and parts of names. */
#ifndef BRIM_BASE_TEXT_H
#define BRIM_BASE_TEXT_H

#include <stdbool.h>

#include "brimful/text.h"

/*
 * The length in bytes (1..4) of the well-formed UTF-8 character at text[0..n), its number in *code;
 * 0 where the bytes are not UTF-8 or n is 0.
 */
size_t brim_utf8_decode(const char *text, size_t n, unsigned *code);

/*
 * Bytes that brim_key_write() writes for name, without the NUL. At most 4 times strlen(name).
 */
size_t brim_key_bytes(const char *name);

/*
 * A file's name as a key, always UTF-8 and never the same for two names: bytes that are not UTF-8
 * become \xNN, and a backslash that stands before an x becomes \x5c. Returns the end (the NUL).
 */
char *brim_key_write(const char *name, char *out);

/*
 * The folder that a path lies in: "a/b" is in "a", "/a" in "/", "a" in ".". False where capacity is
 * short.
 */
bool brim_folder_of(const char *path, char *out, size_t capacity);

bool brim_ends_with(const char *text, const char *suffix);

#endif /* BRIM_BASE_TEXT_H */
