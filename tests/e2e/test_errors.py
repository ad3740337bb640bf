"""Errors that a person can act on: one line that names the file or option, and the right exit code."""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

import pytest
from PIL import Image

from conftest import BRIMFUL, MODEL, SANITIZED, SMALL_MODELS, brimful, embed, failures, vectors


def one_line(run, code, *words):
    lines = run.stderr.splitlines()
    assert run.returncode == code, (run.returncode, run.stderr)
    assert len([line for line in lines if line.startswith("brimful")]) == 1, run.stderr
    for word in words:
        assert word in lines[-1], lines[-1]
    assert not run.stdout


# ---- usage ----

@pytest.mark.parametrize("args, words", [
    ([], None),
    (["embd"], ["no such command: embd"]),
    (["embed", "x"], ["no model", "-m MODEL"]),
    (["embed", "-m", "x"], ["no INPUT"]),
    (["embed", "-m"], ["-m wants MODEL"]),
    (["embed", "--batch", "many", "-m", "x", "y"], ["--batch many", "not a whole number"]),
    (["embed", "--batch", "0", "-m", "x", "y"], ["--batch 0"]),
    (["embed", "--memory", "6 elephants", "-m", "x", "y"], ["--memory 6 elephants", "600MiB"]),
    (["embed", "--trim-every", "often", "-m", "x", "y"], ["--trim-every often", "not a whole number"]),
    (["embed", "--sped", "-m", "x", "y"], ["no such option: --sped"]),
    (["embed", "--raw=1", "-m", "x", "y"], ["--raw takes no value"]),
    (["embed", "--device", "cuda", "-m", "x", "y"], ["--device cuda", "this build runs on the CPU"]),
    (["show", "a", "b"], ["one STORE"]),
])
def test_usage_mistakes(args, words):
    run = brimful(*args)
    if words is None:
        assert run.returncode == 2 and "usage:" in run.stderr
    else:
        one_line(run, 2, *words)


def test_help_and_version_go_to_stdout():
    for args in (["--help"], ["embed", "--help"], ["show", "-h"], ["help", "embed"], ["--version"]):
        run = brimful(*args)
        assert run.returncode == 0 and run.stdout and not run.stderr
    text = brimful("embed", "--help").stdout
    for option in ("--model", "--output", "--retry-failed", "--layer", "--raw", "--batch", "--threads", "--memory", "--trim-every",
                   "--limit", "--json", "--quiet", "--max-pixels", "--root", "-0", "--precision", "--help"):
        assert option in text
    assert all(len(line) <= 100 for line in text.splitlines())
    options = text[text.index("options:"):].splitlines()[1:]
    assert len({re.search(r"\S {2,}\S", line[2:]).end() for line in options}) == 1  # one column


# ---- model ----

def test_models_that_cannot_be_used(tmp_path, photos):
    one_line(embed(photos, model=tmp_path / "nowhere"), 1, "nowhere", "no such")
    torch = tmp_path / "torch"
    torch.mkdir()
    (torch / "config.json").write_text("{}")
    (torch / "model.safetensors").write_bytes(b"x")
    one_line(embed(photos, model=torch), 1, "safetensors", "optimum-cli export onnx")
    one_line(embed(photos, model=SMALL_MODELS / "text_only"), 1, "text_only", "no image input")
    one_line(embed(photos, model=SMALL_MODELS / "two_inputs"), 1, "input_ids")
    one_line(embed(photos, "--layer", "nose", "-o", tmp_path / "x.db"), 1, "nose", "embedding", "logits")
    one_line(embed(photos, model=SMALL_MODELS / "logits_only"), 1, "--layer", "logits")
    one_line(embed(photos, "--precision", "fp16"), 1, "fp16")
    pointer = shutil.copytree(MODEL, tmp_path / "pointer")
    (pointer / "model.onnx").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    one_line(embed(photos, model=pointer), 1, "git-LFS pointer")
    (pointer / "model.onnx").write_bytes((MODEL / "model.onnx").read_bytes()[:100000])
    one_line(embed(photos, model=pointer), 1, "not an ONNX model, or cut short")
    assert not (pathlib.Path.cwd() / "brimful.db").exists()


