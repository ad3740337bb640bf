"""Makes the pictures of this folder and what Pillow and transformers say of them.

    python make_fixtures.py          (Pillow >= 13, numpy, transformers >= 5)

NAME.jpg, .png, .webp   a picture
pictures.txt, .bin      a picture a line: width, height, EXIF orientation, all as stored; the
                        pixels, as convert("RGB") gives them, follow each other in the .bin
source_WxH.rgb          pixels to be resized
resizes.txt, .bin       a resize a line, the outputs the same way
tensors.txt, .bin       a processor's output a line; float32, the same way
"""
import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

HERE = Path(__file__).parent
ORIENTATION = 0x0112
random = np.random.default_rng(7)
pictures, all_pixels = [], []


def scene(width, height, channels=3, noise=12):
    """Slopes, edges and noise: something for every filter."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        plane = (x * (5 + c) + y * (3 + 2 * c)) % 256
        plane = np.where((x // 5 + y // 4) % 3 == c % 3, 255 - plane, plane)
        planes.append(plane + random.normal(0, noise, plane.shape))
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def keep(name, data, expected=None):
    """Writes a picture and its pixels."""
    image = Image.open(io.BytesIO(data))
    orientation = image.getexif().get(ORIENTATION, 1)
    pixels = np.asarray(image.convert("RGB")) if expected is None else expected
    height, width, _ = pixels.shape
    (HERE / name).write_bytes(data)
    all_pixels.append(pixels.tobytes())
    pictures.append(f"{name} {width} {height} {orientation}")


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def exif(orientation):
    block = Image.Exif()
    block[ORIENTATION] = orientation
    return block


# --- JPEG ----------------------------------------------------------------------------------------


def make_jpegs():
    rgb = Image.fromarray(scene(37, 29))
    for name, subsampling in (("444", 0), ("422", 1), ("420", 2)):
        keep(f"rgb_{name}.jpg", saved(rgb, "JPEG", quality=80, subsampling=subsampling))
    keep("progressive.jpg", saved(rgb, "JPEG", quality=85, progressive=True))
    keep("restart.jpg", saved(rgb, "JPEG", quality=75, restart_marker_blocks=2))
    keep("adobe_rgb.jpg", saved(rgb, "JPEG", quality=90, keep_rgb=True))
    keep("grey.jpg", saved(Image.fromarray(scene(31, 22)[..., 0]), "JPEG"))
    cmyk = saved(Image.fromarray(scene(25, 19, 4), "CMYK"), "JPEG", quality=90)
    keep("cmyk.jpg", cmyk)
    at = cmyk.index(b"Adobe") + 11
    assert cmyk[at] == 0
    keep("ycck.jpg", cmyk[:at] + b"\2" + cmyk[at + 1 :])
    keep("tiny.jpg", saved(Image.new("RGB", (1, 1), (200, 10, 10)), "JPEG"))

    first = saved(Image.new("RGB", (32, 24), (200, 10, 10)), "JPEG")
    second = saved(Image.new("RGB", (32, 24), (10, 200, 10)), "JPEG")
    keep("two.jpg", first + second)
    keep("trailer.jpg", first + b"motion photo" * 58 + b"tail")
    keep("before_end.jpg", first[:-2] + b"\x7f\x7f\x7f" + first[-2:])
    mpo = saved(Image.open(io.BytesIO(first)), "MPO", save_all=True,
                append_images=[Image.open(io.BytesIO(second))])
    keep("mpo.jpg", mpo)


# --- PNG -----------------------------------------------------------------------------------------

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
         (0, 1, 1, 2))


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, depth, color, rows, extra=b"", interlaced=0, after=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
            + chunk(b"IDAT", zlib.compress(rows, 9)) + after + chunk(b"IEND", b""))


def filtered_noise(width, height, bits):
    """Rows of random bytes, each with a random filter."""
    return b"".join(bytes([random.integers(0, 5)]) + random.bytes((width * bits + 7) // 8)
                    for _ in range(height))


def raw_rows(width, height, bits, interlaced):
    if not interlaced:
        return filtered_noise(width, height, bits)
    rows = b""
    for x, y, dx, dy in ADAM7:
        w, h = max(0, (width - x + dx - 1) // dx), max(0, (height - y + dy - 1) // dy)
        rows += filtered_noise(w, h, bits) if w and h else b""
    return rows


def make_pngs():
    width, height = 13, 10
    for color, name, depths in ((0, "grey", (1, 2, 4, 8)), (2, "rgb", (8, 16)),
                                (3, "palette", (1, 2, 4, 8)), (4, "grey_alpha", (8, 16)),
                                (6, "rgba", (8, 16))):
        for depth in depths:
            for interlaced in (0, 1):
                # A palette that is too short for its pixels: what is missing is black.
                extra = chunk(b"gAMA", struct.pack(">I", 100000))
                if color == 3:
                    n = max(1, (1 << depth) * 3 // 4)
                    extra += chunk(b"PLTE", random.bytes(3 * n)) + chunk(b"tRNS", b"\0\x80")
                if color == 0:
                    extra += chunk(b"tRNS", b"\0\1")
                rows = raw_rows(width, height, depth * CHANNELS[color], interlaced)
                suffix = "_adam7" if interlaced else ""
                keep(f"{name}{depth}{suffix}.png",
                     png(width, height, depth, color, rows, extra, interlaced))

    # 16-bit grey: Pillow clamps, here the upper byte is kept.
    grey = np.array([0, 255, 256, 4096, 32768, 65535], ">u2")
    keep("grey16.png", png(6, 1, 16, 0, b"\0" + grey.tobytes()),
         np.repeat((grey >> 8).astype(np.uint8)[None, :, None], 3, 2))

    base = np.array([[40, 80, 120], [160, 200, 240]], np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in base)
    for orientation in range(1, 9):
        block = exif(orientation).tobytes()[6:]
        keep(f"turned{orientation}.png", png(3, 2, 8, 0, rows, chunk(b"eXIf", block)))
    keep("turned_late.png", png(3, 2, 8, 0, rows, after=chunk(b"eXIf", exif(6).tobytes()[6:])))


# --- WebP ----------------------------------------------------------------------------------------


def make_webps():
    rgb = Image.fromarray(scene(35, 27))
    rgba = scene(21, 17, 4)
    rgba[..., 3] = random.choice([0, 128, 255], rgba.shape[:2])
    rgba = Image.fromarray(rgba)
    keep("lossy.webp", saved(rgb, "WEBP", quality=70))
    keep("lossless.webp", saved(rgb.crop((0, 0, 16, 12)), "WEBP", lossless=True))
    keep("lossy_alpha.webp", saved(rgba, "WEBP", quality=80))
    keep("lossless_alpha.webp", saved(rgba, "WEBP", lossless=True, exact=True))
    keep("turned.webp", saved(rgb, "WEBP", quality=30, exif=exif(8)))

    flat = [Image.new("RGB", (6, 4), color) for color in ((11, 22, 33), (200, 100, 50))]
    keep("animated.webp", saved(flat[0], "WEBP", save_all=True, append_images=flat[1:],
                                lossless=True, duration=100))
    flat = [f.convert("RGBA") for f in flat]
    keep("animated_alpha.webp", saved(flat[0], "WEBP", save_all=True, append_images=flat[1:],
                                      lossless=True, duration=100))
    keep("offset_frame.webp", offset_frame())


def offset_frame():
    """An animation of one 4 x 2 frame at (2, 4) of an 8 x 8 canvas."""
    still = saved(Image.fromarray(scene(4, 2)), "WEBP", lossless=True)[12:]
    u24 = lambda n: struct.pack("<I", n)[:3]
    frame = u24(1) + u24(2) + u24(3) + u24(1) + u24(100) + b"\0" + still
    body = b"WEBP"
    for name, data in ((b"VP8X", b"\x02\0\0\0" + u24(7) + u24(7)), (b"ANIM", b"\xff" * 4 + b"\0\0"),
                       (b"ANMF", frame)):
        body += name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) & 1)
    return b"RIFF" + struct.pack("<I", len(body)) + body


# --- resizes -------------------------------------------------------------------------------------

# What undoes an orientation, as exif_transpose() has it.
UPRIGHT = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE",
           6: "ROTATE_270", 7: "TRANSVERSE", 8: "ROTATE_90"}


def upright(image, orientation):
    method = UPRIGHT.get(orientation)
    return image.transpose(Image.Transpose[method]) if method else image


def make_resizes():
    lines, outputs = [], b""
    shapes = [  # stored size, upright target
        ((37, 23), (11, 9)),
        ((37, 23), (50, 41)),
        ((37, 23), (37, 8)),
        ((37, 23), (16, 37)),
        ((9, 120), (7, 6)),  # vertical first where not turned
        ((120, 9), (6, 7)),  # vertical first where turned
        ((9, 120), (3, 40)),
        ((3, 2), (20, 1)),
        ((1, 64), (5, 9)),
        ((200, 3), (13, 13)),
    ]
    sources = {size: scene(*size, noise=30) for size, _ in shapes}
    for size, pixels in sources.items():
        (HERE / f"source_{size[0]}x{size[1]}.rgb").write_bytes(pixels.tobytes())
    for orientation in range(1, 9):
        for size, target in shapes:
            for resampling in (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC):
                box = crop_of(target)
                image = upright(Image.fromarray(sources[size]), orientation)
                pixels = np.asarray(image.resize(target, resampling))
                x, y, w, h = box
                outputs += pixels[y : y + h, x : x + w].tobytes()
                lines.append(f"{size[0]} {size[1]} {orientation} {int(resampling)} "
                             f"{target[0]} {target[1]} {x} {y} {w} {h}")
    for resampling in (Image.Resampling.LANCZOS, Image.Resampling.BOX, Image.Resampling.HAMMING):
        for size, target in shapes[:5]:
            image = Image.fromarray(sources[size])
            outputs += np.asarray(image.resize(target, resampling)).tobytes()
            lines.append(f"{size[0]} {size[1]} 1 {int(resampling)} {target[0]} {target[1]} "
                         f"0 0 {target[0]} {target[1]}")
    (HERE / "resizes.txt").write_text("\n".join(lines) + "\n")
    (HERE / "resizes.bin").write_bytes(outputs)


def crop_of(target):
    """Every other resize is asked for a window only."""
    width, height = target
    if random.random() < 0.5:
        return 0, 0, width, height
    w, h = (int(random.integers(1, n + 1)) for n in target)
    return int(random.integers(0, width - w + 1)), int(random.integers(0, height - h + 1)), w, h


# --- tensors -------------------------------------------------------------------------------------


def processor(config):
    from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
    from transformers.models.deit.image_processing_pil_deit import DeiTImageProcessorPil
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    classes = {c.__name__.removesuffix("Pil"): c for c in (
        BitImageProcessorPil, CLIPImageProcessorPil, DeiTImageProcessorPil, SiglipImageProcessorPil,
        ViTImageProcessorPil)}
    settings = dict(config)
    return classes[settings.pop("image_processor_type")](**settings)


def make_tensors():
    clip, siglip, vit = ("CLIPImageProcessor", "SiglipImageProcessor", "ViTImageProcessor")
    crop = {"height": 16, "width": 16}
    configs = [
        {"image_processor_type": clip, "size": {"shortest_edge": 16}, "crop_size": crop},
        {"image_processor_type": clip, "size": 20, "crop_size": 16, "do_normalize": False},
        {"image_processor_type": clip, "size": {"shortest_edge": 12}, "crop_size": crop},
        {"image_processor_type": siglip, "size": {"height": 18, "width": 14}},
        {"image_processor_type": siglip, "size": {"height": 16, "width": 16}, "do_rescale": False},
        {"image_processor_type": vit, "size": {"height": 16, "width": 16},
         "rescale_factor": 0.00784313725490196, "image_mean": [0.1, 0.2, 0.3],
         "image_std": [1, 2, 3]},
        {"image_processor_type": "DeiTImageProcessor", "size": 20, "crop_size": 16},
        {"image_processor_type": "BitImageProcessor", "do_resize": False,
         "crop_size": {"height": 40, "width": 9}},
        {"image_processor_type": vit, "do_resize": False, "do_normalize": False},
    ]
    exact = [saved(Image.fromarray(scene(20, 13)), "PNG", exif=exif(o)) for o in range(1, 9)]
    exact.append(saved(Image.fromarray(scene(5, 90)), "PNG"))
    for i, data in enumerate(exact):
        keep(f"walk{i + 1}.png", data)
    strip = np.zeros((1, 1000, 3), np.uint8)
    strip[0, :, 0] = np.arange(1000) // 4
    strip[0, :, 1] = 255 - strip[0, :, 0]
    keep("strip.png", saved(Image.fromarray(strip), "PNG"))
    lines, outputs = [], b""
    for n, config in enumerate(configs):
        text = json.dumps(config, indent=1) + "\n"
        (HERE / f"config{n}.json").write_text(text)
        for i in ([0, 3, 5, 6] if n != 8 else [0]) + ([8] if n < 2 else []):
            image = ImageOps.exif_transpose(Image.open(io.BytesIO(exact[i]))).convert("RGB")
            tensor = np.asarray(processor(config)(image)["pixel_values"][0]).astype(np.float32)
            lines.append(f"config{n}.json walk{i + 1}.png {tensor.shape[1]} {tensor.shape[2]}")
            outputs += tensor.tobytes()
    (HERE / "tensors.txt").write_text("\n".join(lines) + "\n")
    (HERE / "tensors.bin").write_bytes(outputs)


make_jpegs()
make_pngs()
make_webps()
make_resizes()
make_tensors()
(HERE / "pictures.bin").write_bytes(b"".join(all_pixels))
(HERE / "pictures.txt").write_text("\n".join(pictures) + "\n")
