/*
 * fuzz_processor.c - the text of preprocessor_config.json, and a small picture through what it
 * makes.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "image/processor.h"

#define MAX_FLOATS        (1 << 18)
#define MAX_SCRATCH_BYTES (1 << 22)

/* A BMP of 4 x 2 pixels: noise enough for what is tested here. */
static const char PICTURE[] = "BM\0\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\4\0\2\0\1\0\x18\0"
                              "the first row, the upper";

static brim_processor *parse(const brim_alloc *mem, const uint8_t *data, size_t bytes)
{
    brim_processor *processor;
    brim_error err = {0};
    brim_status status =
        brim_processor_parse(mem, (const char *)data, bytes, "config", NULL, &processor, &err);

    FUZZ_MUST((status == BRIM_OK) == (processor != NULL));
    FUZZ_MUST(status == BRIM_OK || err.message[0]);
    return processor;
}

/* Elements of a slot for such a picture; 0 where it cannot be had. */
static size_t check_shape(const brim_processor *processor, const brim_image_info *info)
{
    uint32_t height = 0, width = 0, content_height, content_width;
    brim_patch_grid grid;

    uint32_t shrink = brim_processor_shrink_factor(processor, info);
    FUZZ_MUST(shrink == 1 || shrink == 2 || shrink == 4 || shrink == 8);
    if (brim_processor_slot_layout(processor) == BRIM_LAYOUT_PATCHES) {
        if (brim_processor_patches(processor, info, &grid, NULL) != BRIM_OK) return 0;
        FUZZ_MUST(grid.n_high > 0 && grid.n_wide > 0);
        FUZZ_MUST((uint64_t)grid.n_high * grid.n_wide <= grid.max_patches);
        uint64_t n = (uint64_t)grid.patch_size * grid.patch_size;
        return n > MAX_FLOATS ? MAX_FLOATS + 1 : (size_t)(3 * n * grid.max_patches);
    }
    if (brim_processor_shape(processor, info, &height, &width, NULL) != BRIM_OK) return 0;
    FUZZ_MUST(height > 0 && width > 0);
    if (brim_processor_content(processor, info, &content_height, &content_width, NULL) == BRIM_OK)
        FUZZ_MUST(content_height <= height && content_width <= width);
    uint64_t n = (uint64_t)height * width;
    return n > MAX_FLOATS ? MAX_FLOATS + 1 : (size_t)(3 * n);
}

static void apply(const brim_processor *processor)
{
    brim_reader *reader;
    fuzz_account mem;
    size_t scratch_bytes;

    fuzz_account_init(&mem);
    FUZZ_MUST(brim_reader_open(&mem.base, PICTURE, sizeof(PICTURE) - 1, NULL, &reader, NULL) ==
              BRIM_OK);
    brim_image_info info = *brim_reader_info(reader);
    size_t n = check_shape(processor, &info);
    if (n > 0 && n <= MAX_FLOATS &&
        brim_processor_scratch_bytes(processor, &info, &scratch_bytes, NULL) == BRIM_OK &&
        scratch_bytes <= MAX_SCRATCH_BYTES) {
        float *slot = malloc(n * sizeof(float));
        FUZZ_MUST(slot != NULL);
        brim_processor_apply(processor, &mem.base, reader, BRIM_F32, slot, NULL);
        FUZZ_MUST(mem.peak_bytes <= scratch_bytes + info.scratch_bytes - info.foreign_bytes);
        free(slot);
    }
    brim_reader_close(reader);
    FUZZ_MUST(mem.live_bytes == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint32_t SIDES[][2] = {{1, 1}, {640, 480}, {1, 65535}, {65535, 1}, {30000, 40000}};
    fuzz_account mem;

    fuzz_account_init(&mem);
    brim_processor *processor = parse(&mem.base, data, bytes);
    brim_processor *again = processor ? parse(brim_heap(), data, bytes) : NULL;
    if (processor) {
        FUZZ_MUST(strcmp(brim_processor_identity(processor), brim_processor_identity(again)) == 0);
        for (size_t i = 0; i < sizeof(SIDES) / sizeof(SIDES[0]); i++) {
            brim_image_info info =
                brim_image_info_of(SIDES[i][0], SIDES[i][1], (uint8_t)(1 + i * 5 % 8));
            check_shape(processor, &info);
        }
        apply(processor);
    }
    brim_processor_close(again);
    brim_processor_close(processor);
    FUZZ_MUST(mem.live_bytes == 0);
    return 0;
}
