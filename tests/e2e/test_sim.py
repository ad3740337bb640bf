"""Rehearsals: a simulated device in the place of a model, pictures without files, and every word that may go wrong."""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import numpy as np
import pytest

from conftest import BRIMFUL, MODEL, SANITIZED, SMALL_MODELS, brimful, embed, failures, vectors

DEVICES = pathlib.Path(__file__).resolve().parents[2] / "bench" / "devices"
CARD = f"sim:{DEVICES / 'card-24gb.json'}"
POLICIES = ["knee", "aimd", "estimate", "watermark", "fixed"]


def rehearse(*args, device=CARD, **kwargs):
    return embed("--device", device, *args, model="sim", **kwargs)


def summary(run):
    assert run.returncode in (0, 3), run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def write_device(tmp_path, **fields):
    path = tmp_path / "device.json"
    path.write_text(json.dumps(fields))
    return f"sim:{path}"


def one_line(run, code, *words):
    assert run.returncode == code, (run.returncode, run.stderr)
    assert len(run.stderr.splitlines()) == 1, run.stderr
    for word in words:
        assert word in run.stderr, (word, run.stderr)


# ---- pictures without files ----

def test_twenty_thousand_rows_without_files_each_exactly_once(tmp_path):
    store = tmp_path / "x.db"
    run = rehearse("null:20000", "-o", store, "--json")
    assert run.returncode == 0, run.stderr
    assert summary(run)["images"] == 20000
    found = vectors(store)
    assert found.keys() == {f"null:20000/{n:07d}" for n in range(1, 20001)} and not failures(store)
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT DISTINCT width, height, bytes, mtime_ns FROM brim_images").fetchall() == [
            (224, 224, None, None)]
    again = rehearse("null:20000", "-o", store, "--json")
    assert again.returncode == 0 and "20000 were done before" in again.stderr
    assert summary(again)["images"] == 0


def test_the_size_stands_in_the_key_and_in_the_store(tmp_path):
    store = tmp_path / "x.db"
    run = rehearse("null:3:640x480", "null:2:33x1", "-o", store, "--root", tmp_path)
    assert run.returncode == 0, run.stderr
    assert vectors(store).keys() == {f"null:3:640x480/000000{n}" for n in (1, 2, 3)} | {
        f"null:2:33x1/000000{n}" for n in (1, 2)}
    with sqlite3.connect(store) as db:
        assert set(db.execute("SELECT width, height FROM brim_images")) == {(640, 480), (33, 1)}


def test_a_limit_goes_on_where_it_stood(tmp_path):
    store = tmp_path / "x.db"
    for done in (300, 600, 900, 1000):
        assert rehearse("null:1000", "-o", store, "--limit", 300).returncode == 0
        assert len(vectors(store)) == done


def test_a_killed_rehearsal_goes_on_where_it_stood(tmp_path):
    """On a device whose seconds are slept."""
    device = write_device(tmp_path, clock="real", capacity_bytes=2**30, seconds={"fixed": 0.002, "per_item": 0.001})
    store = tmp_path / "x.db"
    kills, total = 0, 1500 if SANITIZED else 3000

    def n_rows():
        try:
            with sqlite3.connect(store, timeout=30) as db:
                return db.execute("SELECT count(*) FROM brim_embeddings").fetchone()[0]
        except sqlite3.OperationalError:
            return 0
    done = 0
    for _ in range(3):
        run = subprocess.Popen([BRIMFUL, "embed", "-q", "-m", "sim", "--device", device, f"null:{total}", "-o", store],
                               stdin=subprocess.DEVNULL)
        while n_rows() <= done and run.poll() is None:
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
        run.wait()
        assert n_rows() > done
        kills += n_rows() < total
        done = n_rows()
    assert kills > 0
    assert rehearse(f"null:{total}", "-o", store, device=device).returncode == 0
    assert len(vectors(store)) == total and not failures(store)


