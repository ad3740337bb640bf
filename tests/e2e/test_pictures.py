"""Pictures of every format and kind, and the options that change what is made of them, against Pillow."""
import io
import sqlite3
import struct

import numpy as np
import pytest
from PIL import Image

from conftest import MODEL, PHOTOS, embed, failures, preprocess, vectors

CLOSE = 1e-5


@pytest.fixture(scope="module")
def photo():
    return Image.open(sorted(PHOTOS.glob("lomiri*/*.jpg"))[3]).convert("RGB").resize((420, 300))


def embedded(tmp_path, folder, *options, code=0):
    store = tmp_path / f"{len(list(tmp_path.glob('*.db')))}.db"
    run = embed(folder, "-o", store, "--root", folder, *options)
    assert run.returncode == code, run.stderr
    return vectors(store), failures(store), run.stderr


class Oracle:
    """What the model makes of RGB pixels that Pillow has decoded."""

    def __init__(self, reference):
        self.reference = reference

    def __call__(self, image):
        pixels = preprocess(image.convert("RGB"), self.reference.config)[None]
        vector = self.reference.session.run(["embedding"], {self.reference.input: pixels})[0][0].astype(np.float64)
        return vector / np.linalg.norm(vector)


@pytest.fixture
def oracle(reference):
    return Oracle(reference)


def test_every_format_that_pillow_writes_gives_its_vector(tmp_path, photo, oracle):
    folder = tmp_path / "all"
    folder.mkdir()
    kinds = {"lzw.tif": {"compression": "tiff_lzw"}, "deflate.tif": {"compression": "tiff_adobe_deflate"}, "raw.tif": {},
             "x.ppm": {}, "x.png": {}, "lossless.webp": {"lossless": True}, "x.jpg": {"quality": 90},
             "x.jp2": {"irreversible": False}, "x.bmp": {}}
    for name, options in kinds.items():
        photo.save(folder / name, **options)
    photo.quantize(90).save(folder / "x.gif")
    photo.convert("L").save(folder / "grey.tif")
    photo.convert("1").save(folder / "group4.tif", compression="group4")
    photo.convert("CMYK").save(folder / "cmyk.tif")
    photo.convert("L").save(folder / "x.pgm")
    photo.convert("RGBA").save(folder / "alpha.tif")
    found, failed, _ = embedded(tmp_path, folder)
    assert not failed and found.keys() == {p.name for p in folder.iterdir()}
    for name, vector in found.items():
        assert np.abs(vector - oracle(Image.open(folder / name))).max() <= CLOSE, name


def test_names_do_not_decide(tmp_path, photo, oracle):
    folder = tmp_path / "named"
    folder.mkdir()
    photo.save(folder / "a.tif")
    (folder / "a.tif").rename(folder / "a.jpg")
    photo.save(folder / "b.png")
    (folder / "b.png").rename(folder / "b.heic")
    found, failed, _ = embedded(tmp_path, folder)
    assert not failed
    for vector in found.values():
        assert np.abs(vector - oracle(photo)).max() <= CLOSE


