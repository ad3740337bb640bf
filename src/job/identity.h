/* identity.h - what tells one model from another, and how large it is. */
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

/*
 * The size of a model's .onnx file and the data files that it names; 0 where it cannot be read.
 * Counting ends once the sum is above enough_bytes, so that little of a giant is looked at.
 */
uint64_t brim_model_bytes(const char *onnx, uint64_t enough_bytes);

#endif /* BRIM_JOB_IDENTITY_H */
