/* Tests of src/store/visit.c. */
#include <inttypes.h>
#include <unistd.h>

#include "store/stores.h"
#include "support/sqlite_faults.h"
#include "support/unprivileged.h"

/* Everything told, as text. */
typedef struct told {
    char text[2048];
    int n;
} told;

__attribute__((format(printf, 2, 3))) static void tell(told *self, const char *fmt, ...)
{
    size_t length = strlen(self->text);
    va_list args;

    self->n++;
    va_start(args, fmt);
    vsnprintf(self->text + length, sizeof(self->text) - length, fmt, args);
    va_end(args);
}

static void told_set(void *ctx, const brim_set_info *s)
{
    tell(ctx, "set %" PRId64 " %s|%s|%s|%s dim %" PRId64 ": %" PRId64 " %" PRId64 " %" PRId64 "\n",
         s->set_id, s->task, s->model, s->model_hash, s->settings, s->dim, s->n_results,
         s->n_failures, s->n_runs);
}

static void told_run(void *ctx, const brim_run_info *r)
{
    tell(ctx, "run %" PRId64 " of %" PRId64 " %s %s %s%s\n", r->run, r->set_id, r->outcome,
         r->summary ? r->summary : "-", r->started ? "started" : "-", r->finished ? " ended" : "");
}

static void told_failure(void *ctx, const brim_failure_info *f)
{
    tell(ctx, "failure in %" PRId64 " %s|%s|%s %" PRId64 "\n", f->set_id, f->key, f->step,
         f->reason, f->attempts);
}

static told TOLD;
static const brim_store_visitor VISITOR = {told_set, told_run, told_failure, &TOLD};

/* Two sets, a failure in each, one run that never ended. */
static const char *make(void **state)
{
    static char path[4096];
    brim_set_spec other = SPEC;

    snprintf(path, sizeof(path), "%s", temp_path(state, "x.db"));
    other.task = "classify";
    brim_store *store = store_begin(path, &SPEC);
    commit_one(store, failure_of("z", "bad"));
    commit_one(store, failure_of("b", "worse"));
    commit_one(store, result_of("a", 2, 0));
    assert_int_equal(brim_store_finish(store, "done", "{\"n\": 3}", NULL), BRIM_OK);
    brim_store_close(store);
    store = store_begin(path, &other);
    commit_one(store, failure_of("a", "of the other"));
    brim_store_close(store);
    TOLD = (told){0};
    return path;
}

static void tells_sets_then_runs_then_failures_in_order(void **state)
{
    const char *path = make(state);
    brim_error err = {0};

    assert_int_equal(brim_store_visit(path, &VISITOR, &err), BRIM_OK);
    assert_string_equal(TOLD.text, "set 1 embed|siglip|abc|{\"a\": 1} dim 2: 1 2 1\n"
                                   "set 2 classify|siglip|abc|{\"a\": 1} dim 0: 0 1 1\n"
                                   "run 1 of 1 done {\"n\": 3} started ended\n"
                                   "run 2 of 2 running - started\n"
                                   "failure in 1 b|decode|worse 1\n"
                                   "failure in 1 z|decode|bad 1\n"
                                   "failure in 2 a|decode|of the other 1\n");
}

static void who_is_not_asked_for_is_not_told(void **state)
{
    const char *path = make(state);
    brim_store_visitor runs_only = {.run = told_run, .ctx = &TOLD}, nobody = {0};

    assert_int_equal(brim_store_visit(path, &runs_only, NULL), BRIM_OK);
    assert_int_equal(TOLD.n, 2);
    assert_int_equal(brim_store_visit(path, &nobody, NULL), BRIM_OK);
    assert_int_equal(TOLD.n, 2);
}

/* It looks on while a run writes, and changes nothing: a store may be on a read-only disk. */
static void reads_beside_a_run_and_without_the_right_to_write(void **state)
{
    const char *path = make(state);
    brim_store *store = store_begin(path, &SPEC);

    assert_int_equal(brim_store_visit(path, &VISITOR, NULL), BRIM_OK);
    assert_int_equal(TOLD.n, 8);
    brim_store_close(store);
    chmod(path, 0444);
    if (!drop_root(*state)) skip();
    brim_status status = brim_store_visit(path, &VISITOR, NULL);
    regain_root();
    assert_int_equal(status, BRIM_OK);
}

static void tells_nothing_of_an_empty_store(void **state)
{
    const char *path = temp_path(state, "x.db");

    brim_store_close(store_open(path));
    TOLD = (told){0};
    assert_int_equal(brim_store_visit(path, &VISITOR, NULL), BRIM_OK);
    assert_int_equal(TOLD.n, 0);
}

/* Others may write into the tables too. */
static void what_is_missing_in_a_row_is_told_as_nothing(void **state)
{
    const char *path = temp_path(state, "x.db");

    brim_store_close(store_open(path));
    query(path, "INSERT INTO brim_sets VALUES(3, 'embed', NULL, 'h', 's', 'x', 'many')");
    TOLD = (told){0};
    assert_int_equal(brim_store_visit(path, &VISITOR, NULL), BRIM_OK);
    assert_string_equal(TOLD.text, "set 3 embed||h|s dim 0: 0 0 0\n");
}

static void refuses(const char *name, brim_status wanted, const char *words)
{
    brim_error err = {0};

    TOLD = (told){0};
    brim_status status = brim_store_visit(name, &VISITOR, &err);
    if (status != wanted || !strstr(err.message, words))
        fail_msg("%s: %s (%s)", name, err.message, brim_status_name(status));
    assert_int_equal(TOLD.n, 0);
}

static void says_in_one_line_what_is_no_store(void **state)
{
    char text[1500];
    const char *users = temp_path(state, "users.db");

    memset(text, 'x', sizeof(text));
    query(users, "CREATE TABLE images(a)");
    refuses(users, BRIM_E_ARG, "users.db: nothing of brimful's is in this database");
    refuses(temp_write(state, "empty", "", 0), BRIM_E_ARG, "empty: nothing of brimful's");
    refuses(temp_write(state, "photo", text, sizeof(text)), BRIM_E_FORMAT,
            "photo: not a SQLite database");
    refuses(*state, BRIM_E_ARG, "a folder; a store is a file");
    refuses(temp_path(state, "go\nne.db"), BRIM_E_ARG, "go\\x0ane.db: no such store");
    assert_int_equal(access(temp_path(state, "go\nne.db"), F_OK), -1);
    assert_string_equal(query(users, "SELECT count(*) FROM sqlite_master"), "1 ");
}

/* A lock that never ends, at any of the three looks. */
static void a_store_that_stays_locked_is_told(void **state)
{
    const char *path = make(state);
    brim_error err = {0};

    FAULTS.locked = true;
    brim_status status = brim_store_visit(path, &VISITOR, &err);
    sqlite_faults_none();
    assert_int_equal(status, BRIM_E_BUSY);
    assert_non_null(strstr(err.message, "another program has held it locked"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(tells_sets_then_runs_then_failures_in_order),
        TEST(who_is_not_asked_for_is_not_told),
        TEST(reads_beside_a_run_and_without_the_right_to_write),
        TEST(tells_nothing_of_an_empty_store),
        TEST(what_is_missing_in_a_row_is_told_as_nothing),
        TEST(says_in_one_line_what_is_no_store),
        TEST(a_store_that_stays_locked_is_told),
    };
    sqlite_faults_install();
    return cmocka_run_group_tests_name("store/visit", tests, NULL, NULL);
}
