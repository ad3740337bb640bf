/* fail.h - writes the words of a failure where the caller wants them. */
#ifndef BRIM_BASE_FAIL_H
#define BRIM_BASE_FAIL_H

#include "brimful/status.h"

/* Fills err (may be NULL) and returns status, so that `return brim_fail(...)` reads as one act. */
brim_status brim_fail(brim_error *err, brim_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* BRIM_BASE_FAIL_H */
