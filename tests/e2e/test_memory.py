"""The limit holds as the system counts, a run that hits it goes on, and what memory did is told."""
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from conftest import BRIMFUL, MIB, MODEL, PHOTOS, SANITIZED, SMALL_MODELS, embed, failures, vectors

GIB = 2**30

# Starts a command from a small process, which then prints the command's own peak: one started from here would inherit
# ours. The last line of its standard error is "ru_maxrss KIB".
LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
sys.stderr.write(f"\\nru_maxrss {usage.ru_maxrss}")
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Measured:
    """A run of `embed --json`: code, stderr, the summary, and peak_bytes as the system tells it to a parent."""

    def __init__(self, *args, model=MODEL, limit):
        words = ["embed", "-m", model, *args, "--memory", str(limit), "--json"]
        run = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, BRIMFUL, *map(str, words)], text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.code = run.returncode
        self.stderr, _, peak = run.stderr.rpartition("\nru_maxrss ")
        self.peak_bytes = int(peak) * 1024
        assert run.stdout, self.stderr
        self.summary = json.loads(run.stdout)
        self.memory = self.summary["memory"]

    def assert_below(self, limit):
        assert self.memory["limit"] == self.summary["memory_limit_bytes"] == limit
        assert self.memory["arena"]["peak_reserved"] <= limit
        if not SANITIZED:  # which take memory as they please, and what they take is measured
            assert self.summary["peak_reserved_bytes"] <= limit
            assert 0 < self.summary["peak_resident_bytes"] <= limit
            assert self.peak_bytes <= limit
            assert abs(self.peak_bytes - self.summary["peak_resident_bytes"]) <= 4 * MIB


@pytest.fixture(scope="module")
def roomy(tmp_path_factory):
    """The demo's photos with more memory than they need."""
    store = tmp_path_factory.mktemp("roomy") / "x.db"
    run = Measured(PHOTOS, "-o", store, "--root", PHOTOS, limit=2 * GIB)
    return run, vectors(store), failures(store)


def test_2_gib_are_kept_over_real_photos(roomy):
    run, found, failed = roomy
    assert run.code == 0, run.stderr
    run.assert_below(2 * GIB)
    assert len(found) >= 40 and not failed
    assert run.summary["refusals"] == run.summary["splits"] == run.summary["set_aside"] == 0


@pytest.mark.parametrize("mib", [300, 600])
def test_the_limit_is_kept_over_real_photos(tmp_path, roomy, mib):
    if SANITIZED:
        pytest.skip("sanitizers hold more than that")
    run = Measured(PHOTOS, "-o", tmp_path / "x.db", "--root", PHOTOS, limit=mib * MIB)
    assert run.code == 0, run.stderr + str(failures(tmp_path / "x.db"))
    run.assert_below(mib * MIB)
    found = vectors(tmp_path / "x.db")
    assert not failures(tmp_path / "x.db") and sorted(found) == sorted(roomy[1])
    for key, vector in roomy[1].items():
        assert np.abs(found[key] - vector).max() <= 1e-5


@pytest.fixture(scope="module")
def all_sizes(tmp_path_factory):
    """24 of 256 x 256, one that is far too large, 400 small ones."""
    folder = tmp_path_factory.mktemp("sizes")
    random = np.random.default_rng(1)
    for group, n, height, width in (("a", 24, 256, 256), ("b", 1, 1000, 1200), ("c", 400, 64, 64)):
        for i in range(n):
            pixels = random.integers(0, 256, (height, width, 3), np.uint8) // 4 + 7 * (i % 24)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{group}{i:03d}.png")
    return folder


def test_a_batch_that_does_not_fit_is_split_and_nothing_is_lost(tmp_path, all_sizes):
    """B31: eight of the large ones do not fit, three do, one picture does not even alone."""
    model, args = SMALL_MODELS / "wide", (all_sizes, "--root", all_sizes, "--threads", 4)
    apart = Measured(*args, "-o", tmp_path / "apart.db", "--batch", 1, model=model, limit=2 * GIB)
    assert apart.code == 0, apart.stderr
    expected = vectors(tmp_path / "apart.db")
    assert len(expected) == 425
    limit = apart.memory["unrouted"] // MIB * MIB + 210 * MIB  # 32 MiB of activations each, 586 for the one

    run = Measured(*args, "-o", tmp_path / "x.db", "--batch", 8, model=model, limit=limit)
    assert run.code == 3, run.stderr
    run.assert_below(limit)
    ((key, (step, reason, _)),) = failures(tmp_path / "x.db").items()
    assert (key, step) == ("b000.png", "model")
    needed, told = map(int, re.search(r"needs (\d+) MiB, limit (\d+) MiB", reason).groups())
    assert told == limit // MIB < needed < 1000

    found = vectors(tmp_path / "x.db")  # asserts that no key is there twice
    assert sorted(found) == sorted(set(expected) - {"b000.png"})
    for key, vector in found.items():
        assert np.abs(vector - expected[key]).max() <= 1e-5
    counts = run.summary
    assert (counts["images"], counts["failed"]) == (424, 1)
    assert counts["splits"] >= 1 and counts["set_aside"] == 1
    assert counts["refusals"] > counts["splits"]  # the one picture is refused twice and not split
    # Smaller batches for a while, then of eight again: with one at a time there were 424, with four 106.
    if not SANITIZED:  # which leave less room as they go
        assert 53 <= counts["n_batches"] - counts["refusals"] <= 80
    told = ", ".join(f"{counts[word]} {word.removesuffix('s') if counts[word] == 1 else word}"
                     for word in ("refusals", "splits"))
    assert told in run.stderr


