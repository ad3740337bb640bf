/*
 * null.c - rows without files. Their keys are the INPUT as written with a number behind it, so a
 * run that was interrupted finds the same ones again.
 */
#include "source/null.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "source/source.h"

#define PREFIX "null:"

enum {
    DEFAULT_SIDE = 224,
    MAX_SIDE = 65535,
    KEY_DIGITS = 7, /* at least */
    KEY_BYTES = 128,
};

static const uint64_t MAX_COUNT = 1000000000000;

typedef struct null_source {
    brim_source base; /* first: a brim_source pointer is a pointer to us */
    const brim_alloc *mem;
    brim_null_spec spec;
    uint64_t at; /* rows given so far */
    char name[KEY_BYTES / 2];
} null_source;

/* ---- The INPUT ---- */

/* A whole number of 1 to most without leading zeros, at *text, which is moved behind it. */
static bool read_number(const char **text, uint64_t most, uint64_t *out)
{
    uint64_t number = 0;

    if (**text < '1' || **text > '9') return false;
    while (**text >= '0' && **text <= '9') {
        number = number * 10 + (uint64_t)(*(*text)++ - '0');
        if (number > most) return false;
    }
    *out = number;
    return true;
}

static bool read_spec(const char *text, brim_null_spec *out)
{
    uint64_t width = DEFAULT_SIDE, height = DEFAULT_SIDE;

    if (!read_number(&text, MAX_COUNT, &out->count)) return false;
    if (*text == ':') {
        text++;
        if (!read_number(&text, MAX_SIDE, &width) || *text != 'x') return false;
        text++;
        if (!read_number(&text, MAX_SIDE, &height)) return false;
    }
    out->width = (uint32_t)width;
    out->height = (uint32_t)height;
    return *text == '\0';
}

bool brim_null_is_input(const char *input)
{
    return strncmp(input, PREFIX, strlen(PREFIX)) == 0;
}

brim_status brim_null_read(const char *input, brim_null_spec *out, brim_error *err)
{
    *out = (brim_null_spec){0};
    if (read_spec(input + strlen(PREFIX), out)) return BRIM_OK;
    *out = (brim_null_spec){0};
    return brim_fail(err, BRIM_E_ARG,
                     "%s: not null:COUNT or null:COUNT:WxH, as null:1000:640x480"
                     " (at most %" PRIu64 " of %dx%d)",
                     input, MAX_COUNT, MAX_SIDE, MAX_SIDE);
}

/* ---- The source ---- */

static brim_status null_source_next(brim_source *base, brim_row **out, brim_error *err)
{
    null_source *self = (null_source *)base;
    char key[KEY_BYTES];

    *out = NULL;
    if (self->at == self->spec.count) return BRIM_END;
    snprintf(key, sizeof(key), "%s/%0*" PRIu64, self->name, KEY_DIGITS, self->at + 1);
    brim_status status = brim_row_create(self->mem, key, key, out);
    if (status != BRIM_OK) return brim_fail(err, status, "%s: no memory for its row", key);
    (*out)->null_width = self->spec.width;
    (*out)->null_height = self->spec.height;
    self->at++;
    return BRIM_OK;
}

static void null_source_close(brim_source *base)
{
    null_source *self = (null_source *)base;

    brim_alloc_release(self->mem, self, sizeof(*self));
}

static const struct brim_source_ops NULL_SOURCE_OPS = {
    .next = null_source_next,
    .close = null_source_close,
};

brim_status brim_source_open_null(const brim_alloc *mem, const char *input, brim_source **out,
                                  brim_error *err)
{
    brim_null_spec spec;

    *out = NULL;
    brim_status status = brim_null_read(input, &spec, err);
    if (status != BRIM_OK) return status;
    null_source *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "%s: no memory to count it", input);
    self->base.ops = &NULL_SOURCE_OPS;
    self->mem = mem;
    self->spec = spec;
    snprintf(self->name, sizeof(self->name), "%s", input); /* a few digits: it fits */
    *out = &self->base;
    return BRIM_OK;
}
