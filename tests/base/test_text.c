/* Tests of src/base/text.c. */
#include "base/text.h"
#include "support/cmocka_all.h"

static const char *key_of(const char *name)
{
    static char out[256];

    char *end = brim_key_write(name, out);
    assert_int_equal(end - out, brim_key_bytes(name));
    assert_int_equal(strlen(out), brim_key_bytes(name));
    return out;
}

static void keys_are_utf8_and_lead_back_to_the_bytes(void **state)
{
    (void)state;
    assert_string_equal(key_of("Mu\xf1oz.png"), "Mu\\xf1oz.png");
    assert_string_equal(key_of("\xc3\xb6.png"), "\xc3\xb6.png");
    assert_string_equal(key_of("o\xcc\x88.png"), "o\xcc\x88.png");
    assert_string_equal(key_of("a\nb.png"), "a\nb.png");
    assert_string_equal(key_of("a\\xff"), "a\\x5cxff");
    assert_string_equal(key_of("a\\b\\"), "a\\b\\");
    assert_string_equal(key_of(""), "");
}

/* Two names that differ never get one key: tried on all short names over a spiteful alphabet. */
static void no_two_names_share_a_key(void **state)
{
    static const char ALPHABET[] = {'\\', 'x', '5', 'c', '\xff', '\xc3', '\xb6'};
    enum { N = sizeof(ALPHABET), COUNT = N * N * N * N };
    static char keys[COUNT][20];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        char name[5] = {ALPHABET[i % N], ALPHABET[i / N % N], ALPHABET[i / N / N % N],
                        ALPHABET[i / N / N / N], '\0'};
        brim_key_write(name, keys[i]);
    }
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < i; j++)
            assert_true(strcmp(keys[i], keys[j]) != 0);
}

static void decodes_utf8_as_the_standard_has_it(void **state)
{
    static const struct {
        const char *bytes;
        size_t n, length;
    } CASES[] = {
        {"a", 1, 1},
        {"\xc3\xb6", 2, 2},
        {"\xe2\x98\x86", 3, 3},
        {"\xf0\x9f\x98\x80", 4, 4},
        {"\xc3", 1, 0},             /* cut */
        {"\xc0\x80", 2, 0},         /* overlong NUL */
        {"\xe0\x80\x80", 3, 0},     /* overlong */
        {"\xed\xa0\x80", 3, 0},     /* surrogate */
        {"\xf4\x90\x80\x80", 4, 0}, /* beyond U+10FFFF */
        {"\x80", 1, 0},             /* no lead */
        {"", 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        unsigned code;
        assert_int_equal(brim_utf8_decode(CASES[i].bytes, CASES[i].n, &code), CASES[i].length);
    }
}

static void shows_no_character_that_moves_or_hides(void **state)
{
    char out[64];

    (void)state;
    brim_escape_line("tab\there \x7f \xc2\x9b \xe2\x80\xa8 \xef\xbb\xbf ok \xe2\x98\x86", out,
                     sizeof(out));
    assert_string_equal(out, "tab\\x09here \\x7f \\xc2\\x9b \\xe2\\x80\\xa8 \\xef\\xbb\\xbf ok "
                             "\xe2\x98\x86");
    brim_escape_line("star \xe2\x98\x86", out, 8); /* no character is cut */
    assert_string_equal(out, "star ");
    assert_int_equal(brim_escape_line("\n", out, 4), 0); /* an escape is never cut */
    assert_string_equal(out, "");
}

static void knows_the_folder_of_a_path(void **state)
{
    static const char *const CASES[][2] = {{"a/b", "a"},   {"/a/b", "/a"}, {"/a", "/"},
                                           {"a", "."},     {"./a", "."},   {"a/", "a"},
                                           {"../a", ".."}, {"", "."},      {"a//b", "a/"}};
    char out[8];

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_true(brim_folder_of(CASES[i][0], out, sizeof(out)));
        assert_string_equal(out, CASES[i][1]);
    }
    assert_true(brim_folder_of("1234567/x", out, sizeof(out)));
    assert_false(brim_folder_of("12345678/x", out, sizeof(out)));
}

static void knows_the_end_of_a_text(void **state)
{
    (void)state;
    assert_true(brim_ends_with("a.onnx", ".onnx"));
    assert_true(brim_ends_with(".onnx", ".onnx"));
    assert_true(brim_ends_with("a", ""));
    assert_false(brim_ends_with("onnx", ".onnx"));
    assert_false(brim_ends_with("a.onnx_data", ".onnx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_utf8_and_lead_back_to_the_bytes),
        cmocka_unit_test(no_two_names_share_a_key),
        cmocka_unit_test(decodes_utf8_as_the_standard_has_it),
        cmocka_unit_test(shows_no_character_that_moves_or_hides),
        cmocka_unit_test(knows_the_folder_of_a_path),
        cmocka_unit_test(knows_the_end_of_a_text),
    };
    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
