/*
 * vips_library.h - libvips, opened the first time that a picture needs it.
 *
 * It is neither linked nor needed to build: the few functions used are declared here, from its
 * public interface. Its start costs 29 MiB and up to 0.1 s, once in a process, and no picture's
 * prediction has that in it: see brim_vips_start_bytes().
 *
 * What it does by itself is held down: one thread, no cache of operations, no words on stderr, and
 * none of its loaders but those for TIFF, HEIF, JPEG XL and JPEG 2000 gets at bytes from strangers.
 *
 * Threads: any.
 */
#ifndef BRIM_IMAGE_VIPS_LIBRARY_H
#define BRIM_IMAGE_VIPS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

/* A VipsImage and a VipsRegion: GObjects, held by unref(). */
typedef struct brim_vips_image brim_vips_image;
typedef struct brim_vips_region brim_vips_region;

/* A VipsBandFormat. */
typedef enum brim_vips_format {
    BRIM_VIPS_U8 = 0,
    BRIM_VIPS_S8 = 1,
    BRIM_VIPS_U16 = 2,
    BRIM_VIPS_S16 = 3,
    BRIM_VIPS_U32 = 4,
    BRIM_VIPS_S32 = 5,
    BRIM_VIPS_F32 = 6,
    BRIM_VIPS_F64 = 8,
} brim_vips_format;

/* A vips_XXXload_buffer(): names and values follow *out, then NULL; not 0 is a failure. */
typedef int (*brim_vips_loader)(void *data, size_t bytes, brim_vips_image **out, ...);

/* A VipsSource over a descriptor, which it takes a duplicate of; a GObject too. */
typedef struct brim_vips_source brim_vips_source;

typedef struct brim_vips {
    brim_vips_loader load_tiff;
    int (*load_tiff_source)(brim_vips_source *source, brim_vips_image **out, ...);
    brim_vips_source *(*source_new)(int fd);
    brim_vips_loader load_heif;
    brim_vips_loader load_jxl;
    brim_vips_loader load_jp2k;
    int (*image_get_width)(const brim_vips_image *image);
    int (*image_get_height)(const brim_vips_image *image);
    int (*image_get_bands)(const brim_vips_image *image);
    int (*image_get_format)(const brim_vips_image *image); /* a brim_vips_format, or another */
    int (*image_get_interpretation)(const brim_vips_image *image);
    unsigned long (*image_get_typeof)(const brim_vips_image *image, const char *name);
    int (*image_get_blob)(const brim_vips_image *image, const char *name, const void **out,
                          size_t *bytes); /* of the image's */
    int (*image_get_int)(const brim_vips_image *image, const char *name, int *out);
    brim_vips_region *(*region_new)(brim_vips_image *image);
    /* The pixels of a rectangle, to be given to release(); NULL on failure. */
    uint8_t *(*region_fetch)(brim_vips_region *region, int left, int top, int width, int height,
                             size_t *out_bytes);
    unsigned long (*type_find)(const char *base, const char *nickname); /* 0: there is none */
    char *(*error_buffer_copy)(void); /* what went wrong, taken away; to be given to release() */
    void (*thread_shutdown)(void);    /* gives up what libvips keeps for the calling thread */
    void (*unref)(void *object);
    void (*release)(void *memory);
} brim_vips;

/* What starting it will take, measured and rounded up; 0 once that was tried. */
size_t brim_vips_start_bytes(void);

/* False: there is none, or it does not start. */
bool brim_vips_start(void);

/*
 * *out lives as long as the process. Where there is no libvips, or one without that loader
 * ("tiffload_buffer"), BRIM_E_UNSUPPORTED "a TIFF picture: needs libvips, ..."; `what` is the
 * beginning of those words.
 */
brim_status brim_vips_open(const char *what, const char *loader, const brim_vips **out,
                           brim_error *err);

/*
 * The words for a failure of libvips: the last line of what it said, those before it being how it
 * came there. It keeps one text for all threads, so where several fail at once one may get the
 * other's words, or none.
 */
void brim_vips_words(const brim_vips *vips, char *out, size_t capacity);

#endif /* BRIM_IMAGE_VIPS_LIBRARY_H */
