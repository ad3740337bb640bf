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
    fake_file(state, "proc/self/status", "VmSize: 1000 kB\nRssAnon: 300 kB\n");
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)1 << 34;
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    brim_memory_bound by;
    size_t free_bytes = brim_memory_free_bytes_by(*state, &by);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(free_bytes, ((size_t)1 << 34) - 700 * 1024);
    assert_int_equal(by, BRIM_BOUND_ADDRESSES);
}

static void who_has_the_least_is_named(void **state)
{
    brim_memory_bound by;

    fake_file(state, "proc/meminfo", "MemAvailable: 6000 kB\n");
    assert_int_equal(brim_memory_free_bytes_by(*state, &by), 6000 * 1024);
    assert_int_equal(by, BRIM_BOUND_MACHINE);
    fake_file(state, "proc/self/cgroup", "0::/g\n");
    fake_file(state, "sys/fs/cgroup/g/cgroup.controllers", "memory\n");
    fake_file(state, "sys/fs/cgroup/g/memory.max", "1000000\n");
    assert_int_equal(brim_memory_free_bytes_by(*state, &by), 1000000);
    assert_int_equal(by, BRIM_BOUND_GROUP);
}

/* What we take is taken from what is free: the answer stays what it was. */
static void our_own_growth_does_not_shrink_it(void **state)
{
    fake_file(state, "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 6000 kB\n");
    fake_file(state, "proc/self/status", "VmRSS: 900 kB\nRssAnon: 500 kB\nRssFile: 400 kB\n");
    assert_int_equal(brim_memory_free_bytes(*state), 6500 * 1024);
    fake_file(state, "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 2000 kB\n");
    fake_file(state, "proc/self/status", "VmRSS: 4900 kB\nRssAnon: 4500 kB\nRssFile: 400 kB\n");
    assert_int_equal(brim_memory_free_bytes(*state), 6500 * 1024);
    fake_file(state, "proc/self/status", "RssAnon: 8500 kB\n"); /* swapping; never above all */
    assert_int_equal(brim_memory_free_bytes(*state), 9000 * 1024);
}

static void nor_does_it_in_groups(void **state)
{
    fake_file(state, "proc/meminfo", "MemAvailable: 600000 kB\n");
    fake_file(state, "proc/self/cgroup", "0::/slice/leaf\n");
    fake_file(state, "sys/fs/cgroup/slice/leaf/cgroup.controllers", "memory\n");
    fake_file(state, "sys/fs/cgroup/slice/leaf/memory.max", "max\n");
    fake_file(state, "sys/fs/cgroup/slice/memory.max", "1024000\n");
    fake_file(state, "sys/fs/cgroup/slice/memory.current", "307200\n");
    fake_file(state, "proc/self/status", "RssAnon: 100 kB\n");
    assert_int_equal(brim_memory_free_bytes(*state), 800 * 1024); /* 200 kB are a neighbour's */
    fake_file(state, "sys/fs/cgroup/slice/memory.current", "819200\n");
    fake_file(state, "proc/self/status", "RssAnon: 600 kB\n");
    assert_int_equal(brim_memory_free_bytes(*state), 800 * 1024);

    fake_file(state, "proc/self/cgroup", "9:memory:/m\n");
    fake_file(state, "sys/fs/cgroup/memory/m/tasks", "1\n");
    fake_file(state, "sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1024000\n");
    fake_file(state, "sys/fs/cgroup/memory/m/memory.usage_in_bytes", "819200\n");
    fake_file(state, "sys/fs/cgroup/memory/m/memory.stat", "total_inactive_file 102400\n");
    assert_int_equal(brim_memory_free_bytes(*state), 900 * 1024);
    fake_file(state, "sys/fs/cgroup/memory/m/memory.usage_in_bytes", "307200\n");
    fake_file(state, "proc/self/status", "RssAnon: 100 kB\n");
    assert_int_equal(brim_memory_free_bytes(*state), 900 * 1024);
}

static void a_group_that_is_slowed_down_counts_like_one_with_a_limit(void **state)
{
    fake_file(state, "proc/self/cgroup", "0::/g\n");
    fake_file(state, "sys/fs/cgroup/g/cgroup.controllers", "memory\n");
    fake_file(state, "sys/fs/cgroup/g/memory.max", "9000000\n");
    fake_file(state, "sys/fs/cgroup/g/memory.high", "max\n");
    fake_file(state, "sys/fs/cgroup/g/memory.current", "100000\n");
    assert_int_equal(brim_memory_free_bytes(*state), 8900000);
    fake_file(state, "sys/fs/cgroup/g/memory.high", "1000000\n");
    assert_int_equal(brim_memory_free_bytes(*state), 900000);
    fake_file(state, "sys/fs/cgroup/g/memory.max", "max\n");
    assert_int_equal(brim_memory_free_bytes(*state), 900000);
}

