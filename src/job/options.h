/* options.h - what callers ask for, checked, with the defaults filled in. */
#ifndef BRIM_JOB_OPTIONS_H
#define BRIM_JOB_OPTIONS_H

#include "brimful/job.h"

enum { BRIM_MAX_BATCH = 65536 };

/*
 * Copies what the caller filled in. BRIM_E_ARG names what is out of range. Nothing is opened yet,
 * so a misspelt file is not told here.
 */
brim_status brim_options_take(brim_embed_options *to, const brim_embed_options *from,
                              brim_error *err);

#endif /* BRIM_JOB_OPTIONS_H */
