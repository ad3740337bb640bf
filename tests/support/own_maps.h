/*
 * own_maps.h - what the kernel says of this process's mappings and resident pages. Takes no memory
 * of its own, so it works at the limit of mappings too.
 */
#ifndef OWN_MAPS_H
#define OWN_MAPS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls line(ctx, text) for each line of a file of any length; false where it cannot be read. */
static inline bool own_lines(const char *path, void (*line)(void *ctx, char *text), void *ctx)
{
    static char buffer[1 << 16];
    size_t have = 0;
    ssize_t got;

    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    while ((got = read(file, buffer + have, sizeof(buffer) - 1 - have)) > 0) {
        char *at = buffer, *end;
        have += (size_t)got;
        buffer[have] = '\0';
        for (; (end = strchr(at, '\n')); at = end + 1) {
            *end = '\0';
            line(ctx, at);
        }
        have = (size_t)(buffer + have - at);
        memmove(buffer, at, have);
    }
    close(file);
    return got == 0;
}

typedef struct own_range {
    uintptr_t low, high;
    uintptr_t reached;   /* mapped without a gap from low up to here */
    size_t n_mappings;   /* that touch the range */
    size_t resident_kib; /* of those mappings */
    size_t huge_kib;     /* of them, in huge pages */
    size_t n_unwanted;   /* mappings without the wish for huge pages */
    bool is_inside;
} own_range;

static inline void own_range_line(void *ctx, char *text)
{
    own_range *range = ctx;
    char *dash;
    uintptr_t low = strtoul(text, &dash, 16);

    if (*dash == '-' && dash > text) {
        uintptr_t high = strtoul(dash + 1, NULL, 16);
        range->is_inside = high > range->low && low < range->high;
        if (!range->is_inside) return;
        range->n_mappings++;
        if (low <= range->reached && high > range->reached) range->reached = high;
    } else if (range->is_inside && strncmp(text, "Rss:", 4) == 0) {
        range->resident_kib += strtoul(text + 4, NULL, 10);
    } else if (range->is_inside && strncmp(text, "AnonHugePages:", 14) == 0) {
        range->huge_kib += strtoul(text + 14, NULL, 10);
    } else if (range->is_inside && strncmp(text, "VmFlags:", 8) == 0) {
        range->n_unwanted += strstr(text, " hg") == NULL;
    }
}

/* With details resident and huge pages are counted too, which is slower. */
static inline own_range own_range_now(const void *at, size_t bytes, bool with_details)
{
    own_range range = {.low = (uintptr_t)at, .high = (uintptr_t)at + bytes};

    range.reached = range.low;
    if (!own_lines(with_details ? "/proc/self/smaps" : "/proc/self/maps", own_range_line, &range))
        range.reached = 0;
    return range;
}

/* Is every byte of the range mapped? */
static inline bool own_range_is_whole(const void *at, size_t bytes)
{
    own_range range = own_range_now(at, bytes, false);
    return range.reached >= range.high;
}

static inline void own_resident_line(void *ctx, char *text)
{
    char *size_end;

    strtoul(text, &size_end, 10);
    *(size_t *)ctx = strtoul(size_end, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static inline size_t own_resident_bytes(void)
{
    size_t bytes = 0;

    own_lines("/proc/self/statm", own_resident_line, &bytes);
    return bytes;
}

#endif /* OWN_MAPS_H */
