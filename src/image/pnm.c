/*
 * pnm.c - Netpbm: P1 to P6, and P7 (PAM). Read here, since it is less than to call for help.
 *
 * Values are scaled from the file's maximum to 255 as Pillow does it; 16 bits of grey follow the
 * depth option like everybody's.
 */
#include "image/decoder.h"

#include <assert.h>
#include <string.h>

#include "base/fail.h"
#include "base/size.h"
#include "image/samples.h"

typedef struct pnm_header {
    uint32_t width, height, n_bands, max;
    char kind;     /* '1' .. '7' */
    size_t pixels; /* where they begin */
} pnm_header;

/* Text from which numbers and words are taken. */
typedef struct cursor {
    const uint8_t *data;
    size_t bytes, at;
} cursor;

typedef struct pnm_decoder {
    const brim_alloc *mem;
    const brim_image_info *info;
    cursor text;
    pnm_header header;
    brim_samples samples;
    void *row; /* of 8- or 16-bit samples */
    size_t row_bytes;
    uint32_t next_row;
    bool fills_in;
} pnm_decoder;

static brim_status truncated(brim_error *err)
{
    return brim_fail(err, BRIM_E_FORMAT, "truncated Netpbm");
}

static brim_status broken(brim_error *err, const char *how)
{
    return brim_fail(err, BRIM_E_FORMAT, "broken Netpbm: %s", how);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* --- the header ------------------------------------------------------------------------------ */

static bool pnm_matches(const uint8_t *data, size_t bytes)
{
    return bytes >= 3 && data[0] == 'P' && data[1] >= '1' && data[1] <= '7' &&
           (is_blank(data[2]) || data[2] == '#');
}

static void skip_blanks(cursor *c)
{
    bool comment = false;

    for (; c->at < c->bytes; c->at++) {
        uint8_t byte = c->data[c->at];

        if (byte == '#') comment = true;
        if (!comment && !is_blank(byte)) return;
        if (byte == '\n' || byte == '\r') comment = false;
    }
}

static brim_status read_whole(cursor *c, uint32_t *out, brim_error *err)
{
    uint64_t v = 0;

    skip_blanks(c);
    size_t first = c->at;
    while (c->at < c->bytes && c->data[c->at] >= '0' && c->data[c->at] <= '9') {
        v = 10 * v + (c->data[c->at++] - '0');
        if (v > UINT32_MAX) return broken(err, "a number too large");
    }
    if (c->at == first) return c->at == c->bytes ? truncated(err) : broken(err, "no number");
    *out = (uint32_t)v;
    return BRIM_OK;
}

/* P7: a line for each fact. */
static brim_status read_pam(cursor *c, pnm_header *h, brim_error *err)
{
    static const char *const NAMES[] = {"WIDTH ", "HEIGHT ", "DEPTH ", "MAXVAL "};
    uint32_t *const facts[] = {&h->width, &h->height, &h->n_bands, &h->max};

    for (;;) {
        skip_blanks(c);
        size_t left = c->bytes - c->at;
        const char *p = (const char *)c->data + c->at;

        if (left >= 7 && memcmp(p, "ENDHDR\n", 7) == 0) {
            c->at += 6;
            return BRIM_OK;
        }
        for (size_t i = 0; i < 4; i++) {
            size_t n = strlen(NAMES[i]);

            if (left < n || memcmp(p, NAMES[i], n) != 0) continue;
            c->at += n;
            brim_status status = read_whole(c, facts[i], err);
            if (status != BRIM_OK) return status;
        }
        const uint8_t *end = memchr(c->data + c->at, '\n', c->bytes - c->at);
        if (!end) return truncated(err);
        c->at = (size_t)(end - c->data);
    }
}

static brim_status read_header(const brim_encoded *file, pnm_header *h, brim_error *err)
{
    cursor c = {file->data, file->bytes, 2};
    brim_status status;

    *h = (pnm_header){.kind = (char)file->data[1], .max = 1};
    if (h->kind == '7') {
        status = read_pam(&c, h, err);
    } else {
        h->n_bands = h->kind == '3' || h->kind == '6' ? 3 : 1;
        status = read_whole(&c, &h->width, err);
        if (status == BRIM_OK) status = read_whole(&c, &h->height, err);
        if (status == BRIM_OK && h->kind != '1' && h->kind != '4')
            status = read_whole(&c, &h->max, err);
    }
    if (status != BRIM_OK) return status;
    if (c.at == c.bytes) return truncated(err);
    h->pixels = c.at + 1; /* one blank ends it */
    if (h->width == 0 || h->height == 0 || h->n_bands == 0) return broken(err, "bad size");
    if (h->max == 0 || h->max > 65535) return broken(err, "a bad maximum");
    return BRIM_OK;
}

/* Colours become 8 bits at once, as Pillow has it: rounded, not cut off. */
static bool is_deep(const pnm_header *h)
{
    return h->max > 255 && h->n_bands <= 2;
}

/* Of a row in the file; of text the least it can take. */
static brim_status stored_bytes(const pnm_header *h, size_t *out, brim_error *err)
{
    size_t n;

    if (brim_mul_bytes(h->width, h->n_bands, &n) != BRIM_OK || n > SIZE_MAX / 8)
        return broken(err, "bad size");
    *out = h->kind == '4' ? (n + 7) / 8 : h->kind < '4' || h->max < 256 ? n : 2 * n;
    return BRIM_OK;
}

static brim_status settle(const pnm_header *h, const brim_reader_options *options,
                          brim_samples *out, brim_error *err)
{
    brim_pixel pixel = {.n_bands = h->n_bands,
                        .type = is_deep(h) ? BRIM_SAMPLE_U16 : BRIM_SAMPLE_U8};

    pixel.colour = h->n_bands <= 2   ? BRIM_COLOUR_GREY
                   : h->n_bands <= 4 ? BRIM_COLOUR_RGB
                                     : BRIM_COLOUR_BANDS;
    pixel.n_alphas = h->n_bands == 2 || h->n_bands == 4;
    return brim_samples_settle(&pixel, options, out, err);
}

static brim_status pnm_probe(const brim_encoded *file, brim_image_info *info, brim_error *err)
{
    brim_samples samples = {0};
    size_t row_bytes = 0, all;
    pnm_header h;

    brim_status status = read_header(file, &h, err);
    if (status == BRIM_OK) status = stored_bytes(&h, &row_bytes, err);
    if (status == BRIM_OK) status = settle(&h, file->options, &samples, err);
    if (status != BRIM_OK) return status;
    if (brim_mul_bytes(row_bytes, h.height, &all) != BRIM_OK) return broken(err, "bad size");
    if (all > file->bytes - h.pixels && !file->options->accept_truncated) return truncated(err);
    info->width = h.width;
    info->height = h.height;
    info->depth = h.max > 255 ? 16 : h.kind == '1' || h.kind == '4' ? 1 : 8;
    info->ignored_bands = samples.ignored_bands;
    info->scratch_bytes =
        sizeof(pnm_decoder) + (size_t)h.width * h.n_bands * brim_sample_bytes(samples.pixel.type);
    return BRIM_OK;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The next sample of text; in P1 digits may stand side by side, and 1 is black. */
static brim_status read_text_sample(pnm_decoder *self, uint32_t *out, brim_error *err)
{
    cursor *c = &self->text;

    if (self->header.kind != '1') return read_whole(c, out, err);
    skip_blanks(c);
    if (c->at == c->bytes) return truncated(err);
    uint8_t digit = c->data[c->at++];
    if (digit != '0' && digit != '1') return broken(err, "neither 0 nor 1");
    *out = digit == '0';
    return BRIM_OK;
}

static brim_status read_sample(pnm_decoder *self, size_t i, uint32_t *out, brim_error *err)
{
    const cursor *c = &self->text;
    size_t wide = self->header.max > 255 ? 2 : 1;

    if (self->header.kind < '4') return read_text_sample(self, out, err);
    size_t at = c->at + (self->header.kind == '4' ? i / 8 : i * wide);
    if (at >= c->bytes || c->bytes - at < wide) return truncated(err);
    if (self->header.kind == '4')
        *out = !(c->data[at] >> (7 - i % 8) & 1);
    else
        *out = wide == 2 ? (uint32_t)c->data[at] << 8 | c->data[at + 1] : c->data[at];
    return BRIM_OK;
}

/* Pillow's: rounded half to even, as Python rounds; full 8 and 16 bits as they are. */
static uint32_t scale(uint32_t v, uint32_t max, uint32_t top)
{
    assert(max > 0);
    if (v > max) v = max;
    if (max == top) return v;
    uint64_t product = (uint64_t)v * top, whole = product / max, twice = 2 * (product % max);
    return (uint32_t)(whole + (twice > max || (twice == max && whole % 2 == 1)));
}

static brim_status read_row(pnm_decoder *self, brim_error *err)
{
    size_t n = (size_t)self->info->width * self->header.n_bands;
    size_t stored = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t v = 0;

        brim_status status = read_sample(self, i, &v, err);
        if (status != BRIM_OK) return status;
        v = scale(v, self->header.max, is_deep(&self->header) ? 65535 : 255);
        if (is_deep(&self->header))
            ((uint16_t *)self->row)[i] = (uint16_t)v;
        else
            ((uint8_t *)self->row)[i] = (uint8_t)v;
    }
    if (self->header.kind < '4') return BRIM_OK;
    brim_status status = stored_bytes(&self->header, &stored, err);
    self->text.at += stored;
    return status;
}

static void pnm_close(brim_decoder *decoder)
{
    pnm_decoder *self = (pnm_decoder *)decoder;

    if (!self) return;
    brim_alloc_release(self->mem, self->row, self->row_bytes);
    brim_alloc_release(self->mem, self, sizeof(*self));
}

static brim_status pnm_open(const brim_alloc *mem, const brim_encoded *file,
                            const brim_image_info *info, brim_decoder **out, brim_error *err)
{
    brim_status status;

    *out = NULL;
    pnm_decoder *self = brim_alloc_zeroed(mem, sizeof(*self), &status);
    if (!self) return brim_fail(err, status, "Netpbm: no memory for %zu bytes", sizeof(*self));
    self->mem = mem;
    self->info = info;
    self->fills_in = file->options->accept_truncated;
    status = read_header(file, &self->header, err);
    if (status == BRIM_OK) status = settle(&self->header, file->options, &self->samples, err);
    if (status != BRIM_OK) goto fail;
    self->text = (cursor){file->data, file->bytes, self->header.pixels};
    self->row_bytes =
        (size_t)info->width * self->header.n_bands * brim_sample_bytes(self->samples.pixel.type);
    self->row = brim_alloc_zeroed(mem, self->row_bytes, &status);
    if (!self->row) {
        brim_fail(err, status, "Netpbm: no memory for a row of %u pixels", info->width);
        goto fail;
    }
    *out = (brim_decoder *)self;
    return BRIM_OK;

fail:
    pnm_close((brim_decoder *)self);
    return status;
}

static brim_status pnm_next_row(brim_decoder *decoder, uint8_t *rgb, brim_error *err)
{
    pnm_decoder *self = (pnm_decoder *)decoder;

    if (self->next_row == self->info->height) return BRIM_END;
    brim_status status = read_row(self, err);
    if (status != BRIM_OK && !self->fills_in) return status;
    if (status != BRIM_OK) {
        self->text.at = self->text.bytes;
        memset(self->row, 0, self->row_bytes);
    }
    brim_samples_to_rgb(&self->samples, self->row, rgb, self->info->width);
    self->next_row++;
    return BRIM_OK;
}

const brim_format brim_format_pnm = {
    .name = "Netpbm",
    .matches = pnm_matches,
    .probe = pnm_probe,
    .open = pnm_open,
    .next_row = pnm_next_row,
    .close = pnm_close,
};
