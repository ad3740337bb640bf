/* Tests of src/source/folder.c. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "source/rows.h"
#include "support/failing_alloc.h"
#include "support/fake_system.h"
#include "support/unprivileged.h"

static const brim_source_options QUIET = {0};

static brim_source *open_folder(failing_alloc *mem, const char *name, const char *path,
                                const brim_source_options *options)
{
    brim_source *source = NULL;
    brim_error err = {0};

    failing_alloc_init(mem, 1000000);
    if (brim_source_open_folder(&mem->base, name, path, options, &source, &err) != BRIM_OK)
        fail_msg("%s", err.message);
    return source;
}

/* Opens, takes everything, closes. */
static void walk(rows *found, const char *name, const char *path,
                 const brim_source_options *options, uint64_t *n_skipped, uint64_t *n_incomplete)
{
    static failing_alloc mem; /* the rows outlive the walk */

    brim_source *source = open_folder(&mem, name, path, options);
    assert_int_equal(rows_take(found, source, NULL), BRIM_END);
    assert_int_equal(rows_take(found, source, NULL), BRIM_END);
    if (n_skipped) *n_skipped = source->counts.n_skipped;
    if (n_incomplete) *n_incomplete = source->counts.n_incomplete;
    brim_source_close(source);
}

static void finds_the_pictures_of_all_folders_below(void **state)
{
    rows found = {0};
    uint64_t n_skipped, n_incomplete;

    fake_file(state, "p/a.jpg", "");
    fake_file(state, "p/2023/05/001.JPG", "");
    fake_file(state, "p/a folder.jpg/b.png", "");
    fake_file(state, "p/readme.txt", "");
    fake_file(state, "p/2023/noext", "");
    fake_file(state, "p/.hidden.jpg", "");
    fake_file(state, "p/._a.jpg", "");
    fake_file(state, "p/.git/c.jpg", "");
    fake_file(state, "p/@eaDir/a.jpg", "");
    temp_mkdir(state, "p/empty");
    walk(&found, "p", temp_path(state, "p"), &QUIET, &n_skipped, &n_incomplete);
    assert_string_equal(rows_keys(&found), "p/2023/05/001.JPG p/a folder.jpg/b.png p/a.jpg ");
    assert_string_equal(rows_find(&found, "p/2023/05/001.JPG")->path,
                        temp_path(state, "p/2023/05/001.JPG"));
    assert_int_equal(n_skipped, 2); /* what is hidden is not worth a word */
    assert_int_equal(n_incomplete, 0);
    rows_free(&found);
}

static void keys_have_the_prefix_that_is_asked_for(void **state)
{
    rows found = {0};

    fake_file(state, "p/q/a.jpg", "");
    walk(&found, "", temp_path(state, "p"), &QUIET, NULL, NULL);
    walk(&found, "/", temp_path(state, "p"), &QUIET, NULL, NULL);
    walk(&found, "some/thing", temp_path(state, "p"), &QUIET, NULL, NULL);
    assert_string_equal(rows_keys(&found), "/q/a.jpg q/a.jpg some/thing/q/a.jpg ");
    rows_free(&found);
}

/* B42: five names, five rows, and each path leads to its file. */
static void hostile_names_become_keys_that_lead_back(void **state)
{
    static const struct {
        const char *name, *key;
    } CASES[] = {
        {"Mu\xf1oz.png", "Mu\\xf1oz.png"},
        {"a\nb.png", "a\nb.png"},
        {" lead.png", " lead.png"},
        {"\xc3\xb6.png", "\xc3\xb6.png"},
        {"o\xcc\x88.png", "o\xcc\x88.png"},
        {"\x1b[31m.png", "\x1b[31m.png"},
        {"a\\xf1.png", "a\\x5cxf1.png"},
        {"-rf *.png", "-rf *.png"},
        {"\xed\xa0\x80.png", "\\xed\\xa0\\x80.png"},
    };
    enum { N = sizeof(CASES) / sizeof(CASES[0]) };
    rows found = {0};

    for (size_t i = 0; i < N; i++)
        temp_write_text(state, CASES[i].name, CASES[i].name);
    walk(&found, "", *state, &QUIET, NULL, NULL);
    assert_int_equal(found.n, N);
    for (size_t i = 0; i < N; i++) {
        char text[64] = "";
        const brim_row *row = rows_find(&found, CASES[i].key);
        assert_non_null(row);
        int fd = open(row->path, O_RDONLY);
        assert_true(fd >= 0);
        assert_true(read(fd, text, sizeof(text) - 1) > 0);
        assert_string_equal(text, CASES[i].name);
        close(fd);
    }
    rows_free(&found);
}

