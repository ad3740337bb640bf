/*
 * source.h - where rows come from. A row is one picture to be done: a key that names it for ever
 * and a path that leads to its bytes. A source is an iterator; it opens no picture.
 *
 * Threads: a source belongs to one thread at a time; its counts may be read from any.
 */
#ifndef BRIM_SOURCE_SOURCE_H
#define BRIM_SOURCE_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/row.h"
#include "brimful/memory.h"
#include "brimful/status.h"

/* What a source passed over. */
typedef struct brim_source_counts {
    atomic_uint_fast64_t n_skipped;    /* files that are no pictures by their name */
    atomic_uint_fast64_t n_incomplete; /* folders or lists that could not be read to their end */
} brim_source_counts;

typedef struct brim_source brim_source;

struct brim_source_ops {
    brim_status (*next)(brim_source *self, brim_row **out, brim_error *err);
    void (*close)(brim_source *self);
};

struct brim_source {
    const struct brim_source_ops *ops;
    brim_source_counts counts;
    bool may_repeat; /* the same key may come twice: lists, or several inputs */
};

typedef struct brim_source_options {
    const char *const *inputs; /* files, folders, @lists, null:COUNT[:WxH] */
    size_t n_inputs;
    const char *root; /* NULL, or: keys of files are relative to it, relative lines start there */
    bool nul_lists;   /* lists end their lines with NUL instead of newline */
    bool counting;    /* only counts rows: says nothing, leaves standard input alone */
    const brim_log *log;
    const atomic_bool *stop; /* set: do not wait for input any longer; may be NULL */
} brim_source_options;

/*
 * All inputs, one after the other. An input that is not there, and a root that does not lead to
 * one, fail here. options and what they point to must outlive the source.
 */
brim_status brim_source_open(const brim_alloc *mem, const brim_source_options *options,
                             brim_source **out, brim_error *err);

/* One folder, recursively; name is the prefix of its keys ("" for none), path where it is. */
brim_status brim_source_open_folder(const brim_alloc *mem, const char *name, const char *path,
                                    const brim_source_options *options, brim_source **out,
                                    brim_error *err);

/* The lines of a list ("-": standard input). base is the absolute folder of its relative lines. */
brim_status brim_source_open_list(const brim_alloc *mem, const char *path, const char *base,
                                  const brim_source_options *options, brim_source **out,
                                  brim_error *err);

/* A list that is not a plain file gives its lines once: there is nothing in it to count ahead. */
bool brim_source_list_is_countable(const char *path);

/* Rows without files: see null.h. */
brim_status brim_source_open_null(const brim_alloc *mem, const char *input, brim_source **out,
                                  brim_error *err);

/*
 * The next row, the caller's to destroy; BRIM_END after the last. A folder that cannot be read is
 * warned about and counted, not an error.
 */
static inline brim_status brim_source_next(brim_source *source, brim_row **out, brim_error *err)
{
    return source->ops->next(source, out, err);
}

/* Accepts NULL. */
static inline void brim_source_close(brim_source *source)
{
    if (source) source->ops->close(source);
}

#endif /* BRIM_SOURCE_SOURCE_H */
