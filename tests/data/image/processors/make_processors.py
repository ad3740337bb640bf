"""Makes what transformers' and timm's own processors say of this folder's pictures.

    python make_processors.py        (Pillow 13, numpy, transformers 5.24, scipy, timm, torch)

N.json          a configuration, in an old form or a new one
NAME.png        a picture
tensors.txt     a tensor a line: configuration, picture, kind, its three sides. They follow each
                other in tensors.bin as float32: "planes" (3, height, width), "patches" (patches,
                values, 1), whose sides are told apart by the last one
statistics.txt  of tensors that are too large to keep: configuration, picture, height, width, and
                for each channel the sum and the sum of squares
sizes.txt       a rule, a picture's width and height, and the new ones
"""
import importlib
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

HERE = Path(__file__).parent
random = np.random.default_rng(11)


def scene(width, height):
    """Slopes, edges and noise, as numbers of few bits so that they pack well."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(3):
        plane = (x * (5 + c) + y * (3 + 2 * c)) % 256
        plane = np.where((x // 7 + y // 6) % 3 == c % 3, 255 - plane, plane)
        planes.append(plane + random.integers(0, 2, plane.shape) * 24)
    return Image.fromarray(np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8))


def make_pictures():
    turned = Image.Exif()
    turned[0x0112] = 6
    pictures = {"landscape": scene(61, 40), "portrait": scene(37, 75), "tiny": scene(5, 3),
                "row": scene(90, 1), "column": scene(2, 70), "turned": scene(47, 33)}
    for name, image in pictures.items():
        options = {"exif": turned} if name == "turned" else {}
        image.save(HERE / f"{name}.png", optimize=True, **options)
    return {name: ImageOps.exif_transpose(Image.open(HERE / f"{name}.png")).convert("RGB")
            for name in pictures}


# --- configurations ------------------------------------------------------------------------------

SMALL = {"shortest_edge": 15, "longest_edge": 24}
CROP = {"height": 15, "width": 15}
USUAL = ("landscape", "portrait")
ODD = ("landscape", "portrait", "tiny", "turned")
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def typed(name, **settings):
    return {"image_processor_type": f"{name}ImageProcessor", **settings}


def old(name, **settings):
    return {"feature_extractor_type": f"{name}FeatureExtractor", **settings}


def timm(**settings):
    return {"architecture": "resnet18", "num_classes": 10,
            "pretrained_cfg": {"tag": "a1", "input_size": [3, 16, 16], "mean": MEAN, "std": STD,
                               **settings}}


SMALL_TENSORS = [
    (typed("CLIP", size={"shortest_edge": 17}, crop_size=CROP), ODD + ("row", "column")),
    (old("CLIP", size=17, crop_size=15), USUAL),
    (typed("CLIP", size={"shortest_edge": 17, "longest_edge": 20}, do_center_crop=False), ODD),
    (typed("CLIP", size={"max_height": 16, "max_width": 20}, do_center_crop=False, do_pad=True,
           pad_size={"height": 17, "width": 20}), ODD),
    (typed("Siglip", size={"height": 14, "width": 14}, resample=3), USUAL),
    (typed("Siglip", size={"height": 9, "width": 13}, resample=2), USUAL),
    (old("ViT", size=13, resample=2), USUAL),
    (typed("ViT", size={"height": 13, "width": 13}, image_mean=MEAN, image_std=STD), ODD),
    (typed("Bit", size={"shortest_edge": 15}, crop_size={"height": 12, "width": 12},
           image_mean=MEAN, image_std=STD), ODD),
    (typed("ConvNext", size={"shortest_edge": 13}), ODD),
    (old("ConvNext", size=15, crop_pct=0.9, resample=2), USUAL + ("row",)),
    (typed("ConvNext", do_resize=False), ("tiny",)),
    (typed("EfficientNet", size={"height": 14, "width": 12}, resample=2), ODD),
    (typed("EfficientNet", size={"height": 12, "width": 12}, rescale_factor=1 / 127.5,
           rescale_offset=True, include_top=False), USUAL),
    (typed("EfficientNet", size={"height": 16, "width": 16}, do_center_crop=True,
           crop_size={"height": 13, "width": 13}, image_mean=MEAN, image_std=STD,
           do_normalize=False), USUAL),
    (typed("Detr", size=SMALL), ODD),
    (old("Detr", size=15, max_size=24, format="coco_detection"), ODD),
    (typed("ConditionalDetr", size=SMALL, do_pad=True, pad_size={"height": 24, "width": 25}), USUAL),
    (old("DeformableDetr", size=[12, 15]), USUAL),
    (typed("DeformableDetr", size={"max_height": 20, "max_width": 16}), USUAL),
    (typed("GroundingDino", size=SMALL, do_convert_annotations=True,
           pad_and_return_pixel_mask=True, pad_size={"height": 24, "width": 24}),
     ODD),
    (typed("Yolos", size={"shortest_edge": 33, "longest_edge": 50}), USUAL),
    (old("Yolos", size=20, max_size=40), ODD),
    (typed("OwlViT", size={"height": 14, "width": 14}, rescale=True), USUAL),
    (typed("OwlViT", size={"height": 16, "width": 16}, do_center_crop=True,
           crop_size={"height": 13, "width": 13}), USUAL),
    (typed("Owlv2", size={"height": 14, "width": 14}), ODD + ("row", "column")),
    (typed("Owlv2", size={"height": 70, "width": 9}), ("landscape",)),
    (typed("Owlv2", size={"height": 11, "width": 17}, do_pad=False), ODD),
    (typed("Siglip2", patch_size=4, max_num_patches=20), ODD + ("row", "column")),
    (typed("Siglip2", patch_size=5, max_num_patches=7, resample=3), USUAL),
    (timm(interpolation="bicubic", crop_pct=0.875, crop_mode="center"), ODD),
    (timm(interpolation="bilinear", crop_pct=0.75, input_size=[3, 15, 15]), USUAL),
    (timm(interpolation="bicubic", crop_pct=1.0, crop_mode="squash", input_size=[3, 12, 18]), USUAL),
    (timm(interpolation="bicubic", crop_pct=0.9, crop_mode="border"), ODD),
    (timm(interpolation="bilinear", crop_pct=0.9, input_size=[3, 12, 19]), USUAL),
    (timm(interpolation="lanczos", crop_pct=1.2), USUAL),
    ({"architecture": "vit_tiny", "input_size": [3, 14, 14], "interpolation": "bicubic",
      "crop_pct": 0.9, "mean": [0.5] * 3, "std": [0.5] * 3}, USUAL),
]

# At their own sizes.
LARGE_TENSORS = [
    (typed("CLIP"), "landscape"), (typed("Siglip"), "portrait"), (typed("ViT"), "landscape"),
    (typed("Bit", size={"shortest_edge": 256}, image_mean=MEAN, image_std=STD), "portrait"),
    (typed("ConvNext"), "landscape"), (typed("ConvNext", size={"shortest_edge": 224}), "portrait"),
    (typed("EfficientNet"), "landscape"), (typed("Detr"), "landscape"), (old("Yolos", size=800),
     "portrait"), (typed("GroundingDino"), "portrait"), (typed("OwlViT"), "landscape"),
    (typed("Owlv2"), "portrait"), ({"architecture": "resnet18", "pretrained_cfg": {}}, "portrait"),
]


# --- what the references make of them ------------------------------------------------------------

MODULES = {"CLIP": "clip", "Siglip": "siglip", "ViT": "vit", "Bit": "bit", "ConvNext": "convnext",
           "EfficientNet": "efficientnet", "Detr": "detr", "ConditionalDetr": "conditional_detr",
           "DeformableDetr": "deformable_detr", "GroundingDino": "grounding_dino",
           "Yolos": "yolos", "OwlViT": "owlvit", "Owlv2": "owlv2", "Siglip2": "siglip2"}


def by_transformers(config, image):
    settings = dict(config)
    kind = settings.pop("image_processor_type", None) or settings.pop("feature_extractor_type")
    kind = kind.removesuffix("ImageProcessor").removesuffix("FeatureExtractor")
    module = importlib.import_module(
        f"transformers.models.{MODULES[kind]}.image_processing_pil_{MODULES[kind]}")
    processor = getattr(module, f"{kind}ImageProcessorPil")(**settings)
    return np.asarray(processor(image)["pixel_values"][0]).astype(np.float32)


def by_timm(config, image):
    from timm.data import create_transform, resolve_data_config

    settings = resolve_data_config(pretrained_cfg=config.get("pretrained_cfg", config) or {"x": 0})
    return create_transform(**settings)(image).numpy()


def tensor_of(config, image):
    return by_timm(config, image) if "architecture" in config else by_transformers(config, image)


# --- sizes of many shapes ------------------------------------------------------------------------

SHAPES = [(640, 480), (480, 640), (1333, 800), (800, 1333), (801, 1332), (1920, 1080), (1080, 1920),
          (4032, 3024), (3, 1000), (1000, 3), (799, 799), (1, 1), (7, 5000), (333, 500), (500, 375),
          (375, 500), (1234, 567), (601, 601), (1600, 960), (2667, 1600), (100000, 64)]


def make_sizes():
    """rule, width, height, and what they become; 0 0 where Pillow would not have it."""
    from timm.data.transforms import ResizeKeepRatio
    from transformers.image_transforms import get_size_with_aspect_ratio
    from transformers.image_utils import get_image_size_for_max_height_width
    from transformers.models.siglip2.image_processing_pil_siglip2 import (
        get_image_size_for_max_num_patches)
    from transformers.models.yolos.image_processing_pil_yolos import (
        get_size_with_aspect_ratio_yolos)

    def keep_ratio(longest):
        return lambda h, w: ResizeKeepRatio.get_params(Image.new("1", (w, h)), (224, 300), longest)

    rules = {"bounded": lambda h, w: get_size_with_aspect_ratio((h, w), 800, 1333),
             "yolos": lambda h, w: get_size_with_aspect_ratio_yolos((h, w), 800, 1333),
             "max": lambda h, w: get_image_size_for_max_height_width((h, w), 224, 300),
             "inside": keep_ratio(1.0), "outside": keep_ratio(0.0),
             "patches": lambda h, w: get_image_size_for_max_num_patches(h, w, 16, 256)}
    lines = []
    for name, rule in rules.items():
        for width, height in SHAPES:
            new_height, new_width = rule(height, width)[:2]
            if min(new_height, new_width) < 1:
                new_height = new_width = 0
            lines.append(f"{name} {width} {height} {new_width} {new_height}")
    (HERE / "sizes.txt").write_text("\n".join(lines) + "\n")


def main():
    make_sizes()
    pictures = make_pictures()
    lines, statistics, outputs = [], [], b""
    for n, (config, names) in enumerate(SMALL_TENSORS + LARGE_TENSORS):
        (HERE / f"{n}.json").write_text(json.dumps(config, indent=1) + "\n")
        for name in [names] if isinstance(names, str) else names:
            tensor = tensor_of(config, pictures[name])
            if n >= len(SMALL_TENSORS):
                planes = tensor.astype(np.float64)
                sums = " ".join(f"{p.sum():.9g} {(p * p).sum():.9g}" for p in planes)
                statistics.append(f"{n}.json {name}.png {tensor.shape[1]} {tensor.shape[2]} {sums}")
                continue
            kind = "planes" if tensor.ndim == 3 else "patches"
            shape = tensor.shape if tensor.ndim == 3 else (*tensor.shape, 1)
            lines.append(f"{n}.json {name}.png {kind} {shape[0]} {shape[1]} {shape[2]}")
            outputs += tensor.tobytes()
    (HERE / "tensors.txt").write_text("\n".join(lines) + "\n")
    (HERE / "tensors.bin").write_bytes(outputs)
    (HERE / "statistics.txt").write_text("\n".join(statistics) + "\n")


main()
