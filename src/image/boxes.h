/*
 * boxes.h - the boxes that HEIF, AVIF, JPEG XL and JPEG 2000 files are made of.
 */
#ifndef BRIM_IMAGE_BOXES_H
#define BRIM_IMAGE_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct brim_box {
    char name[4];
    const uint8_t *data; /* behind its header */
    size_t bytes;        /* that are there */
    bool complete;       /* false where the file ends inside it */
} brim_box;

/*
 * The box at *at, which moves behind it. False where none begins: at the end, or where what stands
 * there is no box.
 */
bool brim_box_next(const uint8_t *data, size_t bytes, size_t *at, brim_box *out);

/* Does the file end inside one of its boxes? What trails the last one is no matter. */
bool brim_boxes_are_cut(const uint8_t *data, size_t bytes);

/* Does the first box say that the file is of this brand, alone or among others? */
bool brim_box_has_brand(const uint8_t *data, size_t bytes, const char *brand);

/* What the codecs of a HEIF or AVIF file are set up for, the most of all pictures in it. */
typedef struct brim_heif_facts {
    uint32_t bits;    /* of a sample; 0 where nothing tells */
    bool full_chroma; /* as many chroma samples as pixels */
} brim_heif_facts;

brim_heif_facts brim_heif_read_facts(const uint8_t *data, size_t bytes);

#endif /* BRIM_IMAGE_BOXES_H */
