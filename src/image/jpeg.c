/*
 * jpeg.c - JPEG through libjpeg-turbo, with the settings that Pillow has.
 *
 * Accurate integer transform, smooth chroma upsampling; CMYK inverted as Adobe writes it. Warnings
 * are passed over. A file that ends before its end marker is a failure, since what stands in for
 * the missing part is grey, unless that is accepted. Shrinking makes pixels of the lower
 * frequencies only: less work, and close to what a box filter would give. Of a progressive file the
 * scans at its end that only add last bits to the detail are then left out.
 *
 * libjpeg-turbo allocates by itself: what it will take is predicted in the probe. The coefficients
 * of a progressive picture, most of it, lie in a block of ours: fresh pages of the system, one
 * after the other, would take a fifth of all decoding, a block that was used before takes nothing.
 */
#include "image/decoder.h"

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h names FILE */
#include <string.h>
#include <sys/mman.h>

#include <jerror.h>
#include <jpeglib.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/icc.h"
#include "image/jpeg_header.h"

/*
 * A small file can hold thousands of empty scans, each of which is a walk over all coefficients. Of
 * large pictures fewer are taken: as many as walk over MAX_SCANNED_PX pixels.
 */
#define MAX_SCANS      500
#define MIN_SCANS      64
#define MAX_SCANNED_PX (1ull << 31)

enum { PAGE_BYTES = 4096, MAX_COEFFICIENT_ARRAYS = 4 };

/* One component's coefficients, in rows of blocks. */
typedef struct coefficients {
    JBLOCKARRAY rows;
    JDIMENSION blocks_per_row, n_rows;
    JDIMENSION n_zeroed; /* rows that hold something */
} coefficients;

typedef struct jpeg_decoder {
    const brim_alloc *mem;
    const brim_image_info *info;
    struct jpeg_decompress_struct library;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf escape; /* where a failing library lands; set in each call of ours */
    bool accept_truncated;
    bool truncated;
    int max_scans;
    bool too_many_scans;
    uint8_t *cmyk; /* 4 x width; NULL where rows come as RGB */
    uint8_t *rgb;  /* where the row under way goes */
    void *frame;   /* info->frame_bytes for coefficients; NULL where none are kept */
    bool owns_frame;
    size_t frame_used_bytes;
    coefficients arrays[MAX_COEFFICIENT_ARRAYS];
    size_t n_arrays;
} jpeg_decoder;

static bool jpeg_matches(const uint8_t *data, size_t bytes)
{
    size_t n = bytes < 3 ? bytes : 3;

    return n >= 2 && memcmp(data, "\xff\xd8\xff", n) == 0;
}

static brim_status jpeg_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    brim_jpeg_header header;

    brim_status status = brim_jpeg_read_header(file->data, file->bytes, &header, err);
    if (status != BRIM_OK) return status;
    info->width = header.width;
    info->height = header.height;
    info->orientation = header.orientation;
    info->grey = header.n_components == 1;
    info->whole_frame = header.many_scans;
    info->foreign_bytes = brim_jpeg_library_bytes(&header);
    info->frame_bytes = brim_jpeg_frame_bytes(&header);
    info->scratch_bytes = info->foreign_bytes + info->frame_bytes + sizeof(jpeg_decoder);
    if (header.n_components == 4) info->scratch_bytes += 4 * (size_t)header.width;
    return BRIM_OK;
}

/* The coefficients are read all the same, and what else the library takes is no more than before.
 */
static void jpeg_shrink(const brim_encoded *file, uint32_t factor, brim_image_info *info)
{
    (void)file;
    brim_image_info_shrink(info, factor);
}

/* --- what libjpeg-turbo calls ---------------------------------------------------------------- */

static void on_error(j_common_ptr library)
{
    jpeg_decoder *self = library->client_data;

    longjmp(self->escape, 1);
}

static void on_message(j_common_ptr library, int level)
{
    if (level < 0) library->err->num_warnings++;
}

static void on_output(j_common_ptr library)
{
    (void)library;
}

static void on_source(j_decompress_ptr library)
{
    (void)library;
}

