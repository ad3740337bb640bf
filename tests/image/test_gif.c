/* Tests of src/image/gif.c and gif_header.c. */
#include "image/pictures.h"

static int each(const char *suffix, fixture_visit visit)
{
    return fixture_each_of("gifs/pictures", suffix, visit);
}

/* Case B05 among them. */
static void reads_what_pillow_reads(void **state)
{
    (void)state;
    assert_int_equal(each(".gif", check_picture), 16);
}

/* Behind the first frame of an animation, and behind its last pixel, nothing is missed. */
static void cut_inside_the_frame(const fixture_picture *picture)
{
    fixture_picture half = *picture;

    half.bytes = picture->bytes / 2;
    check_every_cut(&half);
}

static void notices_every_cut(void **state)
{
    (void)state;
    each("photo.gif", cut_inside_the_frame);
    each("photo_interlaced.gif", cut_inside_the_frame);
    each("grey.gif", cut_inside_the_frame);
}

static void keeps_the_rows_before_a_cut(const fixture_picture *picture)
{
    uint32_t n_rows = check_accepted_cuts(picture);

    if (strcmp(picture->name, "gifs/photo.gif") == 0) assert_true(n_rows > picture->height / 2);
}

static void accepts_cuts_where_it_is_told_to(void **state)
{
    (void)state;
    each(".gif", keeps_the_rows_before_a_cut);
}

static void survives_mutations(void **state)
{
    (void)state;
    each(".gif", check_mutations);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    each("photo.gif", check_failed_allocations);
    each("photo_interlaced.gif", check_failed_allocations);
}

static void predicts_its_memory(void **state)
{
    (void)state;
    each(".gif", check_prediction);
}

static void refused(const char *data, size_t bytes, const char *words)
{
    brim_error err = {0};

    assert_int_equal(decode_as(brim_heap(), (const uint8_t *)data, bytes, NULL, NULL, &err),
                     BRIM_E_FORMAT);
    assert_string_equal(err.message, words);
}

static void names_the_trouble(void **state)
{
    static const char NONE[] = "GIF89a\1\0\1\0\0\0\0;",
                      EMPTY[] = "GIF89a\1\0\1\0\0\0\0,\0\0\0\0\0\0\1\0\0\2\2\x44\1\0;",
                      BAD[] = "GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\x0c\2\x44\1\0;";

    (void)state;
    refused(NONE, sizeof(NONE) - 1, "broken GIF: no frame");
    refused(EMPTY, sizeof(EMPTY) - 1, "broken GIF: a frame without pixels");
    refused(BAD, sizeof(BAD) - 1, "broken GIF: Failed to read from given file");
    refused(NONE, 6, "truncated GIF");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pillow_reads),
        cmocka_unit_test(notices_every_cut),
        cmocka_unit_test(accepts_cuts_where_it_is_told_to),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(predicts_its_memory),
        cmocka_unit_test(names_the_trouble),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