def test_a_real_model_is_shown_grey_pictures(tmp_path):
    store = tmp_path / "x.db"
    run = embed("null:10:50x40", "null:3:300x200", "-o", store, model=SMALL_MODELS / "pooler")
    assert run.returncode == 0, run.stderr
    found = list(vectors(store).values())
    assert len(found) == 13
    for vector in found:  # grey is grey, whatever its size
        assert np.abs(vector - found[0]).max() <= 1e-6
    from PIL import Image
    Image.new("RGB", (50, 40), (128, 128, 128)).save(tmp_path / "grey.png")
    assert embed(tmp_path / "grey.png", "-o", store, model=SMALL_MODELS / "pooler").returncode == 0
    assert np.abs(vectors(store)[str(tmp_path / "grey.png")] - found[0]).max() <= 1e-6


@pytest.mark.parametrize("spec", ["null:", "null:0", "null:x", "null:-1", "null:5:", "null:5:3", "null:5:0x3", "null:5:3x70000",
                                  "null:5:3x3x3", "null:1e3", "null:9999999999999", "null: 5"])
def test_what_is_no_null_input_is_told(tmp_path, spec):
    one_line(rehearse(spec, "-o", tmp_path / "x.db"), 1, f"{spec}: not null:COUNT or null:COUNT:WxH")
    assert not (tmp_path / "x.db").exists()


def test_pictures_without_files_are_not_cut(tmp_path):
    one_line(rehearse("null:5", "-o", tmp_path / "x.db", "--tile", 64), 1, "null:5", "--tile")


def test_too_large_a_picture_is_a_failure_here_too(tmp_path):
    store = tmp_path / "x.db"
    assert rehearse("null:2:100x100", "-o", store, "--max-pixels", 9999).returncode == 3
    assert "image too large: 10000 pixels, limit 9999 (--max-pixels)" in failures(store)["null:2:100x100/0000001"][1]


# ---- vectors ----

def test_a_vector_is_made_from_its_key(tmp_path, photos):
    """Whatever the device, the batch and the threads; and the device makes no other set."""
    first, second = tmp_path / "a.db", tmp_path / "b.db"
    assert rehearse("null:200", photos, "-o", first, "--root", photos).returncode == 0
    assert rehearse(photos, "null:200", "-o", second, "--batch", 7, "--threads", 1, "--root", photos,
                    device=f"sim:{DEVICES / 'laptop-spill.json'}").returncode == 0
    one, other = vectors(first), vectors(second)
    assert len(one) == 224 and one.keys() == other.keys()
    assert all((one[key] == other[key]).all() for key in one)
    assert len({vector.tobytes() for vector in one.values()}) == 224
    for vector in one.values():
        assert vector.shape == (8,) and abs(np.linalg.norm(vector.astype(float)) - 1) < 1e-6
    again = rehearse("null:200", "-o", first, device=f"sim:{DEVICES / 'edge.json'}")
    assert again.returncode == 0 and "200 were done before" in again.stderr
    with sqlite3.connect(first) as db:
        assert db.execute("SELECT task, model, dim FROM brim_sets").fetchall() == [("embed", "sim", 8)]


def test_the_numbers_are_those_of_the_fingerprint(tmp_path):
    """XXH3 of 128 bits, four hexadecimal digits a number: the same for ever."""
    store = tmp_path / "x.db"
    assert rehearse("null:3", "-o", store, "--raw").returncode == 0
    try:
        import xxhash
    except ImportError:
        pytest.skip("no xxhash here")
    for key, vector in vectors(store).items():
        digits = xxhash.xxh3_128_hexdigest(key.encode())
        assert vector.tolist() == [int(digits[4 * k:4 * k + 4], 16) / 32768 - 1 for k in range(8)]


