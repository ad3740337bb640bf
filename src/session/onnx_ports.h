/* onnx_ports.h - what an ONNX model takes and gives, read once when it is loaded. */
#ifndef BRIM_SESSION_ONNX_PORTS_H
#define BRIM_SESSION_ONNX_PORTS_H

#include <onnxruntime_c_api.h>

#include "session/session.h"

typedef enum brim_onnx_side { BRIM_ONNX_INPUTS, BRIM_ONNX_OUTPUTS } brim_onnx_side;

/* Inputs or outputs in the model's order; the names are ours. */
typedef struct brim_onnx_ports {
    const brim_alloc *mem;
    brim_port *ports;
    size_t n;
} brim_onnx_ports;

/* path: for words. On failure *ports is zero. */
brim_status brim_onnx_ports_read(const brim_alloc *mem, const OrtApi *api,
                                 const OrtSession *session, brim_onnx_side side, const char *path,
                                 brim_onnx_ports *ports, brim_error *err);

/* Zeroes ports; a zero one is fine. */
void brim_onnx_ports_fini(brim_onnx_ports *ports);

/* The one input of a model of pictures, borrowed from inputs; another input, or none, is an error.
 */
brim_status brim_onnx_ports_find_image(const brim_onnx_ports *inputs, const char *path,
                                       const brim_port **image, brim_error *err);

/* Index of the output called name; NULL: of the one that looks like an embedding (see onnx.h). */
brim_status brim_onnx_ports_find_layer(const brim_onnx_ports *outputs, const char *name,
                                       const char *path, size_t *layer, brim_error *err);

#endif /* BRIM_SESSION_ONNX_PORTS_H */
