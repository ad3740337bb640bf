/*
 * window.h - looks at a few bytes anywhere in a file, whether all of it is in memory or not.
 *
 * Threads: one belongs to one thread at a time.
 */
#ifndef BRIM_IMAGE_WINDOW_H
#define BRIM_IMAGE_WINDOW_H

#include "image/decoder.h"

enum { BRIM_WINDOW_BYTES = 4096 };

typedef struct brim_window {
    const brim_encoded *file;
    uint64_t at; /* of what is in bytes */
    size_t n;
    bool failed; /* the file could not be read somewhere */
    uint8_t bytes[BRIM_WINDOW_BYTES];
} brim_window;

void brim_window_init(brim_window *window, const brim_encoded *file);

/*
 * n bytes (at most BRIM_WINDOW_BYTES) from `at` on, which the caller knows to be within the file;
 * valid until the next call. What cannot be read is 0, and `failed` is set.
 */
const uint8_t *brim_window_look(brim_window *window, uint64_t at, size_t n);

#endif /* BRIM_IMAGE_WINDOW_H */
