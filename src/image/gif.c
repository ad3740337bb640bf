/*
 * gif.c - GIF through giflib: the first frame, on its canvas.
 *
 * What no frame covers has the transparent colour's palette entry, or the first one, as Pillow's
 * convert("RGB") shows it. Lines stream, unless they are interlaced: then the frame is held as
 * palette indices.
 *
 * giflib allocates by itself: little, and the same for all pictures.
 */
#include "image/decoder.h"

#include <gif_lib.h>
#include <string.h>

#include "base/fail.h"
#include "image/gif_header.h"

/* Its tables for unpacking, the file's state, colour maps and extension blocks. */
#define LIBRARY_BYTES (96 * 1024)

typedef struct gif_decoder {
    const brim_alloc *mem;
    brim_gif_header header;
    const uint8_t *next; /* bytes that giflib has not read */
    size_t bytes_left;
    bool ran_out; /* it asked for more than there are */
    bool accept_truncated;
    GifFileType *library;
    uint8_t palette[256][3]; /* entries that the file lacks are black */
    uint8_t *indices;        /* of one row of the frame, or of all where they are interlaced */
    size_t indices_bytes;
    uint32_t next_row, n_rows; /* of the canvas */
} gif_decoder;

static bool gif_matches(const uint8_t *data, size_t bytes)
{
    return bytes >= 6 && (memcmp(data, "GIF87a", 6) == 0 || memcmp(data, "GIF89a", 6) == 0);
}

static size_t count_indices(const brim_gif_header *header)
{
    return (size_t)header->frame_width * (header->interlaced ? header->frame_height : 1);
}

static brim_status gif_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    brim_gif_header header;

    brim_status status = brim_gif_read_header(file->data, file->bytes, &header, err);
    if (status != BRIM_OK) return status;
    info->width = header.width;
    info->height = header.height;
    info->whole_frame = header.interlaced;
    info->foreign_bytes = LIBRARY_BYTES;
    info->scratch_bytes = LIBRARY_BYTES + sizeof(gif_decoder) + count_indices(&header);
    return BRIM_OK;
}

static int on_read(GifFileType *library, GifByteType *out, int n)
{
    gif_decoder *self = library->UserData;
    size_t wanted = n > 0 ? (size_t)n : 0;

    if (wanted > self->bytes_left) {
        self->ran_out = true;
        wanted = self->bytes_left;
    }
    memcpy(out, self->next, wanted);
    self->next += wanted;
    self->bytes_left -= wanted;
    return (int)wanted;
}

static brim_status gif_fail(const gif_decoder *self, int code, brim_error *err)
{
    const char *words = GifErrorString(code);

    if (code == D_GIF_ERR_NOT_ENOUGH_MEM)
        return brim_fail(err, BRIM_E_NOMEM, "GIF: the system refused memory");
    if (self->ran_out) return brim_fail(err, BRIM_E_FORMAT, "truncated GIF");
    return brim_fail(err, BRIM_E_FORMAT, "broken GIF: %s", words ? words : "bad data");
}

static void fill_palette(gif_decoder *self)
{
    const brim_gif_header *header = &self->header;

    if (header->palette) {
        memcpy(self->palette, header->palette, 3 * (size_t)header->n_colors);
        return;
    }
    for (int i = 0; i < 256; i++)
        memset(self->palette[i], i, 3);
}

/* Up to the pixels of the first frame; what stands before them was looked at by ourselves. */
static bool skip_to_frame(GifFileType *library)
{
    GifRecordType kind;

    while (DGifGetRecordType(library, &kind) == GIF_OK) {
        GifByteType *block;
        int code;

        if (kind == IMAGE_DESC_RECORD_TYPE) return DGifGetImageDesc(library) == GIF_OK;
        if (kind != EXTENSION_RECORD_TYPE || DGifGetExtension(library, &code, &block) != GIF_OK)
            return false;
        while (block) {
            if (DGifGetExtensionNext(library, &block) != GIF_OK) return false;
        }
    }
    return false;
}

