/*
 * decoder.h - what a format has to offer to be read: inside the module only.
 *
 * Probing looks at the bytes and takes no memory; only open() starts the library behind the format,
 * and that is put off until the first row is asked for.
 */
#ifndef BRIM_IMAGE_DECODER_H
#define BRIM_IMAGE_DECODER_H

#include "image/reader.h"

typedef struct brim_decoder brim_decoder;

typedef struct brim_format {
    const char *name;

    /* Do the bytes begin as this format does? */
    bool (*matches)(const uint8_t *data, size_t bytes);

    /* Fills in info, all but the format's name, from the header alone. */
    brim_status (*probe)(const uint8_t *data, size_t bytes, brim_image_info *info, brim_error *err);

    /* Starts decoding what probe saw. data and info outlive the decoder. On failure *out is NULL.
     */
    brim_status (*open)(const brim_alloc *mem, const uint8_t *data, size_t bytes,
                        const brim_image_info *info, brim_decoder **out, brim_error *err);

    /* As brim_reader_next_row(); not called again after anything but BRIM_OK. */
    brim_status (*next_row)(brim_decoder *decoder, uint8_t *rgb, brim_error *err);

    /* Accepts NULL. */
    void (*close)(brim_decoder *decoder);
} brim_format;

extern const brim_format brim_format_jpeg;
extern const brim_format brim_format_png;
extern const brim_format brim_format_webp;

#endif /* BRIM_IMAGE_DECODER_H */
