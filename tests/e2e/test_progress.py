"""B54: how a run is seen, on a terminal and in a file."""
import json
import os
import pty
import re
import subprocess

import pytest

from conftest import BRIMFUL, MODEL, SMALL_MODELS, embed, vectors


@pytest.fixture
def two_thousand(tmp_path, small_photos):
    folder = tmp_path / "many"
    folder.mkdir()
    pictures = sorted(small_photos.iterdir())
    for n in range(2000):
        os.link(pictures[n % len(pictures)], folder / f"{n:04d}{pictures[n % len(pictures)].suffix}")
    return folder


def test_a_file_gets_plain_lines_and_few(tmp_path, two_thousand):
    run = embed(two_thousand, "-o", tmp_path / "x.db", "--json", model=SMALL_MODELS / "pooler")
    assert run.returncode == 0
    assert not re.search(r"[\r\x1b]", run.stderr)
    assert len(run.stderr.splitlines()) < 12
    assert re.search(r"^done: 2000 vectors written to \S*x.db, [0-9.]+ s, [0-9.]+ rows/s, peak \d+", run.stderr, re.M)
    assert re.match(r"memory: limit \d.* held at most \d+ MiB \(peaks in MiB: .*unrouted \d+\); arena \d+ of \d+ MiB live,"
                    r" waste \d+ %; \d+ refusals, \d+ splits$", run.stderr.splitlines()[-2])
    assert re.match(r"(the model limits: it was busy|[a-z]+ limits: the model waited) \d+ % of the time$",
                    run.stderr.splitlines()[-1])
    summary = json.loads(run.stdout)
    assert run.stdout.count("\n") == 1
    assert summary["images"] == 2000 and summary["failed"] == 0 and summary["peak_reserved_bytes"] > 0


def test_a_terminal_gets_one_line_that_is_rewritten(tmp_path, two_thousand):
    try:
        ours, theirs = pty.openpty()
    except OSError as trouble:
        pytest.skip(f"no terminal to be had: {trouble}")
    run = subprocess.Popen([BRIMFUL, "embed", "-m", SMALL_MODELS / "pooler", two_thousand, "-o", tmp_path / "x.db"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(ours)
    assert run.wait() == 0
    text = seen.decode()
    drawn = re.findall(r"\r\x1b\[K([^\r\n]+)", text)
    assert len(drawn) >= 3
    assert any(re.search(r"^[\d,]+ of 2,000 rows, \d+(\.\d)? rows/s, 0 failed, \d+ s left$", line) for line in drawn), drawn[-3:]
    assert text.count("\n") <= 4  # the model taken, the last words


def test_quiet_is_quiet(tmp_path, two_thousand):
    run = embed(two_thousand, "-o", tmp_path / "x.db", "-q", "--limit", 20, model=SMALL_MODELS / "pooler")
    assert run.returncode == 0 and run.stderr == "" and run.stdout == ""
