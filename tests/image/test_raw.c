/* Tests of src/image/raw.c; raw files that are TIFFs are in test_tiff.c. */
#include "image/raw.h"

#include "image/reader.h"
#include "support/cmocka_all.h"

static void knows_marks(void **state)
{
    static const struct {
        const char *bytes, *kind;
    } CASES[] = {
        {"FUJIFILMCCD-RAW 0201FF", "(RAF)"},
        {"\0\0\0\x18"
         "ftypcrx ....",
         "(CR3)"},
        {"\0MRM................", "(MRW)"},
        {"FOVb................", "(X3F)"},
        {"II*\0\x10\0\0\0CR\2\0........", "(CR2)"},
        {"MMOR................", "(ORF)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        brim_reader *reader;
        brim_error err = {0};

        assert_int_equal(brim_reader_open(brim_heap(), CASES[i].bytes, 16, NULL, &reader, &err),
                         BRIM_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, CASES[i].kind));
    }
}

static void knows_makers(void **state)
{
    (void)state;
    assert_string_equal(brim_raw_of_maker("NIKON CORPORATION", 17), "NEF");
    assert_null(brim_raw_of_maker("NIK", 3));
    assert_null(brim_raw_of_maker("Epson Scanners Ltd", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_marks),
        cmocka_unit_test(knows_makers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
