"""Plans against the runs that follow, on more devices than test_plan.py has, and on a clock that passes."""
import json
import time

import pytest

from conftest import embed
from test_plan import foretells_a_rehearsal, rehearse_plan, told, write_device


@pytest.mark.parametrize("name, noise", [("card-80gb", 1), ("cloud-noisy", 2), ("cotenant", 1), ("cpu-knee", 1), ("edge", 1),
                                         ("text-quadratic", 1)])
def test_a_plan_foretells_a_rehearsal(tmp_path, name, noise):
    foretells_a_rehearsal(tmp_path, name, noise)


def test_a_plan_foretells_a_run_on_a_real_clock(tmp_path):
    """Best at a batch of 16, with 300 img/s."""
    device = write_device(tmp_path, clock="real", capacity_bytes=2**30, bytes={"per_item": 2**20},
                          seconds={"per_item": 1 / 300, "parallel_items": 16})
    foretold = told(rehearse_plan("null:3000", "--json", "--seconds", 10, device=device))
    began = time.monotonic()
    run = embed("--device", device, "null:3000", "-o", tmp_path / "x.db", "--json", model="sim")
    took = time.monotonic() - began
    assert run.returncode == 0, run.stderr
    assert foretold["run_s"] == pytest.approx(took, rel=0.5)
    assert 12 <= foretold["batch"] <= 64
    assert foretold["settled"] and foretold["probe_s"] < 10
