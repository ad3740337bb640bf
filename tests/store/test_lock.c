/* Tests of src/store/lock.c. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "store/lock.h"
#include "support/child.h"
#include "support/cmocka_all.h"
#include "support/temp_dir.h"
#include "support/unprivileged.h"

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void lies_beside_the_database_while_it_is_held(void **state)
{
    const char *database = temp_path(state, "x.db");
    brim_set_lock lock = {.fd = -1};
    char text[32] = "", wanted[32];

    assert_int_equal(brim_set_lock_take(&lock, database, 7, NULL), BRIM_OK);
    assert_true(is_there(temp_path(state, "x.db-brim-7.lock")));
    int fd = open(lock.path, O_RDONLY);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    snprintf(wanted, sizeof(wanted), "%ld\n", (long)getpid());
    assert_string_equal(text, wanted);
    brim_set_lock_drop(&lock);
    assert_false(is_there(temp_path(state, "x.db-brim-7.lock")));
    brim_set_lock_drop(&lock); /* fine without a lock */
}

static void sets_and_databases_have_locks_of_their_own(void **state)
{
    brim_set_lock a = {.fd = -1}, b = {.fd = -1}, c = {.fd = -1};

    assert_int_equal(brim_set_lock_take(&a, temp_path(state, "x.db"), 1, NULL), BRIM_OK);
    assert_int_equal(brim_set_lock_take(&b, temp_path(state, "x.db"), 2, NULL), BRIM_OK);
    assert_int_equal(brim_set_lock_take(&c, temp_path(state, "y.db"), 1, NULL), BRIM_OK);
    brim_set_lock_drop(&a);
    brim_set_lock_drop(&b);
    brim_set_lock_drop(&c);
}

static bool take_in_child(void *arg)
{
    static brim_set_lock lock;

    return brim_set_lock_take(&lock, arg, 1, NULL) == BRIM_OK;
}

static void names_the_process_that_holds_it_and_is_free_when_that_is_killed(void **state)
{
    char database[4096], wanted[64];
    brim_set_lock lock = {.fd = -1};
    brim_error err = {0};

    snprintf(database, sizeof(database), "%s", temp_path(state, "x.db"));
    pid_t pid = child_start(take_in_child, database);
    assert_true(pid > 0);
    assert_int_equal(brim_set_lock_take(&lock, database, 1, &err), BRIM_E_BUSY);
    assert_int_equal(lock.fd, -1);
    snprintf(wanted, sizeof(wanted), "process %ld ", (long)pid);
    assert_non_null(strstr(err.message, wanted));
    assert_non_null(strstr(err.message, "x.db: "));

    child_kill(pid);
    assert_true(is_there(temp_path(state, "x.db-brim-1.lock"))); /* stale: it holds nobody up */
    assert_int_equal(brim_set_lock_take(&lock, database, 1, &err), BRIM_OK);
    brim_set_lock_drop(&lock);
}

/* A file left behind may hold anything; only a number is believed. */
static void a_stale_file_with_rubbish_is_taken_over(void **state)
{
    const char *database = temp_path(state, "x.db");
    brim_set_lock lock = {.fd = -1}, second = {.fd = -1};
    brim_error err = {0};

    temp_write_text(state, "x.db-brim-1.lock", "99999999999999999999999999999999999999999999\n");
    assert_int_equal(brim_set_lock_take(&lock, database, 1, &err), BRIM_OK);
    assert_int_equal(pwrite(lock.fd, "\x1b[31m\n", 6, 0), 6);
    assert_int_equal(brim_set_lock_take(&second, database, 1, &err), BRIM_E_BUSY);
    assert_non_null(strstr(err.message, "another brimful is running"));
    assert_int_equal(ftruncate(lock.fd, 0), 0);
    assert_int_equal(brim_set_lock_take(&second, database, 1, &err), BRIM_E_BUSY);
    assert_non_null(strstr(err.message, "another brimful is running"));
    brim_set_lock_drop(&lock);
}

typedef struct contest {
    const char *database;
    int n_inside, n_taken;
} contest;

static contest CONTEST;
static pthread_mutex_t contest_lock = PTHREAD_MUTEX_INITIALIZER;

static void *contend(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3000; i++) {
        brim_set_lock lock = {.fd = -1};
        brim_status status = brim_set_lock_take(&lock, CONTEST.database, 1, NULL);
        if (status != BRIM_OK) continue;
        pthread_mutex_lock(&contest_lock);
        CONTEST.n_inside++;
        CONTEST.n_taken += CONTEST.n_inside == 1 ? 1 : 1000000;
        pthread_mutex_unlock(&contest_lock);
        sched_yield(); /* let the others try while we are inside */
        pthread_mutex_lock(&contest_lock);
        CONTEST.n_inside--;
        pthread_mutex_unlock(&contest_lock);
        brim_set_lock_drop(&lock);
    }
    return NULL;
}

/* Taking while another removes the file: never are two inside. */
static void never_lets_two_in(void **state)
{
    pthread_t threads[4];

    CONTEST = (contest){.database = temp_path(state, "x.db")};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, contend, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_true(CONTEST.n_taken > 0 && CONTEST.n_taken <= 12000);
}

static void says_why_it_cannot_be_taken(void **state)
{
    brim_set_lock lock = {.fd = -1};
    brim_error err = {0};
    char longest[PATH_MAX];

    assert_int_equal(brim_set_lock_take(&lock, temp_path(state, "gone/x.db"), 1, &err), BRIM_E_IO);
    assert_non_null(strstr(err.message, "gone/x.db-brim-1.lock: No such file"));
    memset(longest, 'n', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(brim_set_lock_take(&lock, longest, 1, &err), BRIM_E_ARG);
    assert_int_equal(lock.fd, -1);

    temp_mkdir(state, "closed");
    const char *database = temp_path(state, "closed/x.db");
    if (!drop_root(*state)) skip();
    chmod(temp_path(state, "closed"), 0555); /* in vain where root made it */
    brim_status status = brim_set_lock_take(&lock, database, 1, &err);
    regain_root();
    assert_int_equal(status, BRIM_E_IO);
    assert_non_null(strstr(err.message, "Permission denied"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(lies_beside_the_database_while_it_is_held),
        TEST(sets_and_databases_have_locks_of_their_own),
        TEST(names_the_process_that_holds_it_and_is_free_when_that_is_killed),
        TEST(a_stale_file_with_rubbish_is_taken_over),
        TEST(never_lets_two_in),
        TEST(says_why_it_cannot_be_taken),
    };
    return cmocka_run_group_tests_name("store/lock", tests, NULL, NULL);
}
