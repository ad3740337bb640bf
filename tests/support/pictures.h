/* pictures.h - small real pictures for tests that need files, not content. */
#ifndef PICTURES_H
#define PICTURES_H

#include <png.h>
#include <stdlib.h>
#include <string.h>

/* A PNG of one colour; grey levels tell pictures apart. */
static inline void write_grey_png(const char *path, unsigned width, unsigned height,
                                  unsigned char grey)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height};
    unsigned char *pixels = malloc((size_t)width * height);

    image.format = PNG_FORMAT_GRAY;
    memset(pixels, grey, (size_t)width * height);
    if (!png_image_write_to_file(&image, path, 0, pixels, 0, NULL)) abort();
    free(pixels);
}

#endif /* PICTURES_H */