/* Lines of an interlaced frame come in four rounds; those that a file lacks stay as filled. */
static brim_status read_interlaced(gif_decoder *self, brim_error *err)
{
    static const uint32_t FIRST[] = {0, 4, 2, 1}, STEP[] = {8, 8, 4, 2};
    size_t width = self->header.frame_width;

    for (int round = 0; round < 4; round++) {
        for (uint32_t y = FIRST[round]; y < self->header.frame_height; y += STEP[round]) {
            if (DGifGetLine(self->library, self->indices + y * width, (int)width) == GIF_OK)
                continue;
            brim_status status = gif_fail(self, self->library->Error, err);
            return self->ran_out && self->accept_truncated ? BRIM_OK : status;
        }
    }
    return BRIM_OK;
}

static brim_status gif_start(gif_decoder *self, brim_error *err)
{
    int code = 0;

    self->library = DGifOpen(self, on_read, &code);
    if (!self->library) return gif_fail(self, code, err);
    if (!skip_to_frame(self->library)) return gif_fail(self, self->library->Error, err);
    const GifImageDesc *frame = &self->library->Image;
    if ((uint32_t)frame->Width != self->header.frame_width ||
        (uint32_t)frame->Height != self->header.frame_height)
        return brim_fail(err, BRIM_E_FORMAT, "broken GIF: frames that contradict each other");
    return self->header.interlaced ? read_interlaced(self, err) : BRIM_OK;
}

static void gif_close(brim_decoder *decoder)
{
    gif_decoder *self = (gif_decoder *)decoder;

    if (!self) return;
    if (self->library) DGifCloseFile(self->library, NULL);
    brim_alloc_release(self->mem, self->indices, self->indices_bytes);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static brim_status gif_open(const brim_alloc *mem, const brim_encoded *file,
                            const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    gif_decoder *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "GIF: no memory for %zu bytes", sizeof(*self));
    self->mem = mem;
    self->next = file->data;
    self->bytes_left = file->bytes;
    self->accept_truncated = file->options->accept_truncated;
    self->n_rows = info->height;
    status = brim_gif_read_header(file->data, file->bytes, &self->header, err);
    if (status != BRIM_OK) goto fail;
    fill_palette(self);
    self->indices = brim_alloc_zeroed(mem, count_indices(&self->header), &status);
    if (!self->indices) {
        brim_fail(err, status, "GIF: no memory for %zu bytes", count_indices(&self->header));
        goto fail;
    }
    self->indices_bytes = count_indices(&self->header);
    memset(self->indices, self->header.fill, self->indices_bytes);
    status = gif_start(self, err);
    if (status != BRIM_OK) goto fail;
    *out = (brim_decoder *)self;
    return BRIM_OK;

fail:
    gif_close((brim_decoder *)self);
    return status;
}

/* Palette indices of line y of the frame, what a file lacks as filled; NULL on failure. */
static const uint8_t *frame_line(gif_decoder *self, uint32_t y)
{
    size_t width = self->header.frame_width;

    if (self->header.interlaced) return self->indices + y * width;
    memset(self->indices, self->header.fill, width);
    if (self->ran_out) return self->indices;
    if (DGifGetLine(self->library, self->indices, (int)width) == GIF_OK) return self->indices;
    return self->ran_out && self->accept_truncated ? self->indices : NULL;
}

static void fill(const gif_decoder *self, uint8_t *rgb, size_t n)
{
    for (size_t x = 0; x < n; x++)
        memcpy(rgb + 3 * x, self->palette[self->header.fill], 3);
}

static brim_status gif_next_row(brim_decoder *decoder, uint8_t *rgb, brim_error *err)
{
    gif_decoder *self = (gif_decoder *)decoder;
    const brim_gif_header *h = &self->header;

    if (self->next_row == self->n_rows) return BRIM_END;
    uint32_t y = self->next_row++ - h->y; /* wraps above the frame */
    fill(self, rgb, h->width);
    if (y >= h->frame_height) return BRIM_OK;
    const uint8_t *line = frame_line(self, y);
    if (!line) return gif_fail(self, self->library->Error, err);
    for (size_t x = 0; x < h->frame_width; x++)
        memcpy(rgb + 3 * (h->x + x), self->palette[line[x]], 3);
    return BRIM_OK;
}

const brim_format brim_format_gif = {
    .name = "GIF",
    .matches = gif_matches,
    .probe = gif_probe,
    .open = gif_open,
    .next_row = gif_next_row,
    .close = gif_close,
};
