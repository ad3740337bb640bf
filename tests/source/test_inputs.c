/* Tests of src/source/inputs.c. The tests stand in their folder, so that INPUTs may be relative. */
#include <limits.h>
#include <unistd.h>

#include "source/rows.h"
#include "support/failing_alloc.h"
#include "support/fake_system.h"
#include "support/unprivileged.h"

static char folder_before[PATH_MAX];

/* photos/2023/001.jpg, photos/a.jpg, photos-2/b.jpg, scan.dat, lists/l.txt */
static int setup(void **state)
{
    if (temp_dir_setup(state) != 0 || !getcwd(folder_before, sizeof(folder_before))) return -1;
    fake_file(state, "photos/2023/001.jpg", "");
    fake_file(state, "photos/a.jpg", "");
    fake_file(state, "photos/notes.txt", "");
    fake_file(state, "photos-2/b.jpg", "");
    fake_file(state, "scan.dat", "");
    fake_file(state, "lists/l.txt", "x.jpg\n2023/001.jpg\n");
    return chdir(*state);
}

static int teardown(void **state)
{
    return chdir(folder_before) == 0 ? temp_dir_teardown(state) : -1;
}

/* The keys of these inputs, sorted; paths are checked to be absolute. */
static const char *keys_of(const brim_source_options *options)
{
    failing_alloc mem;
    brim_source *source = NULL;
    rows found = {0};
    brim_error err = {0};

    failing_alloc_init(&mem, 1000000);
    brim_status status = brim_source_open(&mem.base, options, &source, &err);
    if (status == BRIM_OK) status = rows_take(&found, source, &err);
    if (status != BRIM_END) fail_msg("%s", err.message);
    for (size_t i = 0; i < found.n; i++)
        assert_int_equal(found.all[i]->path[0], '/');
    const char *keys = rows_keys(&found);
    rows_free(&found);
    brim_source_close(source);
    assert_int_equal(mem.live_bytes, 0);
    return keys;
}

static const char *keys_of_input(const char *input, const char *root)
{
    const char *const inputs[] = {input};
    brim_source_options options = {.inputs = inputs, .n_inputs = 1, .root = root};

    return keys_of(&options);
}

/* The one row of an input, to be destroyed. */
static brim_row *row_of(const char *input, const char *root)
{
    const char *const inputs[] = {input};
    brim_source_options options = {.inputs = inputs, .n_inputs = 1, .root = root};
    brim_source *source = NULL;
    brim_row *row = NULL, *next = NULL;

    assert_int_equal(brim_source_open(brim_heap(), &options, &source, NULL), BRIM_OK);
    assert_int_equal(brim_source_next(source, &row, NULL), BRIM_OK);
    assert_int_equal(brim_source_next(source, &next, NULL), BRIM_END);
    brim_source_close(source);
    return row;
}

static void refuses(const char *input, const char *root, brim_status wanted, const char *words)
{
    const char *const inputs[] = {"photos", input};
    brim_source_options options = {.inputs = inputs, .n_inputs = 2, .root = root};
    failing_alloc mem;
    brim_source *source = (brim_source *)&mem;
    brim_error err = {0};

    failing_alloc_init(&mem, 100);
    brim_status status = brim_source_open(&mem.base, &options, &source, &err);
    if (status != wanted || !strstr(err.message, words))
        fail_msg("%s: %s (%s)", input, err.message, brim_status_name(status));
    assert_null(source);
    assert_int_equal(mem.live_bytes, 0);
}

