/* Tests of src/image/tiles.c: the grid against pixels that are turned one by one. */
#include "image/tiles.h"

#include <stdlib.h>

#include "support/cmocka_all.h"

static brim_tiling tiling_of(uint32_t width, uint32_t height, uint8_t orientation, uint32_t side,
                             uint32_t overlap)
{
    brim_image_info info = brim_image_info_of(width, height, orientation);

    return brim_tiling_of(&info, side, overlap);
}

static void check(const brim_tiling *t, uint32_t strip, uint32_t i, const char *suffix)
{
    char found[BRIM_TILE_SUFFIX_BYTES];
    brim_tile tile = brim_tiling_get(t, strip, i);

    brim_tile_suffix(&tile, found);
    assert_string_equal(found, suffix);
}

static void the_last_tile_ends_where_the_picture_does(void **state)
{
    brim_tiling t = tiling_of(600, 300, 1, 256, 32);

    (void)state;
    assert_int_equal(t.n_strips, 2);
    assert_int_equal(t.n_tiles, 3);
    check(&t, 0, 0, "#0,0,256,256");
    check(&t, 0, 1, "#224,0,256,256");
    check(&t, 0, 2, "#344,0,256,256");
    check(&t, 1, 2, "#344,44,256,256");
    t = tiling_of(512, 256, 1, 256, 0); /* it fits to the pixel */
    assert_int_equal(t.n_strips, 1);
    assert_int_equal(t.n_tiles, 2);
    check(&t, 0, 1, "#256,0,256,256");
}

static void a_smaller_picture_is_one_tile(void **state)
{
    brim_tiling t = tiling_of(100, 300, 6, 256, 32);

    (void)state;
    assert_int_equal(t.n_strips, 2);
    assert_int_equal(t.n_tiles, 1);
    check(&t, 0, 0, "#44,0,256,100"); /* the first stored rows are the right end of the upright */
    check(&t, 1, 0, "#0,0,256,100");
    t = tiling_of(1, 1, 1, 65535, 65534);
    check(&t, 0, 0, "#0,0,1,1");
    t = tiling_of(UINT32_MAX, 1, 1, 65535, 0);
    check(&t, 0, t.n_tiles - 1, "#4294901760,0,65535,1");
}

/* Where the upright pixel (x, y) of a picture of upright width x height is stored. */
static void stored_at(const brim_tiling *t, uint32_t x, uint32_t y, uint32_t *u, uint32_t *v)
{
    uint32_t right = t->width - 1 - x, below = t->height - 1 - y;

    switch (t->orientation) {
    case 1:
        *u = x, *v = y;
        break;
    case 2:
        *u = right, *v = y;
        break;
    case 3:
        *u = right, *v = below;
        break;
    case 4:
        *u = x, *v = below;
        break;
    case 5:
        *u = y, *v = x;
        break;
    case 6:
        *u = y, *v = right;
        break;
    case 7:
        *u = below, *v = right;
        break;
    default:
        *u = below, *v = x;
        break;
    }
}

/* Corners of a tile lie in its stored rectangle, tiles cover the picture, rows never go back. */
static void check_grid(const brim_tiling *t)
{
    uint8_t *covered = calloc((size_t)t->width * t->height, 1);
    uint32_t row = 0, end = 0;

    for (uint32_t strip = 0; strip < t->n_strips; strip++) {
        for (uint32_t i = 0; i < t->n_tiles; i++) {
            brim_tile tile = brim_tiling_get(t, strip, i);
            assert_true(tile.row >= row && tile.row + tile.n_rows >= end);
            assert_true(tile.row <= (strip ? end : 0));
            if (i == t->n_tiles - 1) row = tile.row, end = tile.row + tile.n_rows;
            for (uint32_t y = tile.y; y < tile.y + tile.height; y++) {
                for (uint32_t x = tile.x; x < tile.x + tile.width; x++) {
                    uint32_t u, v;
                    stored_at(t, x, y, &u, &v);
                    assert_true(u - tile.first_pixel < tile.n_pixels && v - tile.row < tile.n_rows);
                    covered[y * t->width + x] = 1;
                }
            }
        }
    }
    for (size_t i = 0; i < (size_t)t->width * t->height; i++)
        assert_true(covered[i]);
    free(covered);
}

static void covers_the_picture_in_every_orientation(void **state)
{
    static const uint32_t SIDES[][2] = {{4, 0}, {4, 1}, {5, 4}, {7, 3}, {50, 0}};

    (void)state;
    for (uint8_t orientation = 1; orientation <= 8; orientation++) {
        for (size_t s = 0; s < 5; s++) {
            for (uint32_t width = 1; width <= 19; width += 3) {
                for (uint32_t height = 1; height <= 16; height += 5) {
                    brim_tiling t = tiling_of(width, height, orientation, SIDES[s][0], SIDES[s][1]);
                    check_grid(&t);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_tile_ends_where_the_picture_does),
        cmocka_unit_test(a_smaller_picture_is_one_tile),
        cmocka_unit_test(covers_the_picture_in_every_orientation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
