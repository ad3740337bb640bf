/*
 * icc.h - from the colours of an embedded profile to sRGB, for those who ask for it.
 *
 * Threads: a transform belongs to one thread at a time.
 */
#ifndef BRIM_IMAGE_ICC_H
#define BRIM_IMAGE_ICC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/memory.h"

typedef struct brim_icc brim_icc;

/* A profile beyond this is passed over. */
enum { BRIM_ICC_MAX_PROFILE_BYTES = 1 << 20 };

/*
 * What a transform takes of the heap, little cms's share included, from above: of a table of 8-bit
 * colours, which it widens and copies, twelve times its size.
 */
enum { BRIM_ICC_BYTES = 14 * BRIM_ICC_MAX_PROFILE_BYTES };

/*
 * A transform from the profile (bytes of it) to sRGB, by the profile's perceptual intent, as
 * Pillow's ImageCms has it. NULL where there is nothing to do: no profile, a broken one, one of
 * grey where the picture is not, or of other colours than RGB and grey (a CMYK picture has become
 * RGB without its profile by then). A broken profile is not a broken picture.
 */
brim_icc *brim_icc_open(const void *profile, size_t bytes, bool grey_picture);

/* n pixels of 8-bit RGB, in place. */
void brim_icc_apply(brim_icc *icc, uint8_t *rgb, size_t n);

/* Accepts NULL. */
void brim_icc_close(brim_icc *icc);

#endif /* BRIM_IMAGE_ICC_H */
