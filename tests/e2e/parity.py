"""What the parity tests share: the same requests to the readers and resampler here and to two versions of Pillow.

A request is a dict of the fields that tests/image/parity_tool.c describes. Orders go with versions: 13 resamples tall
pictures vertically first, 12 never.
"""
import os
import pathlib
import subprocess
import sys

import pytest
from PIL import Image

from conftest import CACHE

ORACLE = pathlib.Path(__file__).resolve().parent.parent / "support" / "pillow_oracle.py"
PILLOW13, CLASSIC = 0, 1  # brim_resample_order
PYTHONS = {PILLOW13: sys.executable, CLASSIC: str(CACHE / "venv-pillow12" / "bin" / "python")}
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


class Server:
    """A program that is asked on its stdin and answers on its stdout."""

    def __init__(self, *args):
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, fields):
        line = "\t".join(f"{key}={value}" for key, value in fields.items())
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().decode().split()
        assert words and words[0] == "ok", f"{line!r}: {' '.join(words)}"
        width, height = int(words[1]), int(words[2])
        return width, height, self.process.stdout.read(3 * width * height)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


class Parity:
    """Compares answers and counts how many there were."""

    def __init__(self):
        self.tool = Server(os.environ["BRIMFUL_PARITY"])
        self.pillow = {order: Server(python, str(ORACLE)) for order, python in PYTHONS.items()}
        self.n_equal = 0

    def differing(self, order=PILLOW13, **fields):
        """How many bytes differ, and by how much at most."""
        mine = self.tool({**fields, "order": order})
        theirs = self.pillow[order](fields)
        assert mine[:2] == theirs[:2], fields
        if mine[2] == theirs[2]:
            self.n_equal += 1
            return 0, 0
        gaps = [abs(a - b) for a, b in zip(mine[2], theirs[2]) if a != b]
        return len(gaps), max(gaps)

    def check(self, **fields):
        """Equal in every byte, in either order."""
        for order in PYTHONS:
            n, most = self.differing(order=order, **fields)
            assert n == 0, f"{fields}, order {order}: {n} bytes differ, by up to {most}"

    def check_decoded(self, path):
        n, most = self.differing(file=path)
        assert n == 0, f"{path} is decoded otherwise: {n} bytes differ, by up to {most}"

    def close(self):
        self.tool.close()
        for pillow in self.pillow.values():
            pillow.close()


@pytest.fixture(scope="module")
def parity():
    parity = Parity()
    yield parity
    parity.close()
    print(f"\n{parity.n_equal} comparisons equal in every byte", end=" ")


def short_side(path, edge):
    """Size with that short side, the other one rounded down as the reference processors do; without EXIF."""
    with Image.open(path) as image:
        width, height = image.size
    return f"{edge}x{edge * height // width}" if width <= height else f"{edge * width // height}x{edge}"