def test_idle_memory_is_given_back_every_few_batches(tmp_path, photos):
    """--trim-every: pages go back between batches, and the results are the same."""
    kept = Measured(photos, "-o", tmp_path / "kept.db", "--root", photos, "--batch", 4, limit=GIB)
    run = Measured(photos, "-o", tmp_path / "x.db", "--root", photos, "--batch", 4, "--trim-every", 2, limit=GIB)
    assert kept.code == run.code == 0, run.stderr
    assert kept.summary["trims"] == 0
    assert run.summary["trims"] >= 3
    arena = run.memory["arena"]
    assert arena["released_pages"] > 0
    assert arena["fresh_pages"] > kept.memory["arena"]["fresh_pages"]
    assert arena["reserved"] == (arena["fresh_pages"] - arena["released_pages"]) * arena["page_bytes"]
    found, expected = vectors(tmp_path / "x.db"), vectors(tmp_path / "kept.db")
    assert sorted(found) == sorted(expected)
    for key, vector in found.items():
        assert np.abs(vector - expected[key]).max() <= 1e-5


def test_the_end_of_a_run_tells_where_memory_went(tmp_path, photos):
    run = embed(photos, "-o", tmp_path / "x.db", "--limit", 8, "--memory", "600MiB")
    assert run.returncode == 0
    lines = [line for line in run.stderr.splitlines() if line.startswith("memory: ")]
    assert len(lines) == 1 and lines[0].startswith("memory: limit 600 MiB, held at most ")
    for words in (r"activations \d+", r"tensors \d+", r"unrouted \d+", r"arena \d+ of \d+ MiB live, waste \d+ %",
                  "0 refusals, 0 splits"):
        assert re.search(words, lines[0]), (words, lines[0])
    quiet = embed(photos, "-o", tmp_path / "y.db", "--limit", 8, "-q")
    assert quiet.returncode == 0 and quiet.stderr == ""


def test_the_summary_adds_up(roomy):
    memory = roomy[0].memory
    arena = memory["arena"]
    assert set(memory["accounts"]) == {"activations", "tensors", "decoders", "queues", "spool", "results", "unrouted",
                                       "other"}
    for name in ("activations", "tensors", "decoders", "queues", "unrouted"):
        assert memory["accounts"][name]["peak"] > 0
    assert memory["unrouted"] == memory["accounts"]["unrouted"]["peak"]
    assert arena["live"] <= arena["reserved"] <= arena["peak_reserved"]
    assert arena["peak_live"] <= arena["peak_reserved"]
    assert arena["waste"] == pytest.approx(1 - arena["peak_live"] / arena["peak_reserved"], abs=1e-4)
    assert arena["page_bytes"] >= 2 * MIB and arena["fresh_pages"] * arena["page_bytes"] >= arena["peak_reserved"]


@pytest.mark.skipif(SANITIZED, reason="what sanitizers hold is not ours")
def test_what_starting_a_library_takes_is_waited_for(tmp_path, photos, least_memory):
    """Of 24 pictures three need libvips, whose start takes 29 MiB in the middle of a run under a tight limit."""
    for n, path in enumerate(sorted(photos.iterdir())[5:20:5]):
        Image.open(path).convert("RGB").save(photos / f"{n}.tif")
        path.unlink()
    for more in (36, 44, 60):
        limit = (least_memory() + more) * MIB
        run = Measured(photos, "-o", tmp_path / f"{more}.db", "--root", photos, "--threads", 4, limit=limit)
        assert run.code == 0, run.stderr + str(failures(tmp_path / f"{more}.db"))
        run.assert_below(limit)
        assert len(vectors(tmp_path / f"{more}.db")) == 24
        assert run.memory["accounts"]["other"]["peak"] >= 32 * MIB
