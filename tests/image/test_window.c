/* Tests of src/image/window.c. */
#include "image/window.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/cmocka_all.h"
#include "support/temp_dir.h"

enum { FILE_BYTES = 3 * BRIM_WINDOW_BYTES + 5 };

static const brim_reader_options PLAIN = {0};

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 31 + i / 251);
}

/* A file of known bytes, and the same in memory. */
static brim_encoded open_file(void **state, uint8_t *data)
{
    const char *path = temp_path(state, "bytes");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    for (size_t i = 0; i < FILE_BYTES; i++)
        data[i] = byte_at(i);
    assert_int_equal(write(fd, data, FILE_BYTES), FILE_BYTES);
    return (brim_encoded){data, FILE_BYTES, &PLAIN, fd, NULL};
}

static void shows_the_same_from_memory_and_file(void **state)
{
    uint8_t *data = malloc(FILE_BYTES);
    brim_encoded file = open_file(state, data), held = file;
    brim_window far, near;
    uint32_t seed = 1;

    held.fd = -1;
    brim_window_init(&far, &file);
    brim_window_init(&near, &held);
    for (int round = 0; round < 20000; round++) {
        seed = seed * 1664525 + 1013904223;
        size_t at = (seed >> 8) % FILE_BYTES, n = (seed >> 4) % (round % 2 ? BRIM_WINDOW_BYTES : 9);
        if (n > FILE_BYTES - at) n = FILE_BYTES - at;
        assert_memory_equal(brim_window_look(&far, at, n), data + at, n);
        assert_ptr_equal(brim_window_look(&near, at, n), data + at);
    }
    assert_false(far.failed);
    close(file.fd);
    free(data);
}

static void a_file_that_shrinks_reads_as_zeros_and_is_told(void **state)
{
    static const uint8_t ZEROS[8] = {0};
    uint8_t *data = malloc(FILE_BYTES);
    brim_encoded file = open_file(state, data);
    brim_window w;

    assert_int_equal(ftruncate(file.fd, 100), 0);
    brim_window_init(&w, &file);
    assert_memory_equal(brim_window_look(&w, 92, 8), data + 92, 8);
    assert_false(w.failed);
    assert_memory_equal(brim_window_look(&w, 5000, 8), ZEROS, 8);
    assert_true(w.failed);
    assert_int_equal(*brim_window_look(&w, 99, 2), byte_at(99));
    close(file.fd);
    free(data);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)
    const struct CMUnitTest tests[] = {
        TEST(shows_the_same_from_memory_and_file),
        TEST(a_file_that_shrinks_reads_as_zeros_and_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
