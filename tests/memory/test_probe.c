/* Tests of src/memory/probe.c, on made-up trees. */
#include <sys/resource.h>

#include "brimful/memory.h"
#include "support/cmocka_all.h"
#include "support/fake_system.h"

static void without_a_word_of_the_system_nothing_is_known(void **state)
{
    assert_int_equal(brim_memory_free_bytes(*state), 0);
}

static void the_machine_says_what_is_available(void **state)
{
    fake_file(state, "proc/meminfo", "MemTotal: 900 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\n");
    assert_int_equal(brim_memory_free_bytes(*state), 600 * 1024);
}

static void a_group_counts_its_droppable_cache_as_free(void **state)
{
    fake_file(state, "proc/meminfo", "MemAvailable: 6000 kB\n");
    fake_file(state, "proc/self/cgroup", "0::/g\n");
    fake_file(state, "sys/fs/cgroup/g/cgroup.controllers", "memory\n");
    fake_file(state, "sys/fs/cgroup/g/memory.max", "1000000\n");
    fake_file(state, "sys/fs/cgroup/g/memory.current", "900000\n");
    assert_int_equal(brim_memory_free_bytes(*state), 100000);
    fake_file(state, "sys/fs/cgroup/g/memory.stat", "anon 1\ninactive_file 300000\n");
    assert_int_equal(brim_memory_free_bytes(*state), 400000);
    fake_file(state, "sys/fs/cgroup/g/memory.current", "1900000\n");
    assert_int_equal(brim_memory_free_bytes(*state), 0);
    fake_file(state, "sys/fs/cgroup/g/memory.max", "max\n");
    assert_int_equal(brim_memory_free_bytes(*state), 6000 * 1024);
}

static void the_groups_above_count_too(void **state)
{
    fake_file(state, "proc/meminfo", "MemAvailable: 6000 kB\n");
    fake_file(state, "proc/self/cgroup", "0::/slice/leaf\n");
    fake_file(state, "sys/fs/cgroup/slice/leaf/cgroup.controllers", "memory\n");
    fake_file(state, "sys/fs/cgroup/slice/leaf/memory.max", "max\n");
    fake_file(state, "sys/fs/cgroup/slice/memory.max", "1000000\n");
    fake_file(state, "sys/fs/cgroup/slice/memory.current", "200000\n");
    assert_int_equal(brim_memory_free_bytes(*state), 800000);
}

static void a_group_of_version_1_counts_too(void **state)
{
    fake_file(state, "proc/meminfo", "MemAvailable: 6000 kB\n");
    fake_file(state, "proc/self/cgroup", "9:memory:/m\n");
    fake_file(state, "sys/fs/cgroup/memory/m/tasks", "1\n");
    fake_file(state, "sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1000000\n");
    fake_file(state, "sys/fs/cgroup/memory/m/memory.usage_in_bytes", "700000\n");
    fake_file(state, "sys/fs/cgroup/memory/m/memory.stat", "total_inactive_file 200000\n");
    assert_int_equal(brim_memory_free_bytes(*state), 500000);
    fake_file(state, "sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(brim_memory_free_bytes(*state), 6000 * 1024);
}

static void a_limit_on_address_space_counts_too(void **state)
{
    struct rlimit before, tight;

    fake_file(state, "proc/meminfo", "MemAvailable: 600000000 kB\n");
    fake_file(state, "proc/self/status", "VmSize: 1000 kB\n");
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)1 << 34;
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    size_t free_bytes = brim_memory_free_bytes(*state);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(free_bytes, ((size_t)1 << 34) - 1000 * 1024);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(without_a_word_of_the_system_nothing_is_known),
        TEST(the_machine_says_what_is_available),
        TEST(a_group_counts_its_droppable_cache_as_free),
        TEST(the_groups_above_count_too),
        TEST(a_group_of_version_1_counts_too),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        TEST(a_limit_on_address_space_counts_too),
#endif
    };
    (void)a_limit_on_address_space_counts_too; /* sanitizers reserve more than any limit */
    return cmocka_run_group_tests_name("memory/probe", tests, NULL, NULL);
}
