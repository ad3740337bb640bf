/* identity.h - what tells one set from another: the model's bytes and the settings. */
#ifndef BRIM_JOB_IDENTITY_H
#define BRIM_JOB_IDENTITY_H

#include "base/hash.h"
#include "store/store.h"

/*
 * The fingerprint of a model: its .onnx file and the data files beside it that it names. Files
 * whose size and time the store remembers are not read again.
 */
brim_status brim_identify_model(brim_store *store, const char *onnx, char out[BRIM_HASH_BYTES],
                                brim_error *err);

#endif /* BRIM_JOB_IDENTITY_H */
