/* Tests of src/image/vips_library.c. */
#include "image/vips_library.h"

#include "support/cmocka_all.h"

#include <pthread.h>

static void *open_it(void *out)
{
    const brim_vips *vips;

    brim_vips_open("a TIFF picture", "tiffload_buffer", &vips, NULL);
    *(const brim_vips **)out = vips;
    return NULL;
}

static void opens_once_for_all_threads(void **state)
{
    const brim_vips *seen[4];
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_it, &seen[i]), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_non_null(seen[0]);
    for (size_t i = 1; i < 4; i++)
        assert_ptr_equal(seen[i], seen[0]);
}

static void names_what_is_missing(void **state)
{
    const brim_vips *vips;
    brim_error err = {0};

    (void)state;
    assert_int_equal(brim_vips_open("a PCX picture", "pcxload_buffer", &vips, &err),
                     BRIM_E_UNSUPPORTED);
    assert_string_equal(err.message,
                        "a PCX picture: the libvips installed is built without this format");
    assert_null(vips);
}

static void passes_words_on(void **state)
{
    char junk[64] = "no picture at all";
    brim_vips_image *image = NULL;
    const brim_vips *vips;
    char words[100];

    (void)state;
    assert_int_equal(brim_vips_open("a TIFF picture", "tiffload_buffer", &vips, NULL), BRIM_OK);
    assert_int_not_equal(vips->load_tiff(junk, sizeof(junk), &image, NULL), 0);
    brim_vips_words(vips, words, sizeof(words));
    assert_true(strlen(words) > 0);
    assert_null(strchr(words, '\n'));
    brim_vips_words(vips, words, sizeof(words));
    assert_string_equal(words, "libvips does not say why");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_once_for_all_threads),
        cmocka_unit_test(names_what_is_missing),
        cmocka_unit_test(passes_words_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
