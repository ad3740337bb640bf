/* system.c - reads /proc and the control groups, versions 1 and 2. */
#include "base/system.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, TEXT_BYTES = 16384 };

bool brim_system_read(const char *root, const char *path, char *out, size_t capacity)
{
    char full[PATH_BYTES];
    size_t have = 0;

    out[0] = '\0';
    if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full)) return false;
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    while (have < capacity - 1) {
        ssize_t n = read(fd, out + have, capacity - 1 - have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += (size_t)n;
    }
    out[have] = '\0';
    close(fd);
    return have > 0;
}

static bool parse_number(const char *text, uint64_t *out)
{
    char *end;

    while (isspace((unsigned char)*text))
        text++;
    if (!isdigit((unsigned char)*text)) return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0) return false;
    *out = value;
    return true;
}

bool brim_system_read_number(const char *root, const char *path, uint64_t *out)
{
    char text[64];

    return brim_system_read(root, path, text, sizeof(text)) && parse_number(text, out);
}

bool brim_system_find_number(const char *text, const char *key, uint64_t *out)
{
    size_t key_length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, key_length) == 0 && isspace((unsigned char)line[key_length]))
            return parse_number(line + key_length, out);
    }
    return false;
}

/* Is `word` one of the comma-separated names in list[0..length)? */
static bool has_name(const char *list, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    const char *end = list + length;

    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t n = (size_t)((comma ? comma : end) - list);
        if (n == word_length && memcmp(list, word, n) == 0) return true;
        list += n + 1;
    }
    return false;
}

/* Our group's path in a hierarchy, out of /proc/self/cgroup: lines of "id:controllers:path". */
static bool group_path(const char *text, const char *controller, char *out, size_t capacity)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        const char *names = strchr(line, ':');
        const char *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) continue;
        size_t names_length = (size_t)(path - names - 1);
        bool match = controller ? has_name(names + 1, names_length, controller) : names_length == 0;
        if (!match) continue;
        size_t length = strcspn(path + 1, "\n");
        return snprintf(out, capacity, "%.*s", (int)length, path + 1) < (int)capacity;
    }
    return false;
}

/* The group's folder below a mount, or the mount itself where a container hides the path above. */
static bool group_folder(const char *root, const char *mount, const char *path, const char *probe,
                         char *out, size_t capacity)
{
    char full[PATH_BYTES];
    char text[8];

    if (strcmp(path, "/") == 0) path = "";
    const char *tries[] = {path, ""};
    for (size_t i = 0; i < 2; i++) {
        if (snprintf(out, capacity, "%s%s", mount, tries[i]) >= (int)capacity) continue;
        if (snprintf(full, sizeof(full), "%s/%s", out, probe) >= (int)sizeof(full)) continue;
        if (brim_system_read(root, full, text, sizeof(text))) return true;
    }
    return false;
}

bool brim_system_cgroup(const char *root, const char *controller, char *out, size_t capacity,
                        bool *is_v2)
{
    char text[TEXT_BYTES], path[PATH_BYTES], mount[64];

    if (!brim_system_read(root, "/proc/self/cgroup", text, sizeof(text))) return false;

    *is_v2 = false;
    if (group_path(text, controller, path, sizeof(path))) {
        const char *probe = strcmp(controller, "cpu") == 0 ? "cpu.cfs_quota_us" : "tasks";
        snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%s", controller);
        if (group_folder(root, mount, path, probe, out, capacity)) return true;
    }
    *is_v2 = true;
    return group_path(text, NULL, path, sizeof(path)) &&
           group_folder(root, "/sys/fs/cgroup", path, "cgroup.controllers", out, capacity);
}

bool brim_system_cgroup_parent(char *folder, bool is_v2)
{
    size_t n_slashes = 0;

    for (const char *c = folder; *c; c++)
        n_slashes += *c == '/';
    if (n_slashes <= (is_v2 ? 3u : 4u)) return false; /* /sys/fs/cgroup, /sys/fs/cgroup/memory */
    *strrchr(folder, '/') = '\0';
    return true;
}

/* CPUs that a group's own quota is worth, rounded up; UINT32_MAX without a quota. */
static uint32_t group_cpus(const char *root, const char *folder, bool is_v2)
{
    char path[PATH_BYTES + 32], text[64];
    uint64_t quota = 0, period = 0;

    if (is_v2) {
        snprintf(path, sizeof(path), "%s/cpu.max", folder);
        if (!brim_system_read(root, path, text, sizeof(text)) || !parse_number(text, &quota))
            return UINT32_MAX;
        const char *blank = strchr(text, ' ');
        if (!blank || !parse_number(blank, &period)) return UINT32_MAX;
    } else {
        snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", folder);
        if (!brim_system_read_number(root, path, &quota)) return UINT32_MAX;
        snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
        if (!brim_system_read_number(root, path, &period)) return UINT32_MAX;
    }
    if (period == 0 || quota == 0) return UINT32_MAX;
    uint64_t cpus = quota / period + (quota % period != 0);
    return cpus > UINT32_MAX ? UINT32_MAX : (uint32_t)cpus;
}

/* The least quota of our group and those above it. */
static uint32_t quota_cpus(const char *root)
{
    char folder[PATH_BYTES];
    uint32_t least = UINT32_MAX;
    bool is_v2;

    if (!brim_system_cgroup(root, "cpu", folder, sizeof(folder), &is_v2)) return UINT32_MAX;
    do {
        uint32_t cpus = group_cpus(root, folder, is_v2);
        if (cpus < least) least = cpus;
    } while (brim_system_cgroup_parent(folder, is_v2));
    return least;
}

/* The kernel's mask may be wider than cpu_set_t: asked for with more room until it fits. */
static uint32_t affinity_cpus(void)
{
    for (int n_cpus = CPU_SETSIZE; n_cpus <= 1 << 16; n_cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)n_cpus);
        size_t bytes = CPU_ALLOC_SIZE((size_t)n_cpus);
        if (!set) break;
        int rc = sched_getaffinity(0, bytes, set);
        int found = rc == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (found > 0) return (uint32_t)found;
        if (errno != EINVAL) break;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

uint32_t brim_system_n_cpus(const char *root)
{
    uint32_t cpus = affinity_cpus();
    uint32_t quota = quota_cpus(root);

    return quota < cpus ? quota : cpus;
}

/* The second number of statm, in pages. */
size_t brim_system_resident_bytes(void)
{
    char text[128];
    uint64_t n_pages = 0;
    long page_bytes = sysconf(_SC_PAGESIZE);

    if (page_bytes <= 0 || !brim_system_read("", "/proc/self/statm", text, sizeof(text))) return 0;
    const char *blank = strchr(text, ' ');
    if (!blank || !parse_number(blank, &n_pages)) return 0;
    return (size_t)n_pages * (size_t)page_bytes;
}

size_t brim_system_peak_resident_bytes(void)
{
    char text[TEXT_BYTES];
    uint64_t kib = 0;

    if (!brim_system_read("", "/proc/self/status", text, sizeof(text))) return 0;
    if (!brim_system_find_number(text, "VmHWM:", &kib)) return 0;
    return (size_t)kib * 1024;
}

uint64_t brim_system_free_address_space(const char *root)
{
    struct rlimit limit;
    char text[TEXT_BYTES];
    uint64_t kib = 0;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    if (brim_system_read(root, "/proc/self/status", text, sizeof(text)))
        brim_system_find_number(text, "VmSize:", &kib);
    return limit.rlim_cur / 1024 > kib ? limit.rlim_cur - kib * 1024 : 0;
}

void brim_system_trim_heap(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
