/* processor_keys.h - what is done about each key of a preprocessor_config.json. */
#ifndef BRIM_IMAGE_PROCESSOR_KEYS_H
#define BRIM_IMAGE_PROCESSOR_KEYS_H

#include "image/config_json.h"
#include "image/processor_classes.h"

/* True where a key belongs to image processors: a file of another kind would pass for one that
 * leaves pictures as they are. */
bool brim_processor_keys_known(const json_t *root);

/* BRIM_E_UNSUPPORTED for what such a class cannot do; keys that are not known are warned about. */
brim_status brim_processor_keys_check(const brim_config_file *f, brim_class_kind kind);

#endif /* BRIM_IMAGE_PROCESSOR_KEYS_H */
