/* Tests of src/source/list.c. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "source/rows.h"
#include "support/failing_alloc.h"
#include "support/temp_dir.h"
#include "support/unprivileged.h"

enum { LONGEST_LINE = 65534 };

static const brim_source_options PLAIN = {0};
static const brim_source_options NUL_ENDED = {.nul_lists = true};

/* Reads a whole list; base of its lines is "/base". */
static brim_status read_list(const char *path, const brim_source_options *options, rows *found,
                             brim_error *err)
{
    static failing_alloc mem; /* the rows outlive the source */
    brim_source *source = NULL;

    failing_alloc_init(&mem, 1000000);
    brim_status status = brim_source_open_list(&mem.base, path, "/base", options, &source, err);
    if (status != BRIM_OK) return status;
    assert_true(source->may_repeat);
    status = rows_take(found, source, err);
    if (status == BRIM_END) assert_int_equal(rows_take(found, source, err), BRIM_END);
    brim_source_close(source);
    return status;
}

static void read_bytes(void **state, const void *data, size_t bytes,
                       const brim_source_options *options, rows *found)
{
    brim_error err = {0};

    if (read_list(temp_write(state, "l", data, bytes), options, found, &err) != BRIM_END)
        fail_msg("%s", err.message);
}

static void read_text(void **state, const char *text, rows *found)
{
    read_bytes(state, text, strlen(text), &PLAIN, found);
}

static void a_line_is_its_own_key_and_starts_at_the_base(void **state)
{
    rows found = {0};

    read_text(state, "a.jpg\n./b/c.jpg\n/abs/d.jpg\n../e.jpg\n  f \t\n#g\n", &found);
    assert_int_equal(found.n, 6);
    assert_string_equal(rows_find(&found, "a.jpg")->path, "/base/a.jpg");
    assert_string_equal(rows_find(&found, "b/c.jpg")->path, "/base/b/c.jpg");
    assert_string_equal(rows_find(&found, "/abs/d.jpg")->path, "/abs/d.jpg");
    assert_string_equal(rows_find(&found, "../e.jpg")->path, "/base/../e.jpg");
    assert_string_equal(rows_find(&found, "  f \t")->path, "/base/  f \t");
    assert_string_equal(rows_find(&found, "#g")->path, "/base/#g");
    rows_free(&found);
}

static void keeps_the_order_and_the_repeats(void **state)
{
    rows found = {0};

    read_text(state, "b\na\nb\n", &found);
    assert_int_equal(found.n, 3);
    assert_string_equal(found.all[0]->key, "b");
    assert_string_equal(found.all[1]->key, "a");
    assert_string_equal(found.all[2]->key, "b");
    rows_free(&found);
}

static void marks_and_line_ends_of_other_systems_are_no_names(void **state)
{
    rows found = {0};

    read_text(state,
              "\xEF\xBB\xBF"
              "a\r\n\r\n\nb\rc\r\nd\r",
              &found);
    assert_string_equal(rows_keys(&found), "a b\rc d ");
    rows_free(&found);
    read_text(state,
              "a\n\xEF\xBB\xBF"
              "b\n",
              &found); /* only at the start it is a mark */
    assert_string_equal(rows_keys(&found), "a \xEF\xBB\xBF"
                                           "b ");
    rows_free(&found);
    read_text(state, "\xEF\xBB\xBF", &found);
    assert_int_equal(found.n, 0);
}

static void an_empty_list_has_no_rows(void **state)
{
    static const char *const EMPTY[] = {"", "\n", "\n\n\n", "\r\n\r\n", "\r"};
    rows found = {0};

    for (size_t i = 0; i < sizeof(EMPTY) / sizeof(EMPTY[0]); i++)
        read_text(state, EMPTY[i], &found);
    read_bytes(state, "\0\0", 2, &NUL_ENDED, &found);
    assert_int_equal(found.n, 0);
}

static void bytes_that_are_not_utf8_are_escaped_in_the_key_only(void **state)
{
    rows found = {0};

    read_text(state, "Mu\xf1oz.png", &found);
    assert_string_equal(found.all[0]->key, "Mu\\xf1oz.png");
    assert_string_equal(found.all[0]->path, "/base/Mu\xf1oz.png");
    rows_free(&found);
}

