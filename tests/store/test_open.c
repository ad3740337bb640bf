/* Tests of src/store/open.c and sqlite_db.c: what a store's name may be. */
#include <limits.h>
#include <unistd.h>

#include "store/stores.h"
#include "support/unprivileged.h"

static void refuses(const char *name, brim_status wanted, const char *words)
{
    failing_alloc mem;
    brim_store *store = (brim_store *)&mem;
    brim_error err = {0};

    failing_alloc_init(&mem, 100);
    brim_status status = brim_store_open(&mem.base, name, &store, &err);
    if (status != wanted || !strstr(err.message, words))
        fail_msg("%s: %s (%s)", name, err.message, brim_status_name(status));
    assert_null(store);
    assert_int_equal(mem.live_bytes, 0);
}

static void any_name_is_a_sqlite_file_but_those_of_other_kinds(void **state)
{
    static const char *const NAMES[] = {"x.db", "x", "x.sqlite3", "postgres.db", "-x.db", "x.npy2"};
    static const char *const LATER[] = {"-",     "postgresql://h/d", "postgres://h/d",
                                        "x.npy", "a/x.jsonl",        "x.parquet"};

    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        const char *path = temp_path(state, NAMES[i]);
        brim_store_close(store_open(path));
        assert_int_equal(access(path, F_OK), 0);
    }
    for (size_t i = 0; i < sizeof(LATER) / sizeof(LATER[0]); i++)
        refuses(LATER[i], BRIM_E_UNSUPPORTED, "this version writes SQLite stores only");
}

/* SQLite itself gives some names a meaning: here they are files like all others. */
static void names_with_a_meaning_to_sqlite_are_plain_files(void **state)
{
    static const char *const NAMES[] = {":memory:", "file:x.db?mode=memory", "x db%20", "\xff.db",
                                        "a\nb.db"};
    char before[PATH_MAX];

    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(*state), 0);
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        brim_store_close(store_open(NAMES[i]));
        assert_int_equal(access(NAMES[i], F_OK), 0);
    }
    brim_store_close(store_open("postgres_photos.db"));
    assert_int_equal(access("postgres_photos.db", F_OK), 0);
    assert_int_equal(chdir(before), 0);
}

static void a_link_to_a_store_is_that_store(void **state)
{
    brim_store *first, *second;
    brim_error err = {0};
    char link[4096];

    temp_mkdir(state, "d");
    snprintf(link, sizeof(link), "%s", temp_path(state, "link.db"));
    first = store_begin(temp_path(state, "d/x.db"), &SPEC);
    assert_int_equal(symlink("d/x.db", link), 0);
    second = store_open(link);
    assert_int_equal(brim_store_begin(second, &SPEC, &err), BRIM_E_BUSY);
    brim_store_close(second);
    brim_store_close(first);
}

static void an_empty_file_becomes_a_store(void **state)
{
    const char *path = temp_write(state, "x.db", "", 0);

    brim_store_close(store_open(path));
    assert_string_equal(query(path, "SELECT count(*) FROM brim_images"), "0 ");
}

static void what_is_no_database_is_refused_and_left_alone(void **state)
{
    char text[2048], after[2048];

    memset(text, 'x', sizeof(text));
    const char *path = temp_write(state, "photo.jpg", text, sizeof(text));
    refuses(path, BRIM_E_FORMAT, "photo.jpg: not a SQLite database");
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(after, 1, sizeof(after), file), sizeof(after));
    fclose(file);
    assert_memory_equal(text, after, sizeof(text));
    refuses(temp_write_text(state, "short", "hello"), BRIM_E_FORMAT, "short: not a SQLite");
}

