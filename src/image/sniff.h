/* sniff.h - names for bytes that no decoder here reads. */
#ifndef BRIM_IMAGE_SNIFF_H
#define BRIM_IMAGE_SNIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the bytes look like, such as "a GIF picture" or "HTML"; NULL where nothing is recognised.
 * *is_picture says whether that is a picture of any kind. Static.
 */
const char *brim_sniff(const uint8_t *data, size_t bytes, bool *is_picture);

#endif /* BRIM_IMAGE_SNIFF_H */
