/* onnx.h - a session on ONNX Runtime, on the CPU. */
#ifndef BRIM_SESSION_ONNX_H
#define BRIM_SESSION_ONNX_H

#include "session/session.h"

typedef struct brim_onnx_options {
    const char *path;    /* the .onnx file; data files lie beside it */
    uint32_t n_threads;  /* for one run, at least 1 */
    const char *layer;   /* output wanted; NULL = the first of image_embeds, embedding,
                            pooler_output, last_hidden_state that the model has */
    brim_budget *budget; /* with an arena: runs take their memory from it. NULL: from the heap */
    const brim_log *log; /* the runtime's own warnings go here as details, for the session's life */
} brim_onnx_options;

/*
 * Loads a model with one image input (a 4-D float input with 3 channels; every other input is an
 * error that names it). Failures name the file and say what to do: not a model, a git-LFS pointer,
 * no image input, layer unknown (lists those that exist), no layer that looks like an embedding
 * (same).
 */
brim_status brim_session_open_onnx(const brim_alloc *mem, const brim_onnx_options *options,
                                   brim_session **out, brim_error *err);

#endif /* BRIM_SESSION_ONNX_H */
