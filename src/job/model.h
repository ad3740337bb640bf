/*
 * model.h - what a job runs: a model's files with the processor that they ask for and a session on
 * ONNX Runtime, or a simulated device with stubs for pictures.
 *
 * Threads: opened and closed by the job's; the rest is as each part says.
 */
#ifndef BRIM_JOB_MODEL_H
#define BRIM_JOB_MODEL_H

#include "base/hash.h"
#include "brimful/job.h"
#include "image/processor.h"
#include "session/model_files.h"
#include "session/session.h"
#include "store/store.h"
#include "task/task.h"

typedef struct brim_model {
    bool is_simulated;
    brim_model_files files; /* zero where it is simulated */
    brim_processor *processor;
    brim_session *session;
    brim_task task;
} brim_model;

/* Is it "sim:FILE"? device may be NULL. */
bool brim_device_is_simulated(const char *device);

/*
 * Opens what options name, which brim_embed_check_device() has passed. A simulated device takes
 * options->memory_bytes for its ceiling, a model's runs take their memory from the budget. On
 * failure model is zero.
 */
brim_status brim_model_open(const brim_alloc *mem, const brim_embed_options *options,
                            brim_budget *budget, brim_model *model, brim_error *err);

/* Zeroes model; a zero one is fine. */
void brim_model_close(brim_model *model);

/* As the set is named. Lives as long as the model. */
const char *brim_model_name(const brim_model *model);

/* Its fingerprint. That of simulated devices is one: what they are changes no result. */
brim_status brim_model_identify(const brim_model *model, brim_store *store,
                                char out[BRIM_HASH_BYTES], brim_error *err);

/* Bytes of a picture's slot, or 0 where pictures become tensors of several shapes. */
size_t brim_model_slot_bytes(const brim_model *model);

#endif /* BRIM_JOB_MODEL_H */
