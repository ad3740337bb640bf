/*
 * onnx.c - a session on ONNX Runtime, on the CPU.
 *
 * The caller's pixels are wrapped, not copied, and of the outputs only the chosen layer is asked
 * for: it stays the runtime's own and is lent. Only float16 on either side costs a conversion.
 */
#include "session/onnx.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/half.h"
#include "base/size.h"
#include "session/onnx_memory.h"
#include "session/onnx_ports.h"
#include "session/onnx_runtime.h"

#define LFS_START "version https://git-lfs"

enum { BATCH = 0, HEIGHT = 2, WIDTH = 3, N_IMAGE_DIMS = 4, N_CHANNELS = 3 };

typedef struct onnx_session {
    brim_session base; /* first: a brim_session pointer is a pointer to us */
    const brim_alloc *mem;
    const brim_alloc *tensors; /* of batches in another format */
    brim_log log;
    char *path;          /* for words */
    brim_budget *budget; /* NULL: none, or not yet added to the runtime's */
    const OrtApi *api;   /* NULL: the runtime is not held */
    OrtSession *session;
    OrtMemoryInfo *host;
    brim_onnx_ports inputs;
    brim_onnx_ports outputs; /* base.layers are these */

    /* The loan. */
    OrtValue *result;
    float *wide; /* a float16 result as floats */
    size_t wide_bytes;
} onnx_session;

static void ORT_API_CALL log_words(void *param, OrtLoggingLevel level, const char *category,
                                   const char *log_id, const char *location, const char *message)
{
    const onnx_session *self = param;
    char line[800];

    (void)level, (void)category, (void)log_id, (void)location;
    brim_onnx_runtime_flatten(line, sizeof(line), message);
    brim_log_write(&self->log, BRIM_LOG_DETAIL, "ONNX Runtime: %s", line);
}

/* ---- Loading ---- */

/* What the runtime would only call "Protobuf parsing failed", or hang on. */
static brim_status check_file(const char *path, brim_error *err)
{
    char start[sizeof(LFS_START) - 1];
    struct stat st;

    if (stat(path, &st) != 0) return brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return brim_fail(err, BRIM_E_ARG, "%s: not a file", path);
    if (st.st_size == 0) return brim_fail(err, BRIM_E_FORMAT, "%s: the file is empty", path);

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(errno));
    ssize_t n = read(fd, start, sizeof(start));
    int why = errno;
    close(fd);
    if (n < 0) return brim_fail(err, BRIM_E_IO, "%s: %s", path, strerror(why));
    if (n == (ssize_t)sizeof(start) && memcmp(start, LFS_START, sizeof(start)) == 0)
        return brim_fail(err, BRIM_E_FORMAT,
                         "%s: only a git-LFS pointer; fetch the file itself: git lfs pull", path);
    return BRIM_OK;
}

/* A data file beside the model, of the names exporters give it, that was never fetched. */
static brim_status check_data_file(const char *path, brim_error *err)
{
    static const char *const ENDS[] = {"_data", ".data"};
    brim_status status = BRIM_OK;

    for (size_t i = 0; i < 2 && status == BRIM_OK; i++) {
        char data[PATH_MAX];
        struct stat st;
        snprintf(data, sizeof(data), "%s%s", path, ENDS[i]);
        if (stat(data, &st) == 0) status = check_file(data, err);
    }
    return status;
}

/* The runtime has too few codes: what its words are about decides. */
static brim_status kind_of_load_failure(OrtErrorCode code, const char *words)
{
    if (strstr(words, "External ")) return BRIM_E_IO;
    if (code == ORT_NOT_IMPLEMENTED || strstr(words, "No Op registered") ||
        strstr(words, "opset") || strstr(words, "not a registered function/op"))
        return BRIM_E_UNSUPPORTED;
    return code == ORT_INVALID_GRAPH ? BRIM_E_FORMAT : BRIM_E_RUNTIME;
}