static void a_key_is_the_input_as_written_and_the_path_below_it(void **state)
{
    static const char *const AS_PHOTOS[] = {"photos", "photos/", "./photos", ".//./photos//"};
    static const char *const AS_NOTHING[] = {".", "./", "././", "./."};
    char wanted[PATH_MAX * 3];

    for (size_t i = 0; i < 4; i++)
        assert_string_equal(keys_of_input(AS_PHOTOS[i], NULL), "photos/2023/001.jpg photos/a.jpg ");
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(keys_of_input(AS_NOTHING[i], NULL),
                            "photos-2/b.jpg photos/2023/001.jpg photos/a.jpg ");
    snprintf(wanted, sizeof(wanted), "%s/photos-2/b.jpg ", (const char *)*state);
    assert_string_equal(keys_of_input(temp_path(state, "photos-2"), NULL), wanted);
    assert_string_equal(keys_of_input("photos/../photos-2", NULL), "photos/../photos-2/b.jpg ");
}

static void a_file_is_its_own_key_whatever_its_name(void **state)
{
    assert_string_equal(keys_of_input("photos/a.jpg", NULL), "photos/a.jpg ");
    assert_string_equal(keys_of_input(".//photos//a.jpg", NULL), "photos//a.jpg ");
    assert_string_equal(keys_of_input("scan.dat", NULL), "scan.dat ");
    brim_row *row = row_of("./scan.dat", NULL);
    char real[PATH_MAX];
    assert_non_null(realpath("scan.dat", real));
    assert_string_equal(row->key, "scan.dat");
    assert_string_equal(row->path, real);
    brim_row_destroy(row);
    (void)state;
}

/* The same picture has one path, so that two keys for it, or one for two, come to light. */
static void a_linked_input_is_followed_and_its_path_is_the_real_one(void **state)
{
    char real[PATH_MAX];

    (void)state;
    assert_int_equal(symlink("photos-2", "link"), 0);
    assert_non_null(realpath("photos-2/b.jpg", real));
    brim_row *row = row_of("link", NULL);
    assert_string_equal(row->key, "link/b.jpg");
    assert_string_equal(row->path, real);
    brim_row_destroy(row);
    row = row_of("link/b.jpg", NULL);
    assert_string_equal(row->key, "link/b.jpg");
    assert_string_equal(row->path, real);
    brim_row_destroy(row);
}

static void root_makes_keys_relative_to_it(void **state)
{
    char wanted[PATH_MAX * 2], real[PATH_MAX];

    assert_string_equal(keys_of_input("photos", "photos"), "2023/001.jpg a.jpg ");
    assert_string_equal(keys_of_input("photos/2023", "./photos/"), "2023/001.jpg ");
    assert_string_equal(keys_of_input("photos/a.jpg", "photos"), "a.jpg ");
    assert_string_equal(keys_of_input(temp_path(state, "photos/2023"), "."),
                        "photos/2023/001.jpg ");
    assert_non_null(realpath("photos-2/b.jpg", real));
    snprintf(wanted, sizeof(wanted), "%s ", real + 1);
    assert_string_equal(keys_of_input("photos-2", "/"), wanted);
    assert_string_equal(keys_of_input("photos-2/b.jpg", "/"), wanted);
}

static void an_input_outside_the_root_is_told_at_the_start(void **state)
{
    (void)state;
    refuses("photos-2", "photos", BRIM_E_ARG, "photos-2: not below --root photos");
    refuses("photos-2/b.jpg", "photos", BRIM_E_ARG, "photos-2/b.jpg: not below --root photos");
    refuses("photos/../scan.dat", "photos", BRIM_E_ARG, "not below --root photos");
    refuses("photos", "gone", BRIM_E_ARG, "gone: no such file or folder");
}