static void a_machine_with_little_left_is_short(void **state)
{
    assert_false(brim_memory_is_short(*state)); /* nothing is known */
    fake_file(state, "proc/meminfo", "MemTotal: 20000000 kB\nMemAvailable: 1000000 kB\n");
    assert_false(brim_memory_is_short(*state));
    fake_file(state, "proc/meminfo", "MemTotal: 20000000 kB\nMemAvailable: 999999 kB\n");
    assert_true(brim_memory_is_short(*state));
    fake_file(state, "proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 65535 kB\n");
    assert_true(brim_memory_is_short(*state)); /* less than 64 MiB */
    fake_file(state, "proc/meminfo", "MemTotal: 100000 kB\nMemAvailable: 10000 kB\n");
    assert_false(brim_memory_is_short(*state)); /* of a small one a tenth will do */
    fake_file(state, "proc/meminfo", "MemTotal: 100000 kB\nMemAvailable: 9999 kB\n");
    assert_true(brim_memory_is_short(*state));
}

static void a_group_with_little_left_is_short(void **state)
{
    fake_file(state, "proc/meminfo", "MemTotal: 20000000 kB\nMemAvailable: 9000000 kB\n");
    fake_file(state, "proc/self/cgroup", "0::/slice/leaf\n");
    fake_file(state, "sys/fs/cgroup/slice/leaf/cgroup.controllers", "memory\n");
    fake_file(state, "sys/fs/cgroup/slice/leaf/memory.max", "max\n");
    fake_file(state, "sys/fs/cgroup/slice/memory.max", "1000000\n");
    fake_file(state, "sys/fs/cgroup/slice/memory.current", "950000\n");
    fake_file(state, "sys/fs/cgroup/slice/memory.stat", "inactive_file 50000\n");
    assert_false(brim_memory_is_short(*state));
    fake_file(state, "sys/fs/cgroup/slice/memory.current", "950001\n");
    assert_true(brim_memory_is_short(*state));

    fake_file(state, "proc/self/cgroup", "9:memory:/m\n");
    fake_file(state, "sys/fs/cgroup/memory/m/tasks", "1\n");
    fake_file(state, "sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1000000\n");
    fake_file(state, "sys/fs/cgroup/memory/m/memory.usage_in_bytes", "900000\n");
    assert_false(brim_memory_is_short(*state));
    fake_file(state, "sys/fs/cgroup/memory/m/memory.usage_in_bytes", "900001\n");
    assert_true(brim_memory_is_short(*state));
    fake_file(state, "sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
    assert_false(brim_memory_is_short(*state));
}

#define PRESSURE(percent)                                                                          \
    "some avg10=" percent " avg60=99.00 avg300=99.00 total=9\nfull avg10=99.00 avg60=99.00 "       \
    "avg300=99.00 total=9\n"

static void waiting_for_memory_is_a_sign_of_its_shortness(void **state)
{
    fake_file(state, "proc/pressure/memory", PRESSURE("9.99"));
    assert_false(brim_memory_is_short(*state));
    fake_file(state, "proc/pressure/memory", PRESSURE("10.00"));
    assert_true(brim_memory_is_short(*state));
    fake_file(state, "proc/pressure/memory", "nonsense\n");
    assert_false(brim_memory_is_short(*state));
    fake_file(state, "proc/self/cgroup", "0::/g\n");
    fake_file(state, "sys/fs/cgroup/g/cgroup.controllers", "memory\n");
    fake_file(state, "sys/fs/cgroup/g/memory.pressure", PRESSURE("9.00"));
    assert_false(brim_memory_is_short(*state));
    fake_file(state, "sys/fs/cgroup/g/memory.pressure", PRESSURE("55.10"));
    assert_true(brim_memory_is_short(*state));
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
        TEST(who_has_the_least_is_named),
        TEST(our_own_growth_does_not_shrink_it),
        TEST(nor_does_it_in_groups),
        TEST(a_group_that_is_slowed_down_counts_like_one_with_a_limit),
        TEST(a_machine_with_little_left_is_short),
        TEST(a_group_with_little_left_is_short),
        TEST(waiting_for_memory_is_a_sign_of_its_shortness),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        TEST(a_limit_on_address_space_counts_too),
#endif
    };
    (void)a_limit_on_address_space_counts_too; /* sanitizers reserve more than any limit */
    return cmocka_run_group_tests_name("memory/probe", tests, NULL, NULL);
}
