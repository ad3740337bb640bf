/* onnx_ports.c - what an ONNX model takes and gives, read once when it is loaded. */
#include "session/onnx_ports.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/size.h"
#include "session/onnx_runtime.h"

enum { BATCH = 0, CHANNELS = 1, WIDTH = 3, N_IMAGE_DIMS = 4 };

static brim_dtype dtype_of(ONNXTensorElementDataType type)
{
    switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
        return BRIM_F32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
        return BRIM_F16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
        return BRIM_I64;
    default:
        return BRIM_DTYPE_OTHER;
    }
}

static const char *dtype_name(brim_dtype dtype)
{
    static const char *const NAMES[] = {"float32", "float16", "int64", "another type"};
    return NAMES[dtype];
}

/* A tensor of too many dimensions, or no tensor at all, keeps the dtype BRIM_DTYPE_OTHER. */
static OrtStatus *read_shape(const OrtApi *api, const OrtTypeInfo *info, brim_port *port)
{
    const OrtTensorTypeAndShapeInfo *tensor = NULL;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t n_dims = 0;

    port->dtype = BRIM_DTYPE_OTHER;
    OrtStatus *failure = api->CastTypeInfoToTensorInfo(info, &tensor);
    if (failure || !tensor) return failure;
    failure = api->GetTensorElementType(tensor, &type);
    if (!failure) failure = api->GetDimensionsCount(tensor, &n_dims);
    if (failure || n_dims > BRIM_MAX_DIMS) return failure;
    failure = api->GetDimensions(tensor, port->dims, n_dims);
    if (failure) return failure;
    port->n_dims = n_dims;
    port->dtype = dtype_of(type);
    return NULL;
}

static OrtStatus *read_port(const OrtApi *api, const OrtSession *session, brim_onnx_side side,
                            size_t i, OrtAllocator *strings, char **name, brim_port *port)
{
    OrtTypeInfo *info = NULL;

    *name = NULL;
    OrtStatus *failure = side == BRIM_ONNX_INPUTS
                             ? api->SessionGetInputName(session, i, strings, name)
                             : api->SessionGetOutputName(session, i, strings, name);
    if (failure) return failure;
    failure = side == BRIM_ONNX_INPUTS ? api->SessionGetInputTypeInfo(session, i, &info)
                                       : api->SessionGetOutputTypeInfo(session, i, &info);
    if (!failure) failure = read_shape(api, info, port);
    api->ReleaseTypeInfo(info);
    return failure;
}

/* theirs: the runtime's copy of the name, given back to it. */
static brim_status keep_name(const brim_alloc *mem, const OrtApi *api, OrtAllocator *strings,
                             char *theirs, brim_port *port, brim_error *err)
{
    size_t bytes = strlen(theirs) + 1;
    void *ours = NULL;

    brim_status status = mem->alloc(mem->ctx, bytes, 1, &ours);
    if (status == BRIM_OK)
        port->name = memcpy(ours, theirs, bytes);
    else
        brim_fail(err, status, "model: no memory for %zu bytes", bytes);
    api->ReleaseStatus(api->AllocatorFree(strings, theirs));
    return status;
}

brim_status brim_onnx_ports_read(const brim_alloc *mem, const OrtApi *api,
                                 const OrtSession *session, brim_onnx_side side, const char *path,
                                 brim_onnx_ports *ports, brim_error *err)
{
    OrtAllocator *strings = NULL;
    size_t n = 0, bytes = 0;
    brim_status status;

    *ports = (brim_onnx_ports){.mem = mem};
    OrtStatus *failure = api->GetAllocatorWithDefaultOptions(&strings);
    if (!failure)
        failure = side == BRIM_ONNX_INPUTS ? api->SessionGetInputCount(session, &n)
                                           : api->SessionGetOutputCount(session, &n);
    if (failure) return brim_onnx_runtime_fail(api, failure, BRIM_E_RUNTIME, path, err);
    if (n == 0) return BRIM_OK;
    if (brim_mul_bytes(n, sizeof(*ports->ports), &bytes) != BRIM_OK)
        return brim_fail(err, BRIM_E_ARG, "%s: %zu inputs or outputs", path, n);

    ports->ports = brim_alloc_zeroed(mem, bytes, &status);
    if (!ports->ports) return brim_fail(err, status, "model: no memory for %zu bytes", bytes);
    ports->n = n;
    for (size_t i = 0; i < n && status == BRIM_OK; i++) {
        char *name;
        failure = read_port(api, session, side, i, strings, &name, &ports->ports[i]);
        if (name) status = keep_name(mem, api, strings, name, &ports->ports[i], err);
        if (failure) status = brim_onnx_runtime_fail(api, failure, BRIM_E_RUNTIME, path, err);
    }
    if (status != BRIM_OK) brim_onnx_ports_fini(ports);
    return status;
}