static void folders_and_missing_folders_are_named(void **state)
{
    refuses("", BRIM_E_ARG, "a store is a file");
    refuses(*state, BRIM_E_ARG, "a folder; a store is a file");
    refuses(temp_path(state, "x/"), BRIM_E_ARG, "a store is a file, give its name");
    refuses(temp_path(state, ".."), BRIM_E_ARG, "a folder; a store is a file");
    refuses(temp_path(state, "go\nne/x.db"), BRIM_E_IO, "go\\x0ane: No such file");
    temp_write_text(state, "file", "");
    refuses(temp_path(state, "file/x.db"), BRIM_E_IO, "x.db: cannot be opened");
    assert_int_equal(access(temp_path(state, "x"), F_OK), -1);
}

static void absurdly_long_names_are_refused(void **state)
{
    char name[6000];

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    refuses(name, BRIM_E_ARG, "nnnn");
    name[5500] = '/';
    refuses(name, BRIM_E_ARG, "nnnn");
    name[4095] = '\0';
    refuses(name, BRIM_E_ARG, "nnnn");
}

static void what_may_not_be_written_is_named(void **state)
{
    brim_store *store = NULL;
    brim_error in_file = {0}, in_folder = {0};
    char file[4096], in_closed[4096];

    snprintf(file, sizeof(file), "%s", temp_path(state, "x.db"));
    brim_store_close(store_open(file));
    chmod(file, 0444);
    temp_mkdir(state, "closed");
    chmod(temp_path(state, "closed"), 0555);
    snprintf(in_closed, sizeof(in_closed), "%s", temp_path(state, "closed/x.db"));
    if (!drop_root(*state)) skip();
    brim_status status_file = brim_store_open(brim_heap(), file, &store, &in_file);
    brim_status status_folder = brim_store_open(brim_heap(), in_closed, &store, &in_folder);
    regain_root();
    chmod(temp_path(state, "closed"), 0777);
    assert_int_equal(status_file, BRIM_E_IO);
    assert_non_null(strstr(in_file.message, "x.db: not writable"));
    assert_int_equal(status_folder, BRIM_E_IO);
    assert_non_null(strstr(in_folder.message, "x.db: cannot be opened, or its folder is not"));
    assert_null(store);
}

/* Opening a pipe or a device must neither hang nor write to it. */
static void a_pipe_is_no_store(void **state)
{
    alarm(60);
    assert_int_equal(mkfifo(temp_path(state, "pipe"), 0666), 0);
    refuses(temp_path(state, "pipe"), BRIM_E_ARG, "pipe: not a plain file");
    refuses("/dev/null", BRIM_E_ARG, "/dev/null: not a plain file");
    alarm(0);
}

static void a_refusal_of_memory_is_passed_on_as_it_is(void **state)
{
    const char *path = temp_path(state, "x.db");
    failing_alloc mem;
    brim_store *store = (brim_store *)&mem;

    failing_alloc_init(&mem, 0);
    assert_int_equal(brim_store_open(&mem.base, path, &store, NULL), BRIM_E_NOMEM);
    assert_null(store);
    mem.refusal = BRIM_E_BUDGET;
    assert_int_equal(brim_store_open(&mem.base, path, &store, NULL), BRIM_E_BUDGET);
    failing_alloc_init(&mem, 1);
    assert_int_equal(brim_store_open(&mem.base, path, &store, NULL), BRIM_OK);
    brim_store_close(store);
    brim_store_close(NULL);
    assert_int_equal(mem.live_bytes, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(any_name_is_a_sqlite_file_but_those_of_other_kinds),
        TEST(names_with_a_meaning_to_sqlite_are_plain_files),
        TEST(a_link_to_a_store_is_that_store),
        TEST(an_empty_file_becomes_a_store),
        TEST(what_is_no_database_is_refused_and_left_alone),
        TEST(folders_and_missing_folders_are_named),
        TEST(absurdly_long_names_are_refused),
        TEST(what_may_not_be_written_is_named),
        TEST(a_pipe_is_no_store),
        TEST(a_refusal_of_memory_is_passed_on_as_it_is),
    };
    return cmocka_run_group_tests_name("store/open", tests, NULL, NULL);
}
