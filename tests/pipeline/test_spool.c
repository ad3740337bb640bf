/* Tests of src/pipeline/spool.c. */
#include "pipeline/spool.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "support/cmocka_all.h"
#include "support/temp_dir.h"

static void what_is_put_comes_out_and_the_file_is_cut(void **state)
{
    brim_spool spool;
    int64_t at[3];
    char data[10000], back[10000];
    struct stat info;

    brim_spool_init(&spool, *state);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            memset(data, 'a' + i, sizeof(data));
            assert_int_equal(brim_spool_put(&spool, data, sizeof(data), &at[i], NULL), BRIM_OK);
        }
        for (int i = 2; i >= 0; i--) {
            assert_int_equal(brim_spool_take(&spool, at[i], back, sizeof(back), NULL), BRIM_OK);
            assert_int_equal(back[0], 'a' + i);
            assert_int_equal(back[sizeof(back) - 1], 'a' + i);
        }
        assert_int_equal(fstat(spool.fd, &info), 0);
        assert_int_equal(info.st_size, 0);
    }
    assert_int_equal(rmdir(*state), 0); /* there is no name in the folder */
    mkdir(*state, 0777);
    brim_spool_fini(&spool);
}

static void a_spool_that_was_never_used_makes_no_file(void **state)
{
    brim_spool spool;

    brim_spool_init(&spool, *state);
    assert_int_equal(spool.fd, -1);
    brim_spool_fini(&spool);
}

static void no_folder_and_no_room_are_told(void **state)
{
    struct rlimit before, small = {4096, 4096};
    brim_spool spool;
    brim_error err;
    char data[10000] = {0};
    int64_t at;

    brim_spool_init(&spool, temp_path(state, "none"));
    assert_int_equal(brim_spool_put(&spool, data, sizeof(data), &at, &err), BRIM_E_IO);
    assert_non_null(strstr(err.message, "No such file"));
    brim_spool_fini(&spool);

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    brim_spool_init(&spool, *state);
    brim_status status = brim_spool_put(&spool, data, sizeof(data), &at, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, BRIM_E_IO);
    assert_non_null(strstr(err.message, "setting it aside"));
    assert_int_equal(brim_spool_put(&spool, data, sizeof(data), &at, &err), BRIM_OK);
    assert_int_equal(ftruncate(spool.fd, 5), 0); /* somebody else's doing */
    assert_int_equal(brim_spool_take(&spool, at, data, sizeof(data), &err), BRIM_E_IO);
    brim_spool_fini(&spool);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_put_comes_out_and_the_file_is_cut),
        TEST(a_spool_that_was_never_used_makes_no_file),
        TEST(no_folder_and_no_room_are_told),
    };
    return cmocka_run_group_tests_name("pipeline/spool", tests, NULL, NULL);
}