static void lines_of_a_list_start_at_its_folder_or_at_the_root(void **state)
{
    const char *const inputs[] = {"@lists/l.txt"};
    brim_source_options options = {.inputs = inputs, .n_inputs = 1};
    char lists[PATH_MAX], photos[PATH_MAX];

    (void)state;
    assert_non_null(realpath("lists", lists));
    assert_non_null(realpath("photos", photos));
    for (int i = 0; i < 2; i++) {
        brim_source *source = NULL;
        rows found = {0};
        char wanted[PATH_MAX + 32];
        options.root = i == 0 ? NULL : "photos";
        assert_int_equal(brim_source_open(brim_heap(), &options, &source, NULL), BRIM_OK);
        assert_true(source->may_repeat);
        assert_int_equal(rows_take(&found, source, NULL), BRIM_END);
        assert_string_equal(rows_keys(&found), "2023/001.jpg x.jpg ");
        snprintf(wanted, sizeof(wanted), "%s/2023/001.jpg", i == 0 ? lists : photos);
        assert_string_equal(rows_find(&found, "2023/001.jpg")->path, wanted);
        rows_free(&found);
        brim_source_close(source);
    }
}

static void absolute_lines_below_the_root_get_keys_below_it(void **state)
{
    char photos[PATH_MAX], text[3 * PATH_MAX], elsewhere[PATH_MAX + 32];

    assert_non_null(realpath("photos", photos));
    snprintf(text, sizeof(text), "%s/2023/001.jpg\n%s-2/b.jpg\n./\n", photos, photos);
    temp_write_text(state, "absolute.txt", text);
    snprintf(elsewhere, sizeof(elsewhere), "./ %s-2/b.jpg 2023/001.jpg ", photos);
    /* The line "./" is a folder; it fails when it is read, under a key that says what it was. */
    assert_string_equal(keys_of_input("@absolute.txt", "photos"), elsewhere);
}

static void inputs_come_one_after_the_other_and_add_up(void **state)
{
    const char *const inputs[] = {"photos", "scan.dat", "@lists/l.txt", "photos"};
    brim_source_options options = {.inputs = inputs, .n_inputs = 4};
    brim_source *source = NULL;
    rows found = {0};

    (void)state;
    assert_int_equal(brim_source_open(brim_heap(), &options, &source, NULL), BRIM_OK);
    assert_true(source->may_repeat);
    assert_int_equal(rows_take(&found, source, NULL), BRIM_END);
    assert_int_equal(found.n, 7);
    assert_string_equal(found.all[2]->key, "scan.dat");
    assert_string_equal(found.all[3]->key, "x.jpg");
    assert_int_equal(source->counts.n_skipped, 2);
    rows_free(&found);
    brim_source_close(source);

    options.counting = true;
    assert_int_equal(brim_source_open(brim_heap(), &options, &source, NULL), BRIM_OK);
    assert_int_equal(rows_take(&found, source, NULL), BRIM_END);
    assert_int_equal(found.n, 7);
    rows_free(&found);
    brim_source_close(source);

    options.n_inputs = 1; /* one folder cannot give a key twice */
    assert_int_equal(brim_source_open(brim_heap(), &options, &source, NULL), BRIM_OK);
    assert_false(source->may_repeat);
    brim_source_close(source);
}

