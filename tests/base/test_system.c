/* Tests of src/base/system.c, on made-up trees. */
#include <sched.h>

#include "base/system.h"
#include "support/cmocka_all.h"
#include "support/fake_system.h"

static void finds_numbers_at_the_start_of_lines_only(void **state)
{
    uint64_t n = 0;

    (void)state;
    assert_true(
        brim_system_find_number("MemTotal: 5 kB\nMemAvailable:   77 kB\n", "MemAvailable:", &n));
    assert_int_equal(n, 77);
    assert_false(brim_system_find_number("XMemAvailable: 1\n", "MemAvailable:", &n));
    assert_false(brim_system_find_number("inactive_file_x 1\n", "inactive_file", &n));
    assert_false(brim_system_find_number("inactive_file max\n", "inactive_file", &n));
}

static void finds_the_group_in_both_versions(void **state)
{
    char folder[4096];
    bool is_v2;

    assert_false(brim_system_cgroup(*state, "memory", folder, sizeof(folder), &is_v2));
    fake_file(state, "proc/self/cgroup", "0::/user.slice/a b\n");
    fake_file(state, "sys/fs/cgroup/user.slice/a b/cgroup.controllers", "cpu memory\n");
    assert_true(brim_system_cgroup(*state, "memory", folder, sizeof(folder), &is_v2));
    assert_true(is_v2);
    assert_string_equal(folder, "/sys/fs/cgroup/user.slice/a b");

    fake_file(state, "proc/self/cgroup", "4:memory:/docker/77\n3:cpu,cpuacct:/docker/77\n0::/\n");
    fake_file(state, "sys/fs/cgroup/memory/tasks", "1\n");
    assert_true(brim_system_cgroup(*state, "memory", folder, sizeof(folder), &is_v2));
    assert_false(is_v2);
    assert_string_equal(folder,
                        "/sys/fs/cgroup/memory"); /* a container sees its group as the root */
}

static void a_quota_lowers_the_number_of_cpus(void **state)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    uint32_t all = (uint32_t)CPU_COUNT(&set);
    assert_int_equal(brim_system_n_cpus(*state), all);

    fake_file(state, "proc/self/cgroup", "0::/\n");
    fake_file(state, "sys/fs/cgroup/cgroup.controllers", "cpu\n");
    fake_file(state, "sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_int_equal(brim_system_n_cpus(*state), 1);
    fake_file(state, "sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(brim_system_n_cpus(*state), all);
    fake_file(state, "sys/fs/cgroup/cpu.max", "99000000 100000\n");
    assert_int_equal(brim_system_n_cpus(*state), all);

    fake_file(state, "proc/self/cgroup", "0::/slice/leaf\n");
    fake_file(state, "sys/fs/cgroup/slice/leaf/cgroup.controllers", "cpu\n");
    fake_file(state, "sys/fs/cgroup/slice/cpu.max", "90000 100000\n");
    assert_int_equal(brim_system_n_cpus(*state), 1);

    fake_file(state, "proc/self/cgroup", "3:cpu,cpuacct:/x\n");
    fake_file(state, "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n");
    fake_file(state, "sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(brim_system_n_cpus(*state), 1);
    fake_file(state, "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(brim_system_n_cpus(*state), all);
}

/* B34: what `taskset -c 0` allows is what counts, not what the machine has. */
static void the_affinity_mask_is_obeyed(void **state)
{
    cpu_set_t before, one;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
            break;
        }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(brim_system_n_cpus(""), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void knows_our_own_peak(void **state)
{
    (void)state;
    assert_true(brim_system_peak_resident_bytes() > 100000);
}

static void knows_what_is_resident_now(void **state)
{
    const size_t much = 64u << 20;

    (void)state;
    size_t before = brim_system_resident_bytes();
    assert_true(before > 100000);
    char *p = malloc(much);
    assert_non_null(p);
    memset(p, 7, much);
    size_t with = brim_system_resident_bytes();
    free(p);
    assert_true(with >= before + much);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their shadows count too */
    assert_true(with < before + 2 * much);
#endif
    assert_true(with <= brim_system_peak_resident_bytes() + (1u << 20));
}

/* Small blocks stay in the heap when they are freed, below one that is in use. */
static void what_the_heap_keeps_can_be_given_back(void **state)
{
    enum { N = 4096, BLOCK = 8 << 10 };
    static void *blocks[N + 1];

    (void)state;
    for (int i = 0; i <= N; i++)
        memset(blocks[i] = malloc(BLOCK), 7, BLOCK);
    for (int i = 0; i < N; i++)
        free(blocks[i]);
    size_t kept = brim_system_resident_bytes();
    brim_system_trim_heap();
    assert_true(brim_system_resident_bytes() + N * BLOCK * 9 / 10 < kept);
    free(blocks[N]);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(finds_numbers_at_the_start_of_lines_only),
        TEST(finds_the_group_in_both_versions),
        TEST(a_quota_lowers_the_number_of_cpus),
        TEST(the_affinity_mask_is_obeyed),
        TEST(knows_our_own_peak),
        TEST(knows_what_is_resident_now),
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        TEST(what_the_heap_keeps_can_be_given_back),
#endif
    };
    (void)what_the_heap_keeps_can_be_given_back; /* of other heaps nothing is known */
    return cmocka_run_group_tests_name("base/system", tests, NULL, NULL);
}
