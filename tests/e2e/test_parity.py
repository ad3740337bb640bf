"""Readers and resampler against Pillow 13 and 12: equal in every byte."""
import io
import itertools
import pathlib

import numpy as np
import pytest
from PIL import Image

from conftest import PHOTOS
from parity import FILTERS, parity, short_side

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "image"
LISTED = [line.split()[0] for line in (DATA / "pictures.txt").read_text().splitlines()]
PICTURES = sorted(path for path in PHOTOS.rglob("*") if path.suffix in (".jpg", ".png"))
ODD = (1, 2, 3, 7, 33, 257)
TARGETS = ((1, 1), (3, 7), (17, 90), (33, 33), (64, 5), (224, 224), (257, 2), (61, 47), (47, 61), (61, 200), (8, 47))

random = np.random.default_rng(11)


def noise(width, height, channels=3):
    """Slopes with noise on top, so that a shift shows as well as a rounding does."""
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return np.clip((x * (5 + c) + y * (3 + 2 * c)) % 256 + random.normal(0, 25, x.shape), 0, 255).astype(np.uint8)


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def modes():
    rgb, rgba = Image.fromarray(noise(61, 47)), Image.fromarray(noise(61, 47, 4))
    grey, deep = Image.fromarray(noise(61, 47)[..., 0]), random.integers(0, 65536, (47, 61), np.uint16)
    return {"1": grey.convert("1"), "L": grey, "LA": rgba.convert("LA"), "P": rgb.quantize(200), "RGB": rgb,
            "RGBA": rgba, "I;16": Image.fromarray(deep)}


def files():
    """{name: bytes}: a picture of 61 x 47 in each mode and kind of file."""
    made = {f"{mode.replace(';', '')}.png": saved(image, "PNG") for mode, image in modes().items()}
    rgb, rgba, cmyk = Image.fromarray(noise(61, 47)), Image.fromarray(noise(61, 47, 4)), noise(61, 47, 4)
    for progressive, subsampling in itertools.product((False, True), (0, 1, 2)):
        made[f"rgb_{subsampling}_{progressive}.jpg"] = saved(rgb, "JPEG", subsampling=subsampling,
                                                            progressive=progressive)
    made["grey.jpg"] = saved(rgb.convert("L"), "JPEG")
    made["cmyk.jpg"] = saved(Image.fromarray(cmyk, "CMYK"), "JPEG", quality=90)
    at = made["cmyk.jpg"].index(b"Adobe") + 11  # the transform: 2 says YCCK
    made["ycck.jpg"] = made["cmyk.jpg"][:at] + b"\2" + made["cmyk.jpg"][at + 1:]
    made["lossy.webp"] = saved(rgb, "WEBP", quality=70)
    made["lossy_alpha.webp"] = saved(rgba, "WEBP", quality=70)
    made["lossless.webp"] = saved(rgb, "WEBP", lossless=True)
    made["lossless_alpha.webp"] = saved(rgba, "WEBP", lossless=True, exact=True)
    return made


@pytest.mark.parametrize("name, data", files().items(), ids=files())
def test_every_mode_filter_and_orientation(parity, tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    for orientation in range(1, 9):
        parity.check(file=path, orientation=orientation)
        for number in FILTERS.values():
            for k in range(2):
                width, height = TARGETS[(orientation + 3 * number + 5 * k) % len(TARGETS)]
                parity.check(file=path, orientation=orientation, filter=number, size=f"{width}x{height}")


@pytest.mark.parametrize("width", ODD)
def test_odd_sizes(parity, tmp_path, width):
    targets = itertools.cycle(itertools.product(ODD, ODD))
    for height in ODD:
        path = tmp_path / f"{width}x{height}.png"
        Image.fromarray(noise(width, height)).save(path)
        for n in range(36):
            new_width, new_height = next(targets)
            for number in ((n + height) % 6, 0):
                parity.check(file=path, filter=number, size=f"{new_width}x{new_height}",
                             orientation=1 + (n + number) % 8)


def test_crops(parity, tmp_path):
    path = tmp_path / "crops.png"
    Image.fromarray(noise(83, 59)).save(path)
    for _ in range(400):
        new_width, new_height = (int(n) for n in random.integers(1, 300, 2))
        x, y = int(random.integers(0, new_width)), int(random.integers(0, new_height))
        width, height = int(random.integers(1, new_width - x + 1)), int(random.integers(1, new_height - y + 1))
        parity.check(file=path, size=f"{new_width}x{new_height}", crop=f"{x},{y},{width},{height}",
                     filter=int(random.integers(6)), orientation=int(random.integers(1, 9)))


@pytest.mark.parametrize("name", LISTED)
def test_listed_pictures(parity, name):
    """Whatever tests/data/image/pictures.txt lists: a new format is compared as soon as its pictures stand there."""
    parity.check(file=DATA / name)
    parity.check(file=DATA / name, size="19x23")


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_photos(parity, path):
    """First what was decoded, then what became of it: a difference in a decoder is told apart from one in resizing."""
    n = PICTURES.index(path)
    edge, order = (224, 256)[n % 2], n // 2 % 2
    size = short_side(path, edge) if n % 3 else f"{edge}x{edge}"
    if path.stat().st_size < 400_000:
        parity.check_decoded(path)
        parity.check(file=path, size=size)
    differing = parity.differing(order=order, file=path, filter=n % 6, size=size)
    assert differing == (0, 0), f"filter {n % 6} to {size}, order {order}: {differing[0]} bytes differ"


def test_enough_photos():
    assert len(PICTURES) >= 40
