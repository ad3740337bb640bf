"""B33: memory does not grow with the number of rows, whether they succeed, fail or are passed over."""
import json
import os

import pytest
from PIL import Image

from conftest import SANITIZED, SMALL_MODELS, embed

MODEL = SMALL_MODELS / "pooler"


def peak_mib(run):
    assert run.returncode in (0, 3), run.stderr
    return json.loads(run.stdout)["peak_resident_bytes"] / 2**20


@pytest.mark.skipif(SANITIZED, reason="sanitizers keep what was freed")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    picture = tmp_path / "p.png"
    Image.new("RGB", (8, 8), (1, 2, 3)).save(picture)
    names = []
    for n in range(30000):
        folder = tmp_path / "many" / f"{n // 1000:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        os.link(picture, folder / f"{n:06d}.png") if n % 3 else None  # every third is missing
        names.append(f"{folder}/{n:06d}.png")
    few, many = tmp_path / "few.txt", tmp_path / "many.txt"
    few.write_text("\n".join(names[:1000]))
    many.write_text("\n".join(names))
    first = peak_mib(embed(f"@{few}", "-o", tmp_path / "few.db", "--json", model=MODEL))
    for _ in range(2):  # all new; then all known
        grown = peak_mib(embed(f"@{many}", "-o", tmp_path / "many.db", "--json", model=MODEL))
        assert grown - first < 20, (first, grown)