static brim_status fail_to_load(const onnx_session *self, OrtStatus *failure, brim_error *err)
{
    OrtErrorCode code = self->api->GetErrorCode(failure);
    char words[sizeof(err->message)];

    brim_status status = check_data_file(self->path, err);
    if (status == BRIM_OK && code == ORT_INVALID_PROTOBUF)
        status = brim_fail(err, BRIM_E_FORMAT, "%s: not an ONNX model, or cut short", self->path);
    if (status != BRIM_OK) {
        self->api->ReleaseStatus(failure);
        return status;
    }
    brim_onnx_runtime_flatten(words, sizeof(words), self->api->GetErrorMessage(failure));
    status = kind_of_load_failure(code, words);
    status = brim_onnx_runtime_fail(self->api, failure, status, self->path, err);
    if (status == BRIM_E_IO)
        return brim_fail(err, status, "%s: its data file is missing or cut short: %s", self->path,
                         words);
    return status;
}

/*
 * Also where the system refused: a smaller batch may be what it can still give. What is needed is
 * the least that it can be: what was held, with the first block that was refused; whole pages are
 * not counted in it, hence at least a little more than the limit.
 */
static brim_status fail_for_memory(const onnx_session *self, const char *what,
                                   const brim_onnx_call *call, brim_error *err)
{
    if (!self->budget || call->needed_bytes == 0 || call->refusal == BRIM_E_NOMEM)
        return brim_fail(err, BRIM_E_BUDGET, "%s needs %zu MiB more than the system gives", what,
                         brim_mib_up(call->asked_bytes));
    size_t limit_mib = brim_budget_limit_bytes(self->budget) >> 20;
    size_t needed_mib = brim_mib_up(call->needed_bytes);
    return brim_fail(err, BRIM_E_BUDGET, "%s needs %zu MiB, limit %zu MiB (--memory)", what,
                     needed_mib > limit_mib ? needed_mib : limit_mib + 1, limit_mib);
}

static OrtStatus *set_options(const onnx_session *self, OrtSessionOptions *options,
                              uint32_t n_threads)
{
    const OrtApi *api = self->api;

    OrtStatus *failure = api->SetSessionExecutionMode(options, ORT_SEQUENTIAL);
    /* Given a number of threads and no affinities, the runtime pins none of them to a CPU. */
    if (!failure) failure = api->SetIntraOpNumThreads(options, (int)n_threads);
    if (!failure) failure = api->SetInterOpNumThreads(options, 1);
    if (!failure) failure = api->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL);
    /* One remembered plan a shape costs a fifth more at the peak, and no run is quicker with it. */
    if (!failure) failure = api->DisableMemPattern(options);
    if (!failure) failure = api->AddSessionConfigEntry(options, "session.use_env_allocators", "1");
    /* Decoding wants the cores that waiting threads would burn. */
    if (!failure)
        failure = api->AddSessionConfigEntry(options, "session.intra_op.allow_spinning", "0");
    if (!failure)
        failure = api->AddSessionConfigEntry(options, "session.inter_op.allow_spinning", "0");
    if (!failure) failure = api->SetUserLoggingFunction(options, log_words, (void *)self);
    if (!failure) failure = api->SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_WARNING);
    return failure;
}

/* The runtime's threads are born here: with every signal blocked, as all of our own are. */
static OrtStatus *create_session(onnx_session *self, const OrtEnv *env,
                                 const OrtSessionOptions *options, brim_onnx_call *call)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* Weights stay as long as the session and never move: in the arena each would hold whole pages.
     */
    brim_onnx_memory_enter(NULL);
    OrtStatus *failure = self->api->CreateSession(env, self->path, options, &self->session);
    *call = brim_onnx_memory_leave();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

