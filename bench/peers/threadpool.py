"""A pool of threads that decode ahead (Pillow and libvips release the interpreter's lock), and onnxruntime."""
import collections
import concurrent.futures
import itertools
import os
import sys

import numpy as np

import common


def pyvips_loader(processor):
    """libvips decodes at a reduced size and resizes in its own way: quick, other pixels than Pillow's."""
    os.environ.setdefault("VIPS_CONCURRENCY", "1")  # the pool has the threads
    import pyvips

    pyvips.cache_set_max(0)  # no picture comes twice
    edge = processor.size.get("shortest_edge") or processor.size["height"]

    def load(path):
        image = pyvips.Image.thumbnail(path, edge, height=edge, crop="centre")
        if image.interpretation != "srgb":
            image = image.colourspace("srgb")
        array = image[:3].numpy()
        return processor.normalised(processor.cropped(array))

    return load


def batches_of(paths, load, pool, size):
    """Arrays of up to size pictures, in order, with two batches on their way behind the one given."""
    rest = iter(paths)
    ahead = collections.deque(pool.submit(load, path) for path in itertools.islice(rest, 2 * size))
    while ahead:
        batch = []
        while ahead and len(batch) < size:
            batch.append(ahead.popleft().result())
            ahead.extend(pool.submit(load, path) for path in itertools.islice(rest, 1))
        yield np.stack(batch)


def main():
    parser = common.arguments(__doc__)
    parser.add_argument("--decode", choices=("pillow", "draft", "pyvips"), default="pillow")
    args = parser.parse_args()
    paths = common.list_photos(args.photos)
    processor = common.Processor(args.model)
    if args.decode == "pyvips":
        load = pyvips_loader(processor)
    else:
        def load(path):
            return processor.load(path, draft=args.decode == "draft")

    model = common.Model(args.model, args.threads)
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        vectors = [model.embed(batch) for batch in batches_of(paths, load, pool, args.batch)]
    common.write(args.out, paths, vectors)


if __name__ == "__main__":
    sys.exit(main())
