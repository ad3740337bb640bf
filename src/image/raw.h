/* raw.h - cameras' raw files, which are known and refused: their first picture is a thumbnail. */
#ifndef BRIM_IMAGE_RAW_H
#define BRIM_IMAGE_RAW_H

#include <stddef.h>

#include "brimful/status.h"

/* BRIM_E_UNSUPPORTED, in words that say what to do; kind is "DNG" or the like. */
brim_status brim_raw_refuse(const char *kind, brim_error *err);

/* The kind of raw file that cameras of this make write as a TIFF, or NULL. */
const char *brim_raw_of_maker(const char *make, size_t length);

#endif /* BRIM_IMAGE_RAW_H */
