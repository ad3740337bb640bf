/*
 * pictures.h - the fixtures of tests/data/image (see make_fixtures.py there) and an allocator that
 * counts.
 */
#ifndef PICTURES_H
#define PICTURES_H

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "image/reader.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

typedef struct counting_alloc {
    brim_alloc base;
    size_t live_bytes, peak_bytes;
} counting_alloc;

static brim_status counting_alloc_take(void *ctx, size_t bytes, size_t align, void **out)
{
    counting_alloc *self = ctx;

    self->live_bytes += bytes;
    if (self->live_bytes > self->peak_bytes) self->peak_bytes = self->live_bytes;
    return brim_heap()->alloc(NULL, bytes, align, out);
}

static void counting_alloc_release(void *ctx, void *p, size_t bytes)
{
    counting_alloc *self = ctx;

    self->live_bytes -= bytes;
    brim_heap()->release(NULL, p, bytes);
}

static inline void counting_alloc_init(counting_alloc *self)
{
    *self = (counting_alloc){.base = {counting_alloc_take, counting_alloc_release, self}};
}

/* A whole file, to be freed. */
static inline uint8_t *fixture_read(const char *name, size_t *bytes)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/image/%s", TEST_DATA, name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("no %s", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, f), *bytes);
    data[*bytes] = '\0';
    fclose(f);
    return data;
}

typedef struct fixture_picture {
    char name[64];
    uint32_t width, height;
    uint8_t orientation;
    uint8_t *data; /* the file */
    size_t bytes;
    uint8_t *pixels; /* [height][width][3], as Pillow reads it */
} fixture_picture;

typedef void (*fixture_visit)(const fixture_picture *picture);

/* Every picture of a list (NAME.txt, NAME.bin) whose name ends in suffix (a whole name does too);
 * tells how many there were. */
static inline int fixture_each_of(const char *list, const char *suffix, fixture_visit visit)
{
    size_t n_text, n_pixels, at = 0;
    char name[64];
    int n = 0;

    snprintf(name, sizeof(name), "%s.txt", list);
    char *text = (char *)fixture_read(name, &n_text);
    snprintf(name, sizeof(name), "%s.bin", list);
    uint8_t *pixels = fixture_read(name, &n_pixels);

    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        fixture_picture picture = {.pixels = pixels + at};
        unsigned orientation;

        assert_int_equal(sscanf(line, "%63s %u %u %u", picture.name, &picture.width,
                                &picture.height, &orientation),
                         4);
        picture.orientation = (uint8_t)orientation;
        at += 3 * (size_t)picture.width * picture.height;
        size_t length = strlen(picture.name), end = strlen(suffix);
        if (length < end || strcmp(picture.name + length - end, suffix) != 0) continue;
        picture.data = fixture_read(picture.name, &picture.bytes);
        visit(&picture);
        free(picture.data);
        n++;
    }
    assert_int_equal(at, n_pixels);
    free(pixels);
    free(text);
    return n;
}

static inline int fixture_each(const char *suffix, fixture_visit visit)
{
    return fixture_each_of("pictures", suffix, visit);
}

/* Opens and reads all of it; pixels may be NULL. BRIM_END is success. */
static inline brim_status decode_as(const brim_alloc *mem, const uint8_t *data, size_t bytes,
                                    const brim_reader_options *options, uint8_t *pixels,
                                    brim_error *err)
{
    brim_reader *reader;
    brim_status status = brim_reader_open(mem, data, bytes, options, &reader, err);

    if (status != BRIM_OK) return status;
    size_t row_bytes = 3 * (size_t)brim_reader_info(reader)->width;
    uint8_t *row = malloc(row_bytes);
    for (size_t y = 0; (status = brim_reader_next_row(reader, row, err)) == BRIM_OK; y++) {
        assert_true(y < brim_reader_info(reader)->height);
        if (pixels) memcpy(pixels + y * row_bytes, row, row_bytes);
    }
    free(row);
    brim_reader_close(reader);
    return status;
}

static inline brim_status decode_all(const brim_alloc *mem, const uint8_t *data, size_t bytes,
                                     uint64_t max_px, uint8_t *pixels, brim_error *err)
{
    return decode_as(mem, data, bytes, &(brim_reader_options){.max_px = max_px}, pixels, err);
}

/* The picture decodes to what Pillow says, within the memory that was predicted. */
static inline void check_picture(const fixture_picture *picture)
{
    size_t n = 3 * (size_t)picture->width * picture->height;
    uint8_t *pixels = malloc(n);
    counting_alloc mem;
    brim_reader *reader;
    brim_error err = {0};

    counting_alloc_init(&mem);
    assert_int_equal(
        brim_reader_open(&mem.base, picture->data, picture->bytes, NULL, &reader, &err), BRIM_OK);
    brim_image_info info = *brim_reader_info(reader);
    brim_reader_close(reader);
    assert_int_equal(info.width, picture->width);
    assert_int_equal(info.height, picture->height);
    assert_int_equal(info.orientation, picture->orientation);

    if (decode_all(&mem.base, picture->data, picture->bytes, 0, pixels, &err) != BRIM_END)
        fail_msg("%s: %s", picture->name, err.message);
    if (memcmp(pixels, picture->pixels, n) != 0) fail_msg("%s: other pixels", picture->name);
    assert_int_equal(mem.live_bytes, 0);
    assert_true(mem.peak_bytes <= info.scratch_bytes - info.foreign_bytes);
    free(pixels);
}