static void names_that_end_in_nul_may_hold_newlines(void **state)
{
    static const char LIST[] = "a\nb\0\0c\r\0./d"; /* the last one ends with the file's NUL */
    rows found = {0};

    read_bytes(state, LIST, sizeof(LIST), &NUL_ENDED, &found);
    assert_int_equal(found.n, 3);
    assert_string_equal(found.all[0]->key, "a\nb");
    assert_string_equal(found.all[1]->key, "c\r");
    assert_string_equal(found.all[2]->key, "d");
    rows_free(&found);
    read_bytes(state, LIST, sizeof(LIST) - 1, &NUL_ENDED, &found); /* and without it */
    assert_int_equal(found.n, 3);
    rows_free(&found);
}

/* find -print0 without -0: taking the first name and losing the others would be silent. */
static void a_nul_in_a_line_ends_the_run_with_a_hint(void **state)
{
    rows found = {0};
    brim_error err = {0};

    assert_int_equal(read_list(temp_write(state, "l", "ok\na\0b\0", 7), &PLAIN, &found, &err),
                     BRIM_E_FORMAT);
    assert_non_null(strstr(err.message, "NUL"));
    assert_non_null(strstr(err.message, "-0"));
    assert_string_equal(rows_keys(&found), "ok ");
    rows_free(&found);
}

