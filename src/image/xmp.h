/* xmp.h - the one thing a picture's XMP packet is asked here: which way is up. */
#ifndef BRIM_IMAGE_XMP_H
#define BRIM_IMAGE_XMP_H

#include <stddef.h>
#include <stdint.h>

/*
 * tiff:Orientation, 1..8, found where Pillow finds it: in the first place where the packet writes
 * it as an attribute in double quotes or as an element. 1 where there is none or it makes no sense.
 */
uint8_t brim_xmp_orientation(const uint8_t *xmp, size_t bytes);

/*
 * What a picture with both has: the EXIF block's word where it has one, else the XMP packet's.
 * Either may be NULL with 0 bytes.
 */
uint8_t brim_orientation_of(const uint8_t *exif, size_t exif_bytes, const uint8_t *xmp,
                            size_t xmp_bytes);

#endif /* BRIM_IMAGE_XMP_H */