void brim_onnx_ports_fini(brim_onnx_ports *ports)
{
    for (size_t i = 0; i < ports->n; i++) {
        char *name = (char *)ports->ports[i].name;
        if (name) brim_alloc_release(ports->mem, name, strlen(name) + 1);
    }
    if (ports->ports)
        brim_alloc_release(ports->mem, ports->ports, ports->n * sizeof(*ports->ports));
    *ports = (brim_onnx_ports){0};
}

/* A list for a message; what does not fit is left out. */
typedef struct words {
    char text[600]; /* longer than a message, which is cut at a whole character */
    size_t length;
} words;

__attribute__((format(printf, 2, 3))) static void add_words(words *list, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(list->text + list->length, sizeof(list->text) - list->length, fmt, args);
    va_end(args);
    if (n > 0) list->length += (size_t)n;
    if (list->length >= sizeof(list->text)) list->length = sizeof(list->text) - 1;
}

/* "pixel_values float32 [?, 3, 32, 32], ..." */
static void add_ports(words *list, const brim_onnx_ports *ports)
{
    for (size_t i = 0; i < ports->n; i++) {
        const brim_port *port = &ports->ports[i];
        add_words(list, "%s%s %s [", i ? ", " : "", port->name, dtype_name(port->dtype));
        for (size_t d = 0; d < port->n_dims; d++) {
            if (port->dims[d] < 0)
                add_words(list, "%s?", d ? ", " : "");
            else
                add_words(list, "%s%" PRId64, d ? ", " : "", port->dims[d]);
        }
        add_words(list, "]");
    }
    if (ports->n == 0) add_words(list, "none");
}

static bool is_image(const brim_port *port)
{
    return (port->dtype == BRIM_F32 || port->dtype == BRIM_F16) && port->n_dims == N_IMAGE_DIMS &&
           port->dims[BATCH] != 0 &&
           (port->dims[CHANNELS] == 3 || (port->dims[CHANNELS] < 0 && port->dims[WIDTH] != 3));
}

brim_status brim_onnx_ports_find_image(const brim_onnx_ports *inputs, const char *path,
                                       const brim_port **image, brim_error *err)
{
    words list = {.length = 0};

    *image = NULL;
    for (size_t i = 0; i < inputs->n && !*image; i++)
        if (is_image(&inputs->ports[i])) *image = &inputs->ports[i];

    if (!*image) {
        add_ports(&list, inputs);
        return brim_fail(err, BRIM_E_ARG,
                         "%s: no image input (float [batch, 3, height, width]); its inputs: %s",
                         path, list.text);
    }
    for (size_t i = 0; i < inputs->n; i++)
        if (&inputs->ports[i] != *image)
            add_words(&list, "%s%s", list.length ? ", " : "", inputs->ports[i].name);
    if (!list.length) return BRIM_OK;
    *image = NULL;
    return brim_fail(err, BRIM_E_ARG,
                     "%s wants %s as well: cut out its vision part, vision_model.onnx (README,"
                     " Your own model)",
                     path, list.text);
}

/* ports->n where there is none. */
static size_t find_port(const brim_onnx_ports *ports, const char *name)
{
    size_t i = 0;
    while (i < ports->n && strcmp(ports->ports[i].name, name) != 0)
        i++;
    return i;
}

brim_status brim_onnx_ports_find_layer(const brim_onnx_ports *outputs, const char *name,
                                       const char *path, size_t *layer, brim_error *err)
{
    static const char *const EMBEDDINGS[] = {"image_embeds", "embedding", "pooler_output",
                                             "last_hidden_state"};
    words list = {.length = 0};
    size_t found = outputs->n;

    if (name) found = find_port(outputs, name);
    for (size_t i = 0; !name && i < 4 && found == outputs->n; i++)
        found = find_port(outputs, EMBEDDINGS[i]);

    if (found == outputs->n) {
        add_ports(&list, outputs);
        if (name)
            return brim_fail(err, BRIM_E_ARG, "%s: no layer %s; it has: %s", path, name, list.text);
        return brim_fail(err, BRIM_E_ARG,
                         "%s: no layer that looks like an embedding; choose one with --layer: %s",
                         path, list.text);
    }
    const brim_port *port = &outputs->ports[found];
    if (port->dtype != BRIM_F32 && port->dtype != BRIM_F16)
        return brim_fail(err, BRIM_E_ARG, "%s: layer %s holds %s, not floats", path, port->name,
                         dtype_name(port->dtype));
    *layer = found;
    return BRIM_OK;
}