static brim_status load(onnx_session *self, const OrtEnv *env, uint32_t n_threads, brim_error *err)
{
    const OrtApi *api = self->api;
    OrtSessionOptions *options = NULL;
    brim_onnx_call call = {0};

    brim_status status = check_file(self->path, err);
    if (status != BRIM_OK) return status;
    OrtStatus *failure = api->CreateSessionOptions(&options);
    if (!failure) failure = set_options(self, options, n_threads);
    if (!failure)
        failure = api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &self->host);
    if (failure) {
        status = brim_onnx_runtime_fail(api, failure, BRIM_E_RUNTIME, "ONNX Runtime", err);
    } else {
        failure = create_session(self, env, options, &call);
        if (failure && call.refusal != BRIM_OK) {
            char loading[PATH_MAX + 16];
            snprintf(loading, sizeof(loading), "%s: loading it", self->path);
            api->ReleaseStatus(failure);
            status = fail_for_memory(self, loading, &call, err);
        } else if (failure) {
            status = fail_to_load(self, failure, err);
        }
    }
    api->ReleaseSessionOptions(options);
    return status;
}

/* ---- Running ---- */

static void onnx_session_give_back(brim_session *base)
{
    onnx_session *self = (onnx_session *)base;

    brim_alloc_release(self->tensors, self->wide, self->wide_bytes);
    self->wide = NULL;
    self->wide_bytes = 0;
    if (self->result) self->api->ReleaseValue(self->result);
    self->result = NULL;
}

