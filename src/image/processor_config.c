/*
 * processor_config.c - preprocessor_config.json, old forms and new ones.
 *
 * A key that is missing or null has the value that the class of processor gives it, so the classes
 * are in a table here. Nothing that would change the pixels is passed over: a key is either obeyed,
 * known to be harmless, refused, or warned about.
 *
 * jansson allocates by itself: a few times the size of the file, until parsing is over.
 */
#include "image/processor_config.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"

/* A side beyond this is a mistake in the file. */
#define MAX_SIDE 65535

#define CLIP_MEAN     {0.48145466, 0.4578275, 0.40821073}
#define CLIP_STD      {0.26862954, 0.26130258, 0.27577711}
#define STANDARD      {0.5, 0.5, 0.5}
#define IMAGENET_MEAN {0.485, 0.456, 0.406}
#define IMAGENET_STD  {0.229, 0.224, 0.225}

typedef struct processor_class {
    const char *name;      /* without "ImageProcessor" and the like */
    bool number_is_square; /* a size that is a number: both sides, or the shorter one */
    brim_processor_config defaults;
} processor_class;

#define SQUARE(N) .resize = BRIM_RESIZE_EXACT, .height = (N), .width = (N)
#define SHORT(N)  .resize = BRIM_RESIZE_SHORTEST_EDGE, .shortest_edge = (N)
#define CROP(N)   .do_center_crop = true, .crop_height = (N), .crop_width = (N)
#define VALUES(MEAN, STD)                                                                          \
    .do_rescale = true, .rescale_factor = 1.0 / 255, .do_normalize = true, .mean = MEAN, .std = STD

static const processor_class CLASSES[] = {
    {"CLIP", false, {SHORT(224), CROP(224), BICUBIC, VALUES(CLIP_MEAN, CLIP_STD)}},
};
