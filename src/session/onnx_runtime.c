/* onnx_runtime.c - ONNX Runtime's environment, and its failures in our words. */
#include "session/onnx_runtime.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "session/onnx_memory.h"

static struct {
    pthread_mutex_t lock; /* guards all below */
    size_t n_users;
    const OrtApi *api;
    OrtEnv *env;
} RUNTIME = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Sessions log through a function of their own; what the runtime says outside of them is dropped.
 */
static void ORT_API_CALL drop_words(void *param, OrtLoggingLevel level, const char *category,
                                    const char *log_id, const char *location, const char *message)
{
    (void)param, (void)level, (void)category, (void)log_id, (void)location, (void)message;
}

/*
 * The wheel's library writes a device's number into the home folder and sends what it runs on to
 * its maker, from the moment its environment is made: DisableTelemetryEvents() alone comes too
 * late.
 */
static void forbid_telemetry(void)
{
    setenv("ORT_DISABLE_TELEMETRY", "1", 0);
}

/* The allocator is unregistered after its last user is gone. */
static void end_environment(const OrtApi *api)
{
    api->ReleaseEnv(RUNTIME.env);
    RUNTIME.env = NULL;
    brim_onnx_memory_unregister(api);
}

/* Called with the lock held. */
static brim_status make_environment(brim_error *err)
{
    const OrtApi *api = OrtGetApiBase()->GetApi(ORT_API_VERSION);

    if (!api)
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "ONNX Runtime %s is too old: interface %d is needed",
                         OrtGetApiBase()->GetVersionString(), ORT_API_VERSION);

    forbid_telemetry();
    OrtStatus *failure = api->CreateEnvWithCustomLogger(drop_words, NULL, ORT_LOGGING_LEVEL_ERROR,
                                                        "brimful", &RUNTIME.env);
    if (failure) return brim_onnx_runtime_fail(api, failure, BRIM_E_RUNTIME, "ONNX Runtime", err);
    api->ReleaseStatus(api->DisableTelemetryEvents(RUNTIME.env));
    failure = brim_onnx_memory_register(api, RUNTIME.env);
    if (failure) {
        end_environment(api);
        return brim_onnx_runtime_fail(api, failure, BRIM_E_RUNTIME, "ONNX Runtime", err);
    }
    RUNTIME.api = api;
    return BRIM_OK;
}

brim_status brim_onnx_runtime_acquire(const OrtApi **api, OrtEnv **env, brim_error *err)
{
    brim_status status = BRIM_OK;

    pthread_mutex_lock(&RUNTIME.lock);
    if (RUNTIME.n_users == 0) status = make_environment(err);
    if (status == BRIM_OK) RUNTIME.n_users++;
    *api = RUNTIME.api;
    *env = RUNTIME.env;
    pthread_mutex_unlock(&RUNTIME.lock);
    return status;
}

void brim_onnx_runtime_release(void)
{
    pthread_mutex_lock(&RUNTIME.lock);
    if (--RUNTIME.n_users == 0) {
        end_environment(RUNTIME.api);
        RUNTIME.api = NULL;
    }
    pthread_mutex_unlock(&RUNTIME.lock);
}

void brim_onnx_runtime_flatten(char *line, size_t bytes, const char *text)
{
    size_t n = 0;

    for (; *text && n + 1 < bytes; text++) {
        bool is_control = (unsigned char)*text < 0x20 || *text == 0x7F;
        if (!is_control)
            line[n++] = *text;
        else if (n > 0 && line[n - 1] != ' ')
            line[n++] = ' ';
    }
    while (n > 0 && line[n - 1] == ' ')
        n--;
    line[n] = '\0';
}

/* "Load model from PATH failed:" says nothing that our own words do not say. */
static const char *without_preface(const char *words)
{
    const char *end = strstr(words, " failed:");
    return strncmp(words, "Load model from ", 16) == 0 && end ? end + 8 : words;
}

/* The runtime has no code of its own for this: it passes on what its allocators throw. */
static bool speaks_of_memory(const char *words)
{
    return strstr(words, "bad_alloc") || strstr(words, "Failed to allocate memory") ||
           strstr(words, "out of memory") || strstr(words, "Available memory of");
}

brim_status brim_onnx_runtime_fail(const OrtApi *api, OrtStatus *failure, brim_status otherwise,
                                   const char *what, brim_error *err)
{
    char words[sizeof(err->message)];

    if (!failure) return BRIM_OK;
    brim_onnx_runtime_flatten(words, sizeof(words), without_preface(api->GetErrorMessage(failure)));
    api->ReleaseStatus(failure);
    if (speaks_of_memory(words))
        return brim_fail(err, BRIM_E_BUDGET, "%s: not enough memory: %s", what, words);
    return brim_fail(err, otherwise, "%s: %s", what, words);
}
