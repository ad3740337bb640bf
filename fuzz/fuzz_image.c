/*
 * fuzz_image.c - feeds bytes to the picture readers, the resampler and the parser of
 * preprocessor_config.json.
 *
 * Bytes that begin with a brace are a config, all others a picture of at most 256 x 256 pixels.
 * Without libFuzzer a main() runs the same over files and folders of files.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image/processor.h"

#define MAX_PX     65536
#define MAX_FLOATS (1 << 22)

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

static const brim_reader_options OPTIONS = {.max_px = MAX_PX};

static void must(int truth)
{
    if (!truth) abort();
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

static void apply(const brim_processor *processor, const uint8_t *data, size_t bytes)
{
    brim_reader *reader;
    size_t scratch_bytes;

    if (brim_reader_open(brim_heap(), data, bytes, &OPTIONS, &reader, NULL) != BRIM_OK) return;
    const brim_image_info *info = brim_reader_info(reader);
    must((uint64_t)info->width * info->height <= MAX_PX);
    must(info->orientation >= 1 && info->orientation <= 8);
    size_t n = slot_size(processor, info);
    if (n > 0 && brim_processor_scratch_bytes(processor, info, &scratch_bytes, NULL) == BRIM_OK) {
        float *slot = malloc(n * sizeof(float));
        must(slot != NULL);
        brim_processor_apply(processor, brim_heap(), reader, BRIM_F32, slot, NULL);
        free(slot);
    }
    brim_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static brim_processor *processors[sizeof(CONFIGS) / sizeof(CONFIGS[0])];
    brim_processor *processor;

    for (size_t i = 0; i < sizeof(CONFIGS) / sizeof(CONFIGS[0]) && !processors[i]; i++)
        must(brim_processor_parse(brim_heap(), CONFIGS[i], strlen(CONFIGS[i]), "config", NULL,
                                  &processors[i], NULL) == BRIM_OK);
    if (bytes > 0 && data[0] == '{') {
        brim_processor_parse(brim_heap(), (const char *)data, bytes, "config", NULL, &processor,
                             NULL);
        brim_processor_close(processor);
        return 0;
    }
    for (size_t i = 0; i < sizeof(CONFIGS) / sizeof(CONFIGS[0]); i++)
        apply(processors[i], data, bytes);
    return 0;
}

#ifndef BRIM_LIBFUZZER
static void run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    static uint8_t data[1 << 20];

    if (!f) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        exit(1);
    }
    size_t n = fread(data, 1, sizeof(data), f);
    fclose(f);
    uint8_t *copy = malloc(n + 1); /* of the exact size, so that sanitizers see its end */
    must(copy != NULL);
    copy = realloc(copy, n > 0 ? n : 1);
    memcpy(copy, data, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

int main(int argc, char **argv)
{
    int n = 0;

    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        struct dirent *entry;
        char path[4096];

        if (!folder) {
            run_file(argv[i]);
            n++;
            continue;
        }
        while ((entry = readdir(folder)) != NULL) {
            struct stat st;

            snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
            if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) continue;
            run_file(path);
            n++;
        }
        closedir(folder);
    }
    printf("%d inputs\n", n);
    return n > 0 ? 0 : 1;
}
#endif
