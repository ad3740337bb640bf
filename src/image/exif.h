/* exif.h - the one thing a picture's EXIF block is asked here: which way is up. */
#ifndef BRIM_IMAGE_EXIF_H
#define BRIM_IMAGE_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Looks for the orientation in an EXIF block with or without "Exif\0\0" before its TIFF header.
 * False, and *out 1, where there is none or the block is broken: never a failure. *out is 1..8, and
 * 1 also where what the block says makes no sense.
 */
bool brim_exif_find_orientation(const uint8_t *exif, size_t bytes, uint8_t *out);

#endif /* BRIM_IMAGE_EXIF_H */
