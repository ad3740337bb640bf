"""Answers the requests of tests/image/parity_tool.c with Pillow: run by the interpreter that has the wanted version."""
import sys

import numpy as np
from PIL import Image, ImageOps

Image.MAX_IMAGE_PIXELS = None
METHODS = {2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM, 5: Image.TRANSPOSE,
           6: Image.ROTATE_270, 7: Image.TRANSVERSE, 8: Image.ROTATE_90}
SCALE, CLAMP = 0, 1  # brim_depth
known = {}


def to_rgb(image, depth):
    """As the reader has it: convert("RGB"), but 16-bit grey is scaled unless it is to be clamped."""
    if image.mode.startswith("I;16") and depth == SCALE:
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    return image.convert("RGB")


def upright(path, orientation, depth):
    """The picture that was asked for last is kept: it is asked for in many sizes."""
    if (path, orientation, depth) not in known:
        known.clear()
        image = Image.open(path)
        if orientation == 0:
            image = ImageOps.exif_transpose(image)
        elif orientation > 1:
            image = image.transpose(METHODS[orientation])
        known[path, orientation, depth] = to_rgb(image, depth)
    return known[path, orientation, depth]


def answer(fields):
    image = upright(fields["file"], int(fields.get("orientation", 0)), int(fields.get("depth", SCALE)))
    if "size" in fields:
        size = tuple(map(int, fields["size"].split("x")))
        image = image.resize(size, Image.Resampling(int(fields.get("filter", Image.BICUBIC))))
    if "crop" in fields:
        x, y, width, height = map(int, fields["crop"].split(","))
        image = image.crop((x, y, x + width, y + height))
    return image


def main():
    for line in sys.stdin:
        try:
            image = answer(dict(field.split("=", 1) for field in line.rstrip("\n").split("\t")))
            head, pixels = "ok %d %d" % image.size, image.tobytes()
        except Exception as trouble:
            head, pixels = "fail %r" % trouble, b""
        sys.stdout.buffer.write(head.encode() + b"\n" + pixels)
        sys.stdout.buffer.flush()


main()
