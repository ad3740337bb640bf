/* Tests of src/base/fail.c. */
#include "base/fail.h"
#include "support/cmocka_all.h"

static void returns_its_status_and_tells_the_words(void **state)
{
    brim_error err;

    (void)state;
    assert_int_equal(brim_fail(&err, BRIM_E_IO, "%s: %d", "a.jpg", 7), BRIM_E_IO);
    assert_int_equal(err.status, BRIM_E_IO);
    assert_string_equal(err.message, "a.jpg: 7");
    assert_int_equal(brim_fail(NULL, BRIM_E_ARG, "nobody listens"), BRIM_E_ARG);
}

static void makes_hostile_names_safe_to_show(void **state)
{
    brim_error err;

    (void)state;
    brim_fail(&err, BRIM_E_IO, "%s: gone", "a\x1b[31m\nb\xff\xe2\x80\xae");
    assert_string_equal(err.message, "a\\x1b[31m\\x0ab\\xff\\xe2\\x80\\xae: gone");
}

static void cuts_long_words_at_a_whole_character(void **state)
{
    char longer[1200];
    brim_error err;

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        memset(longer, 'x', sizeof(longer));
        for (size_t i = shift; i + 4 < sizeof(longer); i += 4)
            memcpy(longer + i, "\xf0\x9f\x9a\x82", 4);
        longer[sizeof(longer) - 1] = '\0';
        brim_fail(&err, BRIM_E_IO, "%s", longer);
        size_t length = strlen(err.message);
        assert_true(length > sizeof(err.message) - 8 && length < sizeof(err.message));
        assert_int_equal((length - shift) % 4, 0);
    }
}

static void names_every_status(void **state)
{
    (void)state;
    for (int s = BRIM_E_RUNTIME; s <= BRIM_END; s++)
        assert_string_not_equal(brim_status_name((brim_status)s), "unknown");
    assert_string_equal(brim_status_name((brim_status)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_its_status_and_tells_the_words),
        cmocka_unit_test(makes_hostile_names_safe_to_show),
        cmocka_unit_test(cuts_long_words_at_a_whole_character),
        cmocka_unit_test(names_every_status),
    };
    return cmocka_run_group_tests_name("base/fail", tests, NULL, NULL);
}