static void follows_links_to_files_and_none_to_folders(void **state)
{
    rows found = {0};
    uint64_t n_skipped, n_incomplete;

    fake_file(state, "p/q/a.jpg", "");
    fake_file(state, "elsewhere/b.jpg", "");
    assert_int_equal(symlink("../elsewhere/b.jpg", temp_path(state, "p/link.jpg")), 0);
    assert_int_equal(symlink("../elsewhere", temp_path(state, "p/folder.jpg")), 0);
    assert_int_equal(symlink("..", temp_path(state, "p/q/up")), 0); /* in circles */
    assert_int_equal(symlink("loop.jpg", temp_path(state, "p/loop.jpg")), 0);
    assert_int_equal(symlink("nowhere", temp_path(state, "p/broken.jpg")), 0);
    assert_int_equal(symlink("nowhere", temp_path(state, "p/broken")), 0);
    walk(&found, "p", temp_path(state, "p"), &QUIET, &n_skipped, &n_incomplete);
    /* what leads nowhere fails when it is read: it is not lost without a word */
    assert_string_equal(rows_keys(&found), "p/broken.jpg p/link.jpg p/loop.jpg p/q/a.jpg ");
    assert_int_equal(n_skipped, 3);
    assert_int_equal(n_incomplete, 0);
    rows_free(&found);
}

/* Opening a pipe nobody writes to would wait for ever. */
static void pipes_and_sockets_are_no_pictures(void **state)
{
    rows found = {0};
    uint64_t n_skipped;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);

    alarm(60);
    assert_int_equal(mkfifo(temp_path(state, "pipe.jpg"), 0666), 0);
    assert_int_equal(symlink("pipe.jpg", temp_path(state, "link.jpg")), 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", temp_path(state, "socket.jpg"));
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    temp_write_text(state, "a.jpg", "");
    walk(&found, "", *state, &QUIET, &n_skipped, NULL);
    assert_string_equal(rows_keys(&found), "a.jpg ");
    assert_int_equal(n_skipped, 3);
    rows_free(&found);
    close(listener);
    alarm(0);
}

/* A picture in each of 210 folders in one another; names stay short, so that paths may be used. */
static void goes_200_folders_deep_and_says_that_there_is_more(void **state)
{
    rows found = {0};
    said words = {0};
    brim_log log = {said_write, &words};
    brim_source_options options = {.log = &log};
    uint64_t n_incomplete;
    int at = open(*state, O_RDONLY | O_DIRECTORY);

    for (int i = 0; i < 210; i++) {
        int file = openat(at, "a.jpg", O_CREAT | O_WRONLY, 0666);
        assert_true(file >= 0);
        close(file);
        assert_int_equal(mkdirat(at, "d", 0777), 0);
        int below = openat(at, "d", O_RDONLY | O_DIRECTORY);
        close(at);
        at = below;
    }
    close(at);
    walk(&found, "", *state, &options, NULL, &n_incomplete);
    assert_int_equal(found.n, 200);
    assert_int_equal(n_incomplete, 1);
    assert_int_equal(words.n, 1);
    assert_non_null(strstr(words.line, "more than 200 folders"));
    rows_free(&found);
}

static void long_names_deep_down_are_whole(void **state)
{
    rows found = {0};
    char path[4096], folder[201];
    size_t base = strlen(*state);

    memset(folder, 'd', 200);
    folder[200] = '\0';
    snprintf(path, sizeof(path), "%s", (const char *)*state);
    for (int i = 0; i < 18; i++) {
        size_t length = strlen(path);
        snprintf(path + length, sizeof(path) - length, "/%s", folder);
        assert_int_equal(mkdir(path, 0777), 0);
    }
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/a.jpg");
    close(open(path, O_CREAT | O_WRONLY, 0666));
    walk(&found, "", *state, &QUIET, NULL, NULL);
    assert_int_equal(found.n, 1);
    assert_string_equal(found.all[0]->path, path);
    assert_string_equal(found.all[0]->key, path + base + 1);
    rows_free(&found);
}

