/* Tests of src/image/jpeg.c. */
#include "image/jpeg_header.h"
#include "image/pictures.h"

#include <math.h>

static void reads_what_pillow_reads(void **state)
{
    (void)state;
    assert_int_equal(fixture_each(".jpg", check_picture), 14);
}

/* What was in it is nowhere seen, and nothing is written behind it. */
static void lends_a_used_frame(const fixture_picture *picture)
{
    enum { GUARD = 64 };
    size_t row_bytes = 3 * (size_t)picture->width;
    uint8_t *row = malloc(row_bytes);
    counting_alloc mem;
    brim_reader *reader;

    counting_alloc_init(&mem);
    assert_int_equal(
        brim_reader_open(&mem.base, picture->data, picture->bytes, NULL, &reader, NULL), BRIM_OK);
    size_t frame_bytes = brim_reader_info(reader)->frame_bytes;
    assert_true(frame_bytes >= (size_t)picture->width * picture->height * 2);
    uint8_t *frame = aligned_alloc(64, (frame_bytes + GUARD + 63) / 64 * 64);
    memset(frame, 0xa5, frame_bytes + GUARD);
    brim_reader_lend_frame(reader, frame);
    for (uint32_t y = 0; y < picture->height; y++) {
        assert_int_equal(brim_reader_next_row(reader, row, NULL), BRIM_OK);
        assert_memory_equal(row, picture->pixels + y * row_bytes, row_bytes);
    }
    assert_int_equal(brim_reader_next_row(reader, row, NULL), BRIM_END);
    brim_reader_close(reader);
    assert_true(mem.peak_bytes < frame_bytes);
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(frame[frame_bytes + i], 0xa5);
    free(frame);
    free(row);
}

static void decodes_in_a_frame_that_is_lent(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("progressive.jpg", lends_a_used_frame), 1);
}

/* Two pictures in one file, and files with a tail, are whole before they end. */
static void cut_anywhere(const fixture_picture *picture)
{
    if (strcmp(picture->name, "two.jpg") == 0 || strcmp(picture->name, "trailer.jpg") == 0 ||
        strcmp(picture->name, "mpo.jpg") == 0)
        return;
    check_every_cut(picture);
}

static void notices_every_cut(void **state)
{
    (void)state;
    fixture_each(".jpg", cut_anywhere);
}

static void lacks_its_end(const fixture_picture *picture)
{
    brim_error err = {0};

    assert_int_equal(decode_all(brim_heap(), picture->data, picture->bytes - 2, 0, NULL, &err),
                     BRIM_E_FORMAT);
    assert_string_equal(err.message, "truncated JPEG");
}

static void misses_the_end_marker(void **state)
{
    (void)state;
    fixture_each("rgb_420.jpg", lacks_its_end);
    fixture_each("progressive.jpg", lacks_its_end);
}

/* Of a progressive one all rows are there, in less detail. */
static void keeps_the_rows_before_a_cut(const fixture_picture *picture)
{
    uint32_t n_rows = check_accepted_cuts(picture);

    if (strstr(picture->name, "rgb_4") && n_rows == 0) fail_msg("%s: no row", picture->name);
}

static void accepts_cuts_where_it_is_told_to(void **state)
{
    (void)state;
    fixture_each(".jpg", keeps_the_rows_before_a_cut);
}

/* Row y of a picture made smaller by the mean of squares, edges included. */
static void mean_row(const fixture_picture *picture, uint32_t factor, uint32_t y, double *out)
{
    for (uint32_t x = 0; x * factor < picture->width; x++) {
        for (int c = 0; c < 3; c++) {
            double sum = 0, n = 0;
            for (uint32_t v = y * factor; v < (y + 1) * factor && v < picture->height; v++) {
                for (uint32_t u = x * factor; u < (x + 1) * factor && u < picture->width; u++, n++)
                    sum += picture->pixels[3 * ((size_t)v * picture->width + u) + (size_t)c];
            }
            out[3 * x + (uint32_t)c] = sum / n;
        }
    }
}

static void shrinks_by(const fixture_picture *picture, uint32_t factor)
{
    uint8_t row[3 * 64];
    double means[3 * 64], off = 0;
    uint32_t y = 0;
    brim_reader *reader;
    brim_error err = {0};

    assert_int_equal(
        brim_reader_open(brim_heap(), picture->data, picture->bytes, NULL, &reader, NULL), BRIM_OK);
    brim_reader_shrink(reader, factor);
    const brim_image_info *info = brim_reader_info(reader);
    assert_int_equal(info->width, picture->width);
    assert_int_equal(info->shrink, factor);
    assert_int_equal(info->row_width, (picture->width + factor - 1) / factor);
    assert_int_equal(info->n_rows, (picture->height + factor - 1) / factor);
    while (brim_reader_next_row(reader, row, &err) == BRIM_OK) {
        mean_row(picture, factor, y++, means);
        for (uint32_t i = 0; i < 3 * info->row_width; i++)
            off += fabs(row[i] - means[i]);
    }
    assert_string_equal(err.message, "");
    assert_int_equal(y, info->n_rows);
    off /= 3.0 * info->row_width * info->n_rows;
    if (off > 24) fail_msg("%s shrunk by %u: off by %.1f", picture->name, factor, off);
    brim_reader_close(reader);
}

