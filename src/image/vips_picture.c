/*
 * vips_picture.c - opens images with libvips and hands their rows on.
 */
#include "image/vips_picture.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/icc.h"

enum {
    STRIP_ROWS = 16,
    CACHED_ROWS = 512, /* libvips keeps these behind a sequential reader, or two blocks */
    OBJECTS_BYTES = 512 * 1024,
    ACCESS_SEQUENTIAL = 1, /* a VipsAccess */
    FAIL_ON_NONE = 0,      /* a VipsFailOn */
    FAIL_ON_TRUNCATED = 1,
    WORDS = 256,
};

typedef struct vips_decoder {
    const brim_alloc *mem;
    const brim_vips *vips;
    const brim_vips_kind *kind;
    const brim_image_info *info;
    brim_vips_image *image;
    brim_samples samples;
    uint8_t *strip; /* libvips's; NULL between two */
    uint32_t strip_top, strip_rows;
    uint32_t next_row;
    bool fills_in; /* what is missing, in black */
    bool ended;    /* nothing more comes from libvips */
} vips_decoder;

/* Words by which libvips, and the libraries behind it, say that bytes are missing. */
static bool says_truncated(const char *words)
{
    static const char *const SIGNS[] = {"truncated", "end of file", "end-of-file",
                                        "premature", "read error",  "not enough data"};

    for (size_t i = 0; i < sizeof(SIGNS) / sizeof(SIGNS[0]); i++) {
        if (strcasestr(words, SIGNS[i])) return true;
    }
    return false;
}

/* "Out of memory" too is a picture's own failure: what it may take was reserved before. */
static brim_status vips_fail(const brim_vips *vips, const brim_vips_kind *kind, brim_error *err)
{
    char words[WORDS];

    brim_vips_words(vips, words, sizeof(words));
    if (says_truncated(words)) return brim_fail(err, BRIM_E_FORMAT, "truncated %s", kind->name);
    if (strcasestr(words, "not supported") || strcasestr(words, "unsupported"))
        return brim_fail(err, BRIM_E_UNSUPPORTED, "%s: %s", kind->what, words);
    return brim_fail(err, BRIM_E_FORMAT, "broken %s: %s", kind->name, words);
}

/* An image holds on to its source. */
static int load_fd(const brim_vips *vips, int fd, int fail_on, brim_vips_image **out)
{
    brim_vips_source *source = vips->source_new(fd);

    if (!source) return -1;
    int rc =
        vips->load_tiff_source(source, out, "access", ACCESS_SEQUENTIAL, "fail_on", fail_on, NULL);
    vips->unref(source);
    return rc;
}

brim_status brim_vips_open_image(const brim_vips *vips, const brim_vips_kind *kind,
                                 const brim_encoded *file, brim_vips_image **out, brim_error *err)
{
    int fail_on = file->options->accept_truncated ? FAIL_ON_NONE : FAIL_ON_TRUNCATED;
    brim_vips_loader load;
    int rc;

    *out = NULL;
    memcpy(&load, (const char *)vips + kind->load_at, sizeof(load));
    if (file->fd >= 0)
        rc = load_fd(vips, file->fd, fail_on, out);
    else
        rc = load((void *)(uintptr_t)file->data, file->bytes, out, "access", ACCESS_SEQUENTIAL,
                  "fail_on", fail_on, NULL);
    if (rc == 0) return BRIM_OK;
    *out = NULL;
    return vips_fail(vips, kind, err);
}

brim_status brim_vips_sample_type(const brim_vips *vips, const brim_vips_kind *kind,
                                  const brim_vips_image *image, brim_sample_type *out,
                                  brim_error *err)
{
    switch (vips->image_get_format(image)) {
    case BRIM_VIPS_U8:
    case BRIM_VIPS_S8: /* Pillow takes no notice of the sign */
        *out = BRIM_SAMPLE_U8;
        return BRIM_OK;
    case BRIM_VIPS_U16:
        *out = BRIM_SAMPLE_U16;
        return BRIM_OK;
    case BRIM_VIPS_S16:
        *out = BRIM_SAMPLE_S16;
        return BRIM_OK;
    case BRIM_VIPS_U32:
    case BRIM_VIPS_S32:
        *out = BRIM_SAMPLE_S32;
        return BRIM_OK;
    case BRIM_VIPS_F32:
        *out = BRIM_SAMPLE_F32;
        return BRIM_OK;
    default:
        return brim_fail(err, BRIM_E_UNSUPPORTED, "%s with samples of a kind not read here",
                         kind->what);
    }
}

size_t brim_vips_pipeline_bytes(const brim_image_info *info, size_t pixel_bytes,
                                size_t block_height)
{
    size_t row_bytes = brim_mul_saturated(info->width, pixel_bytes);
    size_t n_blocks = CACHED_ROWS / block_height;
    size_t n_rows = brim_mul_saturated((n_blocks < 2 ? 2 : n_blocks) + 1, block_height);
    size_t most = brim_mul_saturated((info->height - 1) / block_height + 1, block_height);

    if (n_rows > most) n_rows = most;
    return brim_mul_saturated(n_rows, row_bytes) + brim_mul_saturated(row_bytes, 3 * STRIP_ROWS) +
           OBJECTS_BYTES;
}

