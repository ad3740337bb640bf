"""Loads every picture, then runs the model on all of them at once: what a first script does.

So that it cannot take the machine down it stops loading at --memory and embeds what it has until then.
"""
import resource
import sys

import numpy as np
from PIL import Image, ImageOps

import common

ACTIVATIONS_BYTES = 12 << 20  # of one picture in the model, and a little
LIBRARIES_BYTES = 2 << 30     # address space of what is no picture


def load_all(paths, memory_bytes):
    images, held = [], 0
    for path in paths:
        image = Image.open(path)
        held += image.width * image.height * 4 + ACTIVATIONS_BYTES  # Pillow keeps RGB in 4 bytes
        if held > memory_bytes:
            break
        images.append(ImageOps.exif_transpose(image).convert("RGB"))
    return images


def prepare(processor, image):
    small = image.resize(processor.resized(image.width, image.height), processor.resample)
    return processor.normalised(processor.cropped(np.asarray(small)))


def main():
    parser = common.arguments(__doc__)
    parser.add_argument("--memory", type=int, default=4 << 30, help="bytes")
    args = parser.parse_args()
    most = 2 * args.memory + LIBRARIES_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))

    paths = common.list_photos(args.photos)
    processor = common.Processor(args.model)
    model = common.Model(args.model, args.threads)
    images = load_all(paths, args.memory)
    vectors = model.embed(np.stack([prepare(processor, image) for image in images]))
    common.write(args.out, paths[:len(images)], [vectors])


if __name__ == "__main__":
    sys.exit(main())
