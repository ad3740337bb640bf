/* processor_classes.h - what each class of Hugging Face image processor does unless it is told. */
#ifndef BRIM_IMAGE_PROCESSOR_CLASSES_H
#define BRIM_IMAGE_PROCESSOR_CLASSES_H

#include "image/processor_config.h"

/* What a class does besides resize, crop, rescale and normalise; sets of kinds are or'ed. */
typedef enum brim_class_kind {
    BRIM_CLASS_REFUSED = 0,
    BRIM_CLASS_PLAIN = 1,
    BRIM_CLASS_UNKNOWN = 2,   /* not in the table: taken as plain */
    BRIM_CLASS_DETECTION = 4, /* both edges, an old max_size, padding */
    BRIM_CLASS_YOLOS = 8,
    BRIM_CLASS_CONVNEXT = 16, /* crop_pct */
    BRIM_CLASS_EFFICIENTNET = 32,
    BRIM_CLASS_OWLVIT = 64,
    BRIM_CLASS_OWLV2 = 128,
    BRIM_CLASS_PATCHES = 256,
} brim_class_kind;

typedef struct brim_processor_class {
    const char *name;      /* "CLIP"; NULL ends the table */
    brim_class_kind kind;  /* one of them */
    bool number_is_square; /* a size that is a number: both sides, or the shorter one */
    brim_processor_config defaults;
} brim_processor_class;

/* The class of an image_processor_type or feature_extractor_type; NULL where it is not known. */
const brim_processor_class *brim_processor_class_find(const char *type);

#endif /* BRIM_IMAGE_PROCESSOR_CLASSES_H */
