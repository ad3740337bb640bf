/*
 * vips_picture.h - a picture that libvips decodes, as rows of RGB: what its formats share.
 *
 * Rows are fetched in strips of a few, on the caller's thread alone.
 */
#ifndef BRIM_IMAGE_VIPS_PICTURE_H
#define BRIM_IMAGE_VIPS_PICTURE_H

#include "image/decoder.h"
#include "image/samples.h"
#include "image/vips_library.h"

/* How a format is called for: in libvips and in words. */
typedef struct brim_vips_kind {
    const char *name;   /* "TIFF" */
    const char *what;   /* "a TIFF picture" */
    const char *loader; /* "tiffload_buffer" */
    size_t load_at;     /* of the function in brim_vips */
} brim_vips_kind;

/*
 * Reads the header by libvips; *out is to be given to vips->unref(). BRIM_E_FORMAT "truncated TIFF"
 * or "broken TIFF: ...".
 */
brim_status brim_vips_open_image(const brim_vips *vips, const brim_vips_kind *kind,
                                 const brim_encoded *file, brim_vips_image **out, brim_error *err);

/* The samples of an opened image; BRIM_E_UNSUPPORTED where they are of a kind not read here. */
brim_status brim_vips_sample_type(const brim_vips *vips, const brim_vips_kind *kind,
                                  const brim_vips_image *image, brim_sample_type *out,
                                  brim_error *err);

/*
 * Beside what the loader keeps, an open picture takes this: libvips's objects, its cache of the
 * rows last read (pixel_bytes each pixel, in blocks of block_height rows, twice while they grow),
 * strips on their way. Saturates.
 */
size_t brim_vips_pipeline_bytes(const brim_image_info *info, size_t pixel_bytes,
                                size_t block_height);

/* Beside that, past the library: the decoder itself. */
size_t brim_vips_decoder_bytes(void);

/*
 * A decoder over an opened image, which becomes its own also on failure. Its rows must be as
 * samples says: found otherwise, BRIM_E_FORMAT.
 */
brim_status brim_vips_decoder_open(const brim_alloc *mem, const brim_vips *vips,
                                   const brim_vips_kind *kind, const brim_encoded *file,
                                   const brim_image_info *info, const brim_samples *samples,
                                   brim_vips_image *image, brim_decoder **out, brim_error *err);

/* As brim_format has them. */
brim_status brim_vips_next_row(brim_decoder *decoder, uint8_t *rgb, brim_error *err);
void brim_vips_read_profile(brim_decoder *decoder, const brim_encoded *file, const brim_alloc *mem,
                            void **out, size_t *bytes);
void brim_vips_close(brim_decoder *decoder);

#endif /* BRIM_IMAGE_VIPS_PICTURE_H */
