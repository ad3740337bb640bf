/*
 * onnx_runtime.h - ONNX Runtime's environment, and its failures in our words.
 *
 * The environment is process-wide by the runtime's own nature (a second one is the first one again,
 * with the first one's logger), hence one of the named exceptions to "no global state": it is made
 * with the first session and counted.
 *
 * Threads: any; a mutex guards making and ending.
 */
#ifndef BRIM_SESSION_ONNX_RUNTIME_H
#define BRIM_SESSION_ONNX_RUNTIME_H

#include <onnxruntime_c_api.h>

#include "brimful/status.h"

/* On success *api and *env serve until brim_onnx_runtime_release(), to be called once for each. */
brim_status brim_onnx_runtime_acquire(const OrtApi **api, OrtEnv **env, brim_error *err);
void brim_onnx_runtime_release(void);

/*
 * Frees failure (may be NULL: BRIM_OK) and puts its words, in one line, behind "what: ". A lack of
 * memory is BRIM_E_BUDGET, all else `otherwise`.
 */
brim_status brim_onnx_runtime_fail(const OrtApi *api, OrtStatus *failure, brim_status otherwise,
                                   const char *what, brim_error *err);

/* Copies text into line, at most bytes - 1 of it, with a space for each run of control characters.
 */
void brim_onnx_runtime_flatten(char *line, size_t bytes, const char *text);

#endif /* BRIM_SESSION_ONNX_RUNTIME_H */
