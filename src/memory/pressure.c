/* pressure.c - counters of the process and of the machine. */
#include "memory/pressure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/system.h"

enum {
    VMSTAT_BYTES = 16384,
    MANY_PAGES = 64, /* less comes of mapped libraries and of neighbours */
};

static const double LONG_STALL_FRAC = 0.05; /* of the stretch */

/* The total of the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=123". */
static uint64_t read_stalls(const char *root)
{
    static const char MARK[] = "total=";
    char text[256];

    if (!brim_system_read(root, "/proc/pressure/memory", text, sizeof(text))) return 0;
    if (strncmp(text, "some ", 5) != 0) return 0;
    const char *found = strstr(text, MARK);
    return found ? strtoull(found + sizeof(MARK) - 1, NULL, 10) : 0;
}

brim_pressure brim_pressure_now(const char *root)
{
    brim_pressure now = {.stalled_us = read_stalls(root)};
    char text[VMSTAT_BYTES];
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_majflt > 0)
        now.n_major_faults = (uint64_t)usage.ru_majflt;
    if (brim_system_read(root, "/proc/vmstat", text, sizeof(text)))
        brim_system_find_number(text, "pswpin", &now.n_swapped_in);
    return now;
}

static uint64_t rise(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

bool brim_pressure_rose(const brim_pressure *before, const brim_pressure *after, double seconds)
{
    double stalled_s = (double)rise(before->stalled_us, after->stalled_us) / 1e6;

    return rise(before->n_major_faults, after->n_major_faults) > MANY_PAGES ||
           rise(before->n_swapped_in, after->n_swapped_in) > MANY_PAGES ||
           stalled_s > LONG_STALL_FRAC * seconds;
}
