/*
 * png.c - PNG through libpng.
 *
 * Only what the pixels need is read: palette entries, grey levels and samples become 8-bit RGB,
 * transparency and colour management are passed over as Pillow's convert("RGB") does. 16-bit
 * samples keep their upper byte, or grey ones are clamped. libpng's memory comes from the reader's
 * allocator. An interlaced picture is held as a whole, in the samples it is stored in.
 */
#include "image/decoder.h"

#include <png.h>
#include <string.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/icc.h"
#include "image/png_chunks.h"

/* libpng's two structs, zlib's window and tables, buffers of a fixed size. */
#define LIBRARY_BYTES (72 * 1024)

/* What is lost before the end of a file that is cut: libpng wants that many bytes at once. */
#define LEAST_INPUT_BYTES 64

/* Stands before each piece of libpng's memory, since giving back wants the size. */
#define PREFIX_BYTES 64

/* Rows as libpng delivers them. */
typedef enum row_kind {
    ROW_RGB,
    ROW_INDICES,   /* a byte a pixel, into the palette */
    ROW_DEEP_GREY, /* 2 bytes a pixel, the upper one first */
} row_kind;

typedef struct png_decoder {
    const brim_alloc *mem;
    const brim_image_info *info;
    const uint8_t *next; /* bytes that libpng has not read */
    size_t bytes_left;
    png_structp library;
    png_infop header;
    brim_error *err; /* of the call under way */
    brim_status status;

    brim_depth depth;
    bool accept_truncated;
    bool truncated; /* and that was noticed: no further row has come whole */

    row_kind kind;
    uint8_t palette[256][3]; /* entries that the file lacks are black */
    size_t row_bytes;
    uint8_t *row;   /* one as libpng delivers it; NULL where that is RGB, or with frame */
    uint8_t *frame; /* all rows; NULL unless interlaced */
    size_t frame_bytes;
    uint32_t next_row;
} png_decoder;

/* --- the header ------------------------------------------------------------------------------ */

static uint32_t read_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static row_kind kind_of(int color_type, int depth, brim_depth wanted)
{
    if (color_type == PNG_COLOR_TYPE_PALETTE) return ROW_INDICES;
    bool is_deep_grey = color_type == PNG_COLOR_TYPE_GRAY && depth > 8;
    return is_deep_grey && wanted == BRIM_DEPTH_CLAMP ? ROW_DEEP_GREY : ROW_RGB;
}

static size_t bytes_of_row(uint32_t width, row_kind kind)
{
    return (kind == ROW_RGB ? 3 : kind == ROW_DEEP_GREY ? 2 : 1) * (size_t)width;
}

/* Two rows in libpng, as wide as the widest of stored, 16-bit RGBA and delivered samples. */
static brim_status predict(brim_image_info *info, row_kind kind)
{
    size_t row = (size_t)info->width * (size_t)(info->depth > 8 ? 8 : 4) + 128;
    size_t delivered = bytes_of_row(info->width, kind), frame = 0;

    if (info->whole_frame && brim_mul_bytes(delivered, info->height, &frame) != BRIM_OK)
        return BRIM_E_ARG;
    return brim_add_bytes(frame, LIBRARY_BYTES + sizeof(png_decoder) + 2 * row + delivered,
                          &info->scratch_bytes);
}

static brim_status png_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    size_t at = BRIM_PNG_SIGNATURE_BYTES;
    brim_png_chunk header;

    if (file->bytes < at || !brim_png_next_chunk(file->data, file->bytes, &at, &header))
        return brim_fail(err, BRIM_E_FORMAT, "truncated PNG");
    if (memcmp(header.type, "CgBI", 4) == 0)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "a PNG in Apple's own variant (CgBI)");
    if (memcmp(header.type, "IHDR", 4) != 0 || header.bytes != 13)
        return brim_fail(err, BRIM_E_FORMAT, "broken PNG: no header");

    info->width = read_u32(header.data);
    info->height = read_u32(header.data + 4);
    info->depth = header.data[8];
    info->grey = !(header.data[9] & PNG_COLOR_MASK_COLOR);
    info->whole_frame = header.data[12] != PNG_INTERLACE_NONE;
    if (info->width == 0 || info->height == 0 || info->width > PNG_UINT_31_MAX ||
        info->height > PNG_UINT_31_MAX || info->depth == 0 || info->depth > 16)
        return brim_fail(err, BRIM_E_FORMAT, "broken PNG: bad header");
    row_kind kind = kind_of(header.data[9], info->depth, file->options->depth);
    if (predict(info, kind) != BRIM_OK)
        return brim_fail(err, BRIM_E_FORMAT, "image too large: %u x %u pixels", info->width,
                         info->height);
    info->orientation = brim_png_orientation(file->data, file->bytes, at);
    return BRIM_OK;
}

/* --- what libpng calls ----------------------------------------------------------------------- */

