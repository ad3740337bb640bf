/* processor_classes.h - what each class of Hugging Face image processor does unless it is told. */
#ifndef BRIM_IMAGE_PROCESSOR_CLASSES_H
#define BRIM_IMAGE_PROCESSOR_CLASSES_H

#include "image/processor_config.h"

typedef struct brim_processor_class {
    const char *name;      /* "CLIP"; NULL ends the table */
    bool is_supported;     /* its steps are the plain ones */
    bool number_is_square; /* a size that is a number: both sides, or the shorter one */
    brim_processor_config defaults;
} brim_processor_class;

/* The class of an image_processor_type or feature_extractor_type; NULL where it is not known. */
const brim_processor_class *brim_processor_class_find(const char *type);

#endif /* BRIM_IMAGE_PROCESSOR_CLASSES_H */
