/* Tests of src/image/tiff_planes.c, and of TIFFs that are read from a descriptor. */
#include "image/tiff_planes.h"

#include <fcntl.h>
#include <unistd.h>

#include "image/pictures.h"
#include "support/temp_dir.h"

enum { WIDTH = 2100, HEIGHT = 9, N_BANDS = 5, STRIP_ROWS = 4, N_STRIPS = 3 };

/* A TIFF under construction. */
typedef struct writer {
    uint8_t *data;
    size_t n;
    bool big_endian;
} writer;

static void put(writer *w, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->data[w->n++] = (uint8_t)(v >> 8 * (w->big_endian ? n - 1 - i : i));
}

static void put_tag(writer *w, unsigned tag, unsigned type, size_t n, uint64_t v)
{
    put(w, tag, 2);
    put(w, type, 2);
    put(w, n, 4);
    if (type == 3 && n == 1) {
        put(w, v, 2);
        put(w, 0, 2);
    } else {
        put(w, v, 4);
    }
}

static uint32_t sample(size_t x, size_t y, size_t band, size_t bytes)
{
    uint32_t v = (uint32_t)(x * 7 + y * 311 + band * 1009);

    return bytes == 1 ? v & 0xff : v & 0xffff;
}

/* Five bands in planes, each of three strips, with the given samples and compression. */
static writer make_planes(size_t bytes, bool big_endian, unsigned compression)
{
    writer w = {malloc(N_BANDS * WIDTH * HEIGHT * bytes + 1000), 0, big_endian};
    size_t strips[N_BANDS * N_STRIPS], n_strips = 0;

    memcpy(w.data, big_endian ? "MM" : "II", 2);
    w.n = 2;
    put(&w, 42, 2);
    size_t directory = 8 + N_BANDS * WIDTH * HEIGHT * bytes + 3 * 4 * N_BANDS * N_STRIPS;
    put(&w, directory, 4);
    for (size_t band = 0; band < N_BANDS; band++) {
        for (size_t y = 0; y < HEIGHT; y++) {
            if (y % STRIP_ROWS == 0) strips[n_strips++] = w.n;
            for (size_t x = 0; x < WIDTH; x++)
                put(&w, sample(x, y, band, bytes), bytes);
        }
    }
    size_t at_offsets = w.n;
    for (size_t i = 0; i < n_strips; i++)
        put(&w, strips[i], 4);
    size_t at_counts = w.n;
    for (size_t i = 0; i < n_strips; i++)
        put(&w, (i % N_STRIPS == N_STRIPS - 1 ? 1 : STRIP_ROWS) * WIDTH * bytes, 4);
    size_t at_bits = w.n;
    for (size_t i = 0; i < n_strips; i++)
        put(&w, 8 * bytes, 2), put(&w, 0, 2);
    assert_int_equal(w.n, directory);
    put(&w, 10, 2);
    put_tag(&w, 256, 4, 1, WIDTH);
    put_tag(&w, 257, 4, 1, HEIGHT);
    for (size_t i = 0; i < N_BANDS; i++) { /* shorts, one after the other */
        writer bits = {w.data, at_bits + 2 * i, big_endian};
        put(&bits, 8 * bytes, 2);
    }
    put_tag(&w, 258, 3, N_BANDS, at_bits);
    put_tag(&w, 259, 3, 1, compression);
    put_tag(&w, 262, 3, 1, 1);
    put_tag(&w, 273, 4, n_strips, at_offsets);
    put_tag(&w, 277, 3, 1, N_BANDS);
    put_tag(&w, 278, 4, 1, STRIP_ROWS);
    put_tag(&w, 279, 4, n_strips, at_counts);
    put_tag(&w, 284, 3, 1, 2);
    put(&w, 0, 4);
    return w;
}

static const brim_reader_options BANDS = {.bands = {4, 2, 5}};

static void assert_pixels(const uint8_t *pixels, size_t bytes)
{
    for (size_t y = 0; y < HEIGHT; y++) {
        for (size_t x = 0; x < WIDTH; x++) {
            for (size_t c = 0; c < 3; c++)
                assert_int_equal(pixels[(y * WIDTH + x) * 3 + c],
                                 sample(x, y, BANDS.bands[c] - 1, bytes) >> 8 * (bytes - 1));
        }
    }
}

static void picks_rows_up_plane_by_plane(void **state)
{
    uint8_t *pixels = malloc(3 * WIDTH * HEIGHT);

    (void)state;
    for (size_t bytes = 1; bytes <= 2; bytes++) {
        for (int big_endian = 0; big_endian < 2; big_endian++) {
            writer w = make_planes(bytes, big_endian, 1);
            brim_error err = {0};
            failing_alloc mem;

            failing_alloc_init(&mem, 1000);
            if (decode_as(&mem.base, w.data, w.n, &BANDS, pixels, &err) != BRIM_END)
                fail_msg("%s", err.message);
            assert_pixels(pixels, bytes);
            assert_int_equal(mem.live_bytes, 0);
            free(w.data);
        }
    }
    free(pixels);
}

