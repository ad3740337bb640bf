"""1000 photos, killed again and again: 1000 vectors, none twice, values right."""
import os
import pathlib
import random
import sqlite3
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

from conftest import BRIMFUL, CACHE, MODEL, PHOTOS, embed, failures, vectors

N = 1000
KILLS = 10


@pytest.fixture(scope="module")
def thousand():
    """1000 distinct crops of the demo's photos, the same ones every time; made once."""
    folder = CACHE / "photos" / "thousand"
    if not (folder / "complete").exists():
        making = folder.with_suffix(f".{os.getpid()}")
        making.mkdir(parents=True)
        chance = random.Random(1)
        sources = sorted(PHOTOS.glob("lomiri*/*.jpg"))
        for s, source in enumerate(sources):
            picture = Image.open(source).convert("RGB")
            for n in range(s, N, len(sources)):
                width = chance.randint(400, 1200)
                height = int(width * chance.choice((0.66, 0.75, 1, 1.33)))
                x, y = chance.randint(0, picture.width - width), chance.randint(0, max(0, picture.height - height))
                picture.crop((x, y, x + width, min(y + height, picture.height))).save(making / f"{n:04d}.jpg", quality=85)
        (making / "complete").touch()
        making.rename(folder)
    return folder


def n_committed(store):
    try:
        with sqlite3.connect(store, timeout=30) as db:
            return db.execute("SELECT count(*) FROM brim_embeddings").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def test_ten_kills_lose_and_double_nothing(tmp_path, thousand, reference):
    store = tmp_path / "x.db"
    chance = random.Random(os.environ.get("BRIM_SEED", "7"))
    kills = done = 0
    while kills < KILLS:
        assert done < N, f"only {kills} kills found a run that was on"
        run = subprocess.Popen([BRIMFUL, "embed", "-q", "-m", MODEL, thousand, "-o", store, "--root", thousand],
                               stdin=subprocess.DEVNULL)
        while n_committed(store) <= done and run.poll() is None:  # at least one batch of this run
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.5))
        run.kill()
        over = run.wait() == 0
        found = n_committed(store)
        if not over and done < found < N:
            kills += 1
        done = found
    last = embed(thousand, "-o", store, "--root", thousand)
    assert last.returncode == 0, last.stderr
    found = vectors(store)  # asserts that no key is there twice
    assert len(found) == N and not failures(store)
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT count(*) FROM brim_embeddings").fetchone() == (N,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    for key in chance.sample(sorted(found), 150):
        assert np.abs(found[key] - reference(thousand / key)).max() <= 1e-5