def test_real_photos_are_decoded_and_a_broken_one_fails(tmp_path, photos):
    (photos / "broken.jpg").write_bytes((photos / "00.jpg").read_bytes()[:900])
    (photos / "empty.png").write_bytes(b"")
    store = tmp_path / "x.db"
    run = rehearse(photos, "-o", store, "--root", photos, "--json")
    assert run.returncode == 3 and summary(run)["images"] == 24
    assert len(vectors(store)) == 24
    found = failures(store)
    assert found.keys() == {"broken.jpg", "empty.png"}
    assert found["broken.jpg"][0] == "decode" and found["empty.png"][:2] == ("read", "empty file")
    with sqlite3.connect(store) as db:  # the picture's own size, not the slot's
        assert max(db.execute("SELECT width FROM brim_images WHERE width IS NOT NULL")) == (300,)


def test_tiles_of_real_photos(tmp_path, photos):
    store = tmp_path / "x.db"
    assert rehearse(photos, "-o", store, "--root", photos, "--tile", 128).returncode == 0
    assert len(vectors(store)) > 24 * 2 and all("#" in key for key in vectors(store))


# ---- memory ----

def test_what_does_not_fit_is_split_and_what_never_fits_fails(tmp_path):
    device = write_device(tmp_path, capacity_bytes=300 * 2**20, weights_bytes=100 * 2**20,
                          bytes={"per_pixel": 1024}, seconds={"fixed": 0.01})
    store = tmp_path / "x.db"  # 49 MiB each: four of them fit
    got = summary(rehearse("null:100", "-o", store, "--json", "--batch", 16, device=device))
    assert got["images"] == 100 and got["refusals"] > 0 and not failures(store)
    run = rehearse("null:10:512x512", "-o", store, device=device)  # 256 MiB
    assert run.returncode == 3
    found = failures(store)
    assert len(found) == 10
    assert found["null:10:512x512/0000001"][:2] == (
        "model", "the simulated device has 200 MiB free, a batch of 1 needs 256 MiB (--memory)")


def test_memory_is_the_devices_ceiling(tmp_path):
    device = write_device(tmp_path, capacity_bytes=2**40, weights_bytes=2**30, bytes={"per_item": 2**30},
                          seconds={"fixed": 0.01})
    store = tmp_path / "x.db"
    free = summary(rehearse("null:64", "-o", tmp_path / "free.db", "--json", "--batch", 8, device=device))
    assert free["refusals"] == 0
    got = summary(rehearse("null:64", "-o", store, "--json", "--batch", 8, "--memory", "5GiB", device=device))
    assert got["images"] == 64 and got["refusals"] > 0
    # What is told is the device's memory: a batch of 8 and the weights when free, of 4 below 5 GiB.
    assert (free["memory_limit_bytes"], free["peak_live_bytes"]) == (2**40, 9 * 2**30)
    assert (got["memory_limit_bytes"], got["peak_live_bytes"]) == (5 * 2**30, 5 * 2**30)
    tight = rehearse("null:2", "-o", tmp_path / "tight.db", "--memory", "1.5GiB", device=device)
    assert tight.returncode == 3
    assert "has 512 MiB free, a batch of 1 needs 1024 MiB" in failures(tmp_path / "tight.db")["null:2/0000001"][1]
    one_line(rehearse("null:2", "-o", store, "--memory", "1GiB", device=device), 1,
             "device.json: the weights take 1024 MiB, limit 1024 MiB (--memory)")


def test_memory_beyond_the_device_is_lowered_with_a_word(tmp_path):
    run = rehearse("null:10", "-o", tmp_path / "x.db", "--memory", "900TiB")
    assert run.returncode == 0
    assert "--memory is lowered to 24576 MiB, which is what the simulated device has free" in run.stderr
    assert run.stderr.count("is lowered") == 1


def test_a_rehearsal_needs_next_to_no_memory(tmp_path):
    got = summary(rehearse("null:1000", "-o", tmp_path / "x.db", "--json"))
    assert SANITIZED or got["peak_resident_bytes"] < 40 * 2**20


