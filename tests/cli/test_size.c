/* Tests of cli/size.c. */
#include "cli.h"
#include "support/cmocka_all.h"

static void reads_sizes_as_people_write_them(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
    } CASES[] = {
        {"1", 1},
        {"123456", 123456},
        {"007", 7},
        {"600MiB", (size_t)600 << 20},
        {"600 MiB", (size_t)600 << 20},
        {"6GiB", (size_t)6 << 30},
        {"6G", (size_t)6 << 30},
        {"6g", (size_t)6 << 30},
        {"6GB", (size_t)6 << 30},
        {"6gb", (size_t)6 << 30},
        {"2k", 2048},
        {"2KiB", 2048},
        {"3T", (size_t)3 << 40},
        {"1.5GiB", (size_t)3 << 29},
        {"0.5K", 512},
        {"2.G", (size_t)2 << 30},
        {"512b", 512},
        {"512 B", 512},
        {"8388607T", (size_t)8388607 << 40},
        {"9223372036854774784", 9223372036854774784u}, /* the largest double below 2^63 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t bytes = 0;
        if (!cli_parse_bytes(CASES[i].text, &bytes) || bytes != CASES[i].bytes)
            fail_msg("%s: %zu", CASES[i].text, bytes);
    }
}

static void refuses_what_is_no_size(void **state)
{
    static const char *const CASES[] = {
        "",
        "0",
        "0G",
        "0.4",
        "-1",
        "+1",
        " 1",
        "G",
        "MiB",
        ".5G",
        "1.2.3",
        "1..2",
        "1e3",
        "1E3G",
        "1e",
        "0x10",
        "0X1p4",
        "inf",
        "nan",
        "6GG",
        "6GiBB",
        "6Gi",
        "6Gi B",
        "6G iB",
        "6X",
        "6bb",
        "6 6",
        "6,5G",
        "6%",
        "6G ",
        "6PiB",
        "16777216T",
        "8388608T",
        "9223372036854775808",
        "99999999999999999999999999999999999999",
        "1\xc2\xa0G",
        "6\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t bytes = 77;
        if (cli_parse_bytes(CASES[i], &bytes)) fail_msg("\"%s\": %zu", CASES[i], bytes);
        assert_int_equal(bytes, 77);
    }
}

/* Digits without end are no reason to crash or to wrap. */
static void refuses_numbers_of_any_length(void **state)
{
    char text[1000];

    (void)state;
    memset(text, '9', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (size_t length = 19; length < sizeof(text) - 1; length++) {
        size_t bytes;
        assert_false(cli_parse_bytes(text + sizeof(text) - 1 - length, &bytes));
    }
}

static const char *printed(size_t bytes)
{
    static char text[64];
    FILE *to = tmpfile();

    assert_non_null(to);
    cli_print_bytes(to, bytes);
    rewind(to);
    text[fread(text, 1, sizeof(text) - 1, to)] = '\0';
    fclose(to);
    return text;
}

static void writes_sizes_for_people(void **state)
{
    (void)state;
    assert_string_equal(printed(0), "0 MiB");
    assert_string_equal(printed(600 << 20), "600 MiB");
    assert_string_equal(printed(((size_t)1 << 30) - (1 << 20)), "1023 MiB");
    assert_string_equal(printed((size_t)1 << 30), "1.0 GiB");
    assert_string_equal(printed((size_t)6 << 30), "6.0 GiB");
    assert_string_equal(printed((size_t)3 << 29), "1.5 GiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_sizes_as_people_write_them),
        cmocka_unit_test(refuses_what_is_no_size),
        cmocka_unit_test(refuses_numbers_of_any_length),
        cmocka_unit_test(writes_sizes_for_people),
    };
    return cmocka_run_group_tests_name("cli/size", tests, NULL, NULL);
}
