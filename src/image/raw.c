/*
 * raw.c - cameras' raw files that begin as nothing else does. Those that are plain TIFFs are found
 * out in tiff_header.c, by what their directory says.
 */
#include "image/raw.h"

#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "image/decoder.h"

typedef struct mark {
    const char *kind;
    size_t at, length;
    const char *bytes;
} mark;

static const mark MARKS[] = {
    {"CR2", 8, 2, "CR"},    {"CR3", 4, 8, "ftypcrx "}, {"ORF", 0, 4, "IIRO"},
    {"ORF", 0, 4, "IIRS"},  {"ORF", 0, 4, "MMOR"},     {"RW2", 0, 4, "IIU\0"},
    {"MRW", 0, 4, "\0MRM"}, {"X3F", 0, 4, "FOVb"},     {"RAF", 0, 15, "FUJIFILMCCD-RAW"},
};

static const struct {
    const char *make, *kind;
} MAKERS[] = {
    {"NIKON", "NEF"}, {"SONY", "ARW"},    {"PENTAX", "PEF"},     {"RICOH", "PEF"},
    {"Canon", "CR2"}, {"SAMSUNG", "SRW"}, {"Panasonic", "RW2"},  {"OLYMPUS", "ORF"},
    {"KODAK", "DCR"}, {"EPSON", "ERF"},   {"Hasselblad", "3FR"},
};

brim_status brim_raw_refuse(const char *kind, brim_error *err)
{
    return brim_fail(err, BRIM_E_UNSUPPORTED,
                     "a camera raw file (%s): its first picture is only a thumbnail; develop it to "
                     "TIFF or JPEG first",
                     kind);
}

const char *brim_raw_of_maker(const char *make, size_t length)
{
    for (size_t i = 0; i < sizeof(MAKERS) / sizeof(MAKERS[0]); i++) {
        size_t n = strlen(MAKERS[i].make);
        if (length >= n && strncasecmp(make, MAKERS[i].make, n) == 0) return MAKERS[i].kind;
    }
    return NULL;
}

/* NULL where the bytes begin otherwise. A "CR" counts in a TIFF only. */
static const char *kind_of(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < sizeof(MARKS) / sizeof(MARKS[0]); i++) {
        const mark *m = &MARKS[i];

        if (bytes < m->at + m->length || memcmp(data + m->at, m->bytes, m->length) != 0) continue;
        if (m->at == 8 && memcmp(data, "II*\0", 4) != 0) continue;
        return m->kind;
    }
    return NULL;
}

static bool raw_matches(const uint8_t *data, size_t bytes)
{
    return kind_of(data, bytes) != NULL;
}

static brim_status raw_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    (void)info;
    return brim_raw_refuse(kind_of(file->data, file->bytes), err);
}

/* It never comes to decoding. */
const brim_format brim_format_raw = {.name = "raw", .matches = raw_matches, .probe = raw_probe};
