/*
 * processor.h - from a picture to a model's input, as preprocessor_config.json says.
 *
 * The steps are those of the Hugging Face image processors, in their order: orientation, convert to
 * RGB, resize, centre crop, rescale, normalise. Everything streams: scanlines go in, the finished
 * planes come out straight into the caller's slot of the batch tensor, and neither the picture nor
 * its resized form ever exists as a whole.
 *
 * Threads: a processor is immutable after opening; any number of threads may apply it.
 */
#ifndef BRIM_IMAGE_PROCESSOR_H
#define BRIM_IMAGE_PROCESSOR_H

#include "base/log.h"
#include "image/reader.h"

typedef struct brim_processor brim_processor;

/*
 * Reads preprocessor_config.json (old forms with numbers for sizes and new ones). Unknown keys are
 * warned about once; an impossible value is BRIM_E_ARG and names the file and the key.
 */
brim_status brim_processor_open(const brim_alloc *mem, const char *path, const brim_log *log,
                                brim_processor **out, brim_error *err);

/* The same from the text of such a file, which messages call name. */
brim_status brim_processor_parse(const brim_alloc *mem, const char *text, size_t bytes,
                                 const char *name, const brim_log *log, brim_processor **out,
                                 brim_error *err);

/* Accepts NULL. */
void brim_processor_close(brim_processor *processor);

/*
 * What tells this processor from another, as one line of JSON with sorted keys, every default
 * filled in; for the identity of a result set. Valid while the processor lives.
 */
const char *brim_processor_identity(const brim_processor *processor);

/* The tensor (3, *out_height, *out_width) that a picture becomes. BRIM_E_ARG where it would be
 * empty. */
brim_status brim_processor_shape(const brim_processor *processor, const brim_image_info *info,
                                 uint32_t *out_height, uint32_t *out_width, brim_error *err);

/*
 * Bytes that applying the processor to such a picture takes from its allocator, rows and
 * coefficients of the resampler; add info->scratch_bytes for the decoder. BRIM_E_ARG on overflow.
 */
brim_status brim_processor_scratch_bytes(const brim_processor *processor,
                                         const brim_image_info *info, size_t *out_bytes,
                                         brim_error *err);

/*
 * Reads all rows and writes 3 x height x width floats (planes R, G, B) into slot, for the shape
 * that brim_processor_shape() gave. On failure the slot's content is undefined.
 */
brim_status brim_processor_apply(const brim_processor *processor, const brim_alloc *scratch,
                                 brim_reader *reader, float *slot, brim_error *err);

#endif /* BRIM_IMAGE_PROCESSOR_H */
