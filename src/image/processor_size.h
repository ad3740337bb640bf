/* processor_size.h - how large a picture becomes, and where in the tensor its pixels go. */
#ifndef BRIM_IMAGE_PROCESSOR_SIZE_H
#define BRIM_IMAGE_PROCESSOR_SIZE_H

#include "image/processor_config.h"
#include "image/reader.h"

/* All upright. */
typedef struct brim_placement {
    brim_resample_spec spec;
    uint32_t left, top;     /* the resampled window's corner in the tensor */
    uint32_t inner_width;   /* of the crop: around the window it is crop_fill */
    uint32_t inner_height;  /* at the tensor's upper left; the rest is 0 */
    uint32_t width, height; /* of the tensor, or of what is cut into patches */
    uint32_t side;          /* of the square that is resized, where it is padded to one */
} brim_placement;

/*
 * Plans a picture's way. BRIM_E_ARG where nothing would be left of it, it does not fit into what it
 * is padded to, or sizes overflow.
 */
brim_status brim_placement_plan(const brim_processor_config *config, brim_resample_order order,
                                const brim_image_info *info, brim_placement *out, brim_error *err);

#endif /* BRIM_IMAGE_PROCESSOR_SIZE_H */