def test_configs_that_cannot_be_used(tmp_path, photos):
    model = shutil.copytree(MODEL, tmp_path / "m")
    config = model / "preprocessor_config.json"
    good = config.read_text()
    config.write_text(good.replace('"resample": 3', '"resample": 17'))
    one_line(embed(photos, model=model), 1, "preprocessor_config.json", "resample")
    config.write_text(good[:-5])
    one_line(embed(photos, model=model), 1, "preprocessor_config.json")
    config.write_text(good.replace("224", "200"))
    one_line(embed(photos, model=model), 1, "224x224", "200x200")
    config.write_text("{}")
    one_line(embed(photos, model=model), 1, "not the configuration of an image processor")
    config.write_text('{"tokenizer": {}, "image_processor": %s}' % good)
    assert embed(photos, "-o", tmp_path / "nested.db", "--limit", 1, model=model).returncode == 0
    config.unlink()
    one_line(embed(photos, model=model), 1, "--processor")


# ---- input ----

def test_inputs_that_cannot_be_used(tmp_path, photos):
    store = tmp_path / "x.db"
    one_line(embed(tmp_path / "nowhere", "-o", store), 1, "nowhere", "no such file or folder")
    one_line(embed(f"@{photos}", "-o", store), 1, "a folder, not a list")
    one_line(embed("sqlite:photos.db", "-o", store), 1, "sqlite:photos.db", "files, folders and @lists only")
    one_line(embed(photos, "--root", tmp_path / "nowhere", "-o", store), 1, "nowhere")
    one_line(embed(photos, "--root", SMALL_MODELS, "-o", store), 1, "not below --root")
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "readme.txt").write_text("no picture")
    run = embed(empty, "-o", store)
    one_line(run, 1, "no pictures found")


def test_hidden_files_and_other_files_are_passed_over_and_counted(tmp_path, photos):
    for name in (".hidden.jpg", "._00.jpg", "notes.txt", "film.mp4"):
        (photos / name).write_bytes(b"x")
    (photos / "@eaDir").mkdir()
    shutil.copy(photos / "00.jpg", photos / "@eaDir" / "thumb.jpg")
    (photos / "UPPER.JPG").write_bytes((photos / "00.jpg").read_bytes())
    (photos / "loop").symlink_to(photos)
    run = embed(photos, "-o", tmp_path / "x.db")
    assert run.returncode == 0 and "done: 25 vectors" in run.stderr
    assert "3 files are no pictures by their names" in run.stderr


