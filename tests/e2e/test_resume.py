"""What was done stays done, what failed is told, and no end of a process loses or doubles a row."""
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

from conftest import BRIMFUL, MODEL, SANITIZED, SMALL_MODELS, brimful, embed, failures, vectors


def start(*args, **kwargs):
    return subprocess.Popen([BRIMFUL, *map(str, args)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            **kwargs)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def n_rows(store):
    try:
        with sqlite3.connect(store, timeout=30) as db:
            return db.execute("SELECT count(*) FROM brim_embeddings").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.fixture
def many(tmp_path):
    """3000 names for pictures that take a moment each: hard links to a few."""
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(10):
        Image.effect_noise((900, 900), 60).convert("RGB").save(folder / f"{n:04d}.jpg")
    for n in range(10, 3000):
        os.link(folder / f"{n % 10:04d}.jpg", folder / f"{n:04d}.jpg")
    return folder


def test_a_second_run_has_nothing_left_to_do(tmp_path, photos):
    store = tmp_path / "x.db"
    assert embed(photos, "-o", store).returncode == 0
    before = vectors(store)
    run = embed(photos, "-o", store)
    assert run.returncode == 0
    assert "24 were done before" in run.stderr and "nothing left to do" in run.stderr
    (photos / "new.png").write_bytes((photos / "01.png").read_bytes())
    assert "done: 1 vector written" in embed(photos, "-o", store).stderr
    after = vectors(store)
    assert len(after) == 25 and all((after[k] == v).all() for k, v in before.items())


def test_failures_are_told_and_done_again_only_when_asked(tmp_path, photos):
    """B47: 20 rows, 5 of them paths that do not exist yet."""
    names = sorted(p.name for p in photos.iterdir())[:20]
    late = {name: (photos / name).read_bytes() for name in names[:5]}
    for name in late:
        (photos / name).unlink()
    names_file = photos / "names.txt"
    names_file.write_text("\n".join(names))
    store = tmp_path / "x.db"
    run = embed(f"@{names_file}", "-o", store)
    assert run.returncode == 3 and "5 failed" in run.stderr
    for name, data in late.items():
        (photos / name).write_bytes(data)
    run = embed(f"@{names_file}", "-o", store)
    assert run.returncode == 0 and "5 failed earlier, use --retry-failed" in run.stderr
    assert len(vectors(store)) == 15
    run = embed(f"@{names_file}", "-o", store, "--retry-failed")
    assert run.returncode == 0 and "done: 5 vectors" in run.stderr
    assert sorted(vectors(store)) == names and not failures(store)


def test_a_failure_that_fails_again_counts_its_attempts(tmp_path):
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"\xff\xd8\xff no picture")
    for attempts in (1, 2, 3):
        assert embed(bad, "-o", tmp_path / "x.db", "--retry-failed").returncode == 3
        assert failures(tmp_path / "x.db")[str(bad)][2] == attempts


def test_another_model_or_setting_is_another_set(tmp_path, photos):
    store = tmp_path / "x.db"
    assert embed(photos, "-o", store, "--limit", 3).returncode == 0
    assert embed(photos, "-o", store, "--limit", 3, "--raw").returncode == 0
    assert embed(photos, "-o", store, "--limit", 3, model=SMALL_MODELS / "pooler").returncode == 0
    changed = tmp_path / "config.json"
    changed.write_text((MODEL / "preprocessor_config.json").read_text().replace('"resample": 3', '"resample": 2'))
    assert embed(photos, "-o", store, "--limit", 3, "--processor", changed).returncode == 0
    for set_id in (1, 2, 3, 4):
        assert len(vectors(store, set_id)) == 3
    shown = brimful("show", store)
    assert shown.returncode == 0 and shown.stdout.count("results   3 vectors") == 4


def test_weights_in_a_file_of_their_own_are_part_of_the_model(tmp_path, photos):
    store = tmp_path / "x.db"
    model = pathlib.Path(shutil.copytree(SMALL_MODELS / "external", tmp_path / "m"))
    assert embed(photos, "-o", store, "--limit", 3, model=model).returncode == 0
    (model / "beside").write_text("no part of it")
    assert "3 were done before" in embed(photos, "-o", store, model=model).stderr
    (data,) = (model / "onnx").glob("*_data")
    weights = bytearray(data.read_bytes())
    weights[1] ^= 1
    data.write_bytes(weights)
    assert "done before" not in embed(photos, "-o", store, "--limit", 3, model=model).stderr
    assert len(vectors(store, 2)) == 3


def test_what_changes_no_result_is_the_same_set(tmp_path, photos):
    store = tmp_path / "x.db"
    assert embed(photos, "-o", store, "--limit", 5).returncode == 0
    model = shutil.copytree(MODEL, tmp_path / "elsewhere")
    run = embed(photos, "-o", store, "--batch", 3, "--threads", 1, "--memory", "2GiB", model=model)
    assert "5 were done before" in run.stderr
    assert len(vectors(store)) == 24