/*
 * All bytes are there from the start: to be asked for more means that the file is too short. An end
 * marker makes the library finish with what it has.
 */
static boolean on_source_empty(j_decompress_ptr library)
{
    static const JOCTET END[2] = {0xff, JPEG_EOI};
    jpeg_decoder *self = library->client_data;

    self->truncated = true;
    if (!self->accept_truncated) longjmp(self->escape, 1);
    library->src->next_input_byte = END;
    library->src->bytes_in_buffer = sizeof(END);
    return TRUE;
}

static void on_source_skip(j_decompress_ptr library, long n)
{
    struct jpeg_source_mgr *source = library->src;

    if (n <= 0) return;
    if ((size_t)n > source->bytes_in_buffer) {
        on_source_empty(library);
        return;
    }
    source->next_input_byte += n;
    source->bytes_in_buffer -= (size_t)n;
}

static void on_progress(j_common_ptr library)
{
    jpeg_decoder *self = library->client_data;

    if (self->library.input_scan_number <= self->max_scans) return;
    self->too_many_scans = true;
    longjmp(self->escape, 1);
}

/* --- coefficients ---------------------------------------------------------------------------- */

/* Stands in for the library's. That what the header told is enough is checked all the same. */
static jvirt_barray_ptr on_request_array(j_common_ptr library, int pool, boolean zeroed,
                                         JDIMENSION blocks_per_row, JDIMENSION n_rows,
                                         JDIMENSION n_at_once)
{
    jpeg_decoder *self = library->client_data;
    size_t row_bytes = (size_t)blocks_per_row * sizeof(JBLOCK), bytes;

    (void)zeroed, (void)n_at_once; /* coefficients always are zeroed, and all rows are there */
    if (self->n_arrays == MAX_COEFFICIENT_ARRAYS ||
        brim_mul_bytes(row_bytes, n_rows, &bytes) != BRIM_OK ||
        bytes > self->info->frame_bytes - self->frame_used_bytes) {
        library->err->msg_code = JERR_BAD_VIRTUAL_ACCESS;
        library->err->error_exit(library);
    }
    coefficients *array = &self->arrays[self->n_arrays++];
    *array = (coefficients){.blocks_per_row = blocks_per_row, .n_rows = n_rows};
    array->rows = library->mem->alloc_large(library, pool, n_rows * sizeof(JBLOCKROW));
    for (JDIMENSION y = 0; y < n_rows; y++) {
        array->rows[y] = (JBLOCKROW)((char *)self->frame + self->frame_used_bytes);
        self->frame_used_bytes += row_bytes;
    }
    return (jvirt_barray_ptr)array;
}

static JBLOCKARRAY on_access_array(j_common_ptr library, jvirt_barray_ptr ours, JDIMENSION first,
                                   JDIMENSION n, boolean writable)
{
    coefficients *array = (coefficients *)ours;

    if (first > array->n_rows || n > array->n_rows - first) {
        library->err->msg_code = JERR_BAD_VIRTUAL_ACCESS;
        library->err->error_exit(library);
    }
    for (; array->n_zeroed < first + n; array->n_zeroed++)
        memset(array->rows[array->n_zeroed], 0, array->blocks_per_row * sizeof(JBLOCK));
    (void)writable;
    return array->rows + first;
}

static void on_make_arrays(j_common_ptr library)
{
    (void)library;
}

static void keep_coefficients(jpeg_decoder *self)
{
    struct jpeg_memory_mgr *memory = self->library.mem;

    if (!self->frame) return;
    memory->request_virt_barray = on_request_array;
    memory->access_virt_barray = on_access_array;
    memory->realize_virt_arrays = on_make_arrays;
}

/* The block for them: lent, or of our own, in huge pages where the system has them. */
static brim_status take_frame(jpeg_decoder *self, void *lent)
{
    size_t bytes = self->info->frame_bytes;

    self->frame = lent;
    if (bytes == 0 || lent) return BRIM_OK;
    brim_status status = self->mem->alloc(self->mem->ctx, bytes, PAGE_BYTES, &self->frame);
    self->owns_frame = status == BRIM_OK;
    if (self->owns_frame)
        (void)madvise(self->frame, bytes / PAGE_BYTES * PAGE_BYTES, MADV_HUGEPAGE);
    return status;
}

