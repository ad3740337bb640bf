/*
 * system.h - what the operating system says about this machine and the control group we run in.
 *
 * `root` is where /proc and /sys are looked for: "" on a real machine, a folder in tests.
 */
#ifndef BRIM_BASE_SYSTEM_H
#define BRIM_BASE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first bytes of a small file, NUL-terminated (capacity counts the NUL); false if unreadable.
 */
bool brim_system_read(const char *root, const char *path, char *out, size_t capacity);

/* A file that holds one whole number; false for "max", "-1" and whatever else is none. */
bool brim_system_read_number(const char *root, const char *path, uint64_t *out);

/* The number after "key" and blanks at the start of a line of text; false where there is none. */
bool brim_system_find_number(const char *text, const char *key, uint64_t *out);

/*
 * The folder of our control group for a controller ("memory", "cpu"), as a path below root without
 * a trailing slash, and whether it is a version 2 group. In a container whose own group is mounted
 * as the root of the hierarchy that folder is taken. False where there is no such hierarchy.
 */
bool brim_system_cgroup(const char *root, const char *controller, char *out, size_t capacity,
                        bool *is_v2);

/*
 * Goes from a group's folder, as brim_system_cgroup() gives it, to its parent's, whose limits hold
 * as well. False at the top of the hierarchy.
 */
bool brim_system_cgroup_parent(char *folder, bool is_v2);

/* CPUs we may use: the affinity mask and the control group's quota, the lesser; at least 1. */
uint32_t brim_system_n_cpus(const char *root);

/* Resident size of this process now; 0 where unknown. Reads one small file. */
size_t brim_system_resident_bytes(void);

/* Highest resident size of this process so far (VmHWM); 0 where unknown. */
size_t brim_system_peak_resident_bytes(void);

/* What RLIMIT_AS leaves of our address space; UINT64_MAX without a limit. */
uint64_t brim_system_free_address_space(const char *root);

/* Gives back to the system what the C heap keeps of blocks that were freed. Milliseconds. */
void brim_system_trim_heap(void);

#endif /* BRIM_BASE_SYSTEM_H */