def test_ctrl_c_finishes_the_batch_and_commits(tmp_path, many):
    store = tmp_path / "x.db"
    run = start("embed", "-m", MODEL, many, "-o", store)
    wait_for(lambda: n_rows(store) > 0)
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=60)
    assert run.returncode == 130 and "finishing the open batch" in stderr and "stopped:" in stderr
    assert 0 < n_rows(store) < 3000 and not failures(store)
    assert not list(tmp_path.glob("*.lock"))
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT outcome FROM brim_runs").fetchall() == [("stopped",)]


def test_ctrl_c_ends_a_run_whose_list_is_silent(tmp_path, photos):
    store = tmp_path / "x.db"
    run = subprocess.Popen([BRIMFUL, "embed", "-m", MODEL, "@-", "-o", store, "--batch", "1"], cwd=photos,
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    run.stdin.write("00.jpg\n01.p")  # half a name, and no more
    run.stdin.flush()
    wait_for(lambda: n_rows(store) == 1)
    run.send_signal(signal.SIGINT)
    run.wait(timeout=20)
    run.stdin.close()
    assert run.returncode == 130
    assert list(vectors(store)) == ["00.jpg"] and not failures(store)
    run.stderr.close()


def test_a_second_ctrl_c_stops_at_once(tmp_path, many, hanging):
    store = tmp_path / "x.db"
    slow = tmp_path / "hangs-opening.jpg"  # the first stop has to wait for this one
    slow.write_bytes((many / "0001.jpg").read_bytes())
    run = start("embed", "-m", MODEL, slow, many, "-o", store,
                env=os.environ if SANITIZED else hanging)
    wait_for(lambda: n_rows(store) > 0)
    run.send_signal(signal.SIGINT)
    while "finishing the open batch" not in run.stderr.readline():  # two signals at once are one to the system
        pass
    run.send_signal(signal.SIGINT)
    began = time.monotonic()
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert SANITIZED or time.monotonic() - began < 1.5
    assert embed(many, "-o", store, "--limit", 1).returncode == 0  # the store is sound


def test_two_processes_in_one_set_are_one_too_many(tmp_path, many):
    store = tmp_path / "x.db"
    first = start("embed", "-m", MODEL, many, "-o", store)
    try:
        wait_for(lambda: n_rows(store) > 0)
        second = embed(many, "-o", store)
        assert second.returncode == 1
        assert f"another brimful, process {first.pid} is running in this set" in second.stderr
        assert len(second.stderr.splitlines()) <= 2
        other_set = embed(many, "-o", store, "--raw", "--limit", 8)
        assert other_set.returncode == 0, other_set.stderr
    finally:
        first.kill()
        first.communicate()
    assert embed(many, "-o", store, "--limit", 8).returncode == 0  # a killed process holds nothing


def test_one_kill_costs_at_most_the_open_batch(tmp_path, many):
    store = tmp_path / "x.db"
    run = start("embed", "-m", MODEL, many, "-o", store)
    wait_for(lambda: n_rows(store) > 0)
    run.kill()
    run.communicate()
    n = n_rows(store)
    assert 0 < n < 3000 and not failures(store)
    again = embed(many, "-o", store, "--limit", 20)
    assert again.returncode == 0 and n_rows(store) == n + 20
    shown = brimful("show", store, "--runs")
    assert "run 1 of set 1: killed" in shown.stdout and "run 2 of set 1: done" in shown.stdout


def test_a_key_that_stands_for_another_file_ends_the_run(tmp_path, photos):
    store = tmp_path / "x.db"
    assert embed("photos", "-o", store, "--limit", 4, cwd=tmp_path).returncode == 0
    (tmp_path / "there").mkdir()
    shutil.copytree(photos, tmp_path / "there" / "photos")
    run = embed("photos", "-o", store, cwd=tmp_path / "there")
    assert run.returncode == 1
    assert "stands for" in run.stderr and "--root" in run.stderr


def test_a_key_that_comes_twice_is_done_once(tmp_path, photos):
    store = tmp_path / "x.db"
    names = tmp_path / "names"
    names.write_text("photos/00.jpg\nphotos/00.jpg\n./photos/00.jpg\nphotos/01.png\n")
    run = embed(f"@{names}", "-o", store)
    assert run.returncode == 0 and "2 came twice" in run.stderr
    assert sorted(vectors(store)) == ["photos/00.jpg", "photos/01.png"]
    run = embed("photos", "./photos/", "-o", tmp_path / "y.db", cwd=tmp_path)
    assert run.returncode == 0 and "24 came twice" in run.stderr
    assert len(vectors(tmp_path / "y.db")) == 24


def test_the_users_own_tables_stay_untouched(tmp_path, photos):
    store = tmp_path / "x.db"
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE images(a TEXT)")
        db.execute("INSERT INTO images VALUES('mine')")
    assert embed(photos, "-o", store, "--limit", 2).returncode == 0
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT a FROM images").fetchall() == [("mine",)]
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        others = db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'brim!_%' ESCAPE '!'")
        assert others.fetchall() == [("images",)]
