/*
 * probe.c - how much memory is free for us: the machine's word, the control group's, and the
 * process's own limit on address space. The least of them counts.
 */
#include "brimful/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/system.h"

enum { TEXT_BYTES = 16384, PATH_BYTES = 4096 + 64 };

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t machine_free(const char *root)
{
    char text[TEXT_BYTES];
    uint64_t kib;

    if (!brim_system_read(root, "/proc/meminfo", text, sizeof(text)) ||
        !brim_system_find_number(text, "MemAvailable:", &kib) || kib > SIZE_MAX / 1024)
        return SIZE_MAX;
    return (size_t)kib * 1024;
}

/* limit - (used - page cache that the kernel would drop first); SIZE_MAX without a limit. */
static size_t one_group_free(const char *root, const char *folder, bool is_v2)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    uint64_t limit, used, cache = 0;

    snprintf(path, sizeof(path), "%s/%s", folder, is_v2 ? "memory.max" : "memory.limit_in_bytes");
    if (!brim_system_read_number(root, path, &limit)) return SIZE_MAX;
    snprintf(path, sizeof(path), "%s/%s", folder,
             is_v2 ? "memory.current" : "memory.usage_in_bytes");
    if (!brim_system_read_number(root, path, &used)) return SIZE_MAX;
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    if (brim_system_read(root, path, text, sizeof(text)))
        brim_system_find_number(text, is_v2 ? "inactive_file" : "total_inactive_file", &cache);

    uint64_t held = used > cache ? used - cache : 0;
    uint64_t left = limit > held ? limit - held : 0;
    return left > SIZE_MAX ? SIZE_MAX : (size_t)left;
}

/* The least of our group and those above it. */
static size_t group_free(const char *root)
{
    char folder[4096];
    size_t least = SIZE_MAX;
    bool is_v2;

    if (!brim_system_cgroup(root, "memory", folder, sizeof(folder), &is_v2)) return SIZE_MAX;
    do
        least = lesser(least, one_group_free(root, folder, is_v2));
    while (brim_system_cgroup_parent(folder, is_v2));
    return least;
}

/* What RLIMIT_AS leaves of the address space. */
static size_t address_space_free(const char *root)
{
    struct rlimit limit;
    char text[TEXT_BYTES];
    uint64_t kib = 0;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
    if (brim_system_read(root, "/proc/self/status", text, sizeof(text)))
        brim_system_find_number(text, "VmSize:", &kib);
    uint64_t used = kib * 1024;
    return limit.rlim_cur > used ? (size_t)(limit.rlim_cur - used) : 0;
}

size_t brim_memory_free_bytes(const char *root)
{
    size_t least = lesser(machine_free(root), lesser(group_free(root), address_space_free(root)));

    return least == SIZE_MAX ? 0 : least;
}
