"""What test_memory.py holds, where it takes its time: a slow model, large photos, memory for one picture at a time."""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from PIL import Image

from conftest import BRIMFUL, CACHE, MIB, PHOTOS, SANITIZED, SMALL_MODELS, failures, vectors
from test_memory import GIB, Measured
from test_slow_kill import thousand  # a fixture

PAGE = os.sysconf("SC_PAGESIZE")
BENCH_PHOTOS = CACHE / "photos" / "bench"


@pytest.fixture(scope="module")
def twelve_megapixels(tmp_path_factory):
    """3000 names of one photo of 4000 x 3000, about 3 MB."""
    folder = tmp_path_factory.mktemp("twelve")
    (source,) = PHOTOS.glob("*/Infinite-Sea*.jpg")
    Image.open(source).convert("RGB").resize((4000, 3000)).save(folder / "0000.jpg", quality=99)
    for n in range(1, 3000):
        os.link(folder / "0000.jpg", folder / f"{n:04d}.jpg")
    return folder


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def test_decoded_pictures_do_not_pile_up_before_a_slow_model(tmp_path, twelve_megapixels):
    """B32: 8 decoders are far quicker than the model, and memory stays what it was after 10 seconds."""
    threads, limit = 8, GIB
    run = subprocess.Popen([BRIMFUL, "embed", "-m", SMALL_MODELS / "slow", twelve_megapixels, "-o", tmp_path / "x.db",
                            "--threads", str(threads), "--batch", "4", "--memory", str(limit), "--json"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    samples, began = [], time.monotonic()
    while (now := time.monotonic() - began) < 20:
        samples.append((now, resident_bytes(run.pid)))
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    stdout, stderr = run.communicate(timeout=120)
    assert run.returncode == 130, stderr
    summary = json.loads(stdout)
    memory = summary["memory"]
    accounts = {name: account["peak"] for name, account in memory["accounts"].items()}
    assert 0 < summary["images"] < 500 and summary["failed"] == 0 and not failures(tmp_path / "x.db")
    assert len(vectors(tmp_path / "x.db")) == summary["images"]

    # What may be read ahead is bounded by its bytes, whatever the number of files.
    assert accounts["queues"] <= threads * 16 * MIB
    early = max(bytes_ for now, bytes_ in samples if now <= 10)
    late = max(bytes_ for now, bytes_ in samples if now > 10)
    print(f"resident: {early / MIB:.1f} MiB before 10 s, {late / MIB:.1f} MiB after; accounts:",
          {name: round(peak / MIB, 1) for name, peak in accounts.items()})
    if SANITIZED:
        return
    assert late <= early * 1.05  # a file more or less in the queue, but not one more every second
    prefetch = threads * 16 * MIB
    fixed = accounts["unrouted"] + memory["arena"]["peak_reserved"] + accounts["results"]
    assert max(early, late) <= prefetch + threads * 36 * 10**6 + fixed
    assert max(early, late) <= summary["peak_reserved_bytes"] * 1.02 <= limit


@pytest.mark.skipif(not BENCH_PHOTOS.is_dir(), reason="tools/setup.sh bench was not run")
@pytest.mark.parametrize("limit", [300 * MIB, 600 * MIB, 2 * GIB])
def test_the_limit_is_kept_over_large_photos(tmp_path, limit):
    """Up to 24 megapixels, most of them progressive JPEG."""
    if SANITIZED and limit < GIB:
        pytest.skip("sanitizers hold more than that")
    run = Measured(BENCH_PHOTOS, "-o", tmp_path / "x.db", "--threads", 4, limit=limit)
    assert run.code == 0, run.stderr + str(failures(tmp_path / "x.db"))
    run.assert_below(limit)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory, thousand):
    """1000 pictures of many formats and sizes: 24-megapixel progressive JPEGs, large WebPs, AVIFs and JPEG 2000s, which
    are decoded as wholes, TIFFs and GIFs among small photos."""
    folder = tmp_path_factory.mktemp("mixed")
    (source,) = PHOTOS.glob("*/Infinite-Sea*.jpg")
    photo = Image.open(source).convert("RGB").resize((6000, 4000))
    photo.save(folder / "large.jpg", quality=92, progressive=True)
    for kind, options in (("webp", {"quality": 60, "method": 0}), ("avif", {"speed": 10}), ("jp2", {}),
                          ("tif", {"compression": "tiff_lzw"}), ("gif", {}), ("bmp", {}), ("png", {"compress_level": 1})):
        photo.resize((2400, 1600)).save(folder / f"middle.{kind}", **options)
    large = sorted(folder.iterdir())
    for n in range(12):
        for path in large:
            os.link(path, folder / f"{n:02d}-{path.name}")
    for path in sorted(thousand.glob("*.jpg"))[:1000 - 13 * len(large)]:
        os.link(path, folder / f"small-{path.name}")
    return folder


@pytest.mark.skipif(SANITIZED, reason="what sanitizers hold is not ours")
def test_1000_mixed_pictures_pass_through_300_mib(tmp_path, mixed):
    limit = 300 * MIB
    run = Measured(mixed, "-o", tmp_path / "x.db", "--threads", 4, limit=limit)
    assert run.code == 0, run.stderr + str(failures(tmp_path / "x.db"))
    run.assert_below(limit)
    assert len(vectors(tmp_path / "x.db")) == 1000


@pytest.mark.skipif(SANITIZED, reason="what sanitizers hold is not ours")
def test_1000_photos_pass_through_memory_for_one_at_a_time(tmp_path, thousand, least_memory):
    limit = least_memory() * MIB
    run = Measured(thousand, "-o", tmp_path / "x.db", "--threads", 4, limit=limit)
    assert run.code == 0, run.stderr + str(failures(tmp_path / "x.db"))
    run.assert_below(limit)
    assert len(vectors(tmp_path / "x.db")) == 1000
    assert run.summary["refusals"] > 0 and run.summary["splits"] > 0
