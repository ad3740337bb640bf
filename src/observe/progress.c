/* progress.c - one line that says how far a run has come. */
#include <stdarg.h>
#include <stdio.h>

#include "brimful/observe.h"

typedef struct line {
    char *out;
    size_t capacity, length;
} line;

__attribute__((format(printf, 2, 3))) static void add(line *to, const char *fmt, ...)
{
    va_list args;

    if (to->length + 1 >= to->capacity) return;
    va_start(args, fmt);
    int n = vsnprintf(to->out + to->length, to->capacity - to->length, fmt, args);
    va_end(args);
    if (n < 0) return;
    to->length += (size_t)n;
    if (to->length >= to->capacity) to->length = to->capacity - 1;
}

/* 1234567 as 1,234,567 */
static void add_count(line *to, uint64_t n)
{
    if (n >= 1000) {
        add_count(to, n / 1000);
        add(to, ",%03u", (unsigned)(n % 1000));
    } else {
        add(to, "%u", (unsigned)n);
    }
}

static void add_duration(line *to, double seconds)
{
    uint64_t s = (uint64_t)(seconds + 0.5);

    if (s >= 86400)
        add(to, "%llu d %llu h", (unsigned long long)(s / 86400),
            (unsigned long long)(s / 3600 % 24));
    else if (s >= 3600)
        add(to, "%llu h %02llu min", (unsigned long long)(s / 3600),
            (unsigned long long)(s / 60 % 60));
    else if (s >= 60)
        add(to, "%llu min %02llu s", (unsigned long long)(s / 60), (unsigned long long)(s % 60));
    else
        add(to, "%llu s", (unsigned long long)s);
}

size_t brim_progress_line(const brim_progress *p, char *out, size_t capacity)
{
    line to = {out, capacity, 0};
    uint64_t passed = p->n_done + p->n_failed + p->n_already + p->n_failed_earlier + p->n_repeats;

    if (capacity == 0) return 0;
    out[0] = '\0';
    add_count(&to, passed);
    if (p->n_total > 0) {
        add(&to, " of ");
        add_count(&to, p->n_total > passed ? p->n_total : passed);
    }
    add(&to, " rows");
    if (p->rows_per_s > 0) add(&to, ", %.*f rows/s", p->rows_per_s < 100 ? 1 : 0, p->rows_per_s);
    add(&to, ", ");
    add_count(&to, p->n_failed);
    add(&to, " failed");
    if (p->left_s >= 0) {
        add(&to, ", ");
        add_duration(&to, p->left_s);
        add(&to, " left");
    }
    return to.length;
}