static png_voidp on_alloc(png_structp library, png_alloc_size_t bytes)
{
    png_decoder *self = png_get_mem_ptr(library);
    size_t total;
    void *p;

    if (brim_add_bytes(bytes, PREFIX_BYTES, &total) != BRIM_OK) return NULL;
    brim_status status = self->mem->alloc(self->mem->ctx, total, 0, &p);
    if (status != BRIM_OK) {
        self->status = brim_fail(self->err, status, "PNG: no memory for %zu bytes", total);
        return NULL;
    }
    memcpy(p, &total, sizeof(total));
    return (unsigned char *)p + PREFIX_BYTES;
}

static void on_release(png_structp library, png_voidp p)
{
    png_decoder *self = png_get_mem_ptr(library);
    size_t total;

    if (!p) return;
    p = (unsigned char *)p - PREFIX_BYTES;
    memcpy(&total, p, sizeof(total));
    brim_alloc_release(self->mem, p, total);
}

/* Keeps the first words: a refused allocation makes libpng complain a second time. */
static void on_error(png_structp library, png_const_charp words)
{
    png_decoder *self = png_get_error_ptr(library);

    if (self->status == BRIM_OK)
        self->status = brim_fail(self->err, BRIM_E_FORMAT, "broken PNG: %s", words);
    png_longjmp(library, 1);
}

static void on_warning(png_structp library, png_const_charp words)
{
    (void)library;
    (void)words;
}

