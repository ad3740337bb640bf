"""The vectors are those that Pillow, numpy and onnxruntime give for the same pictures and model."""
import json
import pathlib
import shutil
import subprocess
import os

import numpy as np
import pytest
from PIL import Image

from conftest import MODEL, PHOTOS, SANITIZED, SMALL_MODELS, Reference, brimful, embed, failures, vectors

CLOSE = 1e-5


def assert_close(found, expected):
    assert np.abs(found - expected).max() <= CLOSE


@pytest.mark.skipif(SANITIZED, reason="the large photos take minutes there")
def test_real_photos_agree_with_python(tmp_path, reference):
    store = tmp_path / "x.db"
    run = embed(PHOTOS, "--root", PHOTOS, "-o", store)
    assert run.returncode == 0, run.stderr
    found = vectors(store)
    expected = {p.relative_to(PHOTOS).as_posix(): p for p in PHOTOS.rglob("*") if p.suffix in (".jpg", ".png")}
    assert found.keys() == expected.keys() and len(found) >= 40
    for key, path in expected.items():
        assert_close(found[key], reference(path))


def test_small_pictures_of_all_formats_agree_with_python(tmp_path, photos, reference):
    store = tmp_path / "x.db"
    run = embed(photos, "-o", store, "--root", photos)
    assert run.returncode == 0, run.stderr
    found = vectors(store)
    assert len(found) == 24
    for name, vector in found.items():
        assert_close(vector, reference(photos / name))
        assert abs(np.linalg.norm(vector) - 1) < 1e-6


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned_photos_agree_with_python(tmp_path, photos, reference, orientation):
    folder = tmp_path / "turned"
    folder.mkdir()
    for name in ("00.jpg", "03.jpg", "01.png", "02.webp"):
        picture = Image.open(photos / name)
        exif = Image.Exif()
        exif[0x0112] = orientation
        picture.save(folder / name, exif=exif)
    store = tmp_path / "x.db"
    assert embed(folder, "-o", store, "--root", folder).returncode == 0
    found = vectors(store)
    assert len(found) == 4
    for name, vector in found.items():
        assert_close(vector, reference(folder / name))


def test_raw_vectors_and_another_layer_agree_with_python(tmp_path, photos):
    store = tmp_path / "x.db"
    logits = Reference(MODEL, output="logits")
    assert embed(photos, "-o", store, "--root", photos, "--layer", "logits", "--raw").returncode == 0
    for name, vector in vectors(store).items():
        assert np.abs(vector - logits(photos / name, normalize=False)).max() <= 1e-4  # logits of 10


def test_the_vectors_do_not_depend_on_batch_or_threads(tmp_path, photos):
    results = []
    for batch in (1, 3, 32):
        for threads in (1, 2, 4):
            store = tmp_path / f"{batch}-{threads}.db"
            run = embed(photos, "-o", store, "--batch", batch, "--threads", threads)
            assert run.returncode == 0, run.stderr
            results.append(vectors(store))
    assert len(results[0]) == 24
    for other in results[1:]:
        assert other.keys() == results[0].keys()
        for key, vector in results[0].items():
            assert_close(other[key], vector)


@pytest.mark.parametrize("name, onnx, output", [
    ("pooler", None, "pooler_output"), ("hidden", None, "last_hidden_state"), ("embeds", None, "image_embeds"),
    ("fixed4", None, None), ("external", None, None), ("dynamic_hw", None, None)])
def test_models_of_every_layout_agree_with_python(tmp_path, photos, name, onnx, output):
    folder = SMALL_MODELS / name
    onnx = next(p.relative_to(folder) for p in sorted(folder.rglob("*.onnx")) if "fp16" not in p.name)
    expected = Reference(folder, onnx, output)
    store = tmp_path / "x.db"
    run = embed(photos, "-o", store, "--root", photos, "--raw", model=folder)
    assert run.returncode == 0, run.stderr
    found = vectors(store)
    assert len(found) == 24
    for key, vector in found.items():
        if name == "fixed4":
            batch = np.repeat(expected_pixels(expected, photos / key), 4, axis=0)
            value = expected.session.run([expected.output], {expected.input: batch})[0][0]
        else:
            value = expected(photos / key, normalize=False)
        value = value[0] if value.ndim == 2 else value
        assert_close(vector, value)


def expected_pixels(reference, path):
    from conftest import load, preprocess
    return preprocess(load(path), reference.config)[None]


