/*
 * hash.h - 128-bit XXH3 fingerprints: they tell models and settings apart; they are no defence
 * against somebody who makes two files collide on purpose.
 */
#ifndef BRIM_BASE_HASH_H
#define BRIM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

enum { BRIM_HASH_BYTES = 33 }; /* 32 hexadecimal digits and the NUL, as `xxhsum -H2` prints them */

void brim_hash_bytes(const void *data, size_t bytes, char out[BRIM_HASH_BYTES]);

/* A shorter one, as a number. */
uint64_t brim_hash_64(const void *data, size_t bytes);

/* Reads the whole file. */
brim_status brim_hash_file(const char *path, char out[BRIM_HASH_BYTES], brim_error *err);

#endif /* BRIM_BASE_HASH_H */
