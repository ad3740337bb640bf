/* Tests of src/image/webp.c. */
#include "image/pictures.h"

static void reads_what_pillow_reads(void **state)
{
    (void)state;
    assert_int_equal(fixture_each(".webp", check_picture), 8);
}

static void notices_every_cut(void **state)
{
    (void)state;
    fixture_each(".webp", check_every_cut);
}

/* Frames of an animation end somewhere inside the file. */
static void keeps_the_rows_before_a_cut(const fixture_picture *picture)
{
    uint32_t n_rows = check_accepted_cuts(picture);

    if (strcmp(picture->name, "lossy.webp") == 0) assert_true(n_rows > 0);
}

static void accepts_cuts_where_it_is_told_to(void **state)
{
    (void)state;
    fixture_each(".webp", keeps_the_rows_before_a_cut);
}

static void survives_mutations(void **state)
{
    (void)state;
    fixture_each(".webp", check_mutations);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    fixture_each("lossy.webp", check_failed_allocations);
    fixture_each("animated.webp", check_failed_allocations);
}

/* The first frame's corner is moved to the far right. */
static void moves_the_frame(const fixture_picture *picture)
{
    brim_error err = {0};

    for (size_t i = 0; i + 12 < picture->bytes; i++) {
        if (memcmp(picture->data + i, "ANMF", 4) == 0) picture->data[i + 8] = 3;
    }
    assert_int_equal(decode_all(brim_heap(), picture->data, picture->bytes, 0, NULL, &err),
                     BRIM_E_FORMAT);
    assert_string_equal(err.message, "broken WebP: a frame outside its canvas");
}

static void refuses_a_frame_outside_its_canvas(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("offset_frame.webp", moves_the_frame), 1);
}

static void has_a_trailer(const fixture_picture *picture)
{
    uint8_t *data = malloc(picture->bytes + 100);
    uint8_t *pixels = malloc(3 * (size_t)picture->width * picture->height);

    memcpy(data, picture->data, picture->bytes);
    memset(data + picture->bytes, 'x', 100);
    assert_int_equal(decode_all(brim_heap(), data, picture->bytes + 100, 0, pixels, NULL),
                     BRIM_END);
    assert_memory_equal(pixels, picture->pixels, 3 * (size_t)picture->width * picture->height);
    free(pixels);
    free(data);
}

static void passes_over_a_trailer(void **state)
{
    (void)state;
    fixture_each(".webp", has_a_trailer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pillow_reads),
        cmocka_unit_test(notices_every_cut),
        cmocka_unit_test(accepts_cuts_where_it_is_told_to),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(refuses_a_frame_outside_its_canvas),
        cmocka_unit_test(passes_over_a_trailer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
