/*
 * fail.c - statuses and the words that go with them.
 *
 * Every message goes through brim_escape_line(): names of files and words of libraries are in them.
 */
#include "base/fail.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

brim_status brim_fail(brim_error *err, brim_status status, const char *fmt, ...)
{
    if (err) {
        char words[sizeof(err->message)];

        va_list args;
        va_start(args, fmt);
        vsnprintf(words, sizeof(words), fmt, args);
        va_end(args);
        brim_escape_line(words, err->message, sizeof(err->message));
        err->status = status;
    }
    return status;
}

const char *brim_status_name(brim_status status)
{
    switch (status) {
    case BRIM_OK:
        return "ok";
    case BRIM_END:
        return "end";
    case BRIM_E_ARG:
        return "argument";
    case BRIM_E_NOMEM:
        return "out of memory";
    case BRIM_E_BUDGET:
        return "budget";
    case BRIM_E_IO:
        return "input/output";
    case BRIM_E_FORMAT:
        return "format";
    case BRIM_E_UNSUPPORTED:
        return "unsupported";
    case BRIM_E_BUSY:
        return "busy";
    case BRIM_E_TIMEOUT:
        return "timeout";
    case BRIM_E_STOPPED:
        return "stopped";
    case BRIM_E_RUNTIME:
        return "runtime";
    }
    return "unknown";
}
