#!/usr/bin/env python3
"""Keeps the photos of bench/e2e and removes the rest: bench_photos.py FOLDER

Kept are JPEGs of at least 1.5 megapixels, each content once. Needs Pillow.
"""
import hashlib
import pathlib
import sys

from PIL import Image

LEAST_PX = 1_500_000


def main(folder):
    seen, sizes, n_progressive = set(), [], 0
    for path in sorted(pathlib.Path(folder).rglob("*.[jJ][pP]*[gG]")):
        with Image.open(path) as photo:
            size_px, progressive = photo.width * photo.height, "progressive" in photo.info
        digest = hashlib.sha256(path.read_bytes()).digest()
        if size_px < LEAST_PX or digest in seen:
            path.unlink()
            continue
        seen.add(digest)
        sizes.append(size_px)
        n_progressive += progressive
    if not sizes:
        sys.exit(f"{folder}: no photos")
    print(f"{len(sizes)} photos, mean {sum(sizes) / len(sizes) / 1e6:.1f} megapixels, {n_progressive} progressive")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
