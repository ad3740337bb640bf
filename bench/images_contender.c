/*
 * images_contender.c - one contender of bench/images: pictures in memory become tensors, one after
 * the other, on one thread.
 *
 *   bench_images limit|exact|fast CONFIG DUMP < NAMES
 *
 * limit lets libjpeg-turbo decode to nowhere, with the settings that exact decoding has. CONFIG is
 * a preprocessor_config.json, DUMP a file for the tensors, or "-". Prints a line of JSON: pictures,
 * pixels, seconds, and the bytes by which the process grew above its files at most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/clock.h"
#include "base/system.h"
#include "image/processor.h"

enum { MAX_FILES = 4096, MAX_NAME = 4096, SLOT_FLOATS = 3 << 20 };

typedef struct file {
    uint8_t *data;
    size_t bytes;
} file;

static file FILES[MAX_FILES];
static size_t N_FILES;
static float *SLOT;
static uint8_t *ROW;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_images: %s: %s\n", what, why);
    exit(1);
}

static void load(const char *name)
{
    FILE *f = fopen(name, "rb");
    file *to = &FILES[N_FILES++];

    if (!f || N_FILES == MAX_FILES || fseek(f, 0, SEEK_END) != 0) die(name, "cannot be read");
    to->bytes = (size_t)ftell(f);
    rewind(f);
    to->data = malloc(to->bytes + 1);
    if (!to->data || fread(to->data, 1, to->bytes, f) != to->bytes) die(name, "cannot be read");
    fclose(f);
}

/* The library's own error handler ends the program, which serves here. */
static uint64_t decode_to_nowhere(const file *from)
{
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    JSAMPROW row = ROW;

    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, from->data, from->bytes);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    uint64_t n_px = (uint64_t)jpeg.output_width * jpeg.output_height;
    while (jpeg.output_scanline < jpeg.output_height)
        jpeg_read_scanlines(&jpeg, &row, 1);
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    return n_px;
}

/* *n_floats is what SLOT holds then. */
static uint64_t process(const file *from, const brim_processor *processor, bool fast,
                        size_t *n_floats)
{
    brim_reader *reader;
    uint32_t height, width;
    brim_error err = {0};

    brim_status status =
        brim_reader_open(brim_heap(), from->data, from->bytes, NULL, &reader, &err);
    if (status != BRIM_OK) die("a picture", err.message);
    const brim_image_info *info = brim_reader_info(reader);
    uint64_t n_px = (uint64_t)info->width * info->height;
    if (fast) brim_reader_shrink(reader, brim_processor_shrink_factor(processor, info));
    status = brim_processor_shape(processor, info, &height, &width, &err);
    *n_floats = 3 * (size_t)height * width;
    if (status == BRIM_OK && *n_floats > SLOT_FLOATS) die("a picture", "its tensor is too large");
    if (status == BRIM_OK)
        status = brim_processor_apply(processor, brim_heap(), reader, BRIM_F32, SLOT, &err);
    if (status != BRIM_OK) die("a picture", err.message);
    brim_reader_close(reader);
    return n_px;
}

/* The high-water mark begins anew. */
static size_t forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    if (!f || fputs("5", f) < 0 || fclose(f) != 0)
        die("/proc/self/clear_refs", "cannot be written");
    return brim_system_peak_resident_bytes();
}

int main(int argc, char **argv)
{
    static char name[MAX_NAME];
    brim_processor *processor;
    brim_error err = {0};
    FILE *dump = NULL;
    uint64_t n_px = 0;

    if (argc != 4) die("usage", "bench_images limit|exact|fast CONFIG DUMP < NAMES");
    bool limit = strcmp(argv[1], "limit") == 0, fast = strcmp(argv[1], "fast") == 0;
    if (brim_processor_open(brim_heap(), argv[2], NULL, &processor, &err) != BRIM_OK)
        die(argv[2], err.message);
    if (strcmp(argv[3], "-") != 0 && !(dump = fopen(argv[3], "wb"))) die(argv[3], "not writable");
    while (fgets(name, sizeof(name), stdin)) {
        name[strcspn(name, "\n")] = '\0';
        load(name);
    }
    SLOT = calloc(SLOT_FLOATS, sizeof(float));
    ROW = calloc(3, 65536);
    if (!SLOT || !ROW) die("memory", "none");

    size_t before = forget_peak();
    uint64_t started_ns = brim_now_ns();
    for (size_t i = 0; i < N_FILES; i++) {
        size_t n_floats = 0;
        n_px +=
            limit ? decode_to_nowhere(&FILES[i]) : process(&FILES[i], processor, fast, &n_floats);
        if (dump) fwrite(SLOT, sizeof(float), n_floats, dump);
    }
    double seconds = (double)(brim_now_ns() - started_ns) / 1e9;
    printf("{\"n\": %zu, \"pixels\": %llu, \"seconds\": %.6f, \"peak_bytes\": %zu}\n", N_FILES,
           (unsigned long long)n_px, seconds, brim_system_peak_resident_bytes() - before);
    brim_processor_close(processor);
    return dump && fclose(dump) != 0;
}
