/* Tests of src/image/png_chunks.c: files of chunks, without pixels. */
#include "image/png_chunks.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "support/cmocka_all.h"

#define EXIF(N) "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0" N "\0\0\0"
#define XMP     "XML:com.adobe.xmp"
#define PROFILE "Raw profile type exif"

typedef struct file {
    uint8_t bytes[4096];
    size_t n;
} file;

static void begin(file *f)
{
    memcpy(f->bytes, "\x89PNG\r\n\x1a\n", 8);
    f->n = 8;
}

static void add(file *f, const char *type, const void *data, size_t n)
{
    uint8_t *p = f->bytes + f->n;

    memcpy(p, (uint8_t[]){0, 0, (uint8_t)(n >> 8), (uint8_t)n}, 4);
    memcpy(p + 4, type, 4);
    memcpy(p + 8, data, n);
    memcpy(p + 8 + n, "crc.", 4);
    f->n += n + 12;
}

#define ADD(F, TYPE, TEXT) add(F, TYPE, TEXT, sizeof(TEXT) - 1)

/* head, then the text packed as zlib does. */
static void add_packed(file *f, const char *type, const void *head, size_t n_head, const char *text)
{
    uint8_t chunk[1024];
    uLongf n = sizeof(chunk) - n_head;

    memcpy(chunk, head, n_head);
    assert_int_equal(compress(chunk + n_head, &n, (const Bytef *)text, strlen(text)), Z_OK);
    add(f, type, chunk, n_head + n);
}

static void says(const file *f, int wanted)
{
    uint8_t *copy = malloc(f->n); /* its own piece of memory, so that reading on is seen */

    for (size_t n = 8; n <= f->n; n++) {
        memcpy(copy + f->n - n, f->bytes, n); /* every cut is survived */
        brim_png_orientation(copy + f->n - n, n, 8);
    }
    assert_int_equal(brim_png_orientation(copy, f->n, 8), wanted);
    free(copy);
}

static void finds_exif_anywhere_before_the_end(void **state)
{
    file f;

    (void)state;
    begin(&f);
    ADD(&f, "IDAT", "pixels");
    ADD(&f, "eXIf", EXIF("\6"));
    ADD(&f, "eXIf", EXIF("\3"));
    says(&f, 3); /* of several the last counts */
    begin(&f);
    ADD(&f, "IEND", "");
    ADD(&f, "eXIf", EXIF("\6"));
    says(&f, 1);
}

static void finds_xmp_plain_and_packed(void **state)
{
    file f;

    (void)state;
    begin(&f);
    ADD(&f, "iTXt", XMP "\0\0\0en\0\0 tiff:Orientation=\"8\"");
    says(&f, 8);
    begin(&f);
    add_packed(&f, "iTXt", XMP "\0\1\0\0", sizeof(XMP) + 4, "<tiff:Orientation>5<");
    says(&f, 5);
    begin(&f);
    ADD(&f, "iTXt", "XML:com.adobe.xm\0\0\0en\0\0 tiff:Orientation=\"8\"");
    ADD(&f, "iTXt", XMP "\0\0\0en");
    says(&f, 1);
}

static void finds_the_profile_that_imagemagick_writes(void **state)
{
    static const char HEX[] = "\nexif\n      26\n49492a0008000000010012\n0103000100000007000000\n";
    char text[200];
    file f;

    (void)state;
    begin(&f);
    add_packed(&f, "zTXt", PROFILE "\0", sizeof(PROFILE) + 1, HEX);
    says(&f, 7);
    begin(&f);
    int n = snprintf(text, sizeof(text), "%s%c%s", PROFILE, 0, HEX);
    add(&f, "tEXt", text, (size_t)n);
    says(&f, 7);
    begin(&f);
    ADD(&f, "tEXt", PROFILE "\0\nexif\n");
    ADD(&f, "tEXt", PROFILE "\0\nexif\n 8\nxyz");
    ADD(&f, "zTXt", PROFILE "\0\0not packed");
    says(&f, 1);
}

static void exif_counts_before_profile_and_profile_before_xmp(void **state)
{
    file f;

    (void)state;
    begin(&f);
    ADD(&f, "iTXt", XMP "\0\0\0en\0\0 tiff:Orientation=\"8\"");
    ADD(&f, "tEXt", PROFILE "\0\nexif\n      26\n49492a00080000000100120103000100000007000000\n");
    says(&f, 7);
    ADD(&f, "eXIf", EXIF("\6"));
    says(&f, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_exif_anywhere_before_the_end),
        cmocka_unit_test(finds_xmp_plain_and_packed),
        cmocka_unit_test(finds_the_profile_that_imagemagick_writes),
        cmocka_unit_test(exif_counts_before_profile_and_profile_before_xmp),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