static void compressed_planes_are_refused(void **state)
{
    writer w = make_planes(2, false, 8);
    brim_error err = {0};

    (void)state;
    assert_int_equal(decode_as(brim_heap(), w.data, w.n, &BANDS, NULL, &err), BRIM_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "separate planes"));
    free(w.data);
}

/* The last plane's last row is missing. */
static void a_cut_is_noticed_or_accepted(void **state)
{
    brim_reader_options accept = BANDS;
    writer w = make_planes(1, false, 1);
    uint8_t *pixels = malloc(3 * WIDTH * HEIGHT);
    brim_error err = {0};

    (void)state;
    accept.accept_truncated = true;
    /* The strips are moved to the end, so that a shorter file lacks pixels only. */
    uint8_t *moved = calloc(1, 2 * w.n);
    size_t n = w.n;
    memcpy(moved, w.data, n);
    memcpy(moved + n, w.data, n);
    uint32_t at = (uint32_t)(8 + N_BANDS * WIDTH * HEIGHT);
    for (size_t i = 0; i < N_BANDS * N_STRIPS; i++) {
        uint32_t offset;
        memcpy(&offset, moved + at + 4 * i, 4);
        offset += (uint32_t)n;
        memcpy(moved + at + 4 * i, &offset, 4);
    }
    size_t cut = n + 8 + N_BANDS * WIDTH * HEIGHT - 1;
    assert_int_equal(decode_as(brim_heap(), moved, cut, &BANDS, NULL, &err), BRIM_E_FORMAT);
    assert_string_equal(err.message, "truncated TIFF");
    assert_int_equal(decode_as(brim_heap(), moved, cut, &accept, pixels, &err), BRIM_END);
    assert_int_equal(pixels[3 * WIDTH * (HEIGHT - 1) - 1],
                     sample(WIDTH - 1, HEIGHT - 2, BANDS.bands[2] - 1, 1));
    assert_int_equal(pixels[3 * WIDTH * HEIGHT - 1], 0);
    free(pixels);
    free(moved);
    free(w.data);
}

static void survives_every_failed_allocation(void **state)
{
    writer w = make_planes(2, true, 1);
    brim_status status = BRIM_E_BUDGET;

    (void)state;
    for (long allowed = 0; status != BRIM_END; allowed++) {
        failing_alloc mem;

        failing_alloc_init(&mem, allowed);
        mem.refusal = BRIM_E_BUDGET;
        status = decode_as(&mem.base, w.data, w.n, &BANDS, NULL, NULL);
        assert_true(status == BRIM_END || status == BRIM_E_BUDGET);
        assert_int_equal(mem.live_bytes, 0);
        assert_true(allowed < 10);
    }
    free(w.data);
}

/* --- from a descriptor ------------------------------------------------------------------------ */

static const char *scratch_file;

static uint8_t *read_from_fd(const uint8_t *data, size_t bytes, const brim_reader_options *options,
                             brim_error *err)
{
    int fd = open(scratch_file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t head = bytes < BRIM_HEAD_BYTES ? bytes : BRIM_HEAD_BYTES;
    brim_reader *reader;
    uint8_t *pixels = NULL;

    assert_int_equal(write(fd, data, bytes), bytes);
    assert_true(brim_reader_takes_fd(data, head));
    brim_status status =
        brim_reader_open_fd(brim_heap(), fd, bytes, data, head, options, &reader, err);
    if (status == BRIM_OK) {
        const brim_image_info *info = brim_reader_info(reader);
        size_t row_bytes = 3 * (size_t)info->width;
        pixels = calloc(row_bytes, (size_t)info->height + 1);
        for (uint32_t y = 0; status == BRIM_OK; y++)
            status = brim_reader_next_row(reader, pixels + y * row_bytes, err);
        brim_reader_close(reader);
    }
    close(fd);
    if (status == BRIM_END) return pixels;
    free(pixels);
    return NULL;
}

static void reads_the_same_from_its_file(const fixture_picture *picture)
{
    size_t n = 3 * (size_t)picture->width * picture->height;
    uint8_t *held = malloc(n);
    brim_error err = {0};

    if (decode_as(brim_heap(), picture->data, picture->bytes, NULL, held, &err) == BRIM_END) {
        uint8_t *pixels = read_from_fd(picture->data, picture->bytes, NULL, &err);
        if (!pixels) fail_msg("%s: %s", picture->name, err.message);
        assert_memory_equal(pixels, held, n);
        free(pixels);
    }
    free(held);
}

static void tiffs_need_not_be_in_memory(void **state)
{
    scratch_file = temp_path(state, "x.tif");
    assert_true(fixture_each_of("foreign", ".tif", reads_the_same_from_its_file) > 30);
    for (size_t bytes = 1; bytes <= 2; bytes++) {
        brim_error err = {0};
        writer w = make_planes(bytes, bytes == 2, 1);
        uint8_t *pixels = read_from_fd(w.data, w.n, &BANDS, &err);
        if (!pixels) fail_msg("%s", err.message);
        assert_pixels(pixels, bytes);
        free(pixels);
        free(w.data);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(picks_rows_up_plane_by_plane), TEST(compressed_planes_are_refused),
        TEST(a_cut_is_noticed_or_accepted), TEST(survives_every_failed_allocation),
        TEST(tiffs_need_not_be_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
