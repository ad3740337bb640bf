/*
 * spool.h - pixels of pictures that were set aside, kept on disk so that they hold no memory.
 *
 * One unlinked file, made when it is first needed. It is cut to nothing when its last picture has
 * been taken out.
 *
 * Threads: one at a time (the model's).
 */
#ifndef BRIM_PIPELINE_SPOOL_H
#define BRIM_PIPELINE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "brimful/status.h"

typedef struct brim_spool {
    const char *folder; /* borrowed; NULL = $TMPDIR or /tmp */
    int fd;             /* -1: no file yet */
    int64_t end;
    size_t n_kept;
} brim_spool;

void brim_spool_init(brim_spool *spool, const char *folder);
void brim_spool_fini(brim_spool *spool);

/* *at is where they are. BRIM_E_IO: no room, or no file can be made there. */
brim_status brim_spool_put(brim_spool *spool, const void *data, size_t bytes, int64_t *at,
                           brim_error *err);

/* Takes them out again, once. */
brim_status brim_spool_take(brim_spool *spool, int64_t at, void *data, size_t bytes,
                            brim_error *err);

#endif /* BRIM_PIPELINE_SPOOL_H */
