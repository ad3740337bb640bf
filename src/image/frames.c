/*
 * frames.c - HEIC, AVIF, JPEG XL and JPEG 2000 through libvips.
 *
 * Headers are read by libvips too, which takes little; what decoding will take was measured: all
 * but tiled JPEG 2000 are decoded as wholes. libheif and libjxl turn a picture upright as the file
 * itself tells, so what its EXIF block says is of no account here, as Pillow has it.
 */
#include "image/decoder.h"

#include <string.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/boxes.h"
#include "image/jp2k_header.h"
#include "image/vips_picture.h"

enum {
    INTERPRETATION_CMYK = 15, /* a VipsInterpretation */
    BLOCK_SIDE = 64,
    LIBRARY_BYTES = 4 * 1024 * 1024,
    PIECE_BYTES = 5632 * 1024,
    TILE_TABLE_BYTES = 10 * 1024, /* openjpeg's, of each tile as soon as it reads the header */
    COMPONENT_TABLE_BYTES = 1280, /* and of each component in each tile */
    MAX_TABLES_BYTES = 64 * 1024 * 1024,
    ALPHA_TENTHS = 55, /* a second picture, and both in one */
};

static const brim_vips_kind HEIC = {"HEIC", "a HEIC picture", "heifload_buffer",
                                    offsetof(brim_vips, load_heif)};
static const brim_vips_kind AVIF = {"AVIF", "an AVIF picture", "heifload_buffer",
                                    offsetof(brim_vips, load_heif)};
static const brim_vips_kind JXL = {"JPEG XL", "a JPEG XL picture", "jxlload_buffer",
                                   offsetof(brim_vips, load_jxl)};
static const brim_vips_kind JP2K = {"JPEG 2000", "a JPEG 2000 picture", "jp2kload_buffer",
                                    offsetof(brim_vips, load_jp2k)};

/* --- what all of them do --------------------------------------------------------------------- */

/* Of inks in JPEG 2000 libvips takes no notice: its boxes tell. */
static bool is_cmyk(const brim_vips *vips, const brim_vips_kind *kind, const brim_vips_image *image,
                    const brim_encoded *file)
{
    brim_jp2k_header header;

    if (vips->image_get_interpretation(image) == INTERPRETATION_CMYK) return true;
    return kind == &JP2K &&
           brim_jp2k_read_header(file->data, file->bytes, &header, NULL) == BRIM_OK &&
           header.colours == BRIM_JP2K_CMYK;
}

static brim_status settle(const brim_vips *vips, const brim_vips_kind *kind,
                          const brim_vips_image *image, const brim_encoded *file, brim_samples *out,
                          brim_error *err)
{
    brim_pixel pixel = {.n_bands = (uint32_t)vips->image_get_bands(image)};

    brim_status status = brim_vips_sample_type(vips, kind, image, &pixel.type, err);
    if (status != BRIM_OK) return status;
    if (pixel.type == BRIM_SAMPLE_F32)
        return brim_fail(err, BRIM_E_UNSUPPORTED, "%s of floats", kind->what);
    if (pixel.n_bands >= 4 && is_cmyk(vips, kind, image, file))
        pixel.colour = BRIM_COLOUR_CMYK;
    else if (pixel.n_bands > 4)
        pixel.colour = BRIM_COLOUR_BANDS;
    else
        pixel.colour = pixel.n_bands <= 2 ? BRIM_COLOUR_GREY : BRIM_COLOUR_RGB;
    pixel.n_alphas = pixel.colour != BRIM_COLOUR_CMYK && pixel.n_bands % 2 == 0;
    return brim_samples_settle(&pixel, file->options, out, err);
}

/* libvips tells it in whichever way its version has. */
static uint8_t depth_of(const brim_vips *vips, const brim_vips_image *image,
                        const brim_samples *samples)
{
    static const char *const NAMES[] = {"bits-per-sample", "heif-bitdepth"};
    int bits;

    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (vips->image_get_typeof(image, NAMES[i]) != 0 &&
            vips->image_get_int(image, NAMES[i], &bits) == 0 && bits > 0 && bits <= 32)
            return (uint8_t)bits;
    }
    return (uint8_t)(8 * brim_sample_bytes(samples->pixel.type));
}

static brim_status describe(const brim_vips *vips, const brim_vips_kind *kind,
                            const brim_vips_image *image, const brim_encoded *file,
                            brim_samples *samples, brim_image_info *info, brim_error *err)
{
    brim_status status = settle(vips, kind, image, file, samples, err);

    if (status != BRIM_OK) return status;
    info->width = (uint32_t)vips->image_get_width(image);
    info->height = (uint32_t)vips->image_get_height(image);
    info->depth = depth_of(vips, image, samples);
    info->ignored_bands = samples->ignored_bands;
    info->grey = samples->colour == BRIM_COLOUR_GREY;
    info->whole_frame = true;
    return BRIM_OK;
}

