/*
 * fuzz_picture.c - pictures of the format FUZZ_FORMAT, a string, through the reader and a
 * processor.
 *
 * A first byte 0xc0 .. 0xdf, with which no picture begins, says how the rest is read: its bits are
 * accept_truncated, clamped depth, apply_icc, and two for the factor to shrink by. Other inputs are
 * a picture as they stand, so that any picture is a seed; without libFuzzer they are read in every
 * one of these ways.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "image/processor.h"

#define MAX_PX     65536
#define MAX_FLOATS (1 << 21)

enum { N_WAYS = 32, FIRST_WAY = 0xc0 };

static const char *const CONFIGS[] = {
    "{\"size\": {\"height\": 24, \"width\": 16}, \"resample\": 3}",
    "{\"size\": {\"shortest_edge\": 300}, \"do_center_crop\": true, \"crop_size\": 20,"
    " \"resample\": 2}",
    "{\"size\": {\"shortest_edge\": 5}, \"do_center_crop\": true, \"crop_size\": 9,"
    " \"resample\": 1}",
    "{\"do_resize\": false}",
    "{\"image_processor_type\": \"YolosImageProcessor\", \"size\": 40, \"max_size\": 90}",
    "{\"image_processor_type\": \"DetrImageProcessor\", \"pad_size\": 64,"
    " \"size\": {\"max_height\": 50, \"max_width\": 60}}",
    "{\"image_processor_type\": \"Owlv2ImageProcessor\", \"size\": [20, 30]}",
    "{\"image_processor_type\": \"Siglip2ImageProcessor\", \"patch_size\": 3}",
    "{\"pretrained_cfg\": {\"input_size\": [3, 9, 12], \"crop_mode\": \"border\"}}",
};

enum { N_CONFIGS = sizeof(CONFIGS) / sizeof(CONFIGS[0]) };

static const brim_processor *get_processor(size_t i)
{
    static brim_processor *processors[N_CONFIGS];

    if (!processors[i])
        FUZZ_MUST(brim_processor_parse(brim_heap(), CONFIGS[i], strlen(CONFIGS[i]), "config", NULL,
                                       &processors[i], NULL) == BRIM_OK);
    return processors[i];
}

static void check_info(const brim_image_info *info)
{
    FUZZ_MUST(info->width > 0 && info->height > 0);
    FUZZ_MUST((uint64_t)info->width * info->height <= MAX_PX);
    FUZZ_MUST(info->orientation >= 1 && info->orientation <= 8);
    FUZZ_MUST(info->row_width > 0 && info->row_width <= info->width);
    FUZZ_MUST(info->n_rows > 0 && info->n_rows <= info->height);
    FUZZ_MUST(info->foreign_bytes <= info->scratch_bytes);
}

static brim_reader *open_picture(const brim_alloc *mem, const uint8_t *data, size_t bytes,
                                 const brim_reader_options *options, uint32_t shrink)
{
    brim_reader *reader;
    brim_error err = {0};

    if (brim_reader_open(mem, data, bytes, options, &reader, &err) != BRIM_OK) {
        FUZZ_MUST(!reader && err.message[0]);
        return NULL;
    }
    if (strcmp(brim_reader_info(reader)->format, FUZZ_FORMAT) != 0) {
        brim_reader_close(reader);
        return NULL;
    }
    check_info(brim_reader_info(reader));
    brim_reader_shrink(reader, shrink);
    check_info(brim_reader_info(reader));
    return reader;
}

/* Rows of exactly their size, so that sanitizers see what is written past them. */
static void read_rows(const uint8_t *data, size_t bytes, const brim_reader_options *options,
                      uint32_t shrink)
{
    brim_status status;
    fuzz_account mem;
    brim_error err = {0};
    uint32_t n_rows = 0;

    fuzz_account_init(&mem);
    brim_reader *reader = open_picture(&mem.base, data, bytes, options, shrink);
    if (!reader) return;
    brim_image_info info = *brim_reader_info(reader);
    uint8_t *row = malloc(3 * (size_t)info.row_width);
    FUZZ_MUST(row != NULL);
    while ((status = brim_reader_next_row(reader, row, &err)) == BRIM_OK)
        n_rows++;
    FUZZ_MUST(n_rows <= info.n_rows && (status != BRIM_END || n_rows == info.n_rows));
    FUZZ_MUST(status == BRIM_END || err.message[0]);
    FUZZ_MUST(status != BRIM_E_NOMEM && status != BRIM_E_BUDGET);
    FUZZ_MUST(mem.peak_bytes <= info.scratch_bytes - info.foreign_bytes);
    free(row);
    brim_reader_close(reader);
    FUZZ_MUST(mem.live_bytes == 0);
}

/* Elements that a slot for such a picture has; 0 where it cannot be had. */
static size_t slot_size(const brim_processor *processor, const brim_image_info *info)
{
    brim_patch_grid grid;
    uint32_t height, width;

    if (brim_processor_slot_layout(processor) == BRIM_LAYOUT_PATCHES) {
        if (brim_processor_patches(processor, info, &grid, NULL) != BRIM_OK) return 0;
        return (size_t)3 * grid.max_patches * grid.patch_size * grid.patch_size;
    }
    if (brim_processor_shape(processor, info, &height, &width, NULL) != BRIM_OK ||
        (uint64_t)height * width > MAX_FLOATS / 3)
        return 0;
    return (size_t)3 * height * width;
}

static void apply(const brim_processor *processor, const uint8_t *data, size_t bytes,
                  const brim_reader_options *options, uint32_t shrink)
{
    fuzz_account mem;
    size_t scratch_bytes;

    fuzz_account_init(&mem);
    brim_reader *reader = open_picture(&mem.base, data, bytes, options, shrink);
    if (!reader) return;
    brim_image_info info = *brim_reader_info(reader);
    size_t n = slot_size(processor, &info);
    if (n > 0 && brim_processor_scratch_bytes(processor, &info, &scratch_bytes, NULL) == BRIM_OK) {
        float *slot = malloc(n * sizeof(float));
        FUZZ_MUST(slot != NULL);
        brim_processor_apply(processor, &mem.base, reader, BRIM_F32, slot, NULL);
        FUZZ_MUST(mem.peak_bytes <= scratch_bytes + info.scratch_bytes - info.foreign_bytes);
        free(slot);
    }
    brim_reader_close(reader);
    FUZZ_MUST(mem.live_bytes == 0);
}

static void read_in_way(unsigned way, const uint8_t *data, size_t bytes)
{
    brim_reader_options options = {
        .max_px = MAX_PX,
        .accept_truncated = way & 1,
        .depth = way & 2 ? BRIM_DEPTH_CLAMP : (brim_depth)0,
        .apply_icc = way & 4,
    };
    uint32_t shrink = 1u << (way >> 3 & 3);

    read_rows(data, bytes, &options, shrink);
    if (bytes > 0) apply(get_processor(data[bytes - 1] % N_CONFIGS), data, bytes, &options, shrink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 0 && data[0] >= FIRST_WAY && data[0] < FIRST_WAY + N_WAYS) {
        read_in_way(data[0] - (unsigned)FIRST_WAY, data + 1, bytes - 1);
        return 0;
    }
#ifdef BRIM_LIBFUZZER
    read_in_way(0, data, bytes);
#else
    for (unsigned way = 0; way < N_WAYS; way++)
        read_in_way(way, data, bytes);
#endif
    return 0;
}