/* Cut anywhere, it fails, says so and leaks nothing. */
static inline void check_every_cut(const fixture_picture *picture)
{
    for (size_t n = 0; n < picture->bytes; n++) {
        uint8_t *copy = malloc(n + 1); /* its own piece of memory, so that reading on is seen */
        failing_alloc mem;
        brim_error err = {0};

        memcpy(copy, picture->data, n);
        copy = realloc(copy, n ? n : 1);
        failing_alloc_init(&mem, 1000000);
        brim_status status = decode_all(&mem.base, copy, n, 0, NULL, &err);
        if (status != BRIM_E_FORMAT) fail_msg("%s cut to %zu: %d", picture->name, n, (int)status);
        assert_true(strlen(err.message) > 0);
        assert_int_equal(mem.live_bytes, 0);
        free(copy);
    }
}

/*
 * Cut anywhere behind its header and accepted so, it has all its rows, and of the first cuts that
 * fail none comes after one that went well. Tells how many of the first rows are as they were
 * without the last eighth of the file.
 */
static inline uint32_t check_accepted_cuts(const fixture_picture *picture)
{
    static const brim_reader_options ACCEPT = {.accept_truncated = true};
    size_t row_bytes = 3 * (size_t)picture->width;
    uint8_t *pixels = malloc(row_bytes * picture->height);
    uint32_t n_rows = 0;
    bool opened = false;

    for (size_t n = 1; n < picture->bytes; n++) {
        uint8_t *copy = malloc(n); /* its own piece of memory, so that reading on is seen */
        failing_alloc mem;
        brim_error err = {0};

        memcpy(copy, picture->data, n);
        failing_alloc_init(&mem, 1000000);
        brim_status status = decode_as(&mem.base, copy, n, &ACCEPT, pixels, &err);
        if (status != BRIM_END && (opened || status != BRIM_E_FORMAT))
            fail_msg("%s cut to %zu: %d %s", picture->name, n, (int)status, err.message);
        opened = status == BRIM_END;
        assert_int_equal(mem.live_bytes, 0);
        free(copy);
        if (n != picture->bytes - picture->bytes / 8) continue;
        while (n_rows < picture->height &&
               memcmp(pixels + n_rows * row_bytes, picture->pixels + n_rows * row_bytes,
                      row_bytes) == 0)
            n_rows++;
    }
    assert_true(opened);
    free(pixels);
    return n_rows;
}

/* A few random bytes changed, many times over: whatever comes of it, nothing crashes or leaks. */
static inline void check_mutations(const fixture_picture *picture)
{
    uint32_t seed = 2463534242u;
    uint8_t *copy = malloc(picture->bytes);

    for (int round = 0; round < 400; round++) {
        failing_alloc mem;

        memcpy(copy, picture->data, picture->bytes);
        for (int change = 0; change <= round % 4; change++) {
            seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
            copy[(seed >> 8) % picture->bytes] = (uint8_t)seed;
        }
        failing_alloc_init(&mem, 1000000);
        decode_all(&mem.base, copy, picture->bytes, 65536, NULL, NULL);
        assert_int_equal(mem.live_bytes, 0);
    }
    free(copy);
}

/* Fails the 1st allocation, then the 2nd, ... until decoding succeeds. */
static inline void check_failed_allocations(const fixture_picture *picture)
{
    brim_status status = BRIM_E_BUDGET;

    for (long allowed = 0; status != BRIM_END; allowed++) {
        failing_alloc mem;
        brim_error err = {0};

        failing_alloc_init(&mem, allowed);
        mem.refusal = BRIM_E_BUDGET;
        status = decode_all(&mem.base, picture->data, picture->bytes, 0, NULL, &err);
        if (status != BRIM_END && status != BRIM_E_BUDGET)
            fail_msg("%s, %ld allocations: %d %s", picture->name, allowed, (int)status,
                     err.message);
        assert_int_equal(mem.live_bytes, 0);
    }
}

/* What the C heap really gave, libraries' share included, stays within the prediction; sanitizers'
 * allocators tell nothing, and then none is seen. */
static inline void check_prediction(const fixture_picture *picture)
{
    uint8_t *row = malloc(3 * (size_t)picture->width);
    brim_reader *reader;

    assert_int_equal(
        brim_reader_open(brim_heap(), picture->data, picture->bytes, NULL, &reader, NULL), BRIM_OK);
    const brim_image_info *info = brim_reader_info(reader);
    struct mallinfo2 before = mallinfo2();
    while (brim_reader_next_row(reader, row, NULL) == BRIM_OK) {
        struct mallinfo2 now = mallinfo2();
        size_t taken = now.uordblks + now.hblkhd - before.uordblks - before.hblkhd;
        assert_true(taken <= info->scratch_bytes);
        assert_true(taken == 0 || 4 * taken + 65536 >= info->scratch_bytes);
    }
    brim_reader_close(reader);
    free(row);
}

#endif /* PICTURES_H */
