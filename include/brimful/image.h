/*
 * image.h - the choices in how a picture becomes a model's input. Each changes vectors, so runs
 * that differ in one of them keep their results apart. All zero is the default.
 */
#ifndef BRIMFUL_IMAGE_H
#define BRIMFUL_IMAGE_H

#ifdef __cplusplus
extern "C" {
#endif

/* How samples of more than 8 bits become 8. */
typedef enum brim_depth {
    BRIM_DEPTH_SCALE, /* 16 bits: v >> 8 */
    BRIM_DEPTH_CLAMP, /* as Pillow's convert("RGB") has it: grey above 255 is 255; colours are
                         scaled there too */
} brim_depth;

/* Which direction of the upright picture is resampled first: it shows in the result. */
typedef enum brim_resample_order {
    /* The vertical one where height - new height > 2 x max(width - new width, 0). */
    BRIM_ORDER_PILLOW13,
    /* Pillow up to 12: the horizontal one, but of a picture that shrinks in height and is more than
       100 times as high as wide the vertical one. */
    BRIM_ORDER_CLASSIC,
} brim_resample_order;

typedef enum brim_decode {
    BRIM_DECODE_EXACT, /* to the bit as Pillow decodes */
    BRIM_DECODE_FAST,  /* shrunk while decoding, where the model's input is much smaller: JPEG, WebP
                        */
} brim_decode;

#ifdef __cplusplus
}
#endif
#endif /* BRIMFUL_IMAGE_H */
