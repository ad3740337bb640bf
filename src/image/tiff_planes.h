/* tiff_planes.h - TIFFs of many bands in separate planes, read without libvips. */
#ifndef BRIM_IMAGE_TIFF_PLANES_H
#define BRIM_IMAGE_TIFF_PLANES_H

#include "image/decoder.h"

/* The format that reads this TIFF where it is such a one; NULL for libvips. */
const brim_format *brim_tiff_planes_variant(const brim_encoded *file);

extern const brim_format brim_format_tiff_planes;

#endif /* BRIM_IMAGE_TIFF_PLANES_H */