static brim_status probe_frame(const brim_vips_kind *kind, const brim_encoded *file,
                               brim_image_info *info, brim_samples *samples, brim_error *err)
{
    brim_vips_image *image;
    const brim_vips *vips;

    brim_status status = brim_vips_open(kind->what, kind->loader, &vips, err);
    if (status == BRIM_OK) status = brim_vips_open_image(vips, kind, file, &image, err);
    if (status != BRIM_OK) return status;
    status = describe(vips, kind, image, file, samples, info, err);
    vips->unref(image);
    vips->thread_shutdown();
    return status;
}

static brim_status open_frame(const brim_vips_kind *kind, const brim_alloc *mem,
                              const brim_encoded *file, const brim_image_info *info,
                              brim_decoder **out, brim_error *err)
{
    brim_vips_image *image;
    brim_samples samples = {0};
    const brim_vips *vips;

    *out = NULL;
    brim_status status = brim_vips_open(kind->what, kind->loader, &vips, err);
    if (status == BRIM_OK) status = brim_vips_open_image(vips, kind, file, &image, err);
    if (status != BRIM_OK) return status;
    status = settle(vips, kind, image, file, &samples, err);
    if (status != BRIM_OK) {
        vips->unref(image);
        return status;
    }
    return brim_vips_decoder_open(mem, vips, kind, file, info, &samples, image, out, err);
}

static size_t whole_blocks(uint32_t side)
{
    return ((size_t)side + BLOCK_SIDE - 1) / BLOCK_SIDE * BLOCK_SIDE;
}

/* tenths: of a byte that the library takes for each pixel beside libvips's cache of rows. */
static void predict(const brim_samples *samples, const brim_encoded *file, size_t tenths,
                    size_t block_height, brim_image_info *info)
{
    size_t n_px = brim_mul_saturated(whole_blocks(info->width), whole_blocks(info->height));
    size_t pixel_bytes = samples->pixel.n_bands * brim_sample_bytes(samples->pixel.type);

    info->foreign_bytes = LIBRARY_BYTES + file->bytes + brim_mul_saturated(n_px, tenths) / 10 +
                          brim_vips_pipeline_bytes(info, pixel_bytes, block_height);
    info->scratch_bytes = info->foreign_bytes + brim_vips_decoder_bytes();
}

/* --- HEIC and AVIF --------------------------------------------------------------------------- */

static bool heif_matches(const uint8_t *data, size_t bytes)
{
    return bytes >= 12 && memcmp(data + 4, "ftyp", 4) == 0;
}

static bool avif_matches(const uint8_t *data, size_t bytes)
{
    return heif_matches(data, bytes) &&
           (brim_box_has_brand(data, bytes, "avif") || brim_box_has_brand(data, bytes, "avis"));
}

static bool heic_matches(const uint8_t *data, size_t bytes)
{
    static const char *const BRANDS[] = {"heic", "heix", "hevc", "hevx", "heim",
                                         "heis", "mif1", "msf1", "mif2"};

    if (!heif_matches(data, bytes)) return false;
    for (size_t i = 0; i < sizeof(BRANDS) / sizeof(BRANDS[0]); i++) {
        if (memcmp(data + 8, BRANDS[i], 4) == 0) return true;
    }
    return false;
}

static brim_status heif_probe(const brim_vips_kind *kind, const brim_encoded *file, size_t tenths,
                              size_t full_chroma_tenths, brim_image_info *info, brim_error *err)
{
    brim_heif_facts facts = brim_heif_read_facts(file->data, file->bytes);
    brim_samples samples = {0};

    if (brim_boxes_are_cut(file->data, file->bytes) && !file->options->accept_truncated)
        return brim_fail(err, BRIM_E_FORMAT, "truncated %s", kind->name);
    brim_status status = probe_frame(kind, file, info, &samples, err);
    if (status != BRIM_OK) return status;
    if (facts.bits > 0) info->depth = (uint8_t)facts.bits;
    if (facts.full_chroma) tenths = full_chroma_tenths;
    tenths += ALPHA_TENTHS * samples.pixel.n_alphas;
    predict(&samples, file, info->depth > 8 ? 2 * tenths : tenths, 16, info);
    return BRIM_OK;
}

static brim_status heic_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    return heif_probe(&HEIC, file, 85, 85, info, err);
}

static brim_status avif_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    return heif_probe(&AVIF, file, 80, 145, info, err);
}

static brim_status heic_open(const brim_alloc *mem, const brim_encoded *file,
                             const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    return open_frame(&HEIC, mem, file, info, out, err);
}

static brim_status avif_open(const brim_alloc *mem, const brim_encoded *file,
                             const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    return open_frame(&AVIF, mem, file, info, out, err);
}

/* --- JPEG XL --------------------------------------------------------------------------------- */