/* --- reading --------------------------------------------------------------------------------- */

/* The words for a failure that came through `escape`. */
static brim_status jpeg_fail(jpeg_decoder *self, brim_error *err)
{
    char words[JMSG_LENGTH_MAX];

    if (self->truncated) return brim_fail(err, BRIM_E_FORMAT, "truncated JPEG");
    if (self->too_many_scans)
        return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: more than %d scans", self->max_scans);
    self->errors.format_message((j_common_ptr)&self->library, words);
    if (self->errors.msg_code == JERR_OUT_OF_MEMORY)
        return brim_fail(err, BRIM_E_NOMEM, "JPEG: %s", words);
    return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: %s", words);
}

static int count_allowed_scans(const brim_image_info *info)
{
    uint64_t n = MAX_SCANNED_PX / ((uint64_t)info->width * info->height);

    return n < MIN_SCANS ? MIN_SCANS : n > MAX_SCANS ? MAX_SCANS : (int)n;
}

/* Where the library is to stop: its wanting more is no failure then. */
static size_t bytes_to_read(jpeg_decoder *self, const brim_encoded *file)
{
    self->accept_truncated = file->options->accept_truncated;
    if (self->accept_truncated) return brim_jpeg_whole_bytes(file->data, file->bytes);
    if (self->info->shrink == 1 || !self->info->whole_frame) return file->bytes;
    size_t coarse = brim_jpeg_coarse_bytes(file->data, file->bytes);
    self->accept_truncated = coarse < file->bytes;
    return coarse;
}

static void connect(jpeg_decoder *self, const uint8_t *data, size_t bytes)
{
    self->library.err = jpeg_std_error(&self->errors);
    self->errors.error_exit = on_error;
    self->errors.emit_message = on_message;
    self->errors.output_message = on_output;
    self->source = (struct jpeg_source_mgr){
        .next_input_byte = data,
        .bytes_in_buffer = bytes,
        .init_source = on_source,
        .fill_input_buffer = on_source_empty,
        .skip_input_data = on_source_skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = on_source,
    };
    self->progress.progress_monitor = on_progress;
    self->library.client_data = self;
}

static brim_status jpeg_start(jpeg_decoder *self, brim_error *err)
{
    struct jpeg_decompress_struct *library = &self->library;

    if (setjmp(self->escape)) return jpeg_fail(self, err);
    jpeg_create_decompress(library);
    library->mem->max_memory_to_use = 0; /* whatever the environment says */
    keep_coefficients(self);
    library->src = &self->source;
    library->progress = &self->progress;
    jpeg_read_header(library, TRUE);
    if (library->image_width != self->info->width || library->image_height != self->info->height ||
        (library->num_components == 4) != (self->cmyk != NULL) ||
        jpeg_has_multiple_scans(library) != self->info->whole_frame)
        return brim_fail(err, BRIM_E_FORMAT, "broken JPEG: two headers that contradict each other");
    library->out_color_space = self->cmyk ? JCS_CMYK : JCS_RGB;
    library->dct_method = JDCT_ISLOW;
    library->do_fancy_upsampling = TRUE;
    library->scale_num = 1;
    library->scale_denom = self->info->shrink;
    jpeg_start_decompress(library);
    if (library->output_width != self->info->row_width ||
        library->output_height != self->info->n_rows)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "JPEG: this libjpeg shrinks in another way");
    return BRIM_OK;
}

/* 4 bytes a pixel of a row that comes. */
static size_t cmyk_bytes(const brim_image_info *info)
{
    return 4 * (size_t)info->row_width;
}

