/* fail.c - statuses and the words that go with them. */
#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A cut in the middle of a UTF-8 character would make the line invalid: step back to its start. */
static void end_at_whole_character(char *text, size_t capacity, int wanted)
{
    if (wanted < 0 || (size_t)wanted < capacity) return;

    size_t end = capacity - 1;
    size_t start = end;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0) return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (length > 1 && start - 1 + length > end) text[start - 1] = '\0';
}

brim_status brim_fail(brim_error *err, brim_status status, const char *fmt, ...)
{
    if (err) {
        va_list args;
        va_start(args, fmt);
        int wanted = vsnprintf(err->message, sizeof(err->message), fmt, args);
        va_end(args);
        end_at_whole_character(err->message, sizeof(err->message), wanted);
        err->status = status;
    }
    return status;
}

brim_status brim_fail_in(brim_error *err, brim_status status, const char *fmt, ...)
{
    if (err) {
        char before[sizeof(err->message)];
        char rest[sizeof(err->message)];

        va_list args;
        va_start(args, fmt);
        vsnprintf(before, sizeof(before), fmt, args);
        va_end(args);
        memcpy(rest, err->message, sizeof(rest));
        brim_fail(err, status, "%s: %s", before, rest);
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