# ---- policies ----

@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("device", ["cpu-knee", "laptop-spill", "edge", "cotenant", "text-quadratic"])
def test_every_policy_runs_on_every_device(tmp_path, policy, device):
    store = tmp_path / "x.db"
    run = rehearse("null:1000", "-o", store, "--json", "--policy", policy, device=f"sim:{DEVICES / device}.json")
    assert run.returncode == 0, run.stderr
    assert summary(run)["images"] == 1000 and len(vectors(store)) == 1000


@pytest.mark.parametrize("args", [
    ["--policy", "knee", "--max-batch", 16, "--within", 0.05, "--explore", 0.02, "--spill-factor", 3],
    ["--policy", "aimd", "--start-batch", 4, "--max-batch", 32, "--runs-to-double", 2],
    ["--policy", "estimate", "--estimate-frac", 0.5, "--margin-frac", 0.1, "--bytes-per-pixel", 24, "--bytes-per-token", 1],
    ["--policy", "watermark", "--start-batch", 8, "--look-every", 5, "--low-frac", 0.1, "--high-frac", 0.9],
    ["--policy", "fixed", "--start-batch", 5],
    ["--policy", "fixed", "--batch", 5],
    ["--batch", 5],
    ["--batch", "auto"]])
def test_the_numbers_of_policies_are_options(tmp_path, args):
    run = rehearse("null:200", "-o", tmp_path / "x.db", "--json", *args)
    assert run.returncode == 0, run.stderr
    got = summary(run)
    assert got["images"] == 200


@pytest.mark.parametrize("args, words", [
    (["--policy", "best"], "--policy best: not one of knee, aimd, estimate, watermark, fixed"),
    (["--batch", 4, "--policy", "aimd"], "--batch 4 is --policy fixed, not aimd"),
    (["--batch", 4, "--start-batch", 5], "--start-batch: of no use with --batch"),
    (["--low-frac", 0.1], "--low-frac: of no use with --policy knee"),
    (["--batch", 4, "--within", 0.1], "--within: of no use with --policy fixed"),
    (["--policy", "watermark", "--low-frac", 0.6], "--low-frac 0.6: not below --high-frac 0.5"),
    (["--policy", "watermark", "--low-frac", 0.6, "--high-frac", 0.3], "--low-frac 0.6: not below --high-frac 0.3"),
    (["--within", 0], "--within 0: not a number above 0 and up to 1"),
    (["--within", 1.5], "--within 1.5: not a number above 0 and up to 1"),
    (["--explore", "x"], "--explore x: not a number above 0 and up to 1"),
    (["--spill-factor", 0.5], "--spill-factor 0.5: not 1 or more"),
    (["--max-batch", 0], "--max-batch 0: not a whole number in range"),
    (["--max-batch", 65537], "--max-batch 65537: not a whole number in range"),
    (["--policy", "aimd", "--start-batch", "many"], "--start-batch many: not a whole number in range"),
    (["--policy", "aimd", "--runs-to-double", -1], "--runs-to-double -1: not a whole number in range"),
    (["--policy", "estimate", "--estimate-frac", 2], "--estimate-frac 2: not a number above 0 and up to 1"),
    (["--policy", "estimate", "--margin-frac", "nan"], "--margin-frac nan: not a number above 0 and up to 1"),
    (["--policy", "estimate", "--bytes-per-pixel", "inf"], "--bytes-per-pixel inf: not a number above 0"),
    (["--policy", "estimate", "--bytes-per-token", -3], "--bytes-per-token -3: not a number above 0"),
    (["--policy", "watermark", "--look-every", 1.5], "--look-every 1.5: not a whole number in range"),
    (["--policy", "watermark", "--high-frac", 1.01], "--high-frac 1.01: not a number above 0 and up to 1")])
def test_numbers_that_cannot_be_are_told(tmp_path, args, words):
    one_line(rehearse("null:5", "-o", tmp_path / "x.db", *args), 2, words)