def test_b02_truncated_files_fail_alone_or_are_accepted(tmp_path, photo):
    folder = tmp_path / "cut"
    folder.mkdir()
    cut = []
    for progressive in (False, True):
        out = io.BytesIO()
        photo.save(out, "JPEG", progressive=progressive)
        for n, less in enumerate((2, 40, len(out.getvalue()) // 2)):
            cut.append(f"4{progressive:d}{n}.jpg")
            (folder / cut[-1]).write_bytes(out.getvalue()[:-less])
    for n in range(9):
        photo.crop((n, 0, 400, 300)).save(folder / f"{n}.jpg")
    found, failed, stderr = embedded(tmp_path, folder, code=3)
    assert found.keys() == {f"{n}.jpg" for n in range(9)} and "6 failed" in stderr
    assert failed == {name: ("decode", "truncated JPEG", 1) for name in cut}
    accepted, failed, _ = embedded(tmp_path, folder, "--accept-truncated")
    assert not failed and len(accepted) == 15
    for name in found:
        assert np.array_equal(accepted[name], found[name])


def grey16(folder):
    row = np.tile(np.array([[0, 255, 256, 4096, 32768, 65535]], np.uint16), (3, 1))
    Image.fromarray(row).save(folder / "grey.png")
    data = row.astype(">u2").tobytes()
    tags = ((256, 4, 6), (257, 4, 3), (258, 3, 16 << 16), (259, 3, 1 << 16), (262, 3, 1 << 16), (273, 4, 8),
            (277, 3, 1 << 16), (278, 4, 3), (279, 4, len(data)))
    ifd = struct.pack(">H", len(tags)) + b"".join(struct.pack(">HHII", tag, kind, 1, v) for tag, kind, v in tags)
    (folder / "grey.tif").write_bytes(b"MM\0*" + struct.pack(">I", 8 + len(data)) + data + ifd + b"\0\0\0\0")
    return row


def test_b03_deep_grey_is_scaled_or_clamped_and_said_once(tmp_path, oracle):
    folder = tmp_path / "deep"
    folder.mkdir()
    row = grey16(folder)
    for options, grey, word in (((), row >> 8, "scaled"), (("--depth", "clamp"), row.clip(0, 255), "clamped")):
        found, failed, stderr = embedded(tmp_path, folder, *options)
        assert not failed and stderr.count("16 bits a sample") == 1 and word in stderr
        expected = oracle(Image.fromarray(grey.astype(np.uint8)))
        for vector in found.values():
            assert np.abs(vector - expected).max() <= CLOSE


def test_b09_bands_are_chosen_or_the_picture_fails(tmp_path, photo, oracle):
    import_free = np.asarray(photo)
    five = np.concatenate([import_free[..., ::-1], import_free[..., :2]], -1).transpose(2, 0, 1)
    folder = tmp_path / "bands"
    folder.mkdir()
    height, width = five.shape[1:]
    data = five.tobytes()
    n = height * width
    arrays = struct.pack("<5H", *[8] * 5) + struct.pack("<5I", *[8 + i * n for i in range(5)]) + struct.pack("<5I", *[n] * 5)
    at = 8 + len(data)
    extra = at + len(arrays)
    tags = ((256, 4, 1, width), (257, 4, 1, height), (258, 3, 5, at), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 5, at + 10),
            (277, 3, 1, 5), (278, 4, 1, height), (279, 4, 5, at + 30), (284, 3, 1, 2), (338, 3, 4, extra))
    arrays += struct.pack("<4H", 0, 0, 0, 0)
    ifd = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(4)
    (folder / "five.tif").write_bytes(b"II*\0" + struct.pack("<I", at + len(arrays)) + data + arrays + ifd)
    _, failed, _ = embedded(tmp_path, folder, code=3)
    ((step, reason, _),) = failed.values()
    assert step == "decode" and reason == "5 bands, uint8: choose three with --bands 1,2,3"
    found, failed, _ = embedded(tmp_path, folder, "--bands", "3,2,1")
    assert not failed
    assert np.abs(found["five.tif"] - oracle(photo)).max() <= CLOSE
    _, failed, _ = embedded(tmp_path, folder, "--bands", "1,2,6", code=3)
    assert "6" in failed["five.tif"][1]


def test_b13_widths_and_heights_are_upright(tmp_path, photo):
    exif = Image.Exif()
    exif[0x0112] = 6
    photo.save(tmp_path / "turned.jpg", exif=exif)
    store = tmp_path / "x.db"
    assert embed(tmp_path / "turned.jpg", "-o", store).returncode == 0
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT width, height FROM brim_images").fetchone() == (300, 420)


def test_raw_files_of_cameras_are_refused_in_words(tmp_path, photo):
    folder = tmp_path / "raw"
    folder.mkdir()
    photo.save(folder / "a.tif", tiffinfo={50706: b"\1\4\0\0"})
    _, failed, _ = embedded(tmp_path, folder, code=3)
    ((step, reason, _),) = failed.values()
    assert step == "decode" and "camera raw file (DNG)" in reason


def test_each_choice_has_a_set_of_its_own(tmp_path, photo):
    folder, store = tmp_path / "one", tmp_path / "x.db"
    folder.mkdir()
    photo.resize((1400, 1000)).save(folder / "p.jpg", quality=95)
    choices = ((), ("--decode", "fast"), ("--resample-order", "classic"), ("--depth", "clamp"), ("--icc",), ("--bands", "3,2,1"),
               ("--tile", "900"), ("--tile", "900", "--overlap", "10"))
    for options in choices:
        run = embed(folder, "-o", store, "--root", folder, *options)
        assert run.returncode == 0 and "done: " in run.stderr, run.stderr
        again = embed(folder, "-o", store, "--root", folder, *options)
        assert again.returncode == 0 and "nothing left to do" in again.stderr
    # What only lets more files through is no other set.
    for options in (("--accept-truncated",), ("--max-pixels", "99999999")):
        assert "nothing left to do" in embed(folder, "-o", store, "--root", folder, *options).stderr
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT count(*) FROM brim_sets").fetchone() == (len(choices),)
        settings = [row[0] for row in db.execute("SELECT settings FROM brim_sets ORDER BY set_id")]
    for word, text in zip(("", '"decode":"fast"', '"order":"classic"', '"depth":"clamp"', '"icc":true', '"bands":[3,2,1]',
                           '"tiles":[900,0]', '"tiles":[900,10]'), settings):
        assert word in text


def test_fast_decoding_is_near_and_small_pictures_are_exact(tmp_path):
    folder = tmp_path / "fast"
    folder.mkdir()
    for n, path in enumerate(sorted(PHOTOS.glob("lomiri*/*.jpg"))[:6]):
        picture = Image.open(path).convert("RGB")
        picture.resize((2000, 1300)).save(folder / f"large{n}.jpg", quality=92)
        picture.resize((2000, 1300)).save(folder / f"large{n}.webp", quality=92, method=0)
        picture.resize((600, 400)).save(folder / f"small{n}.jpg")
    exact, _, _ = embedded(tmp_path, folder)
    fast, _, _ = embedded(tmp_path, folder, "--decode", "fast")
    for name in exact:
        if name.startswith("small"):
            assert np.array_equal(exact[name], fast[name])
        else:
            assert 0.97 < exact[name] @ fast[name] < 0.99999999, name


@pytest.mark.parametrize("words", [("--bands", "1,2"), ("--bands", "0,1,2"), ("--bands", "1,2,3,4"), ("--depth", "8"),
                                   ("--decode", "quick"), ("--resample-order", "12")])
def test_impossible_choices_are_usage(tmp_path, words):
    run = embed(tmp_path, "-o", tmp_path / "x.db", *words)
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1 and words[0] in run.stderr
