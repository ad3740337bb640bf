/*
 * probe.c - how much memory there is for us: the machine's word, the control groups', and the
 * process's own limit on address space. The least of them counts.
 */
#include "brimful/memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/system.h"

enum { TEXT_BYTES = 16384, FOLDER_BYTES = 4096, PATH_BYTES = FOLDER_BYTES + 64 };

/* Memory is short where less than this share of all is left, ... */
static const uint64_t LITTLE_SHARE = 20;
/* ... or less than this, but no more than a tenth of what a small group has. */
static const uint64_t LITTLE_BYTES = 64u << 20;
static const uint64_t SMALL_SHARE = 10;
/* ... or where somebody waited for it this long, in percent of the last 10 seconds. */
static const unsigned long LONG_WAITS = 10;

/* One who has a say in how much we may hold. */
typedef struct holder {
    uint64_t total_bytes, left_bytes; /* UINT64_MAX: no limit */
} holder;

static const holder UNLIMITED = {UINT64_MAX, UINT64_MAX};

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t beyond(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* A line "key  N kB" as bytes; false where there is none. */
static bool find_kib(const char *text, const char *key, uint64_t *bytes)
{
    uint64_t kib;

    if (!brim_system_find_number(text, key, &kib) || kib > UINT64_MAX / 1024) return false;
    *bytes = kib * 1024;
    return true;
}

static holder machine(const char *root)
{
    char text[TEXT_BYTES];
    holder found = UNLIMITED;

    if (!brim_system_read(root, "/proc/meminfo", text, sizeof(text)) ||
        !find_kib(text, "MemAvailable:", &found.left_bytes))
        return UNLIMITED;
    find_kib(text, "MemTotal:", &found.total_bytes);
    return found;
}

static bool read_group_number(const char *root, const char *folder, const char *name, uint64_t *out)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return brim_system_read_number(root, path, out);
}

/* Bytes of a group that are no page cache which the kernel would drop first. */
static uint64_t group_held(const char *root, const char *folder, bool is_v2)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    uint64_t used = 0, cache = 0;

    read_group_number(root, folder, is_v2 ? "memory.current" : "memory.usage_in_bytes", &used);
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    if (brim_system_read(root, path, text, sizeof(text)))
        brim_system_find_number(text, is_v2 ? "inactive_file" : "total_inactive_file", &cache);
    return beyond(used, cache);
}

/* Beyond memory.high a version 2 group is slowed down until it is no use, so that is a limit too.
 */
static holder group(const char *root, const char *folder, bool is_v2)
{
    uint64_t limit = UINT64_MAX, high;

    read_group_number(root, folder, is_v2 ? "memory.max" : "memory.limit_in_bytes", &limit);
    if (is_v2 && read_group_number(root, folder, "memory.high", &high)) limit = lesser(limit, high);
    if (limit == UINT64_MAX) return UNLIMITED;
    return (holder){limit, beyond(limit, group_held(root, folder, is_v2))};
}

/* Memory of this process that could not be dropped and read again. */
static uint64_t our_own(const char *root)
{
    char text[TEXT_BYTES];
    uint64_t bytes = 0;

    if (brim_system_read(root, "/proc/self/status", text, sizeof(text)))
        find_kib(text, "RssAnon:", &bytes);
    return bytes;
}

/* What is left and what is ours already, which it has been taken from. */
static uint64_t for_us(holder of, uint64_t ours)
{
    if (of.left_bytes == UINT64_MAX) return UINT64_MAX;
    return lesser(of.left_bytes + lesser(ours, UINT64_MAX - of.left_bytes), of.total_bytes);
}

/* The least that our group and those above it allow. */
static uint64_t groups_allow(const char *root, uint64_t ours)
{
    char folder[FOLDER_BYTES];
    uint64_t least = UINT64_MAX;
    bool is_v2;

    if (!brim_system_cgroup(root, "memory", folder, sizeof(folder), &is_v2)) return UINT64_MAX;
    do
        least = lesser(least, for_us(group(root, folder, is_v2), ours));
    while (brim_system_cgroup_parent(folder, is_v2));
    return least;
}

size_t brim_memory_free_bytes_by(const char *root, brim_memory_bound *by)
{
    uint64_t ours = our_own(root);
    holder addresses = {UINT64_MAX, brim_system_free_address_space(root)};
    uint64_t least = for_us(machine(root), ours);
    uint64_t in_addresses = for_us(addresses, ours), in_groups = groups_allow(root, ours);

    *by = BRIM_BOUND_MACHINE;
    if (in_addresses < least) *by = BRIM_BOUND_ADDRESSES;
    least = lesser(least, in_addresses);
    if (in_groups < least) *by = BRIM_BOUND_GROUP;
    least = lesser(least, in_groups);
    if (least == UINT64_MAX) return 0;
    return least > SIZE_MAX ? SIZE_MAX : (size_t)least;
}

size_t brim_memory_free_bytes(const char *root)
{
    brim_memory_bound by;

    return brim_memory_free_bytes_by(root, &by);
}

static bool has_little(holder of)
{
    if (of.left_bytes == UINT64_MAX || of.total_bytes == UINT64_MAX) return false;
    uint64_t little = lesser(LITTLE_BYTES, of.total_bytes / SMALL_SHARE);
    uint64_t share = of.total_bytes / LITTLE_SHARE;

    return of.left_bytes < (share > little ? share : little);
}

/* Of a file of pressure stall information: "some avg10=1.23 avg60=...". */
static bool has_long_waits(const char *root, const char *path)
{
    static const char MARK[] = "some avg10=";
    char text[256];

    if (!brim_system_read(root, path, text, sizeof(text))) return false;
    const char *found = strstr(text, MARK);
    return found && strtoul(found + sizeof(MARK) - 1, NULL, 10) >= LONG_WAITS;
}

static bool group_is_short(const char *root, const char *folder, bool is_v2)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "%s/memory.pressure", folder);
    return has_little(group(root, folder, is_v2)) || (is_v2 && has_long_waits(root, path));
}

bool brim_memory_is_short(const char *root)
{
    char folder[FOLDER_BYTES];
    bool is_short = has_little(machine(root)) || has_long_waits(root, "/proc/pressure/memory");
    bool is_v2;

    if (is_short || !brim_system_cgroup(root, "memory", folder, sizeof(folder), &is_v2))
        return is_short;
    do
        is_short = group_is_short(root, folder, is_v2);
    while (!is_short && brim_system_cgroup_parent(folder, is_v2));
    return is_short;
}
