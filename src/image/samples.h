/*
 * samples.h - samples of any kind become 8-bit RGB as Pillow's convert("RGB") has it.
 *
 * Which of a picture's bands show, and how, is settled once from what its header says; then rows
 * are converted, each by itself.
 */
#ifndef BRIM_IMAGE_SAMPLES_H
#define BRIM_IMAGE_SAMPLES_H

#include "image/reader.h"

typedef enum brim_sample_type {
    BRIM_SAMPLE_U8,
    BRIM_SAMPLE_U16,
    BRIM_SAMPLE_S16,
    BRIM_SAMPLE_S32, /* unsigned ones of 32 bits too: Pillow has no others */
    BRIM_SAMPLE_F32,
} brim_sample_type;

typedef enum brim_colour {
    BRIM_COLOUR_GREY,
    BRIM_COLOUR_RGB,
    BRIM_COLOUR_CMYK,
    BRIM_COLOUR_YCBCR,
    BRIM_COLOUR_BANDS, /* measurements, of which none is a colour */
} brim_colour;

/* What a header says of a pixel. */
typedef struct brim_pixel {
    brim_sample_type type;
    brim_colour colour;
    uint32_t n_bands;  /* all of them */
    uint32_t n_alphas; /* of them opacities */
    uint32_t alpha;    /* the band, from 0, that libvips divided the colours by; 0 = by none */
} brim_pixel;

typedef struct brim_samples {
    brim_pixel pixel;
    brim_colour colour; /* of what is taken: chosen bands are RGB */
    bool clamp;
    uint32_t from[3]; /* the bands, from 0, that become R, G and B */
    uint16_t ignored_bands;
} brim_samples;

/* Of one sample. */
size_t brim_sample_bytes(brim_sample_type type);

/*
 * Settles how pixels are read. BRIM_E_UNSUPPORTED says what to do where there are several bands and
 * nothing tells which to show ("5 bands, uint16: choose three with --bands 1,2,3"); chosen bands
 * that are not there are BRIM_E_ARG.
 */
brim_status brim_samples_settle(const brim_pixel *pixel, const brim_reader_options *options,
                                brim_samples *out, brim_error *err);

/* A row of n pixels in the machine's own byte order, aligned for its samples. */
void brim_samples_to_rgb(const brim_samples *samples, const void *row, uint8_t *rgb, size_t n);

#endif /* BRIM_IMAGE_SAMPLES_H */
