/*
 * processor.h - from a picture to a model's input, as preprocessor_config.json says.
 *
 * The steps are those of the Hugging Face image processors, in their order: orientation, convert to
 * RGB, resize, centre crop, rescale, normalise, pad. Everything streams: scanlines go in, the
 * finished planes come out straight into the caller's slot of the batch tensor, and neither the
 * picture nor its resized form ever exists as a whole.
 *
 * Threads: a processor is immutable after opening; any number of threads may apply it.
 */
#ifndef BRIM_IMAGE_PROCESSOR_H
#define BRIM_IMAGE_PROCESSOR_H

#include "base/dtype.h"
#include "base/log.h"
#include "image/reader.h"
#include "image/resample.h"

typedef struct brim_processor brim_processor;

/* What the file does not say. All zero is the default. */
typedef struct brim_processor_options {
    brim_resample_order order;
    const brim_log *log; /* may be NULL */
} brim_processor_options;

/*
 * Reads preprocessor_config.json (old forms with numbers for sizes and new ones) or timm's
 * config.json. Unknown keys are warned about once; an impossible value is BRIM_E_ARG and names the
 * file and the key. options may be NULL and is not kept.
 */
brim_status brim_processor_open(const brim_alloc *mem, const char *path,
                                const brim_processor_options *options, brim_processor **out,
                                brim_error *err);

/* The same from the text of such a file, which messages call name. */
brim_status brim_processor_parse(const brim_alloc *mem, const char *text, size_t bytes,
                                 const char *name, const brim_processor_options *options,
                                 brim_processor **out, brim_error *err);

/* Accepts NULL. */
void brim_processor_close(brim_processor *processor);

/* How a slot is laid out. */
typedef enum brim_processor_layout {
    BRIM_LAYOUT_PLANES,  /* (3, height, width): planes R, G, B */
    BRIM_LAYOUT_PATCHES, /* (max_patches, patch_size x patch_size x 3), for models that take
                            pictures of any shape */
} brim_processor_layout;

brim_processor_layout brim_processor_slot_layout(const brim_processor *processor);

/*
 * What tells this processor from another, as one line of JSON with sorted keys, every default
 * filled in; for the identity of a result set. Valid while the processor lives.
 */
const char *brim_processor_identity(const brim_processor *processor);

/*
 * The tensor (3, *out_height, *out_width) that a picture becomes. BRIM_E_ARG where it would be
 * empty or not fit into what it is padded to; BRIM_E_UNSUPPORTED where the layout is patches.
 */
brim_status brim_processor_shape(const brim_processor *processor, const brim_image_info *info,
                                 uint32_t *out_height, uint32_t *out_width, brim_error *err);

/*
 * How much of that tensor, from its upper left on, is picture and not padding after it: where a
 * pixel mask is 1.
 */
brim_status brim_processor_content(const brim_processor *processor, const brim_image_info *info,
                                   uint32_t *out_height, uint32_t *out_width, brim_error *err);

/*
 * What a picture becomes where the layout is patches. The first n_high x n_wide of max_patches hold
 * it, row after row of them (a model's spatial_shapes), the others are 0 (its mask is 0 for those).
 * A patch is patch_size rows of patch_size pixels R, G, B.
 */
typedef struct brim_patch_grid {
    uint32_t n_high, n_wide;
    uint32_t max_patches, patch_size;
} brim_patch_grid;

/* BRIM_E_UNSUPPORTED where the layout is planes. */
brim_status brim_processor_patches(const brim_processor *processor, const brim_image_info *info,
                                   brim_patch_grid *out, brim_error *err);

/*
 * How much quicker decoding may shrink such a picture (1, 2, 4 or 8, see brim_reader_shrink()): so
 * much that it still has twice the pixels, in either direction, that it is resized to.
 */
uint32_t brim_processor_shrink_factor(const brim_processor *processor, const brim_image_info *info);

/*
 * Bytes that applying the processor to such a picture takes from its allocator, rows and
 * coefficients of the resampler; add info->scratch_bytes for the decoder. BRIM_E_ARG on overflow.
 */
brim_status brim_processor_scratch_bytes(const brim_processor *processor,
                                         const brim_image_info *info, size_t *out_bytes,
                                         brim_error *err);

/*
 * One picture on its way into a slot, for callers that have the rows themselves. info tells what
 * rows come; slot takes the elements, of dtype BRIM_F32 or BRIM_F16, that the layout has for such a
 * picture: see brim_processor_shape() and brim_processor_patches(). On failure *out is NULL.
 */
typedef struct brim_processing brim_processing;

brim_status brim_processing_start(const brim_processor *processor, const brim_alloc *scratch,
                                  const brim_image_info *info, brim_dtype dtype, void *slot,
                                  brim_processing **out, brim_error *err);

/* Where the next stored row is to be written, 3 x row_width bytes; valid until the next push. */
uint8_t *brim_processing_row(brim_processing *processing);

/* The row is there. After info->n_rows of them the slot is finished. */
void brim_processing_push(brim_processing *processing);

/* Accepts NULL. */
void brim_processing_end(brim_processing *processing);

/* All of that with the rows of a reader. On failure the slot's content is undefined. */
brim_status brim_processor_apply(const brim_processor *processor, const brim_alloc *scratch,
                                 brim_reader *reader, brim_dtype dtype, void *slot,
                                 brim_error *err);

#endif /* BRIM_IMAGE_PROCESSOR_H */
