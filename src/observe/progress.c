/* progress.c - one line that says how far a run has come. */
#include "brimful/observe.h"

#include "base/line.h"

/* 1234567 as 1,234,567 */
static void add_count(brim_line *to, uint64_t n)
{
    if (n >= 1000) {
        add_count(to, n / 1000);
        brim_line_add(to, ",%03u", (unsigned)(n % 1000));
    } else {
        brim_line_add(to, "%u", (unsigned)n);
    }
}

static void add_duration(brim_line *to, double seconds)
{
    uint64_t s = (uint64_t)(seconds + 0.5);

    if (s >= 86400)
        brim_line_add(to, "%llu d %llu h", (unsigned long long)(s / 86400),
                      (unsigned long long)(s / 3600 % 24));
    else if (s >= 3600)
        brim_line_add(to, "%llu h %02llu min", (unsigned long long)(s / 3600),
                      (unsigned long long)(s / 60 % 60));
    else if (s >= 60)
        brim_line_add(to, "%llu min %02llu s", (unsigned long long)(s / 60),
                      (unsigned long long)(s % 60));
    else
        brim_line_add(to, "%llu s", (unsigned long long)s);
}

size_t brim_progress_line(const brim_progress *p, char *out, size_t capacity)
{
    uint64_t passed = p->n_done + p->n_failed + p->n_already + p->n_failed_earlier + p->n_repeats;

    if (capacity == 0) return 0;
    brim_line to = brim_line_begin(out, capacity);
    add_count(&to, passed);
    if (p->n_total > 0) {
        brim_line_add(&to, " of ");
        add_count(&to, p->n_total > passed ? p->n_total : passed);
    }
    brim_line_add(&to, " rows");
    if (p->rows_per_s > 0)
        brim_line_add(&to, ", %.*f rows/s", p->rows_per_s < 100 ? 1 : 0, p->rows_per_s);
    brim_line_add(&to, ", ");
    add_count(&to, p->n_failed);
    brim_line_add(&to, " failed");
    if (p->left_s >= 0) {
        brim_line_add(&to, ", ");
        add_duration(&to, p->left_s);
        brim_line_add(&to, " left");
    }
    return to.length;
}
