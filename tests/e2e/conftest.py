"""What the end-to-end tests share: the built command, real photos and models, and Python as the oracle."""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before the import: it begins there

import numpy as np
import onnxruntime
import pytest
from PIL import Image, ImageOps

BRIMFUL = os.environ["BRIMFUL"]
CACHE = pathlib.Path(os.environ["BRIMFUL_CACHE"])
MODEL = CACHE / "models" / "efficientnet-lite0"
PHOTOS = CACHE / "photos" / "demo"
SANITIZED = bool(os.environ.get("BRIMFUL_SANITIZE"))
SMALL_MODELS = pathlib.Path(__file__).resolve().parent.parent / "data" / "models"

MIB = 2**20

Image.MAX_IMAGE_PIXELS = None


def brimful(*args, **kwargs):
    """Runs the command; returns its CompletedProcess with text output."""
    kwargs.setdefault("timeout", 300)
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([BRIMFUL, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="surrogateescape", **kwargs)


def embed(*args, model=MODEL, **kwargs):
    return brimful("embed", "-m", model, *args, **kwargs)


def vectors(store, set_id=1):
    """{key: vector} of a set."""
    with sqlite3.connect(store) as db:
        rows = db.execute("SELECT key, vector FROM brim_embeddings JOIN brim_images USING(image)"
                          " WHERE set_id=?", (set_id,)).fetchall()
    assert len({key for key, _ in rows}) == len(rows)
    return {key: np.frombuffer(vector, "<f4") for key, vector in rows}


def failures(store):
    """{key: (step, reason, attempts)}"""
    with sqlite3.connect(store) as db:
        return {row[0]: row[1:] for row in db.execute(
            "SELECT key, step, reason, attempts FROM brim_failures JOIN brim_images USING(image)")}


def load(path):
    """A picture as the reference pipelines see it: upright, RGB."""
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def preprocess(image, config):
    """The Hugging Face slow image processor, in Pillow and numpy: (3, height, width)."""
    size, crop = config["size"], config.get("crop_size")
    if config.get("do_resize", True):
        if "shortest_edge" in size:
            short, (w, h) = size["shortest_edge"], image.size
            new = (short, int(short * h / w)) if w <= h else (int(short * w / h), short)
        else:
            new = (size["width"], size["height"])
        image = image.resize(new, Image.Resampling(config["resample"]))
    pixels = np.asarray(image)
    if config.get("do_center_crop"):
        top, left = (pixels.shape[0] - crop["height"]) // 2, (pixels.shape[1] - crop["width"]) // 2
        pixels = pixels[top:top + crop["height"], left:left + crop["width"]]
    pixels = (pixels.astype(np.float64) * config["rescale_factor"]).astype(np.float32)
    mean, std = (np.array(config[k], np.float32) for k in ("image_mean", "image_std"))
    return ((pixels - mean) / std).transpose(2, 0, 1)


class Reference:
    """A model folder run by Pillow, numpy and onnxruntime, one picture at a time."""

    def __init__(self, folder, onnx="model.onnx", output=None):
        self.config = json.loads((folder / "preprocessor_config.json").read_text())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / onnx), options)
        self.input = self.session.get_inputs()[0].name
        self.output = output or self.session.get_outputs()[0].name

    def __call__(self, path, normalize=True):
        pixels = preprocess(load(path), self.config)[None]
        vector = self.session.run([self.output], {self.input: pixels})[0][0].astype(np.float64)
        return vector / np.linalg.norm(vector) if normalize else vector


@pytest.fixture(scope="session")
def reference():
    return Reference(MODEL, output="embedding")


@pytest.fixture
def hanging(tmp_path):
    """Surroundings in which opening a file whose path holds "hangs-opening" never comes back."""
    # LD_PRELOAD splits at blanks, which the build folder's path may hold.
    preload = shutil.copy(os.environ["BRIMFUL_HANG"], tmp_path / "hang.so")
    return {**os.environ, "LD_PRELOAD": str(preload)}


@pytest.fixture(scope="session")
def small_photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    kinds = ["jpg", "png", "webp"]
    for n, path in enumerate(sorted(PHOTOS.glob("scikit-image*/*.[jp][pn]g"))[:24]):
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((300, 300))
        picture.save(folder / f"{n:02d}.{kinds[n % 3]}")
    assert len(list(folder.iterdir())) == 24
    return folder


@pytest.fixture
def photos(tmp_path, small_photos):
    """A folder of 24 small real pictures (300 px on the long side), as JPEG, PNG and WebP."""
    return pathlib.Path(shutil.copytree(small_photos, tmp_path / "photos"))


@pytest.fixture(scope="session")
def needs(tmp_path_factory):
    """needs(model): what a model takes of --memory on this machine, in MiB: to be loaded, and beside what is loaded
    nothing but one small picture."""
    folder = tmp_path_factory.mktemp("needs")
    Image.new("RGB", (50, 50), (1, 2, 3)).save(folder / "p.png")
    known = {}

    def find(model=MODEL):
        if model not in known:
            args = (folder / "p.png", "-o", folder / f"{len(known)}.db", "--threads", 1, "--batch", 1)
            refused = embed(*args, "--memory", "24MiB", model=model)
            to_load = int(re.search(r"loading it takes about (\d+) MiB", refused.stderr)[1])
            run = embed(*args, "--memory", "3GiB", "--json", model=model)
            assert run.returncode == 0, run.stderr
            unrouted = json.loads(run.stdout)["memory"]["unrouted"] // MIB + 1
            known[model] = max(to_load + 1, unrouted + 12), to_load, unrouted
        return known[model]
    return find


@pytest.fixture(scope="session")
def least_memory(needs):
    """least_memory(model): the least --memory that is not refused before the first picture, in MiB."""
    return lambda model=MODEL: needs(model)[0] * (2 if SANITIZED else 1)  # sanitizers take more, and never twice the same