/* Also undoes a half-finished open: every field is either set or still NULL. */
static void onnx_session_close(brim_session *base)
{
    onnx_session *self = (onnx_session *)base;

    onnx_session_give_back(base);
    brim_onnx_ports_fini(&self->inputs);
    brim_onnx_ports_fini(&self->outputs);
    if (self->session) self->api->ReleaseSession(self->session);
    if (self->host) self->api->ReleaseMemoryInfo(self->host);
    if (self->budget) brim_onnx_memory_remove(self->budget);
    if (self->api) brim_onnx_runtime_release();
    if (self->path) brim_alloc_release(self->mem, self->path, strlen(self->path) + 1);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static brim_status check_shape(const onnx_session *self, size_t n, uint32_t height, uint32_t width,
                               brim_error *err)
{
    const int64_t *dims = self->base.image.dims;

    if (n == 0 || height == 0 || width == 0)
        return brim_fail(err, BRIM_E_ARG, "%s: a batch without pixels", self->path);
    if (dims[BATCH] > 0 && (uint64_t)dims[BATCH] != n)
        return brim_fail(err, BRIM_E_ARG, "%s wants a batch of %" PRId64 ", not of %zu", self->path,
                         dims[BATCH], n);
    if (dims[HEIGHT] >= 0 && dims[HEIGHT] != height)
        return brim_fail(err, BRIM_E_ARG, "%s wants pictures %" PRId64 " pixels high, not %" PRIu32,
                         self->path, dims[HEIGHT], height);
    if (dims[WIDTH] >= 0 && dims[WIDTH] != width)
        return brim_fail(err, BRIM_E_ARG, "%s wants pictures %" PRId64 " pixels wide, not %" PRIu32,
                         self->path, dims[WIDTH], width);
    return BRIM_OK;
}

static brim_status count_bytes(const onnx_session *self, size_t n, uint32_t height, uint32_t width,
                               size_t *bytes)
{
    size_t count;

    brim_status status = brim_mul_bytes(height, width, &count);
    if (status == BRIM_OK) status = brim_mul_bytes(count, N_CHANNELS, &count);
    if (status == BRIM_OK) status = brim_mul_bytes(count, n, &count);
    if (status == BRIM_OK)
        status = brim_mul_bytes(count, brim_dtype_bytes(self->base.image.dtype), bytes);
    return status;
}

static OrtStatus *run_model(onnx_session *self, void *pixels, size_t bytes,
                            const int64_t shape[N_IMAGE_DIMS], brim_onnx_call *call)
{
    const OrtApi *api = self->api;
    const char *input_name = self->base.image.name;
    const char *output_name = self->base.layers[self->base.layer].name;
    ONNXTensorElementDataType type = self->base.image.dtype == BRIM_F16
                                         ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16
                                         : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    OrtValue *input = NULL;

    OrtStatus *failure = api->CreateTensorWithDataAsOrtValue(self->host, pixels, bytes, shape,
                                                             N_IMAGE_DIMS, type, &input);
    if (failure) return failure;
    brim_onnx_memory_enter(self->budget);
    failure = api->Run(self->session, NULL, &input_name, (const OrtValue *const *)&input, 1,
                       &output_name, 1, &self->result);
    *call = brim_onnx_memory_leave();
    self->base.run_peak_bytes = call->peak_bytes;
    api->ReleaseValue(input);
    return failure;
}

static brim_status run_pixels(onnx_session *self, const void *pixels, size_t n, uint32_t height,
                              uint32_t width, brim_error *err)
{
    const int64_t shape[N_IMAGE_DIMS] = {(int64_t)n, N_CHANNELS, height, width};
    brim_onnx_call call = {0};
    size_t bytes;

    if (count_bytes(self, n, height, width, &bytes) != BRIM_OK || n > INT64_MAX)
        return brim_fail(err, BRIM_E_ARG, "%s: too many pixels", self->path);
    OrtStatus *failure = run_model(self, (void *)pixels, bytes, shape, &call);
    if (failure && call.refusal != BRIM_OK) {
        self->api->ReleaseStatus(failure);
        return fail_for_memory(self, "the model", &call, err);
    }
    return brim_onnx_runtime_fail(self->api, failure, BRIM_E_RUNTIME, self->path, err);
}

/* The shape of the result, which may differ from what the model promised when it was loaded. */
static OrtStatus *read_result(const onnx_session *self, brim_output *out,
                              ONNXTensorElementDataType *type, size_t *n_values)
{
    const OrtApi *api = self->api;
    OrtTensorTypeAndShapeInfo *info = NULL;
    int64_t dims[BRIM_MAX_DIMS] = {0};

    OrtStatus *failure = api->GetTensorTypeAndShape(self->result, &info);
    if (!failure) failure = api->GetTensorElementType(info, type);
    if (!failure) failure = api->GetTensorShapeElementCount(info, n_values);
    if (!failure) failure = api->GetDimensionsCount(info, &out->n_dims);
    if (!failure && out->n_dims <= BRIM_MAX_DIMS)
        failure = api->GetDimensions(info, dims, out->n_dims);
    if (!failure) failure = api->GetTensorMutableData(self->result, (void **)&out->data);
    api->ReleaseTensorTypeAndShapeInfo(info);
    for (size_t i = 0; i < BRIM_MAX_DIMS; i++)
        out->dims[i] = (size_t)dims[i];
    return failure;
}

static brim_status widen_result(onnx_session *self, size_t n_values, brim_output *out,
                                brim_error *err)
{
    size_t bytes = n_values * sizeof(float);
    void *wide = NULL;

    if (n_values == 0) return BRIM_OK;
    brim_status status = self->tensors->alloc(self->tensors->ctx, bytes, 0, &wide);
    if (status != BRIM_OK) return brim_fail(err, status, "model: no memory for %zu bytes", bytes);
    self->wide = wide;
    self->wide_bytes = bytes;
    brim_half_to_float(self->wide, (const uint16_t *)out->data, n_values);
    out->data = self->wide;
    return BRIM_OK;
}

static brim_status lend_result(onnx_session *self, size_t n, brim_output *out, brim_error *err)
{
    const char *layer = self->base.layers[self->base.layer].name;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t n_values = 0;

    OrtStatus *failure = read_result(self, out, &type, &n_values);
    if (failure) return brim_onnx_runtime_fail(self->api, failure, BRIM_E_RUNTIME, self->path, err);
    if (out->n_dims == 0 || out->n_dims > BRIM_MAX_DIMS || out->dims[0] != n)
        return brim_fail(err, BRIM_E_RUNTIME, "%s: layer %s does not give one row a picture",
                         self->path, layer);
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return BRIM_OK;
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16)
        return widen_result(self, n_values, out, err);
    return brim_fail(err, BRIM_E_ARG, "%s: layer %s does not hold floats", self->path, layer);
}

