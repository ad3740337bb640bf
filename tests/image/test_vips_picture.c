/*
 * Tests of src/image/vips_picture.c that no single format has: pictures of all formats in several
 * threads at once, the ones of libvips among them.
 */
#include "image/pictures.h"

#include <pthread.h>

enum {
    MAX_FILES = 256,
    N_THREADS = 8,
};

typedef struct file {
    uint8_t *data, *pixels; /* pixels as one thread alone reads them */
    size_t bytes, pixels_bytes;
    brim_status status;
} file;

static file files[MAX_FILES];
static size_t n_files;

static void keep(const fixture_picture *picture)
{
    file *f = &files[n_files++];

    assert_in_range(n_files, 1, MAX_FILES);
    *f = (file){.data = malloc(picture->bytes), .bytes = picture->bytes};
    memcpy(f->data, picture->data, f->bytes);
    f->pixels_bytes = 3 * (size_t)picture->width * picture->height;
    f->pixels = malloc(f->pixels_bytes);
    memset(f->pixels, 0xaa, f->pixels_bytes);
    f->status = decode_as(brim_heap(), f->data, f->bytes, NULL, f->pixels, NULL);
}

/* The same, cut short: failures say themselves through what libvips has for all threads. */
static void keep_cut(const fixture_picture *picture)
{
    fixture_picture cut = *picture;

    cut.bytes -= cut.bytes / 4;
    keep(&cut);
}

/* Every file once, from another one on in each thread; how many came out otherwise. */
static void *read_all(void *arg)
{
    size_t first = *(const size_t *)arg, n_other = 0;

    for (size_t i = 0; i < n_files; i++) {
        const file *f = &files[(first + i) % n_files];
        uint8_t *pixels = malloc(f->pixels_bytes);

        memset(pixels, 0xaa, f->pixels_bytes);
        brim_status status = decode_as(brim_heap(), f->data, f->bytes, NULL, pixels, NULL);
        if (status != f->status || memcmp(pixels, f->pixels, f->pixels_bytes) != 0) n_other++;
        free(pixels);
    }
    return (void *)n_other;
}

static void threads_share_nothing_that_shows(void **state)
{
    pthread_t threads[N_THREADS];
    size_t firsts[N_THREADS];
    size_t n_other = 0;

    (void)state;
    fixture_each_of("foreign", "", keep);
    fixture_each_of("gifs/pictures", "", keep);
    fixture_each_of("pictures", "", keep);
    fixture_each_of("foreign", "", keep_cut);
    assert_true(n_files > 100);
    for (size_t i = 0; i < N_THREADS; i++) {
        firsts[i] = i * n_files / N_THREADS;
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &firsts[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        void *other;

        pthread_join(threads[i], &other);
        n_other += (size_t)other;
    }
    assert_int_equal(n_other, 0);
    for (size_t i = 0; i < n_files; i++) {
        free(files[i].data);
        free(files[i].pixels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_nothing_that_shows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
