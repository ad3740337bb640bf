"""Readers and resampler against Pillow at length: random pictures, sizes and crops; each photo in every filter."""
import numpy as np
import pytest
from PIL import Image

from parity import FILTERS, parity, short_side
from test_parity import PICTURES, noise

N_PICTURES, N_SIZES = 150, 30


def side(random):
    """Small and odd ones often, large ones at times."""
    return int(2 ** random.uniform(0, random.choice([3, 6, 9.5])))


@pytest.mark.parametrize("seed", range(N_PICTURES))
def test_random_pictures(parity, tmp_path, seed):
    random = np.random.default_rng(seed)
    path = tmp_path / f"picture.{random.choice(['png', 'jpg', 'webp'])}"
    Image.fromarray(noise(side(random), side(random))).save(path, quality=int(random.integers(60, 100)))
    orientation = int(random.integers(1, 9))
    for _ in range(N_SIZES):
        width, height = side(random), side(random)
        x, y = int(random.integers(0, width)), int(random.integers(0, height))
        crop = f"{x},{y},{int(random.integers(1, width - x + 1))},{int(random.integers(1, height - y + 1))}"
        parity.check(file=path, orientation=orientation, filter=int(random.integers(6)), size=f"{width}x{height}",
                     crop=crop if random.random() < 0.5 else f"0,0,{width},{height}")


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_every_photo_in_every_filter(parity, path):
    parity.check_decoded(path)
    for n, number in enumerate(FILTERS.values()):
        parity.check(file=path, filter=number, size=("256x256", short_side(path, 224), "97x333")[n % 3],
                     orientation=1 + (n + PICTURES.index(path)) % 8)
