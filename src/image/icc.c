/*
 * icc.c - colour profiles through little cms, each transform with a context of its own, so that
 * threads share nothing.
 */
#include "image/icc.h"

#include <lcms2.h>

/* Grey goes through a few pixels at a time, since it grows from 1 byte to 3. */
enum { GREY_PIXELS = 256 };

struct brim_icc {
    cmsContext context;
    cmsHTRANSFORM transform;
    bool is_grey;
};

/* Without a handler of its own a context is silent, but newer versions may differ. */
static void on_error(cmsContext context, cmsUInt32Number code, const char *words)
{
    (void)context;
    (void)code;
    (void)words;
}

static cmsHTRANSFORM make_transform(cmsContext context, const void *profile, size_t bytes,
                                    bool *is_grey)
{
    cmsHTRANSFORM transform = NULL;

    cmsHPROFILE from = cmsOpenProfileFromMemTHR(context, profile, (cmsUInt32Number)bytes);
    cmsHPROFILE to = cmsCreate_sRGBProfileTHR(context);
    cmsColorSpaceSignature space = from ? cmsGetColorSpace(from) : cmsSigLabData;
    *is_grey = space == cmsSigGrayData;
    if (from && to && (space == cmsSigRgbData || space == cmsSigGrayData))
        transform = cmsCreateTransformTHR(context, from, *is_grey ? TYPE_GRAY_8 : TYPE_RGB_8, to,
                                          TYPE_RGB_8, INTENT_PERCEPTUAL, 0);
    if (from) cmsCloseProfile(from);
    if (to) cmsCloseProfile(to);
    return transform;
}

brim_icc *brim_icc_open(const void *profile, size_t bytes, bool grey_picture)
{
    brim_status status;

    if (!profile || bytes == 0 || bytes > BRIM_ICC_MAX_PROFILE_BYTES) return NULL;
    brim_icc *self = brim_alloc_zeroed(brim_heap(), sizeof(*self), &status);
    if (!self) return NULL;
    self->context = cmsCreateContext(NULL, NULL);
    if (self->context) {
        cmsSetLogErrorHandlerTHR(self->context, on_error);
        self->transform = make_transform(self->context, profile, bytes, &self->is_grey);
    }
    if (self->transform && (grey_picture || !self->is_grey)) return self;
    brim_icc_close(self);
    return NULL;
}

static void apply_grey(brim_icc *self, uint8_t *rgb, size_t n)
{
    uint8_t grey[GREY_PIXELS];

    for (size_t done = 0; done < n; done += GREY_PIXELS) {
        size_t part = n - done < GREY_PIXELS ? n - done : GREY_PIXELS;
        uint8_t *at = rgb + 3 * done;
        for (size_t i = 0; i < part; i++)
            grey[i] = at[3 * i];
        cmsDoTransform(self->transform, grey, at, (cmsUInt32Number)part);
    }
}

void brim_icc_apply(brim_icc *self, uint8_t *rgb, size_t n)
{
    if (self->is_grey)
        apply_grey(self, rgb, n);
    else
        cmsDoTransform(self->transform, rgb, rgb, (cmsUInt32Number)n);
}

void brim_icc_close(brim_icc *self)
{
    if (!self) return;
    if (self->transform) cmsDeleteTransform(self->transform);
    if (self->context) cmsDeleteContext(self->context);
    brim_alloc_release(brim_heap(), self, sizeof(*self));
}
