/* processor_timm.h - timm's config.json, which describes a model and its pictures in one. */
#ifndef BRIM_IMAGE_PROCESSOR_TIMM_H
#define BRIM_IMAGE_PROCESSOR_TIMM_H

#include "image/config_json.h"
#include "image/processor_config.h"

/* True where root holds pretrained_cfg or data_config, or an architecture and its input_size. */
bool brim_timm_config_is(const json_t *root);

/* Fills in *out with what timm's evaluation transform does; f->root is such a root. */
brim_status brim_timm_config_read(const brim_config_file *f, brim_processor_config *out);

#endif /* BRIM_IMAGE_PROCESSOR_TIMM_H */
