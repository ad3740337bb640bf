/* bmp_rle.h - runs of palette indices in a BMP. */
#ifndef BRIM_IMAGE_BMP_RLE_H
#define BRIM_IMAGE_BMP_RLE_H

#include "image/bmp_header.h"

/*
 * Unpacks into indices, which is all 0 and holds the header's width x height, in the order of
 * storing. Tells how many of them the file says something of: fewer than all where it ends early.
 */
size_t brim_bmp_unpack(const brim_bmp_header *header, const uint8_t *data, size_t bytes,
                       uint8_t *indices);

#endif /* BRIM_IMAGE_BMP_RLE_H */