static void shrinks_by_all(const fixture_picture *picture)
{
    for (uint32_t factor = 1; factor <= 8; factor *= 2)
        shrinks_by(picture, factor);
}

/* The last scans are not read then, but a file without its end is still one. */
static void notices_a_cut_though_it_stops_early(const fixture_picture *picture)
{
    size_t coarse = brim_jpeg_coarse_bytes(picture->data, picture->bytes);
    uint8_t row[3 * 64];
    brim_reader *reader;
    brim_error err = {0};
    brim_status status = BRIM_OK;

    assert_true(coarse > picture->bytes / 2 && coarse < picture->bytes);
    assert_int_equal(brim_jpeg_coarse_bytes(picture->data, picture->bytes - 2), picture->bytes - 2);
    assert_int_equal(
        brim_reader_open(brim_heap(), picture->data, picture->bytes - 2, NULL, &reader, NULL),
        BRIM_OK);
    brim_reader_shrink(reader, 2);
    while (status == BRIM_OK)
        status = brim_reader_next_row(reader, row, &err);
    assert_int_equal(status, BRIM_E_FORMAT);
    assert_string_equal(err.message, "truncated JPEG");
    brim_reader_close(reader);
}

static void is_whole(const fixture_picture *picture)
{
    assert_int_equal(brim_jpeg_coarse_bytes(picture->data, picture->bytes), picture->bytes);
}

static void a_shrunk_progressive_picture_stops_before_the_last_bits(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("progressive.jpg", notices_a_cut_though_it_stops_early), 1);
    fixture_each("rgb_420.jpg", is_whole);
    fixture_each("cmyk.jpg", is_whole);
}

static void shrinks_while_decoding(void **state)
{
    (void)state;
    fixture_each(".jpg", shrinks_by_all);
}

static void survives_mutations(void **state)
{
    (void)state;
    fixture_each(".jpg", check_mutations);
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    fixture_each("cmyk.jpg", check_failed_allocations);
    fixture_each("grey.jpg", check_failed_allocations);
}

/* Makes the picture claim a side so large that what it holds is the upper left of it. */
static void set_size(uint8_t *data, size_t bytes, uint16_t side)
{
    uint8_t *frame = memmem(data, bytes, "\xff\xc2", 2);

    assert_non_null(frame);
    for (size_t i = 0; i < 4; i++)
        frame[5 + i] = (uint8_t)(i % 2 == 0 ? side >> 8 : side & 255);
}

/* A copy of a progressive picture whose last scan stands there many times over. */
static void too_many_scans(const fixture_picture *picture)
{
    size_t last = picture->bytes;
    brim_error err = {0};

    do
        last--;
    while (picture->data[last] != 0xff || picture->data[last + 1] != 0xda);
    size_t scan_bytes = picture->bytes - 2 - last;
    uint8_t *data = malloc(picture->bytes + 600 * scan_bytes);
    memcpy(data, picture->data, last);
    for (size_t i = 0; i < 601; i++)
        memcpy(data + last + i * scan_bytes, picture->data + last, scan_bytes);
    data[last + 601 * scan_bytes] = 0xff;
    data[last + 601 * scan_bytes + 1] = 0xd9;
    assert_int_equal(
        decode_all(brim_heap(), data, picture->bytes + 600 * scan_bytes, 0, NULL, &err),
        BRIM_E_FORMAT);
    assert_string_equal(err.message, "broken JPEG: more than 500 scans");
    set_size(data, last, 6000);
    assert_int_equal(
        decode_all(brim_heap(), data, picture->bytes + 600 * scan_bytes, 0, NULL, &err),
        BRIM_E_FORMAT);
    assert_string_equal(err.message, "broken JPEG: more than 64 scans");
    free(data);
}

static void refuses_endless_scans(void **state)
{
    (void)state;
    assert_int_equal(fixture_each("progressive.jpg", too_many_scans), 1);
}

static void predicts_its_memory(void **state)
{
    (void)state;
    fixture_each(".jpg", check_prediction);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pillow_reads),
        cmocka_unit_test(decodes_in_a_frame_that_is_lent),
        cmocka_unit_test(notices_every_cut),
        cmocka_unit_test(misses_the_end_marker),
        cmocka_unit_test(accepts_cuts_where_it_is_told_to),
        cmocka_unit_test(shrinks_while_decoding),
        cmocka_unit_test(a_shrunk_progressive_picture_stops_before_the_last_bits),
        cmocka_unit_test(survives_mutations),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(refuses_endless_scans),
        cmocka_unit_test(predicts_its_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
