/* Tests of src/source/names.c. */
#include "source/names.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

static void knows_pictures_by_their_suffix_in_any_case(void **state)
{
    static const char *const PICTURES[] = {"a.jpg",  "A.JPG",    "a.b.JpEg", "x.png",    "x.webp",
                                           "x.tiff", "x.HEIC",   "x.avif",   "-.gif",    "\xff.jpg",
                                           " .bmp",  "a\nb.png", "x..jpg",   "x.txt.jpg"};
    static const char *const OTHERS[] = {"",       "jpg",    ".jpg",   "a.jpg ",  "a.jpg.txt",
                                         "a.",     "a.jpgx", "a.jp",   "._a.jpg", "._.jpg",
                                         ".a.jpg", "a.tar",  "a.onnx", "a_jpg",   "a.jpg~"};

    (void)state;
    for (size_t i = 0; i < sizeof(PICTURES) / sizeof(PICTURES[0]); i++)
        if (!brim_names_picture(PICTURES[i])) fail_msg("no picture: %s", PICTURES[i]);
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
        if (brim_names_picture(OTHERS[i])) fail_msg("a picture: %s", OTHERS[i]);
}

static void passes_over_hidden_entries_and_thumbnails_of_a_nas(void **state)
{
    (void)state;
    assert_true(brim_names_hidden(".git"));
    assert_true(brim_names_hidden("._a.jpg"));
    assert_true(brim_names_hidden("@eaDir"));
    assert_false(brim_names_hidden("@eaDir2"));
    assert_false(brim_names_hidden("@eadir"));
    assert_false(brim_names_hidden("a.jpg"));
}

static void strips_dots_and_slashes_from_the_front_only(void **state)
{
    static const struct {
        const char *name, *stripped;
    } CASES[] = {
        {"a", "a"},     {"./a", "a"},       {".//a", "a"},      {"././/./a", "a"}, {"./", ""},
        {".", "."},     {"..", ".."},       {"../a", "../a"},   {"/a", "/a"},      {".a", ".a"},
        {"./.a", ".a"}, {"./../a", "../a"}, {"a/./b", "a/./b"}, {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
        assert_string_equal(brim_names_strip(CASES[i].name), CASES[i].stripped);
}

static void joins_paths_with_one_slash(void **state)
{
    failing_alloc mem;
    brim_path path = {.mem = &mem.base};

    (void)state;
    failing_alloc_init(&mem, 100);
    assert_int_equal(brim_path_put(&path, 0, "/a"), BRIM_OK);
    assert_int_equal(brim_path_put(&path, 2, "b"), BRIM_OK);
    assert_string_equal(path.text, "/a/b");
    assert_int_equal(path.length, 4);
    assert_int_equal(brim_path_put(&path, 2, "longer"), BRIM_OK); /* takes b's place */
    assert_string_equal(path.text, "/a/longer");
    assert_int_equal(brim_path_put(&path, 2, ""), BRIM_OK);
    assert_string_equal(path.text, "/a");
    assert_int_equal(brim_path_put(&path, 0, "/"), BRIM_OK);
    assert_int_equal(brim_path_put(&path, 1, "b"), BRIM_OK);
    assert_string_equal(path.text, "/b");
    assert_int_equal(brim_path_put(&path, 0, ""), BRIM_OK);
    assert_int_equal(brim_path_put(&path, 0, "b"), BRIM_OK); /* no prefix: no slash */
    assert_string_equal(path.text, "b");
    brim_path_fini(&path);
    brim_path_fini(&path);
    assert_int_equal(mem.live_bytes, 0);
}

/* All lengths around the sizes at which the text grows; its front must survive the move. */
static void grows_without_losing_its_front(void **state)
{
    failing_alloc mem;
    char name[1200];

    (void)state;
    for (size_t length = 1; length < sizeof(name); length++) {
        brim_path path = {.mem = &mem.base};
        failing_alloc_init(&mem, 100);
        memset(name, 'n', length);
        name[length] = '\0';
        assert_int_equal(brim_path_put(&path, 0, "front"), BRIM_OK);
        assert_int_equal(brim_path_put(&path, 5, name), BRIM_OK);
        assert_memory_equal(path.text, "front/", 6);
        assert_string_equal(path.text + 6, name);
        assert_int_equal(path.length, 6 + length);
        assert_true(path.capacity > path.length);
        brim_path_fini(&path);
        assert_int_equal(mem.live_bytes, 0);
    }
}

static void a_refused_growth_leaves_the_text(void **state)
{
    failing_alloc mem;
    brim_path path = {.mem = &mem.base};
    char name[600];

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    failing_alloc_init(&mem, 1);
    assert_int_equal(brim_path_put(&path, 0, "/a"), BRIM_OK);
    assert_int_equal(brim_path_put(&path, 2, name), BRIM_E_NOMEM);
    assert_string_equal(path.text, "/a");
    assert_int_equal(brim_path_put(&path, 2, "b"), BRIM_OK);
    brim_path_fini(&path);
    assert_int_equal(mem.live_bytes, 0);

    failing_alloc_init(&mem, 0);
    assert_int_equal(brim_path_put(&path, 0, "/a"), BRIM_E_NOMEM);
    brim_path_fini(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_pictures_by_their_suffix_in_any_case),
        cmocka_unit_test(passes_over_hidden_entries_and_thumbnails_of_a_nas),
        cmocka_unit_test(strips_dots_and_slashes_from_the_front_only),
        cmocka_unit_test(joins_paths_with_one_slash),
        cmocka_unit_test(grows_without_losing_its_front),
        cmocka_unit_test(a_refused_growth_leaves_the_text),
    };
    return cmocka_run_group_tests_name("source/names", tests, NULL, NULL);
}
