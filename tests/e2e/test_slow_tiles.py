"""What test_tiles.py holds, over a picture that is larger than memory."""
import numpy as np
import pytest
from PIL import Image

from conftest import MIB, SANITIZED, embed, vectors
from test_memory import Measured


@pytest.mark.skipif(SANITIZED, reason="what sanitizers hold is not ours")
@pytest.mark.parametrize("tiled", [False, True])
def test_a_tiff_larger_than_memory_streams(tmp_path, reference, tiled):
    """192 MB of pixels, of which a row of tiles is held; half of the limit is what model and libraries take."""
    pixels = np.empty((8000, 8000, 3), np.uint8)
    for y in range(8000):
        pixels[y] = (np.arange(8000)[:, None] * np.array((3, 5, 7)) + y * np.array((2, 1, 3))) >> 4 & 255
    path = tmp_path / "large.tif"
    Image.fromarray(pixels).save(path, **({"tiffinfo": {322: 256, 323: 256}} if tiled else {}))
    assert path.stat().st_size > 190e6
    store = tmp_path / "x.db"
    limit = 180 * MIB
    run = Measured(path, "-o", store, "--root", tmp_path, "--threads", 1, "--batch", 2, "--tile", 1000, limit=limit)
    assert run.code == 0, run.stderr
    run.assert_below(limit)
    found = vectors(store)
    assert len(found) == 64
    whole = Measured(path, "-o", tmp_path / "whole.db", "--root", tmp_path, "--threads", 1, "--batch", 1, limit=limit)
    assert whole.code == 0, whole.stderr
    whole.assert_below(limit)
    assert np.abs(vectors(tmp_path / "whole.db")["large.tif"] - reference(path)).max() <= 1e-5

    folder = tmp_path / "some"
    folder.mkdir()
    for x, y in ((0, 0), (3000, 2000), (7000, 7000)):
        Image.fromarray(pixels[y:y + 1000, x:x + 1000]).save(folder / f"large.tif#{x},{y},1000,1000.png", compress_level=1)
    assert embed(folder, "-o", tmp_path / "some.db", "--root", folder).returncode == 0
    for key, vector in vectors(tmp_path / "some.db").items():
        assert np.abs(vector - found[key.removesuffix(".png")]).max() <= 1e-5
