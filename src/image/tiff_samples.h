/* tiff_samples.h - from what a TIFF's header says to how its samples become RGB. */
#ifndef BRIM_IMAGE_TIFF_SAMPLES_H
#define BRIM_IMAGE_TIFF_SAMPLES_H

#include "image/samples.h"
#include "image/tiff_header.h"

/* BRIM_E_UNSUPPORTED names samples, colours or bands that are not read here. */
brim_status brim_tiff_settle(const brim_tiff_header *header, const brim_reader_options *options,
                             brim_samples *out, brim_error *err);

/* All of info but what decoding will take. */
void brim_tiff_describe(const brim_tiff_header *header, const brim_samples *samples,
                        brim_image_info *info);

#endif /* BRIM_IMAGE_TIFF_SAMPLES_H */