def test_unreadable_pictures_are_failures_and_the_others_are_done(tmp_path, photos):
    """B02 and the kinds around it: each bad picture among good ones."""
    jpeg = (photos / "00.jpg").read_bytes()
    bad = {
        "cut2.jpg": (jpeg[:-2], "truncated"), "cut40.jpg": (jpeg[:-40], "truncated"),
        "half.jpg": (jpeg[:len(jpeg) // 2], "truncated"), "empty.png": (b"", "empty"),
        "page.jpg": (b"<!DOCTYPE html><html>", "HTML"), "text.png": (b"hello", "not a picture"),
        "design.jpg": (b"8BPS" + bytes(30), "Photoshop"), "half.png": ((photos / "01.png").read_bytes()[:3000], "truncated"),
        "half.webp": ((photos / "02.webp").read_bytes()[:900], ""),
    }
    Image.open(photos / "00.jpg").save(photos / "progressive.jpg", progressive=True)
    bad["progressive.jpg"] = ((photos / "progressive.jpg").read_bytes()[:-300], "truncated")
    for name, (data, _) in bad.items():
        (photos / name).write_bytes(data)
    (photos / "gone.jpg").symlink_to("nowhere")
    store = tmp_path / "x.db"
    run = embed(photos, "-o", store, "--root", photos)
    assert run.returncode == 3
    found = failures(store)
    assert found.keys() == bad.keys() | {"gone.jpg"}
    for name, (_, word) in bad.items():
        assert word in found[name][1], (name, found[name])
    assert found["gone.jpg"][0] == "read"
    assert len(vectors(store)) == 24
    shown = brimful("show", store, "--failures")
    assert shown.returncode == 0 and len(shown.stdout.splitlines()) == len(found)


def test_a_gigantic_header_is_refused_before_memory_is_taken(tmp_path, photos):
    """B08: 60000 x 60000 in a tiny file; and an honest 220-megapixel one."""
    import struct, zlib
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    def png(width, height, depth, colour, data):
        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
                + chunk(b"IDAT", data) + chunk(b"IEND", b""))
    folder = tmp_path / "huge"
    folder.mkdir()
    (folder / "bomb.png").write_bytes(png(60000, 60000, 8, 2, zlib.compress(bytes(100))))
    rows = zlib.compress(bytes((20992 // 8 + 1) * 10496), 9)
    (folder / "honest.png").write_bytes(png(20992, 10496, 1, 0, rows))
    store = tmp_path / "x.db"
    run = embed(folder, "-o", store, "--root", folder)
    assert run.returncode == 3
    assert "image too large: 3,600,000,000 pixels" in failures(store)["bomb.png"][1] or \
        "image too large: 3600000000 pixels" in failures(store)["bomb.png"][1]
    assert "--max-pixels" in failures(store)["honest.png"][1]
    run = embed(folder / "honest.png", "-o", store, "--root", folder, "--retry-failed", "--max-pixels", "300000000")
    assert run.returncode == 0, run.stderr
    assert list(vectors(store)) == ["honest.png"]


@pytest.mark.skipif(SANITIZED, reason="the preloaded library and the sanitizer's do not go together")
def test_a_file_that_hangs_becomes_a_failure_and_stops_nobody(tmp_path, photos, hanging):
    shutil.copy(photos / "00.jpg", photos / "hangs-opening.jpg")
    store = tmp_path / "x.db"
    run = embed(photos, "-o", store, "--root", photos, "--file-timeout", "1",
                env=hanging)
    assert run.returncode == 3, run.stderr
    assert "no answer for 1 s" in failures(store)["hangs-opening.jpg"][1]
    assert len(vectors(store)) == 24


def test_hostile_names_lead_back_to_their_files_and_are_shown_harmless(tmp_path, photos):
    """B42: not UTF-8, newlines, blanks, composed and decomposed, escapes for terminals."""
    data = (photos / "00.jpg").read_bytes()
    folder = os.fsencode(tmp_path / "names")
    os.mkdir(folder)
    names = [b"Mu\xf1oz.png", b"a\nb.png", b" lead.png", "\u00f6.png".encode(), "o\u0308.png".encode(),
             b"\x1b[31mred.png", b"back\\xslash.png", b"-rf.png", b"quote'\".png"]
    for name in names:
        with open(folder + b"/" + name, "wb") as file:
            file.write(data)
    with open(folder + b"/\x1b]0;evil\x07.png", "wb") as file:
        file.write(b"no picture")
    store = tmp_path / "x.db"
    run = embed(tmp_path / "names", "-o", store, "--root", tmp_path / "names")
    assert run.returncode == 3
    found = vectors(store)
    assert len(found) == len(names)
    assert "Mu\\xf1oz.png" in found and "back\\x5cxslash.png" in found
    import sqlite3
    with sqlite3.connect(store) as db:
        for (path,) in db.execute("SELECT path FROM brim_images"):
            assert os.path.exists(path)
    shown = brimful("show", store, "--failures")
    for text in (run.stderr, shown.stdout):
        assert not any(ord(c) < 32 and c not in "\n\t" for c in text)
    assert "\\x1b]0;evil\\x07.png" in shown.stdout


# ---- store ----

def test_stores_that_cannot_be_used(tmp_path, photos):
    one_line(embed(photos, "-o", tmp_path / "no" / "x.db"), 1, "x.db", "No such file")
    one_line(embed(photos, "-o", photos), 1, "a folder")
    one_line(embed(photos, "-o", "x.npy"), 1, "x.npy", "SQLite stores only")
    text = tmp_path / "text.db"
    text.write_text("this is no database, but long enough to be read as one " * 20)
    one_line(embed(photos, "-o", text), 1, "text.db", "not a SQLite database")
    one_line(brimful("show", tmp_path / "none.db"), 1, "none.db", "no such store")
    one_line(brimful("show", text), 1, "not a SQLite database")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_is_not_writable(tmp_path, photos):
    folder = tmp_path / "ro"
    folder.mkdir()
    folder.chmod(0o555)
    one_line(embed(photos, "-o", folder / "x.db"), 1, "x.db", "writable")


def test_a_full_disk_ends_the_run_and_nothing_is_lost(tmp_path, photos):
    store = tmp_path / "x.db"
    assert embed(photos, "-o", store, "--limit", 2).returncode == 0
    limit = store.stat().st_size + 8192

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    run = embed(photos, "-o", store, preexec_fn=no_room)
    one_line(run, 1, "x.db", "disk")
    n = len(vectors(store))
    assert 2 <= n < 24 and not failures(store)
    assert embed(photos, "-o", store).returncode == 0
    assert len(vectors(store)) == 24


# ---- surroundings ----

@pytest.mark.parametrize("env", [
    {"HOME": "/nonexistent"}, {"LC_ALL": "C"}, {"LC_ALL": "tr_TR.UTF-8"}, {"LANG": "de_DE.UTF-8"}, {"TMPDIR": "/nonexistent"}])
def test_other_surroundings_change_nothing(tmp_path, photos, env):
    store = tmp_path / "x.db"
    run = embed(photos, "-o", store, "--json", env={**os.environ, **env})
    assert run.returncode == 0, run.stderr
    assert '"images": 24' in run.stdout


def test_nothing_is_left_in_the_home_folder(tmp_path, photos):
    """The runtime's own library would note down and send what it runs on, unless it is told not to."""
    home = tmp_path / "home"
    home.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_") and k != "ORT_DISABLE_TELEMETRY"}
    run = embed(photos, "-o", tmp_path / "x.db", env={**env, "HOME": str(home)})
    assert run.returncode == 0 and not list(home.iterdir())


@pytest.mark.skipif(SANITIZED, reason="sanitizers print their own words")
@pytest.mark.parametrize("options, n_threads", [((), 1), (("--threads", "3"), 3)])
def test_on_one_cpu_of_several_nothing_is_said_of_affinity(tmp_path, photos, options, n_threads):
    """B34: threads are as many as CPUs we may use, not as the machine has; --threads wins."""
    run = subprocess.run(["taskset", "-c", "0", BRIMFUL, "embed", "-m", MODEL, photos, "-o", tmp_path / "x.db", "-q",
                          "--json", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 0 and run.stderr == ""
    assert json.loads(run.stdout)["n_decoders"] == n_threads


def test_a_closed_pipe_is_no_death(tmp_path, photos):
    command = f"'{BRIMFUL}' embed -m '{MODEL}' '{photos}' -o '{tmp_path / 'x.db'}' 2>&1 | head -c 1 >/dev/null"
    subprocess.run(["bash", "-c", command], check=False, timeout=100)
    assert len(vectors(tmp_path / "x.db")) == 24


def test_little_memory_gives_vectors_or_reasons_and_an_end(tmp_path, photos, least_memory):
    run = embed(photos, "-o", tmp_path / "x.db", "--memory", "1MiB")
    one_line(run, 1, "--memory")
    store = tmp_path / "y.db"
    run = embed(photos, "-o", store, "--memory", f"{least_memory()}MiB")
    assert run.returncode in (0, 3), run.stderr
    assert len(vectors(store)) + len(failures(store)) == 24


def test_a_model_that_is_too_large_is_refused_before_it_is_loaded(tmp_path, photos):
    run = embed(photos, "-o", tmp_path / "x.db", "--memory", "32MiB")
    one_line(run, 1, f"{MODEL / 'model.onnx'}: loading it takes", "limit 32 MiB", "--memory")
    assert not (tmp_path / "x.db").exists()


def test_data_files_count_towards_what_loading_takes(tmp_path, photos):
    model = pathlib.Path(shutil.copytree(SMALL_MODELS / "external", tmp_path / "m"))
    (data,) = (model / "onnx").glob("*_data")
    os.truncate(data, 2**40)  # a hole: it would be read as zeros
    one_line(embed(photos, "-o", tmp_path / "x.db", "--memory", "2GiB", model=model), 1, "loading it takes about 2097", "limit 2048 MiB")


def test_a_model_that_leaves_no_memory_is_refused_before_the_first_picture(tmp_path, photos, needs):
    model = SMALL_MODELS / "pooler"
    _, to_load, unrouted = needs(model)
    limit = max(to_load + 1, unrouted + 2)
    if limit >= unrouted + 11:
        pytest.skip("what can be loaded can be run, on this machine")
    one_line(embed(photos, "-o", tmp_path / "x.db", "--memory", f"{limit}MiB", model=model), 1,
             "the model and its runtime take", f"of the limit of {limit} MiB", "--memory")


def test_a_summary_that_cannot_be_written_is_told(tmp_path, photos):
    with open("/dev/full", "w") as full:
        run = subprocess.run([BRIMFUL, "embed", "-q", "-m", MODEL, photos, "-o", tmp_path / "x.db", "--json"],
                             stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1 and "standard output" in run.stderr


def test_a_batch_that_can_never_fit_is_told_at_the_start(tmp_path, photos, least_memory):
    one_line(embed(photos, "-o", tmp_path / "x.db", "--batch", 1000, "--memory", f"{least_memory() + 64}MiB"), 1,
             "a batch of 1000", "--memory")


def test_memory_beyond_what_is_free_is_lowered_with_a_word(tmp_path, photos):
    run = embed(photos, "-o", tmp_path / "x.db", "--memory", "900TiB", "--json")
    assert run.returncode == 0 and "--memory is lowered to" in run.stderr
    assert json.loads(run.stdout)["memory_limit_bytes"] < 2**49
