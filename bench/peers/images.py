"""A contender of bench/images in Python: images.py pillow|pillow-draft|pyvips|torchvision CONFIG DUMP < NAMES

Pictures in memory become float32 tensors as preprocessor_config.json says (shortest edge, centre crop, normalise), one
after the other, on one thread. Prints a line of JSON: pictures, pixels, seconds, and the bytes by which the process grew
above its files at most.
"""
import io
import json
import os
import pathlib
import re
import sys
import time

os.environ["VIPS_CONCURRENCY"] = "1"

import numpy as np
from PIL import Image, ImageOps

Image.MAX_IMAGE_PIXELS = None
mode, config_path, dump_path = sys.argv[1:]
config = json.loads(pathlib.Path(config_path).read_text())
SHORT, CROP = config["size"]["shortest_edge"], config["crop_size"]["height"]
MEAN, STD = (np.array(config[k], np.float32)[:, None, None] for k in ("image_mean", "image_std"))
SCALE = np.float32(config["rescale_factor"])


def target(width, height):
    """The resized picture's size."""
    if width <= height:
        return SHORT, int(SHORT * height / width)
    return int(SHORT * width / height), SHORT


def finish(pixels):
    top, left = (pixels.shape[0] - CROP) // 2, (pixels.shape[1] - CROP) // 2
    pixels = pixels[top:top + CROP, left:left + CROP].transpose(2, 0, 1)
    return (pixels * SCALE - MEAN) / STD


def with_pillow(data, draft=False):
    image = Image.open(io.BytesIO(data))
    n_px = image.width * image.height
    if draft:
        image.draft("RGB", target(*image.size))
    image = ImageOps.exif_transpose(image).convert("RGB")
    return n_px, finish(np.asarray(image.resize(target(*image.size), Image.Resampling.BICUBIC)))


def with_pyvips(data):
    header = pyvips.Image.new_from_buffer(data, "")
    n_px = header.width * header.height
    width, height = target(header.width, header.height)
    image = pyvips.Image.thumbnail_buffer(data, width, height=height, size="force").colourspace("srgb")
    return n_px, finish(image.numpy()[..., :3])


def with_torchvision(data):
    image = torchvision.io.decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8),
                                       mode=torchvision.io.ImageReadMode.RGB)
    n_px = image.shape[1] * image.shape[2]
    width, height = target(image.shape[2], image.shape[1])
    image = functional.resize(image, [height, width], functional.InterpolationMode.BICUBIC, antialias=True)
    return n_px, finish(image.numpy().transpose(1, 2, 0))


CONTENDERS = {"pillow": with_pillow, "pillow-draft": lambda data: with_pillow(data, True), "pyvips": with_pyvips,
              "torchvision": with_torchvision}
if mode == "pyvips":
    import pyvips
    pyvips.cache_set_max(0)
if mode == "torchvision":
    import torch
    import torchvision
    from torchvision.transforms.v2 import functional
    torch.set_num_threads(1)


def peak_bytes():
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) * 1024


work = CONTENDERS[mode]
files = [pathlib.Path(line.rstrip("\n")).read_bytes() for line in sys.stdin]
dump = open(dump_path, "wb") if dump_path != "-" else None
pathlib.Path("/proc/self/clear_refs").write_text("5")
before, begin, n_px = peak_bytes(), time.perf_counter(), 0
for data in files:
    n, tensor = work(data)
    n_px += n
    if dump:
        dump.write(np.ascontiguousarray(tensor, np.float32).tobytes())
seconds = time.perf_counter() - begin
print(json.dumps({"n": len(files), "pixels": n_px, "seconds": seconds, "peak_bytes": peak_bytes() - before}))