static void the_longest_line_is_a_name_and_a_longer_one_a_mistake(void **state)
{
    char *text = test_malloc(LONGEST_LINE + 8);
    rows found = {0};
    brim_error err = {0};

    memset(text, 'n', LONGEST_LINE + 8);
    read_bytes(state, text, LONGEST_LINE, &PLAIN, &found); /* without an end */
    text[LONGEST_LINE] = '\n';
    read_bytes(state, text, LONGEST_LINE + 1, &PLAIN, &found);
    read_bytes(state, text, LONGEST_LINE + 8, &PLAIN, &found); /* and a short one behind */
    assert_int_equal(found.n, 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(strlen(found.all[i]->key), LONGEST_LINE);
    assert_int_equal(strlen(found.all[3]->key), 7);
    rows_free(&found);

    text[LONGEST_LINE] = 'n';
    for (size_t bytes = LONGEST_LINE + 1; bytes <= LONGEST_LINE + 8; bytes++) {
        text[LONGEST_LINE + 1] = bytes % 2 ? 'n' : '\n';
        const char *path = temp_write(state, "l", text, bytes);
        assert_int_equal(read_list(path, &PLAIN, &found, &err), BRIM_E_FORMAT);
        assert_non_null(strstr(err.message, "longer than 65534 bytes (is it a list of names?)"));
    }
    assert_int_equal(found.n, 0);
    test_free(text);
}

/* 3000 lines of 1 to 100 bytes lie across the ends of the buffer in every way. */
static void lines_across_the_buffer_are_whole(void **state)
{
    enum { N = 3000 };
    char *text = test_malloc(N * 102);
    size_t bytes = 0;
    rows found = {0};

    for (int i = 0; i < N; i++) {
        int length = 1 + i * 37 % 100;
        memset(text + bytes, 'a' + i % 26, (size_t)length);
        text[bytes + (size_t)length] = '\n';
        bytes += (size_t)length + 1;
    }
    read_bytes(state, text, bytes, &PLAIN, &found);
    assert_int_equal(found.n, N);
    for (int i = 0; i < N; i++) {
        char letter[2] = {(char)('a' + i % 26), '\0'};
        assert_int_equal(strlen(found.all[i]->key), 1 + i * 37 % 100);
        assert_int_equal(strspn(found.all[i]->key, letter), strlen(found.all[i]->key));
    }
    rows_free(&found);
    test_free(text);
}

static void *write_byte_by_byte(void *arg)
{
    static const char LIST[] = "one\r\n\ntwo\nthree";
    int fd = *(int *)arg;

    for (size_t i = 0; i < sizeof(LIST) - 1; i++)
        if (write(fd, LIST + i, 1) != 1) break;
    close(fd);
    return NULL;
}

static void standard_input_is_read_as_it_comes(void **state)
{
    rows found = {0};
    brim_error err = {0};
    int ends[2], before = dup(STDIN_FILENO);
    pthread_t writer;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    assert_int_equal(pthread_create(&writer, NULL, write_byte_by_byte, &ends[1]), 0);
    brim_status status = read_list("-", &PLAIN, &found, &err);
    pthread_join(writer, NULL);
    bool still_open = fcntl(STDIN_FILENO, F_GETFD) >= 0;
    dup2(before, STDIN_FILENO);
    close(before);
    assert_int_equal(status, BRIM_END);
    assert_true(still_open);
    assert_string_equal(rows_keys(&found), "one three two ");
    rows_free(&found);
}

/* The counting walk must neither eat a pipe's lines nor wait for somebody to write. */
static void what_gives_its_lines_once_is_not_counted(void **state)
{
    brim_source_options counting = {.counting = true};
    rows found = {0};
    brim_error err = {0};

    alarm(60);
    assert_int_equal(mkfifo(temp_path(state, "pipe"), 0666), 0);
    assert_int_equal(read_list(temp_path(state, "pipe"), &counting, &found, &err),
                     BRIM_E_UNSUPPORTED);
    assert_int_equal(read_list("-", &counting, &found, &err), BRIM_E_UNSUPPORTED);
    assert_int_equal(found.n, 0);
    read_bytes(state, "a\nb", 3, &counting, &found);
    assert_int_equal(found.n, 2);
    rows_free(&found);
    alarm(0);
}

static void a_list_that_breaks_off_is_told_once(void **state)
{
    failing_alloc mem;
    brim_source *source = NULL;
    said words = {0};
    brim_log log = {said_write, &words};
    brim_source_options options = {.log = &log}, counting = {.log = &log, .counting = true};
    rows found = {0};

    failing_alloc_init(&mem, 100);
    /* a folder opens, and its first read fails */
    assert_int_equal(brim_source_open_list(&mem.base, *state, "/", &options, &source, NULL),
                     BRIM_OK);
    assert_int_equal(rows_take(&found, source, NULL), BRIM_END);
    assert_int_equal(rows_take(&found, source, NULL), BRIM_END);
    assert_int_equal(source->counts.n_incomplete, 1);
    assert_int_equal(words.n, 1);
    assert_non_null(strstr(words.line, "Is a directory"));
    brim_source_close(source);
    assert_int_equal(brim_source_open_list(&mem.base, *state, "/", &counting, &source, NULL),
                     BRIM_E_UNSUPPORTED);
    assert_int_equal(words.n, 1);
    assert_int_equal(mem.live_bytes, 0);
}

static void says_why_a_list_cannot_be_opened(void **state)
{
    rows found = {0};
    brim_error err = {0}, denied = {0};

    assert_int_equal(read_list(temp_path(state, "go\nne"), &PLAIN, &found, &err), BRIM_E_IO);
    assert_non_null(strstr(err.message, "go\\x0ane: No such file"));

    const char *path = temp_write_text(state, "l", "a\n");
    chmod(path, 0);
    if (!drop_root(*state)) skip();
    brim_status status = read_list(path, &PLAIN, &found, &denied);
    regain_root();
    assert_int_equal(status, BRIM_E_IO);
    assert_non_null(strstr(denied.message, "l: Permission denied"));
}

static void survives_every_failed_allocation(void **state)
{
    const char *path = temp_write_text(state, "l", "a.jpg\n/b.jpg\n");
    brim_status status = BRIM_E_NOMEM;

    for (long allowed = 0; status != BRIM_END; allowed++) {
        failing_alloc mem;
        brim_source *source = NULL;
        rows found = {0};
        brim_error err = {0};

        failing_alloc_init(&mem, allowed);
        status = brim_source_open_list(&mem.base, path, "/base", &PLAIN, &source, &err);
        if (status == BRIM_OK) status = rows_take(&found, source, &err);
        assert_true(status == BRIM_END || status == BRIM_E_NOMEM);
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
        TEST(a_line_is_its_own_key_and_starts_at_the_base),
        TEST(keeps_the_order_and_the_repeats),
        TEST(marks_and_line_ends_of_other_systems_are_no_names),
        TEST(an_empty_list_has_no_rows),
        TEST(bytes_that_are_not_utf8_are_escaped_in_the_key_only),
        TEST(names_that_end_in_nul_may_hold_newlines),
        TEST(a_nul_in_a_line_ends_the_run_with_a_hint),
        TEST(the_longest_line_is_a_name_and_a_longer_one_a_mistake),
        TEST(lines_across_the_buffer_are_whole),
        TEST(standard_input_is_read_as_it_comes),
        TEST(what_gives_its_lines_once_is_not_counted),
        TEST(a_list_that_breaks_off_is_told_once),
        TEST(says_why_a_list_cannot_be_opened),
        TEST(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("source/list", tests, NULL, NULL);
}
