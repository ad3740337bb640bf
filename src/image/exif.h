/* exif.h - the one thing a picture's EXIF block is asked here: which way is up. */
#ifndef BRIM_IMAGE_EXIF_H
#define BRIM_IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/*
 * The orientation, 1..8, in an EXIF block with or without "Exif\0\0" before its TIFF header. 1
 * where there is none, where it is out of range or where the block is broken: never a failure.
 */
uint8_t brim_exif_orientation(const uint8_t *exif, size_t bytes);

#endif /* BRIM_IMAGE_EXIF_H */
