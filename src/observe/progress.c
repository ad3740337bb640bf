/* progress.c - one line that says how far a run has come. */
#include "brimful/observe.h"

#include "base/line.h"

size_t brim_progress_line(const brim_progress *p, char *out, size_t capacity)
{
    uint64_t passed = p->n_done + p->n_failed + p->n_already + p->n_failed_earlier + p->n_repeats;

    if (capacity == 0) return 0;
    brim_line to = brim_line_begin(out, capacity);
    brim_line_add_count(&to, passed);
    if (p->n_total > 0) {
        brim_line_add(&to, " of ");
        brim_line_add_count(&to, p->n_total > passed ? p->n_total : passed);
    }
    brim_line_add(&to, " rows");
    if (p->rows_per_s > 0)
        brim_line_add(&to, ", %.*f rows/s", p->rows_per_s < 100 ? 1 : 0, p->rows_per_s);
    brim_line_add(&to, ", ");
    brim_line_add_count(&to, p->n_failed);
    brim_line_add(&to, " failed");
    if (p->left_s >= 0) {
        brim_line_add(&to, ", ");
        brim_line_add_duration(&to, p->left_s);
        brim_line_add(&to, " left");
    }
    return to.length;
}
