/* tiles.c - a grid of tiles along two directions, each of which may come last first. */
#include "image/tiles.h"

#include <assert.h>
#include <stdio.h>

#include "image/resample.h"

/* Tiles along n pixels. */
static uint32_t count(uint32_t n, uint32_t side, uint32_t overlap)
{
    uint32_t step = side - overlap;

    return n <= side ? 1 : (n - side - 1) / step + 2;
}

/* Where tile i starts along n pixels; *length is how many it has. */
static uint32_t start(uint32_t n, uint32_t side, uint32_t overlap, uint32_t i, uint32_t *length)
{
    uint64_t at = (uint64_t)i * (side - overlap);

    *length = n < side ? n : side;
    return at > n - *length ? n - *length : (uint32_t)at;
}

brim_tiling brim_tiling_of(const brim_image_info *info, uint32_t side, uint32_t overlap)
{
    bool transposed = brim_orientation_is_transposed(info->orientation);
    brim_tiling tiling = {
        .side = side,
        .overlap = overlap,
        .width = transposed ? info->height : info->width,
        .height = transposed ? info->width : info->height,
        .orientation = info->orientation,
        .n_strips = count(info->height, side, overlap),
        .n_tiles = count(info->width, side, overlap),
    };

    assert(overlap < side && info->width > 0 && info->height > 0);
    return tiling;
}

brim_tile brim_tiling_get(const brim_tiling *t, uint32_t strip, uint32_t i)
{
    bool transposed = brim_orientation_is_transposed(t->orientation);
    bool rows_flipped = brim_orientation_flips_rows(t->orientation);
    bool pixels_flipped = brim_orientation_flips_pixels(t->orientation);
    uint32_t stored_width = transposed ? t->height : t->width;
    uint32_t stored_height = transposed ? t->width : t->height;
    uint32_t down = rows_flipped ? t->n_strips - 1 - strip : strip;
    uint32_t across = pixels_flipped ? t->n_tiles - 1 - i : i;
    brim_tile tile;

    assert(strip < t->n_strips && i < t->n_tiles);
    uint32_t v = start(stored_height, t->side, t->overlap, down, &tile.n_rows);
    uint32_t u = start(stored_width, t->side, t->overlap, across, &tile.n_pixels);
    tile.row = rows_flipped ? stored_height - v - tile.n_rows : v;
    tile.first_pixel = pixels_flipped ? stored_width - u - tile.n_pixels : u;
    tile.x = transposed ? v : u;
    tile.y = transposed ? u : v;
    tile.width = transposed ? tile.n_rows : tile.n_pixels;
    tile.height = transposed ? tile.n_pixels : tile.n_rows;
    return tile;
}

void brim_tile_suffix(const brim_tile *tile, char out[BRIM_TILE_SUFFIX_BYTES])
{
    snprintf(out, BRIM_TILE_SUFFIX_BYTES, "#%u,%u,%u,%u", tile->x, tile->y, tile->width,
             tile->height);
}