static void on_read(png_structp library, png_bytep out, size_t n)
{
    png_decoder *self = png_get_io_ptr(library);

    if (n > self->bytes_left) {
        self->truncated = true;
        self->status = brim_fail(self->err, BRIM_E_FORMAT, "truncated PNG");
        png_error(library, "truncated");
    }
    memcpy(out, self->next, n);
    self->next += n;
    self->bytes_left -= n;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Makes libpng check chunks that pixels do not need, and forget them: transparency among them. */
static void skip_ancillary_chunks(png_structp library)
{
    png_set_keep_unknown_chunks(library, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(library, PNG_HANDLE_CHUNK_NEVER, (png_const_bytep) "tRNS", 1);
}

static void copy_palette(png_decoder *self)
{
    png_colorp colors;
    int n = 0;

    png_get_PLTE(self->library, self->header, &colors, &n);
    for (int i = 0; i < n && i < 256; i++) {
        self->palette[i][0] = colors[i].red;
        self->palette[i][1] = colors[i].green;
        self->palette[i][2] = colors[i].blue;
    }
}

static void set_transforms(png_decoder *self)
{
    png_structp library = self->library;
    int color_type = png_get_color_type(library, self->header);

    if (self->kind == ROW_DEEP_GREY) return;
    if (self->kind == ROW_INDICES) {
        copy_palette(self);
        png_set_packing(library);
    }
    if (color_type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(library);
    png_set_strip_16(library);
    if (color_type & PNG_COLOR_MASK_ALPHA) png_set_strip_alpha(library);
    if (!(color_type & PNG_COLOR_MASK_COLOR)) png_set_gray_to_rgb(library);
}

static brim_status lease_rows(png_decoder *self, brim_error *err)
{
    brim_status status = BRIM_OK;

    if (self->info->whole_frame) {
        if (brim_mul_bytes(self->row_bytes, self->info->height, &self->frame_bytes) == BRIM_OK)
            self->frame = brim_alloc_zeroed(self->mem, self->frame_bytes, &status);
        if (!self->frame)
            return brim_fail(err, status, "PNG: no memory for %zu bytes", self->frame_bytes);
    } else if (self->kind != ROW_RGB) {
        self->row = brim_alloc_zeroed(self->mem, self->row_bytes, &status);
        if (!self->row)
            return brim_fail(err, status, "PNG: no memory for %zu bytes", self->row_bytes);
    }
    return BRIM_OK;
}

/* All passes, into the frame. */
static brim_status read_frame(png_decoder *self, int n_passes)
{
    if (setjmp(png_jmpbuf(self->library)))
        return self->truncated && self->accept_truncated ? BRIM_OK : self->status;
    for (int pass = 0; pass < n_passes; pass++) {
        for (uint32_t y = 0; y < self->info->height; y++)
            png_read_row(self->library, self->frame + y * self->row_bytes, NULL);
    }
    return BRIM_OK;
}

static brim_status png_start(png_decoder *self, brim_error *err)
{
    self->err = err;
    if (setjmp(png_jmpbuf(self->library))) return self->status;
    self->header = png_create_info_struct(self->library);
    if (!self->header) return self->status;
    png_set_read_fn(self->library, self, on_read);
    png_set_user_limits(self->library, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    skip_ancillary_chunks(self->library);
    if (self->accept_truncated) png_set_compression_buffer_size(self->library, LEAST_INPUT_BYTES);
    png_read_info(self->library, self->header);
    if (png_get_image_width(self->library, self->header) != self->info->width ||
        png_get_image_height(self->library, self->header) != self->info->height)
        return brim_fail(err, BRIM_E_FORMAT, "broken PNG: bad header");

    self->kind = kind_of(png_get_color_type(self->library, self->header),
                         png_get_bit_depth(self->library, self->header), self->depth);
    set_transforms(self);
    int n_passes = png_set_interlace_handling(self->library);
    png_read_update_info(self->library, self->header);
    self->row_bytes = png_get_rowbytes(self->library, self->header);
    brim_status status = lease_rows(self, err);
    return status == BRIM_OK && self->frame ? read_frame(self, n_passes) : status;
}

static void png_close(brim_decoder *decoder)
{
    png_decoder *self = (png_decoder *)decoder;

    if (!self) return;
    if (self->library) png_destroy_read_struct(&self->library, &self->header, NULL);
    brim_alloc_release(self->mem, self->row, self->row_bytes);
    brim_alloc_release(self->mem, self->frame, self->frame_bytes);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static brim_status png_open(const brim_alloc *mem, const brim_encoded *file,
                            const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    png_decoder *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "PNG: no memory for %zu bytes", sizeof(*self));
    self->mem = mem;
    self->info = info;
    self->next = file->data;
    self->bytes_left = file->bytes;
    self->depth = file->options->depth;
    self->accept_truncated = file->options->accept_truncated;
    self->err = err;
    self->library = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, self, on_error, on_warning,
                                             self, on_alloc, on_release);
    if (self->library)
        status = png_start(self, err);
    else if (self->status != BRIM_OK)
        status = self->status;
    else /* not for want of memory: on_alloc would have said so */
        status = brim_fail(err, BRIM_E_UNSUPPORTED, "PNG: another libpng than this was built with");
    if (status != BRIM_OK) {
        png_close((brim_decoder *)self);
        return status;
    }
    *out = (brim_decoder *)self;
    return BRIM_OK;
}

static void look_up(const png_decoder *self, const uint8_t *indices, uint8_t *rgb)
{
    for (size_t x = 0; x < self->info->width; x++)
        memcpy(rgb + 3 * x, self->palette[indices[x]], 3);
}

static void clamp_grey(const png_decoder *self, const uint8_t *samples, uint8_t *rgb)
{
    for (size_t x = 0; x < self->info->width; x++)
        memset(rgb + 3 * x, samples[2 * x] > 0 ? 255 : samples[2 * x + 1], 3);
}

/* Leaves through libpng's jump on failure. */
static void read_row(png_decoder *self, uint8_t *rgb)
{
    uint8_t *row = self->frame ? self->frame + (self->next_row - 1) * self->row_bytes
                   : self->row ? self->row
                               : rgb;

    if (!self->frame) png_read_row(self->library, row, NULL);
    if (self->kind == ROW_INDICES) look_up(self, row, rgb);
    if (self->kind == ROW_DEEP_GREY) clamp_grey(self, row, rgb);
    if (self->kind == ROW_RGB && row != rgb) memcpy(rgb, row, self->row_bytes);
}

/* Rows that a file lacks are black, where that is accepted; those of a frame are there already. */
static bool stands_in(const png_decoder *self, uint8_t *rgb)
{
    if (!self->truncated || !self->accept_truncated || self->frame) return false;
    memset(rgb, 0, 3 * (size_t)self->info->width);
    return true;
}

static brim_status png_next_row(brim_decoder *decoder, uint8_t *rgb, brim_error *err)
{
    png_decoder *self = (png_decoder *)decoder;
    bool at_end = self->next_row == self->info->height;

    self->err = err;
    if (at_end && self->truncated) return BRIM_END;
    if (!at_end) self->next_row++;
    if (stands_in(self, rgb)) return BRIM_OK;
    if (setjmp(png_jmpbuf(self->library))) {
        if (at_end && self->truncated && self->accept_truncated) return BRIM_END;
        return stands_in(self, rgb) ? BRIM_OK : self->status;
    }
    if (at_end) {
        png_read_end(self->library, NULL);
        return BRIM_END;
    }
    read_row(self, rgb);
    return BRIM_OK;
}

static void png_read_profile(brim_decoder *decoder, const brim_encoded *file, const brim_alloc *mem,
                             void **out, size_t *bytes)
{
    brim_status status;

    (void)decoder;
    *out = NULL;
    *bytes = brim_png_read_profile(file->data, file->bytes, BRIM_ICC_MAX_PROFILE_BYTES, NULL, 0);
    if (*bytes == 0) return;
    *out = brim_alloc_zeroed(mem, *bytes, &status);
    if (*out)
        brim_png_read_profile(file->data, file->bytes, BRIM_ICC_MAX_PROFILE_BYTES, *out, *bytes);
}

const brim_format brim_format_png = {
    .name = "PNG",
    .matches = brim_png_matches,
    .probe = png_probe,
    .open = png_open,
    .next_row = png_next_row,
    .read_profile = png_read_profile,
    .close = png_close,
};
