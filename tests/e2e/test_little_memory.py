"""Runs with hardly more than a model needs, in bytes or in addresses; and what the store and the last line tell of it."""
import json
import resource
import sqlite3

import numpy as np
import pytest

from conftest import MIB, SANITIZED, SMALL_MODELS, embed, failures, vectors

ours_alone = pytest.mark.skipif(SANITIZED, reason="what sanitizers hold is not ours")


@ours_alone
def test_batches_that_do_not_fit_are_split_and_nothing_is_lost(tmp_path, photos, least_memory):
    wide, tight = tmp_path / "wide.db", tmp_path / "tight.db"
    assert embed(photos, "-o", wide, "--root", photos).returncode == 0
    run = embed(photos, "-o", tight, "--root", photos, "--memory", f"{least_memory() + 2}MiB", "--json")
    assert run.returncode == 0, run.stderr
    summary = json.loads(run.stdout)
    assert summary["refusals"] > 0 and summary["splits"] > 0 and not failures(tight)
    assert summary["peak_resident_bytes"] <= summary["memory_limit_bytes"]
    want, got = vectors(wide), vectors(tight)
    assert want.keys() == got.keys() and len(got) == 24
    assert max(np.abs(want[key] - got[key]).max() for key in want) <= 1e-5


def test_a_small_model_runs_in_little(tmp_path, photos, least_memory):
    model = SMALL_MODELS / "pooler"
    run = embed(photos, "-o", tmp_path / "x.db", "--memory", f"{least_memory(model) + 2}MiB", "--json", model=model)
    assert run.returncode == 0, run.stderr
    summary = json.loads(run.stdout)
    assert summary["images"] == 24
    if not SANITIZED:
        assert summary["peak_resident_bytes"] <= summary["memory_limit_bytes"]


@ours_alone
def test_little_address_space_is_enough(tmp_path, photos):
    """Windows take several times their memory in addresses, which must not starve the rest."""
    def tighten():
        resource.setrlimit(resource.RLIMIT_AS, (1000 * MIB, 1000 * MIB))
    run = embed(photos, "-o", tmp_path / "x.db", "--threads", 2, preexec_fn=tighten)
    assert run.returncode == 0, run.stderr
    assert len(vectors(tmp_path / "x.db")) == 24


def test_the_store_keeps_the_same_summary(tmp_path, photos):
    run = embed(photos, "-o", tmp_path / "x.db", "--json")
    with sqlite3.connect(tmp_path / "x.db") as db:
        (kept,) = db.execute("SELECT summary FROM brim_runs").fetchone()
    assert json.loads(kept) == json.loads(run.stdout)


def test_the_line_about_memory_comes_after_the_sum_where_anything_was_done(tmp_path, photos):
    run = embed(photos, "-o", tmp_path / "x.db", "--memory", "3GiB")
    done, memory, _ = run.stderr.splitlines()[-3:]
    assert done.startswith("done: ") and memory.startswith("memory: limit 3.0 GiB, held at most ")
    assert "memory:" not in embed(photos, "-o", tmp_path / "x.db").stderr  # nothing was left to do