static bool jxl_matches(const uint8_t *data, size_t bytes)
{
    return (bytes >= 2 && memcmp(data, "\xff\x0a", 2) == 0) ||
           (bytes >= 12 && memcmp(data, "\0\0\0\x0cJXL \r\n\x87\n", 12) == 0);
}

static brim_status jxl_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    brim_samples samples = {0};

    if (file->data[0] == 0 && brim_boxes_are_cut(file->data, file->bytes) &&
        !file->options->accept_truncated)
        return brim_fail(err, BRIM_E_FORMAT, "truncated JPEG XL");
    brim_status status = probe_frame(&JXL, file, info, &samples, err);
    if (status != BRIM_OK) return status;
    /*
     * What is lossless may be held whole in 4 bytes a sample before it becomes rows; grey that is
     * lossy has three of them all the same.
     */
    size_t n_bands = samples.pixel.n_bands < 3 ? samples.pixel.n_bands + 2 : samples.pixel.n_bands;
    size_t pixel_bytes = samples.pixel.n_bands * brim_sample_bytes(samples.pixel.type);
    predict(&samples, file, 44 * n_bands + 22 * pixel_bytes, 16, info);
    return BRIM_OK;
}

static brim_status jxl_open(const brim_alloc *mem, const brim_encoded *file,
                            const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    return open_frame(&JXL, mem, file, info, out, err);
}

/* --- JPEG 2000 ------------------------------------------------------------------------------- */

/*
 * Of a picture that has tiles openjpeg holds one, in three copies of 4 bytes a sample. Of one that
 * has none libvips asks for pieces of 512 x 512, for which openjpeg keeps lists of all code blocks.
 * libvips caches three rows of either.
 */
static size_t openjpeg_bytes(const brim_jp2k_header *h)
{
    size_t tile_px = brim_mul_saturated(h->tile_width, h->tile_height);
    bool has_tiles = h->tile_width < h->width || h->tile_height < h->height;

    if (has_tiles) return brim_mul_saturated(tile_px, 12 * (size_t)h->n_components);
    return brim_mul_saturated(tile_px, h->n_components) + h->n_components * PIECE_BYTES;
}

static size_t table_bytes(const brim_jp2k_header *h)
{
    return brim_mul_saturated((size_t)h->n_tiles,
                              TILE_TABLE_BYTES + COMPONENT_TABLE_BYTES * h->n_components);
}

/*
 * A header of a few bytes can claim tables of gigabytes, which openjpeg makes while it reads it.
 * Whether libvips turns YCC round depends on its version.
 */
static brim_status check_jp2k(const brim_jp2k_header *h, const brim_encoded *file, brim_error *err)
{
    if (h->truncated && !file->options->accept_truncated)
        return brim_fail(err, BRIM_E_FORMAT, "truncated JPEG 2000");
    if (table_bytes(h) > MAX_TABLES_BYTES)
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "a JPEG 2000 picture of %llu tiles with %u components: too many",
                         (unsigned long long)h->n_tiles, h->n_components);
    if (h->colours == BRIM_JP2K_YCC && !h->subsampled)
        return brim_fail(err, BRIM_E_UNSUPPORTED,
                         "a JPEG 2000 picture in YCC colours that are not subsampled");
    return BRIM_OK;
}

static brim_status jp2k_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    brim_jp2k_header header;
    brim_samples samples = {0};

    brim_status status = brim_jp2k_read_header(file->data, file->bytes, &header, err);
    if (status == BRIM_OK) status = check_jp2k(&header, file, err);
    if (status != BRIM_OK) return status;
    status = probe_frame(&JP2K, file, info, &samples, err);
    if (status != BRIM_OK) return status;
    info->depth = (uint8_t)header.bits;
    predict(&samples, file, 0, header.tile_height < 512 ? header.tile_height : 512, info);
    info->foreign_bytes += openjpeg_bytes(&header) + table_bytes(&header);
    info->scratch_bytes += openjpeg_bytes(&header) + table_bytes(&header);
    return BRIM_OK;
}

static bool jp2k_matches(const uint8_t *data, size_t bytes)
{
    return brim_jp2k_matches(data, bytes);
}

static brim_status jp2k_open(const brim_alloc *mem, const brim_encoded *file,
                             const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    return open_frame(&JP2K, mem, file, info, out, err);
}

#define FORMAT(ID, NAME)                                                                           \
    const brim_format brim_format_##ID = {                                                         \
        .name = NAME,                                                                              \
        .needs_libvips = true,                                                                     \
        .matches = ID##_matches,                                                                   \
        .probe = ID##_probe,                                                                       \
        .open = ID##_open,                                                                         \
        .next_row = brim_vips_next_row,                                                            \
        .read_profile = brim_vips_read_profile,                                                    \
        .close = brim_vips_close,                                                                  \
    }

FORMAT(heic, "HEIC");
FORMAT(avif, "AVIF");
FORMAT(jxl, "JPEG XL");
FORMAT(jp2k, "JPEG 2000");
