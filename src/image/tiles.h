/*
 * tiles.h - how a picture is cut into tiles, and which stored rows and pixels each one is made of.
 *
 * The grid is laid over the upright picture: tiles start every side - overlap pixels from the upper
 * left corner, and the last one of a row or column ends where the picture does, so that all are
 * side x side, unless the picture itself is smaller. Stored rows pass by once, so tiles come in
 * strips: all tiles that are made of the same stored rows (a row of tiles, or a column where the
 * orientation is transposed).
 */
#ifndef BRIM_IMAGE_TILES_H
#define BRIM_IMAGE_TILES_H

#include <stdint.h>

#include "image/reader.h"

typedef struct brim_tiling {
    uint32_t side, overlap;
    uint32_t width, height; /* of the picture, upright */
    uint8_t orientation;
    uint32_t n_strips; /* in the order of stored rows */
    uint32_t n_tiles;  /* in a strip, in the order of stored pixels */
} brim_tiling;

typedef struct brim_tile {
    uint32_t x, y, width, height;                /* upright pixels of the picture */
    uint32_t row, n_rows, first_pixel, n_pixels; /* the same as it is stored */
} brim_tile;

/* overlap < side. */
brim_tiling brim_tiling_of(const brim_image_info *info, uint32_t side, uint32_t overlap);

/* strip < n_strips, i < n_tiles. Rows of later strips never start or end before those of earlier
 * ones. */
brim_tile brim_tiling_get(const brim_tiling *tiling, uint32_t strip, uint32_t i);

/* The tile as a picture of its own. */
static inline brim_image_info brim_tile_info(const brim_tiling *tiling, const brim_tile *tile)
{
    return brim_image_info_of(tile->n_pixels, tile->n_rows, tiling->orientation);
}

/* Enough for any "#x,y,w,h" with its NUL. */
enum { BRIM_TILE_SUFFIX_BYTES = 48 };

/* "#512,0,256,256": what is put behind the picture's key. */
void brim_tile_suffix(const brim_tile *tile, char out[BRIM_TILE_SUFFIX_BYTES]);

#endif /* BRIM_IMAGE_TILES_H */
