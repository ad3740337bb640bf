/* report.h - what reports and plans tell in the same way. */
#ifndef BRIM_JOB_REPORT_H
#define BRIM_JOB_REPORT_H

#include <jansson.h>

#include "base/line.h"
#include "brimful/job.h"

/* Into all, behind what is there: the ladder, the stages, ... False where memory is short, or all
 * is NULL. */
bool brim_report_add_work(json_t *all, const brim_work *work);

/* Writes all, which may be NULL, and frees it. Never cut: BRIM_E_ARG and "" where capacity is
 * short, BRIM_E_NOMEM where all is NULL. */
brim_status brim_report_write_json(json_t *all, char *out, size_t capacity);

/* As brim_report_limit_line() says it. */
void brim_report_add_limit(brim_line *to, const brim_work *work);

#endif /* BRIM_JOB_REPORT_H */