size_t brim_vips_decoder_bytes(void)
{
    return sizeof(vips_decoder);
}

/* The header that was read before and what libvips makes of the file must be the same. */
static brim_status check(const vips_decoder *self, brim_error *err)
{
    const brim_vips *vips = self->vips;
    brim_sample_type type = BRIM_SAMPLE_U8;

    brim_status status = brim_vips_sample_type(vips, self->kind, self->image, &type, err);
    if (status != BRIM_OK) return status;
    if ((uint32_t)vips->image_get_width(self->image) != self->info->width ||
        (uint32_t)vips->image_get_height(self->image) != self->info->height ||
        (uint32_t)vips->image_get_bands(self->image) != self->samples.pixel.n_bands ||
        type != self->samples.pixel.type)
        return brim_fail(err, BRIM_E_FORMAT, "broken %s: a header that contradicts itself",
                         self->kind->name);
    return BRIM_OK;
}

void brim_vips_close(brim_decoder *decoder)
{
    vips_decoder *self = (vips_decoder *)decoder;

    if (!self) return;
    if (self->strip) self->vips->release(self->strip);
    self->vips->unref(self->image);
    self->vips->thread_shutdown();
    brim_alloc_release(self->mem, self, sizeof(*self));
}

brim_status brim_vips_decoder_open(const brim_alloc *mem, const brim_vips *vips,
                                   const brim_vips_kind *kind, const brim_encoded *file,
                                   const brim_image_info *info, const brim_samples *samples,
                                   brim_vips_image *image, brim_decoder **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    vips_decoder *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) {
        vips->unref(image);
        return brim_fail(err, status, "%s: no memory for %zu bytes", kind->name, sizeof(*self));
    }
    self->mem = mem;
    self->vips = vips;
    self->kind = kind;
    self->info = info;
    self->image = image;
    self->samples = *samples;
    self->fills_in = file->options->accept_truncated;
    status = check(self, err);
    if (status != BRIM_OK) {
        brim_vips_close((brim_decoder *)self);
        return status;
    }
    *out = (brim_decoder *)self;
    return BRIM_OK;
}

/*
 * A region belongs to the thread that made it, a reader to whichever holds it: each strip has one
 * of its own. After a failure libvips gives no more rows, so those to be saved come one by one.
 */
static brim_status fetch_strip(vips_decoder *self, brim_error *err)
{
    const brim_vips *vips = self->vips;
    uint32_t left = self->info->height - self->next_row;
    size_t bytes;

    if (self->strip) vips->release(self->strip);
    self->strip = NULL;
    self->strip_top = self->next_row;
    self->strip_rows = self->fills_in ? 1 : left < STRIP_ROWS ? left : STRIP_ROWS;
    brim_vips_region *region = vips->region_new(self->image);
    if (region) {
        self->strip = vips->region_fetch(region, 0, (int)self->strip_top, (int)self->info->width,
                                         (int)self->strip_rows, &bytes);
        vips->unref(region);
    }
    return self->strip ? BRIM_OK : vips_fail(vips, self->kind, err);
}

brim_status brim_vips_next_row(brim_decoder *decoder, uint8_t *rgb, brim_error *err)
{
    vips_decoder *self = (vips_decoder *)decoder;
    const brim_pixel *pixel = &self->samples.pixel;
    size_t row_bytes = (size_t)self->info->width * pixel->n_bands * brim_sample_bytes(pixel->type);

    if (self->next_row == self->info->height) return BRIM_END;
    if (!self->ended && (!self->strip || self->next_row - self->strip_top == self->strip_rows)) {
        brim_status status = fetch_strip(self, err);

        self->ended = status != BRIM_OK;
        if (status != BRIM_OK && (status != BRIM_E_FORMAT || !self->fills_in)) return status;
    }
    if (self->ended) {
        memset(rgb, 0, 3 * (size_t)self->info->width);
        self->next_row++;
        return BRIM_OK;
    }
    brim_samples_to_rgb(&self->samples,
                        self->strip + (self->next_row - self->strip_top) * row_bytes, rgb,
                        self->info->width);
    self->next_row++;
    return BRIM_OK;
}

/* Of inks the profile is not for the RGB that rows come as. */
void brim_vips_read_profile(brim_decoder *decoder, const brim_encoded *file, const brim_alloc *mem,
                            void **out, size_t *bytes)
{
    static const char NAME[] = "icc-profile-data";
    const vips_decoder *self = (const vips_decoder *)decoder;
    const void *profile;
    brim_status status;

    (void)file;
    *out = NULL;
    *bytes = 0;
    if (self->samples.pixel.colour == BRIM_COLOUR_CMYK ||
        self->vips->image_get_typeof(self->image, NAME) == 0 ||
        self->vips->image_get_blob(self->image, NAME, &profile, bytes) != 0)
        return;
    if (*bytes == 0 || *bytes > BRIM_ICC_MAX_PROFILE_BYTES) return;
    *out = brim_alloc_zeroed(mem, *bytes, &status);
    if (*out) memcpy(*out, profile, *bytes);
}
