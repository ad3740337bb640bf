/*
 * processor_classes.c - the defaults of the classes whose steps exist here, and the names of those
 * that do something else.
 */
#include "image/processor_classes.h"

#include <string.h>

#define SQUARE(N) .resize = BRIM_RESIZE_EXACT, .height = (N), .width = (N)
#define SHORT(N)  .resize = BRIM_RESIZE_SHORTEST_EDGE, .shortest_edge = (N)
#define SIZE(N)   .crop_height = (N), .crop_width = (N)
#define CROP(N)   .do_center_crop = true, SIZE(N)
#define BICUBIC   .filter = BRIM_FILTER_BICUBIC
#define BILINEAR  .filter = BRIM_FILTER_BILINEAR

/* What becomes of the values. */
#define RESCALED .do_rescale = true, .rescale_factor = 1.0 / 255, .do_normalize = true
#define HALF     RESCALED, .mean = {0.5, 0.5, 0.5}, .std = {0.5, 0.5, 0.5}
#define IMAGENET RESCALED, .mean = {0.485, 0.456, 0.406}, .std = {0.229, 0.224, 0.225}
#define OPENAI                                                                                     \
    RESCALED, .mean = {0.48145466, 0.4578275, 0.40821073},                                         \
              .std = {0.26862954, 0.26130258, 0.27577711}

#define EDGES(RULE, S, L) .resize = (RULE), .shortest_edge = (S), .longest_edge = (L)
#define PATCHES(S, N)     .resize = BRIM_RESIZE_PATCHES, .patch_size = (S), .max_patches = (N)
#define DETECTION(RULE)   EDGES(RULE, 800, 1333), BILINEAR, IMAGENET

static const brim_processor_class CLASSES[] = {
    {"CLIP", BRIM_CLASS_PLAIN, false, {SHORT(224), CROP(224), BICUBIC, OPENAI}},
    {"ChineseCLIP", BRIM_CLASS_PLAIN, false, {SHORT(224), CROP(224), BICUBIC, OPENAI}},
    {"Bit", BRIM_CLASS_PLAIN, false, {SHORT(224), CROP(224), BICUBIC, OPENAI}},
    {"MobileNetV1", BRIM_CLASS_PLAIN, false, {SHORT(256), CROP(224), BILINEAR, HALF}},
    {"MobileNetV2", BRIM_CLASS_PLAIN, false, {SHORT(256), CROP(224), BILINEAR, HALF}},
    {"Siglip", BRIM_CLASS_PLAIN, true, {SQUARE(224), BICUBIC, HALF}},
    {"ViT", BRIM_CLASS_PLAIN, true, {SQUARE(224), BILINEAR, HALF}},
    {"DeiT", BRIM_CLASS_PLAIN, true, {SQUARE(256), CROP(224), BICUBIC, HALF}},
    {"Beit", BRIM_CLASS_PLAIN, true, {SQUARE(224), SIZE(224), BICUBIC, HALF}},
    {"Blip", BRIM_CLASS_PLAIN, true, {SQUARE(384), BICUBIC, OPENAI}},
    {"Segformer", BRIM_CLASS_PLAIN, true, {SQUARE(512), BILINEAR, IMAGENET}},

    {"Detr", BRIM_CLASS_DETECTION, false, {DETECTION(BRIM_RESIZE_BOUNDED_EDGE)}},
    {"ConditionalDetr", BRIM_CLASS_DETECTION, false, {DETECTION(BRIM_RESIZE_BOUNDED_EDGE)}},
    {"DeformableDetr", BRIM_CLASS_DETECTION, false, {DETECTION(BRIM_RESIZE_BOUNDED_EDGE)}},
    {"GroundingDino", BRIM_CLASS_DETECTION, false, {DETECTION(BRIM_RESIZE_BOUNDED_EDGE)}},
    {"Yolos", BRIM_CLASS_YOLOS, false, {DETECTION(BRIM_RESIZE_YOLOS_EDGE)}},
    {"ConvNext", BRIM_CLASS_CONVNEXT, false, {SHORT(384), BICUBIC, HALF}},
    {"EfficientNet",
     BRIM_CLASS_EFFICIENTNET,
     true,
     {SQUARE(346), SIZE(289), BICUBIC, HALF, .divide_again = true}},
    {"OwlViT", BRIM_CLASS_OWLVIT, true, {SQUARE(768), SIZE(768), BICUBIC, OPENAI}},
    {"Owlv2", BRIM_CLASS_OWLV2, true, {SQUARE(960), .pad_square = true, OPENAI}},
    {"Siglip2", BRIM_CLASS_PATCHES, true, {PATCHES(16, 256), BILINEAR, HALF}},

    /* Own rules for sizes or crops, several pictures out of one, other channels. */
    {.name = "BridgeTower"},
    {.name = "Deta"},
    {.name = "Donut"},
    {.name = "DPT"},
    {.name = "Flava"},
    {.name = "GLPN"},
    {.name = "Idefics2"},
    {.name = "Idefics3"},
    {.name = "ImageGPT"},
    {.name = "LayoutLMv2"},
    {.name = "LayoutLMv3"},
    {.name = "Levit"},
    {.name = "LlavaNext"},
    {.name = "LlavaOnevision"},
    {.name = "Mask2Former"},
    {.name = "MaskFormer"},
    {.name = "MobileViT"},
    {.name = "Nougat"},
    {.name = "OneFormer"},
    {.name = "Perceiver"},
    {.name = "Pix2Struct"},
    {.name = "Pixtral"},
    {.name = "PoolFormer"},
    {.name = "Qwen2VL"},
    {.name = "Sam"},
    {.name = "SmolVLM"},
    {.name = "Swin2SR"},
    {.name = "Vilt"},
    {.name = "VitMatte"},
    {.name = "ZoeDepth"},
    {.name = NULL},
};

/* Cuts suffix from the n characters of text, where it is there. */
static size_t without_suffix(const char *text, size_t n, const char *suffix)
{
    size_t m = strlen(suffix);

    return n >= m && memcmp(text + n - m, suffix, m) == 0 ? n - m : n;
}

const brim_processor_class *brim_processor_class_find(const char *type)
{
    size_t n = strlen(type);

    n = without_suffix(type, n, "Fast");
    n = without_suffix(type, n, "Pil");
    n = without_suffix(type, n, "ImageProcessor");
    n = without_suffix(type, n, "FeatureExtractor");
    for (const brim_processor_class *c = CLASSES; c->name; c++) {
        if (strlen(c->name) == n && memcmp(c->name, type, n) == 0) return c;
    }
    return NULL;
}
