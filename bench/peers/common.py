"""What the peers of bench/e2e share: arguments, the model, the exact processing, and writing the vectors down.

Every peer is a program of its own: PEER.py MODEL PHOTOS OUT [options]. It embeds each picture right in the folder
PHOTOS and writes OUT (float32 rows) and OUT.keys (a file's name a line, in the rows' order).
"""
import argparse
import json
import os
import pathlib

import numpy as np
import onnxruntime

EMBEDDINGS = ("image_embeds", "embedding", "pooler_output", "last_hidden_state")


def arguments(about):
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=0, help="of onnxruntime; 0: its own default, which spins")
    return parser


def list_photos(folder):
    return [entry.path for entry in os.scandir(folder) if entry.is_file()]


class Processor:
    """preprocessor_config.json with Pillow: what transformers' image processors do, with no copy that is not needed."""

    def __init__(self, model):
        config = json.loads((model / "preprocessor_config.json").read_text())
        self.size, self.resample = config["size"], config["resample"]
        self.crop = config["crop_size"] if config.get("do_center_crop") else None
        scale = np.float32(config["rescale_factor"])
        mean, std = (np.array(config[name], np.float32) for name in ("image_mean", "image_std"))
        self.scale, self.offset = scale / std, -mean / std

    def resized(self, width, height):
        if "shortest_edge" not in self.size:
            return self.size["width"], self.size["height"]
        edge, short, long = self.size["shortest_edge"], min(width, height), max(width, height)
        new_long = int(edge * long / short)
        return (edge, new_long) if width <= height else (new_long, edge)

    def cropped(self, array):
        """The centre of (height, width, 3)."""
        if not self.crop:
            return array
        top, left = (array.shape[0] - self.crop["height"]) // 2, (array.shape[1] - self.crop["width"]) // 2
        return array[top:top + self.crop["height"], left:left + self.crop["width"]]

    def normalised(self, array):
        """uint8 (height, width, 3) to float32 (3, height, width)"""
        return np.ascontiguousarray((array * self.scale + self.offset).transpose(2, 0, 1))

    def load(self, path, draft=False):
        from PIL import Image, ImageOps

        with Image.open(path) as image:
            if draft:
                edge = min(self.resized(image.width, image.height))
                image.draft("RGB", (edge, edge))
            ImageOps.exif_transpose(image, in_place=True)
            if image.mode != "RGB":
                image = image.convert("RGB")
            small = image.resize(self.resized(image.width, image.height), self.resample)
        return self.normalised(self.cropped(np.asarray(small)))


class Model:
    def __init__(self, folder, threads=0):
        options = onnxruntime.SessionOptions()
        if threads:
            options.intra_op_num_threads = threads
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        path = next(p for p in (folder / "model.onnx", folder / "onnx/model.onnx") if p.exists())
        self.session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0]
        names = [output.name for output in self.session.get_outputs()]
        self.output = next(name for name in EMBEDDINGS if name in names)

    def embed(self, batch):
        (vectors,) = self.session.run([self.output], {self.input.name: batch})
        if vectors.ndim == 3:
            vectors = vectors[:, 0]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def write(out, paths, vectors):
    np.concatenate(vectors).astype(np.float32).tofile(out)
    keys = "".join(f"{os.path.basename(path)}\n" for path in paths)
    pathlib.Path(f"{out}.keys").write_text(keys)
