/* Tests of src/image/pnm.c. */
#include "image/pictures.h"

static const char *const SUFFIXES[] = {".pbm", ".pgm", ".ppm", ".pam"};

static void reads_what_pillow_reads(void **state)
{
    int n = 0;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        n += fixture_each_of("foreign", SUFFIXES[i], check_picture);
    assert_int_equal(n, 11);
}

static void notices_every_cut(void **state)
{
    (void)state;
    fixture_each_of("foreign", "p4.pbm", check_every_cut);
    fixture_each_of("foreign", "p5_deep.pgm", check_every_cut);
    fixture_each_of("foreign", "p6.ppm", check_every_cut);
    fixture_each_of("foreign", "rgba.pam", check_every_cut);
}

static void survives_mutations(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        fixture_each_of("foreign", SUFFIXES[i], check_mutations);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    fixture_each_of("foreign", "p6.ppm", check_failed_allocations);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *file, *words;
    } CASES[] = {
        {"P5\n2 2\n255\nab", "truncated Netpbm"},
        {"P2\n2 x\n255\n", "broken Netpbm: no number"},
        {"P5\n0 2\n255\n", "broken Netpbm: bad size"},
        {"P5\n2 2\n70000\nabcd", "broken Netpbm: a bad maximum"},
        {"P1\n2 1\n12", "broken Netpbm: neither 0 nor 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        brim_error err = {0};

        assert_int_equal(decode_all(brim_heap(), (const uint8_t *)CASES[i].file,
                                    strlen(CASES[i].file), 0, NULL, &err),
                         BRIM_E_FORMAT);
        assert_string_equal(err.message, CASES[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pillow_reads),
        cmocka_unit_test(notices_every_cut),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