static brim_status onnx_session_run(brim_session *base, const void *pixels, size_t n,
                                    uint32_t height, uint32_t width, brim_output *out,
                                    brim_error *err)
{
    onnx_session *self = (onnx_session *)base;

    *out = (brim_output){0};
    onnx_session_give_back(base);
    uint64_t started_ns = brim_now_ns();
    brim_status status = check_shape(self, n, height, width, err);
    if (status == BRIM_OK) status = run_pixels(self, pixels, n, height, width, err);
    base->run_seconds = (double)(brim_now_ns() - started_ns) / 1e9;
    if (status == BRIM_OK) status = lend_result(self, n, out, err);
    if (status != BRIM_OK) {
        onnx_session_give_back(base);
        *out = (brim_output){0};
    }
    return status;
}

static const struct brim_session_ops ONNX_SESSION_OPS = {
    .run = onnx_session_run,
    .give_back = onnx_session_give_back,
    .close = onnx_session_close,
};

/* ---- Opening ---- */

static brim_status inspect(onnx_session *self, const char *layer, brim_error *err)
{
    const brim_port *image = NULL;

    brim_status status = brim_onnx_ports_read(self->mem, self->api, self->session, BRIM_ONNX_INPUTS,
                                              self->path, &self->inputs, err);
    if (status == BRIM_OK)
        status = brim_onnx_ports_read(self->mem, self->api, self->session, BRIM_ONNX_OUTPUTS,
                                      self->path, &self->outputs, err);
    if (status == BRIM_OK)
        status = brim_onnx_ports_find_image(&self->inputs, self->path, &image, err);
    if (status == BRIM_OK)
        status =
            brim_onnx_ports_find_layer(&self->outputs, layer, self->path, &self->base.layer, err);
    if (status != BRIM_OK) return status;
    self->base.image = *image;
    self->base.layers = self->outputs.ports;
    self->base.n_layers = self->outputs.n;
    return BRIM_OK;
}

brim_status brim_session_open_onnx(const brim_alloc *mem, const brim_onnx_options *options,
                                   brim_session **out, brim_error *err)
{
    size_t path_bytes = strlen(options->path) + 1;
    OrtEnv *env = NULL;
    const OrtApi *api = NULL;
    brim_status status;

    *out = NULL;
    if (options->n_threads == 0 || options->n_threads > INT_MAX)
        return brim_fail(err, BRIM_E_ARG, "model: cannot run on %" PRIu32 " threads",
                         options->n_threads);
    onnx_session *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "model: no memory for %zu bytes", sizeof(*self));
    self->base.ops = &ONNX_SESSION_OPS;
    self->mem = self->tensors = mem;
    if (options->log) self->log = *options->log;

    self->path = brim_alloc_zeroed(mem, path_bytes, &status);
    if (!self->path) {
        status = brim_fail(err, status, "model: no memory for %zu bytes", path_bytes);
        goto fail;
    }
    memcpy(self->path, options->path, path_bytes);
    status = brim_onnx_runtime_acquire(&api, &env, err);
    if (status != BRIM_OK) goto fail;
    self->api = api;
    if (options->budget) {
        status = brim_onnx_memory_add(options->budget);
        if (status != BRIM_OK) {
            status =
                brim_fail(err, status, "model: its budget has no arena, or too many are in use");
            goto fail;
        }
        self->budget = options->budget;
        self->tensors = brim_budget_alloc(self->budget, BRIM_ACCOUNT_TENSORS);
    }
    status = load(self, env, options->n_threads, err);
    if (status != BRIM_OK) goto fail;
    status = inspect(self, options->layer, err);
    if (status != BRIM_OK) goto fail;

    *out = &self->base;
    return BRIM_OK;

fail:
    onnx_session_close(&self->base);
    return status;
}