static void a_misspelt_input_ends_the_run_before_it_begins(void **state)
{
    brim_source_options none = {0};
    brim_source *source = NULL;
    brim_error err = {0};

    (void)state;
    assert_int_equal(brim_source_open(brim_heap(), &none, &source, &err), BRIM_E_ARG);
    assert_null(source);
    assert_int_equal(symlink("nowhere", "broken"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    refuses("", NULL, BRIM_E_ARG, "empty INPUT");
    refuses("@", NULL, BRIM_E_ARG, "empty INPUT");
    refuses("go\nne", NULL, BRIM_E_ARG, "go\\x0ane: no such file or folder");
    refuses("scan.dat/x", NULL, BRIM_E_ARG, "no such file or folder");
    refuses("@gone.txt", NULL, BRIM_E_ARG, "gone.txt: no such file");
    refuses("@photos", NULL, BRIM_E_ARG, "leave the @ out");
    refuses("broken", NULL, BRIM_E_ARG, "broken: no such file");
    refuses("loop", NULL, BRIM_E_IO, "loop: Too many levels");
}

static void kinds_of_a_later_version_are_named_as_such(void **state)
{
    static const char *const LATER[] = {"sqlite:x.db", "postgresql://h/d", "x.csv", "x.jsonl",
                                        "x.tar",       "x.tar.zst"};

    fake_file(state, "x.csv", "path\n");
    for (size_t i = 0; i < sizeof(LATER) / sizeof(LATER[0]); i++)
        refuses(LATER[i], NULL, BRIM_E_UNSUPPORTED, "this version reads files, folders and @lists");
    fake_file(state, "folder.tar/a.jpg", "");
    assert_string_equal(keys_of_input("folder.tar", NULL), "folder.tar/a.jpg ");
    fake_file(state, "list.csv", "photos/a.jpg\n");
    assert_string_equal(keys_of_input("@list.csv", NULL), "photos/a.jpg ");
}

static void a_folder_that_may_not_be_read_is_told_at_the_start(void **state)
{
    const char *const inputs[] = {"photos"};
    brim_source_options options = {.inputs = inputs, .n_inputs = 1};
    brim_source *source = NULL;
    brim_error err = {0};

    chmod("photos", 0);
    if (!drop_root(*state)) skip();
    brim_status status = brim_source_open(brim_heap(), &options, &source, &err);
    regain_root();
    chmod("photos", 0777);
    assert_int_equal(status, BRIM_E_IO);
    assert_string_equal(err.message, "photos: Permission denied");
}

/* A path of 5000 bytes is longer than the system takes: no buffer here may be. */
static void absurdly_long_inputs_are_refused(void **state)
{
    char name[5001];

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    refuses(name, NULL, BRIM_E_IO, "nnnn");
    for (size_t i = 100; i < sizeof(name) - 1; i += 100)
        name[i] = '/';
    refuses(name, NULL, BRIM_E_IO, "nnnn");
    for (size_t i = 0; i < sizeof(name) - 1; i += 2)
        memcpy(name + i, "./", 2);
    memcpy(name + sizeof(name) - 7, "photos", 7);
    refuses(name, NULL, BRIM_E_IO, "././");
}

static void survives_every_failed_allocation(void **state)
{
    const char *const inputs[] = {"photos", "scan.dat", "@lists/l.txt"};
    brim_source_options options = {.inputs = inputs, .n_inputs = 3, .root = "."};
    brim_status status = BRIM_E_NOMEM;

    (void)state;
    for (long allowed = 0; status != BRIM_END; allowed++) {
        failing_alloc mem;
        brim_source *source = NULL;
        rows found = {0};
        brim_error err = {0};

        failing_alloc_init(&mem, allowed);
        status = brim_source_open(&mem.base, &options, &source, &err);
        if (status == BRIM_OK) status = rows_take(&found, source, &err);
        assert_true(status == BRIM_END || status == BRIM_E_NOMEM);
        if (status == BRIM_E_NOMEM) assert_non_null(strstr(err.message, "no memory"));
        rows_free(&found);
        brim_source_close(source);
        assert_int_equal(mem.live_bytes, 0);
        assert_true(allowed < 100);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_key_is_the_input_as_written_and_the_path_below_it),
        TEST(a_file_is_its_own_key_whatever_its_name),
        TEST(a_linked_input_is_followed_and_its_path_is_the_real_one),
        TEST(root_makes_keys_relative_to_it),
        TEST(absolute_lines_below_the_root_get_keys_below_it),
        TEST(an_input_outside_the_root_is_told_at_the_start),
        TEST(lines_of_a_list_start_at_its_folder_or_at_the_root),
        TEST(inputs_come_one_after_the_other_and_add_up),
        TEST(a_misspelt_input_ends_the_run_before_it_begins),
        TEST(kinds_of_a_later_version_are_named_as_such),
        TEST(a_folder_that_may_not_be_read_is_told_at_the_start),
        TEST(absurdly_long_inputs_are_refused),
        TEST(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("source/inputs", tests, NULL, NULL);
}