static void a_folder_that_may_not_be_read_is_told_and_the_rest_done(void **state)
{
    static failing_alloc mem;
    rows found = {0};
    said words = {0};
    brim_log log = {said_write, &words};
    brim_source_options options = {.log = &log}, counting = {.log = &log, .counting = true};

    fake_file(state, "closed\n/a.jpg", "");
    fake_file(state, "open/b.jpg", "");
    assert_int_equal(chmod(temp_path(state, "closed\n"), 0), 0);
    if (!drop_root(*state)) skip();
    brim_source *source = open_folder(&mem, "", *state, &options);
    brim_source *counter = open_folder(&mem, "", *state, &counting);
    brim_status status = rows_take(&found, source, NULL);
    int n_said = words.n;
    brim_status counted = rows_take(&found, counter, NULL);
    uint64_t n_incomplete = source->counts.n_incomplete;
    brim_source_close(source);
    brim_source_close(counter);
    regain_root();
    chmod(temp_path(state, "closed\n"), 0777);

    assert_int_equal(status, BRIM_END);
    assert_int_equal(counted, BRIM_END);
    assert_string_equal(rows_keys(&found), "open/b.jpg open/b.jpg ");
    assert_int_equal(n_incomplete, 1);
    assert_int_equal(n_said, 1);
    assert_int_equal(words.n, 1); /* who only counts says nothing */
    assert_non_null(strstr(words.line, "closed\\x0a: Permission denied"));
    rows_free(&found);
}

/* DESIGN section 9: memory does not grow with the number of rows. */
static void holds_one_name_however_many_there_are(void **state)
{
    failing_alloc mem;
    brim_row *row;
    char name[32];
    size_t held = 0, n = 0;

    for (int i = 0; i < 1500; i++) {
        snprintf(name, sizeof(name), "%06d.jpg", i);
        temp_write(state, name, "", 0);
    }
    brim_source *source = open_folder(&mem, "", *state, &QUIET);
    while (brim_source_next(source, &row, NULL) == BRIM_OK) {
        brim_row_destroy(row);
        if (n++ == 0) held = mem.live_bytes;
        assert_int_equal(mem.live_bytes, held);
    }
    assert_int_equal(n, 1500);
    brim_source_close(source);
    assert_int_equal(mem.live_bytes, 0);
}

static void a_walk_that_is_broken_off_leaves_nothing_open(void **state)
{
    failing_alloc mem;
    brim_row *row;

    fake_file(state, "p/q/r/a.jpg", "");
    int before = dup(STDIN_FILENO);
    brim_source *source = open_folder(&mem, "p", temp_path(state, "p"), &QUIET);
    assert_int_equal(brim_source_next(source, &row, NULL), BRIM_OK);
    brim_row_destroy(row);
    brim_source_close(source); /* three folders deep */
    int after = dup(STDIN_FILENO);
    close(after);
    close(before);
    assert_int_equal(after, before + 1);
    assert_int_equal(mem.live_bytes, 0);
}

static void says_why_a_folder_cannot_be_opened(void **state)
{
    failing_alloc mem;
    brim_source *source = (brim_source *)&mem;
    brim_error err = {0};

    failing_alloc_init(&mem, 100);
    assert_int_equal(
        brim_source_open_folder(&mem.base, "x", temp_path(state, "gone"), &QUIET, &source, &err),
        BRIM_E_IO);
    assert_null(source);
    assert_non_null(strstr(err.message, "gone: No such file"));
    const char *file = temp_write_text(state, "a.jpg", "");
    assert_int_equal(brim_source_open_folder(&mem.base, "x", file, &QUIET, &source, &err),
                     BRIM_E_IO);
    assert_non_null(strstr(err.message, "a.jpg: Not a directory"));
    assert_int_equal(mem.live_bytes, 0);
}

static void survives_every_failed_allocation(void **state)
{
    brim_status status = BRIM_E_NOMEM;

    fake_file(state, "p/q/a.jpg", "");
    fake_file(state, "p/b.jpg", "");
    for (long allowed = 0; status != BRIM_END; allowed++) {
        failing_alloc mem;
        brim_source *source = NULL;
        rows found = {0};
        brim_error err = {0};

        failing_alloc_init(&mem, allowed);
        status =
            brim_source_open_folder(&mem.base, "p", temp_path(state, "p"), &QUIET, &source, &err);
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
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(finds_the_pictures_of_all_folders_below),
        TEST(keys_have_the_prefix_that_is_asked_for),
        TEST(hostile_names_become_keys_that_lead_back),
        TEST(follows_links_to_files_and_none_to_folders),
        TEST(pipes_and_sockets_are_no_pictures),
        TEST(goes_200_folders_deep_and_says_that_there_is_more),
        TEST(long_names_deep_down_are_whole),
        TEST(a_folder_that_may_not_be_read_is_told_and_the_rest_done),
        TEST(holds_one_name_however_many_there_are),
        TEST(a_walk_that_is_broken_off_leaves_nothing_open),
        TEST(says_why_a_folder_cannot_be_opened),
        TEST(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("source/folder", tests, NULL, NULL);
}
