"""Pictures cut into tiles: each tile's vector is that of the same rectangle of the upright picture, done once."""
import random
import sqlite3
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

from conftest import BRIMFUL, MODEL, PHOTOS, SANITIZED, embed, failures, load, vectors

SIDE, OVERLAP = 256, 32


def starts(n, side=SIDE, overlap=OVERLAP):
    """Where tiles start along n pixels: every side - overlap, the last one as far in as it has to be."""
    if n <= side:
        return [0]
    return [*range(0, n - side, side - overlap), n - side]


def tiles(picture):
    """{"#x,y,w,h": the rectangle} of an upright picture."""
    return {f"#{x},{y},{w},{h}": picture.crop((x, y, x + w, y + h))
            for y in starts(picture.height) for x in starts(picture.width)
            for w, h in [(min(SIDE, picture.width), min(SIDE, picture.height))]}


def cut(*args, **kwargs):
    return embed(*args, "--tile", SIDE, "--overlap", OVERLAP, **kwargs)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A few pictures larger than a tile: every orientation, JPEG, PNG (interlaced too) and WebP; and two smaller ones."""
    folder = tmp_path_factory.mktemp("large")
    source = Image.open(sorted(PHOTOS.glob("lomiri*/*.jpg"))[0]).convert("RGB")
    for orientation in range(1, 9):
        kind = ("jpg", "png", "webp")[orientation % 3]
        exif = Image.Exif()
        exif[0x0112] = orientation
        x = 97 * orientation
        source.crop((x, x, x + 530 + 3 * orientation, x + 260 + 20 * orientation)).save(
            folder / f"{orientation}.{kind}", exif=exif)
    source.crop((0, 0, 200, 600)).save(folder / "narrow.png")
    source.crop((0, 0, 90, 70)).save(folder / "small.jpg")
    return folder


@pytest.fixture(scope="module")
def expected(tmp_path_factory, large):
    """The vectors of all rectangles, cut out by Pillow and embedded as pictures of their own."""
    folder = tmp_path_factory.mktemp("expected")
    for path in large.iterdir():
        for suffix, tile in tiles(load(path)).items():
            tile.save(folder / f"{path.name}{suffix}.png", compress_level=1)
    store = folder / "x.db"
    run = embed(folder, "-o", store, "--root", folder)
    assert run.returncode == 0, run.stderr
    return {key.removesuffix(".png"): vector for key, vector in vectors(store).items()}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for key, vector in found.items():
        assert np.abs(vector - expected[key]).max() <= 1e-5, key


def test_tiles_are_the_rectangles_of_the_upright_picture(tmp_path, large, expected):
    assert len(expected) > 50
    for threads in (1, 4):
        store = tmp_path / f"{threads}.db"
        run = cut(large, "-o", store, "--root", large, "--threads", threads)
        assert run.returncode == 0, run.stderr
        assert_same(vectors(store), expected)
        with sqlite3.connect(store) as db:
            sizes = dict(((key, size) for key, *size in db.execute(
                "SELECT key, width, height FROM brim_images WHERE key NOT LIKE '%#%'")))
        assert sizes == {p.name: [*load(p).size] for p in large.iterdir()}


def test_a_second_run_reads_no_picture_again(tmp_path, large):
    store = tmp_path / "x.db"
    assert cut(large, "-o", store, "--root", large).returncode == 0
    again = cut(large, "-o", store, "--root", large)
    assert again.returncode == 0 and "nothing left to do" in again.stderr
    assert f"{len(list(large.iterdir()))} were done before" in again.stderr  # the pictures, not their tiles


def test_killed_runs_lose_and_double_no_tile(tmp_path, large, expected):
    store = tmp_path / "x.db"
    chance = random.Random(5)
    for _ in range(6):
        run = subprocess.Popen([BRIMFUL, "embed", "-q", "-m", MODEL, large, "-o", store, "--root", large, "--batch", "2",
                                "--tile", str(SIDE), "--overlap", str(OVERLAP)], stdin=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.2, 0.8 if not SANITIZED else 4))
        run.kill()
        run.wait()
    assert cut(large, "-o", store, "--root", large).returncode == 0
    assert_same(vectors(store), expected)


def test_a_broken_picture_fails_once_and_can_be_mended(tmp_path, large, expected):
    folder, store = tmp_path / "broken", tmp_path / "x.db"
    folder.mkdir()
    whole = {p.name: p.read_bytes() for p in large.glob("*.jpg")}
    for name, data in whole.items():
        (folder / name).write_bytes(data)
    (folder / "3.jpg").write_bytes(whole["3.jpg"][:-2])
    run = cut(folder, "-o", store, "--root", folder)
    assert run.returncode == 3 and "1 failed" in run.stderr
    assert failures(store) == {"3.jpg": ("decode", "truncated JPEG", 1)}
    assert cut(folder, "-o", store, "--root", folder).returncode == 0
    assert failures(store)["3.jpg"][2] == 1  # not tried again
    assert cut(folder, "-o", store, "--root", folder, "--retry-failed").returncode == 3
    assert failures(store)["3.jpg"] == ("decode", "truncated JPEG", 2)  # all its tiles were there, its end was not
    (folder / "3.jpg").write_bytes(whole["3.jpg"])
    assert cut(folder, "-o", store, "--root", folder, "--retry-failed").returncode == 0
    assert not failures(store)
    assert_same(vectors(store), {k: v for k, v in expected.items() if k.partition("#")[0] in whole})


def test_max_pixels_counts_one_row_of_tiles(tmp_path):
    Image.new("1", (2000, 9000)).save(tmp_path / "p.png")
    run = cut(tmp_path / "p.png", "-o", tmp_path / "x.db", "--max-pixels", 2000 * SIDE - 1)
    assert run.returncode == 3
    ((_, reason, _),) = failures(tmp_path / "x.db").values()
    assert reason == "image too large: 512000 pixels in one row of tiles, limit 511999 (--max-pixels)"
    run = cut(tmp_path / "p.png", "-o", tmp_path / "x.db", "--max-pixels", 2000 * SIDE, "--retry-failed")
    assert run.returncode == 0 and len(vectors(tmp_path / "x.db")) == len(starts(2000)) * len(starts(9000))


@pytest.mark.parametrize("words", [("--overlap", 32), ("--tile", 32, "--overlap", 32), ("--tile", 0), ("--tile", 65536)])
def test_impossible_tiles_are_usage(tmp_path, words):
    run = embed(tmp_path, "-o", tmp_path / "x.db", *words)
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1 and words[0] in run.stderr + "--overlap"
