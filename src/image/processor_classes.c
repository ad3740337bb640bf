/*
 * processor_classes.c - the defaults of the classes whose steps are resize, crop, rescale and
 * normalise, and the names of those that do something else.
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

static const brim_processor_class CLASSES[] = {
    {"CLIP", true, false, {SHORT(224), CROP(224), BICUBIC, OPENAI}},
    {"ChineseCLIP", true, false, {SHORT(224), CROP(224), BICUBIC, OPENAI}},
    {"Bit", true, false, {SHORT(224), CROP(224), BICUBIC, OPENAI}},
    {"MobileNetV1", true, false, {SHORT(256), CROP(224), BILINEAR, HALF}},
    {"MobileNetV2", true, false, {SHORT(256), CROP(224), BILINEAR, HALF}},
    {"Siglip", true, true, {SQUARE(224), BICUBIC, HALF}},
    {"ViT", true, true, {SQUARE(224), BILINEAR, HALF}},
    {"DeiT", true, true, {SQUARE(256), CROP(224), BICUBIC, HALF}},
    {"Beit", true, true, {SQUARE(224), SIZE(224), BICUBIC, HALF}},
    {"Blip", true, true, {SQUARE(384), BICUBIC, OPENAI}},
    {"OwlViT", true, true, {SQUARE(768), SIZE(768), BICUBIC, OPENAI}},
    {"Segformer", true, true, {SQUARE(512), BILINEAR, IMAGENET}},

    /* Patches, padding, own rules for sizes or crops, other channels. */
    {.name = "BridgeTower"},
    {.name = "ConditionalDetr"},
    {.name = "ConvNext"},
    {.name = "DeformableDetr"},
    {.name = "Deta"},
    {.name = "Detr"},
    {.name = "Donut"},
    {.name = "DPT"},
    {.name = "EfficientNet"},
    {.name = "Flava"},
    {.name = "GLPN"},
    {.name = "GroundingDino"},
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
    {.name = "Owlv2"},
    {.name = "Perceiver"},
    {.name = "Pix2Struct"},
    {.name = "Pixtral"},
    {.name = "PoolFormer"},
    {.name = "Qwen2VL"},
    {.name = "Sam"},
    {.name = "Siglip2"},
    {.name = "SmolVLM"},
    {.name = "Swin2SR"},
    {.name = "Vilt"},
    {.name = "VitMatte"},
    {.name = "Yolos"},
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