def test_pictures_of_unlike_shapes_never_share_a_batch(tmp_path, photos):
    """Only the short side is fixed, so that nearly every picture has a tensor shape of its own."""
    folder = pathlib.Path(shutil.copytree(SMALL_MODELS / "dynamic_hw", tmp_path / "model"))
    config = json.loads((folder / "preprocessor_config.json").read_text())
    config.update(do_resize=True, size={"shortest_edge": 48}, do_center_crop=False, resample=2)
    config.pop("crop_size", None)
    (folder / "preprocessor_config.json").write_text(json.dumps(config))
    expected = Reference(folder)
    store = tmp_path / "x.db"
    run = embed(photos, "-o", store, "--root", photos, model=folder)
    assert run.returncode == 0, run.stderr
    found = vectors(store)
    assert len(found) == 24
    for key, vector in found.items():
        assert_close(vector, expected(photos / key))


def test_a_picture_has_the_same_vector_alone_and_among_others(tmp_path):
    """B37: alone, and among 31 others of other sizes, in one batch and in whatever the governor takes."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    noise = np.random.default_rng(37)
    for i in range(32):
        size = (40 + 7 * i, 200 - 5 * i)
        Image.fromarray(noise.integers(0, 256, (*size, 3), np.uint8)).save(folder / f"{i:02}.png")
    alone = embed(folder / "16.png", "-o", tmp_path / "alone.db", "--root", folder)
    assert alone.returncode == 0, alone.stderr
    expected = vectors(tmp_path / "alone.db")["16.png"]
    for name, options in {"one": ("--batch", 32), "auto": ()}.items():
        run = embed(folder, "-o", tmp_path / f"{name}.db", "--root", folder, *options)
        assert run.returncode == 0, run.stderr
        found = vectors(tmp_path / f"{name}.db")
        assert len(found) == 32
        assert np.abs(found["16.png"] - expected).max() <= 1e-5


def test_one_onnx_file_is_a_model_too(tmp_path, photos):
    store, other = tmp_path / "x.db", tmp_path / "y.db"
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(MODEL / "model.onnx", bare)
    run = embed(photos, "-o", store, model=bare / "model.onnx")
    assert run.returncode == 1 and "--processor" in run.stderr
    run = embed(photos, "-o", store, "--processor", MODEL / "preprocessor_config.json", model=bare / "model.onnx")
    assert run.returncode == 0, run.stderr
    assert embed(photos, "-o", other, model=MODEL / "model.onnx").returncode == 0
    for key, vector in vectors(store).items():
        assert_close(vector, vectors(other)[key])


def test_the_librarys_example_does_the_same(tmp_path, photos):
    store, other = tmp_path / "x.db", tmp_path / "y.db"
    run = subprocess.run([os.environ["BRIMFUL_EXAMPLE"], str(MODEL), str(photos), str(store)],
                         stdout=subprocess.PIPE, text=True)
    assert run.returncode == 0 and run.stdout == "24 vectors, 0 failures\n"
    assert embed(photos, "-o", other).returncode == 0
    for key, vector in vectors(store).items():
        assert_close(vector, vectors(other)[key])


def test_a_picture_without_a_finite_result_fails_alone(tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    for n in range(6):
        Image.new("RGB", (40, 40), (0, 0, 0) if n == 2 else (200, 180, 10 * n)).save(folder / f"{n}.png")
    store = tmp_path / "x.db"
    run = embed(folder, "-o", store, "--root", folder, model=SMALL_MODELS / "nan")
    assert run.returncode == 3
    assert failures(store)["2.png"][0] == "model" and "not finite" in failures(store)["2.png"][1]
    assert len(vectors(store)) == 5


def test_sixteen_bits_are_scaled_and_said_once(tmp_path, reference):
    """B03: white only where the picture is white."""
    folder = tmp_path / "p"
    folder.mkdir()
    row = np.tile(np.array([0, 255, 256, 4096, 32768, 65535], "<u2"), (60, 10))
    for n in range(3):
        Image.fromarray(row).save(folder / f"{n}.png")
    Image.fromarray((row >> 8).astype(np.uint8)).save(tmp_path / "eight.png")
    store = tmp_path / "x.db"
    run = embed(folder, "-o", store, "--root", folder)
    assert run.returncode == 0 and run.stderr.count("16 bits a sample are scaled") == 1
    assert_close(vectors(store)["0.png"], reference(tmp_path / "eight.png"))


def test_precision_chooses_the_file_of_a_community_folder(tmp_path, photos):
    """onnx-community's layout: configs on top, several files under onnx/."""
    folder = pathlib.Path(shutil.copytree(SMALL_MODELS / "half", tmp_path / "model"))
    (half,) = (folder / "onnx").glob("*_fp16.onnx")
    run = embed(photos, "-o", tmp_path / "x.db", model=folder)
    assert run.returncode == 1 and "fp16" in run.stderr
    store = tmp_path / "x.db"
    run = embed(photos, "-o", store, "--precision", "fp16", model=folder)
    assert run.returncode == 0 and half.name in run.stderr
    assert len(vectors(store)) == 24
