/*
 * status.h - how every call says whether it worked.
 *
 * A function returns a brim_status: 0, or negative for a failure, or BRIM_END where an iterator is
 * finished. The words go into an optional brim_error that the caller owns; it holds no pointers, so
 * it can be copied, kept, and travel from thread to thread with the image it belongs to.
 */
#ifndef BRIMFUL_STATUS_H
#define BRIMFUL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define BRIM_API __attribute__((visibility("default")))

/* Every options struct opens with struct_bytes; this fills it and zeroes the rest. */
#define BRIM_OPTIONS(T) ((T){.struct_bytes = sizeof(T)})

typedef enum brim_status {
    BRIM_OK = 0,
    BRIM_END = 1,            /* an iterator is finished; not an error */
    BRIM_E_ARG = -1,         /* the caller, or a file the caller named, asks for the impossible */
    BRIM_E_NOMEM = -2,       /* the system refused memory: stop */
    BRIM_E_BUDGET = -3,      /* would not fit the budget: shrink the batch, or wait */
    BRIM_E_IO = -4,          /* reading or writing failed */
    BRIM_E_FORMAT = -5,      /* bytes are not what they claim to be */
    BRIM_E_UNSUPPORTED = -6, /* well formed, but beyond this build */
    BRIM_E_BUSY = -7,        /* somebody else is at it */
    BRIM_E_TIMEOUT = -8,     /* no answer in time */
    BRIM_E_STOPPED = -9,     /* ended because the user asked for it */
    BRIM_E_RUNTIME = -10,    /* the model runtime reported a failure */
} brim_status;

typedef struct brim_error {
    brim_status status;
    char message[500]; /* one line, ends in NUL, always valid to print; cut at a whole character */
} brim_error;

/* A short name for a status, such as "budget"; never NULL. */
BRIM_API const char *brim_status_name(brim_status status);

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_STATUS_H */