# ---- devices ----

@pytest.mark.parametrize("model, device, words", [
    ("sim", None, "-m sim goes with --device sim:FILE.json"),
    ("sim", "cpu", "-m sim goes with --device sim:FILE.json"),
    ("vit", "sim:d.json", "--device sim:d.json goes with -m sim, not with -m vit"),
    ("sim", "sim:", "names no file"),
    ("vit", "cuda", "--device cuda: this build runs on the CPU"),
    ("vit", "cuda:1", "--device cuda:1: this build runs on the CPU"),
    ("vit", "tpu", "--device tpu: neither cpu nor sim:FILE.json"),
    ("sim", "tpu", "--device tpu: neither cpu nor sim:FILE.json")])
def test_devices_that_are_not_there_are_told(tmp_path, model, device, words):
    args = ["--device", device] if device is not None else []
    one_line(embed("null:5", "-o", tmp_path / "x.db", *args, model=model), 2, words)


def test_the_cpu_may_be_named(tmp_path, photos):
    assert embed(photos, "-o", tmp_path / "x.db", "--device", "cpu", "--limit", 2).returncode == 0


def test_a_folder_named_sim_is_reached_by_its_path(tmp_path, photos):
    shutil.copytree(SMALL_MODELS / "pooler", tmp_path / "sim")
    one_line(embed(photos, "-o", "x.db", model="sim", cwd=tmp_path), 2, "(the folder is meant by -m ./sim)")
    run = rehearse(photos, "-o", "y.db", cwd=tmp_path)
    assert run.returncode == 0 and "the folder is meant by -m ./sim" in run.stderr
    assert embed(photos, "-o", "z.db", model="./sim", cwd=tmp_path).returncode == 0
    with sqlite3.connect(tmp_path / "z.db") as db:
        assert db.execute("SELECT dim FROM brim_sets").fetchone() != (8,)


@pytest.mark.parametrize("option", ["--layer", "--precision", "--processor"])
def test_options_of_models_are_of_no_use(tmp_path, option):
    one_line(rehearse("null:5", "-o", tmp_path / "x.db", option, "x"), 1, f"-m sim is no model: {option} is of no use")


@pytest.mark.parametrize("text, words", [
    (None, "cannot be read"),
    ("", "line 1"),
    ("{", "line 1"),
    ("[]", "not a JSON object"),
    ("{}", "capacity_bytes: missing"),
    ('{"capacity_bytes": "5"}', "capacity_bytes: not a number from 1 to 1e+18"),
    ('{"capacity_bytes": -5}', "capacity_bytes: not a number from 1"),
    ('{"capacity_bytes": 1e19}', "capacity_bytes: not a number from 1 to 1e+18"),
    ('{"capacity_bytes": 5, "weights": 1}', "weights: no such setting"),
    ('{"capacity_bytes": 5, "bytes": {"per_pixle": 1}}', "bytes.per_pixle: no such setting"),
    ('{"capacity_bytes": 5, "bytes": 7}', "bytes: not an object"),
    ('{"capacity_bytes": 5, "clock": "atomic"}', 'clock: neither "virtual" nor "real"'),
    ('{"capacity_bytes": 5, "noise": {"sigma": 11}}', "sigma: not a number from 0 to 10"),
    ('{"capacity_bytes": 5, "cotenant": [{"after_batches": 3}, {"after_batches": 2}]}', "after_batches"),
    ('{"capacity_bytes": 5, "capacity_bytes": 6}', "capacity_bytes")])
def test_device_files_that_are_none_are_told(tmp_path, text, words):
    path = tmp_path / "d.json"
    if text is not None:
        path.write_text(text)
    one_line(rehearse("null:5", "-o", tmp_path / "x.db", device=f"sim:{path}"), 1, f"{path}: ", words)
    assert not (tmp_path / "x.db").exists()