static void jpeg_close(brim_decoder *decoder)
{
    jpeg_decoder *self = (jpeg_decoder *)decoder;

    if (!self) return;
    jpeg_destroy_decompress(&self->library);
    if (self->owns_frame) brim_alloc_release(self->mem, self->frame, self->info->frame_bytes);
    brim_alloc_release(self->mem, self->cmyk, cmyk_bytes(self->info));
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static brim_status jpeg_open(const brim_alloc *mem, const brim_encoded *file,
                             const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    brim_jpeg_header header;

    *out = NULL;
    brim_status status = brim_jpeg_read_header(file->data, file->bytes, &header, err);
    if (status != BRIM_OK) return status;
    jpeg_decoder *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "JPEG: no memory for %zu bytes", sizeof(*self));
    self->mem = mem;
    self->info = info;
    self->max_scans = count_allowed_scans(info);
    connect(self, file->data, bytes_to_read(self, file));
    status = take_frame(self, file->frame);
    if (status != BRIM_OK) {
        brim_fail(err, status, "JPEG: no memory for %zu bytes", info->frame_bytes);
        goto fail;
    }
    if (header.n_components == 4) {
        self->cmyk = brim_alloc_zeroed(mem, cmyk_bytes(info), &status);
        if (!self->cmyk) {
            brim_fail(err, status, "JPEG: no memory for a row of %u pixels", info->width);
            goto fail;
        }
    }
    status = jpeg_start(self, err);
    if (status != BRIM_OK) goto fail;
    *out = (brim_decoder *)self;
    return BRIM_OK;

fail:
    jpeg_close((brim_decoder *)self);
    return status;
}

/* round(a * b / 255) */
static unsigned scale_255(unsigned a, unsigned b)
{
    unsigned product = a * b + 128;

    return ((product >> 8) + product) >> 8;
}

/* Adobe stores ink inverted: 255 is none, so that what is left of white after each is a product. */
static void cmyk_to_rgb(const uint8_t *cmyk, uint8_t *rgb, size_t n)
{
    for (size_t i = 0; i < n; i++, cmyk += 4, rgb += 3) {
        unsigned white = cmyk[3];

        for (unsigned c = 0; c < 3; c++)
            rgb[c] = (uint8_t)(white - scale_255(255u - cmyk[c], white));
    }
}

/* Leaves through `escape` on failure. */
static brim_status read_row(jpeg_decoder *self)
{
    struct jpeg_decompress_struct *library = &self->library;
    JSAMPROW row = self->cmyk ? self->cmyk : self->rgb;

    if (library->output_scanline == library->output_height) {
        jpeg_finish_decompress(library); /* reads on to the end marker */
        return BRIM_END;
    }
    jpeg_read_scanlines(library, &row, 1);
    if (self->cmyk) cmyk_to_rgb(self->cmyk, self->rgb, self->info->row_width);
    return BRIM_OK;
}

static brim_status jpeg_next_row(brim_decoder *decoder, uint8_t *rgb, brim_error *err)
{
    jpeg_decoder *self = (jpeg_decoder *)decoder;

    self->rgb = rgb;
    if (setjmp(self->escape)) return jpeg_fail(self, err);
    return read_row(self);
}

/* Of inks the profile is not for the RGB that rows come as. */
static void jpeg_read_profile(brim_decoder *decoder, const brim_encoded *file,
                              const brim_alloc *mem, void **out, size_t *bytes)
{
    const jpeg_decoder *self = (const jpeg_decoder *)decoder;
    brim_status status;

    *out = NULL;
    *bytes = self->cmyk ? 0 : brim_jpeg_read_profile(file->data, file->bytes, NULL, 0);
    if (*bytes == 0 || *bytes > BRIM_ICC_MAX_PROFILE_BYTES) return;
    *out = brim_alloc_zeroed(mem, *bytes, &status);
    if (*out) brim_jpeg_read_profile(file->data, file->bytes, *out, *bytes);
}

const brim_format brim_format_jpeg = {
    .name = "JPEG",
    .matches = jpeg_matches,
    .probe = jpeg_probe,
    .shrink = jpeg_shrink,
    .open = jpeg_open,
    .next_row = jpeg_next_row,
    .read_profile = jpeg_read_profile,
    .close = jpeg_close,
};
