/* gif_header.h - what a GIF says before the pixels of its first frame. */
#ifndef BRIM_IMAGE_GIF_HEADER_H
#define BRIM_IMAGE_GIF_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

typedef struct brim_gif_header {
    uint32_t width, height;                   /* of the canvas, which the first frame may widen */
    uint32_t x, y, frame_width, frame_height; /* where the first frame lies on it */
    bool interlaced;
    uint8_t fill; /* palette index around the frame: the transparent one, or 0 */
    const uint8_t
        *palette; /* of the frame, in the file: n_colors x R, G, B; NULL: indices are grey */
    uint32_t n_colors;
} brim_gif_header;

/* Walks the blocks up to the first frame, without memory of its own. */
brim_status brim_gif_read_header(const uint8_t *data, size_t bytes, brim_gif_header *out,
                                 brim_error *err);

#endif /* BRIM_IMAGE_GIF_HEADER_H */
