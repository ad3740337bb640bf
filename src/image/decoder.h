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

/* The bytes of a file, and how they are to be read. */
typedef struct brim_encoded {
    const uint8_t *data; /* all of it; or, where there is a descriptor, the beginning */
    size_t bytes;        /* of the file */
    const brim_reader_options *options; /* not NULL */
    int fd;                             /* the file, only for formats that take it; -1 = none */
    void *frame;                        /* lent for info->frame_bytes; NULL = from the allocator */
} brim_encoded;

typedef struct brim_format {
    const char *name;
    bool needs_libvips;
    bool takes_fd; /* can be read from a descriptor, without the file in memory */

    /* Do the bytes begin as this format does? */
    bool (*matches)(const uint8_t *data, size_t bytes);

    /* Another format that reads this file better; NULL = none. Itself NULL where there never is. */
    const struct brim_format *(*variant)(const brim_encoded *file);

    /* Fills in info from the header alone: all but the format's name, row_width and n_rows. What it
     * leaves alone is orientation 1 and depth 8. */
    brim_status (*probe)(const brim_encoded *file, brim_image_info *info, brim_error *err);

    /* As brim_reader_shrink(): changes row_width, n_rows and the scratch, which is as the probe
     * told it. NULL where it cannot. */
    void (*shrink)(const brim_encoded *file, uint32_t factor, brim_image_info *info);

    /* Starts decoding what probe saw. file and info outlive the decoder. On failure *out is NULL.
     */
    brim_status (*open)(const brim_alloc *mem, const brim_encoded *file,
                        const brim_image_info *info, brim_decoder **out, brim_error *err);

    /* As brim_reader_next_row(); not called again after anything but BRIM_OK. */
    brim_status (*next_row)(brim_decoder *decoder, uint8_t *rgb, brim_error *err);

    /*
     * The embedded colour profile, unpacked, from mem: *out is the caller's, NULL where there is
     * none, where it is broken or cannot be kept. NULL where the format has none. Called after
     * open().
     */
    void (*read_profile)(brim_decoder *decoder, const brim_encoded *file, const brim_alloc *mem,
                         void **out, size_t *bytes);

    /* Accepts NULL. */
    void (*close)(brim_decoder *decoder);
} brim_format;

/* Rows as brim_reader_shrink() says. */
static inline void brim_image_info_shrink(brim_image_info *info, uint32_t factor)
{
    info->row_width = (info->width + factor - 1) / factor;
    info->n_rows = (info->height + factor - 1) / factor;
    info->shrink = (uint8_t)factor;
}

extern const brim_format brim_format_jpeg;
extern const brim_format brim_format_png;
extern const brim_format brim_format_webp;
extern const brim_format brim_format_gif;
extern const brim_format brim_format_bmp;
extern const brim_format brim_format_pnm;
extern const brim_format brim_format_raw;
extern const brim_format brim_format_tiff;
extern const brim_format brim_format_avif;
extern const brim_format brim_format_heic;
extern const brim_format brim_format_jxl;
extern const brim_format brim_format_jp2k;

#endif /* BRIM_IMAGE_DECODER_H */
