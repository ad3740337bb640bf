"""Plans: what they tell against what a run then does, and that they leave everything as it was."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

import pytest

from conftest import BRIMFUL, MODEL, SANITIZED, SMALL_MODELS, brimful, embed

DEVICES = pathlib.Path(__file__).resolve().parents[2] / "bench" / "devices"
LABELS = ["model", "memory", "budget", "batch", "ladder", "stages", "images", "time"]


def plan(*args, model=MODEL, **kwargs):
    return brimful("plan", "-m", model, *args, **kwargs)


def rehearse_plan(*args, device, **kwargs):
    return plan("--device", device, *args, model="sim", **kwargs)


def told(run, code=0):
    assert run.returncode == code, (run.returncode, run.stderr)
    assert len(run.stdout.splitlines()) == 1
    return json.loads(run.stdout)


def one_line(run, code, *words):
    assert run.returncode == code, (run.returncode, run.stdout, run.stderr)
    assert len(run.stderr.splitlines()) == 1 and not run.stdout, run.stderr
    for word in words:
        assert word in run.stderr, (word, run.stderr)


def write_device(tmp_path, **fields):
    path = tmp_path / "device.json"
    path.write_text(json.dumps(fields))
    return f"sim:{path}"


def snapshot(folder):
    """Names, sizes, times and contents."""
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_mode, p.read_bytes() if p.is_file() else None)
            for p in sorted(folder.rglob("*"))}


def chosen(summary):
    return next(rung for rung in summary["ladder"] if rung["chosen"])


def break_some(photos):
    (photos / "broken.jpg").write_bytes((photos / "00.jpg").read_bytes()[:900])
    (photos / "empty.png").write_bytes(b"")
    (photos / "notes.txt").write_text("no picture by its name")


# ---- real photos, a real model ----

def test_lines_for_people(tmp_path, photos):
    break_some(photos)
    before = snapshot(tmp_path)
    run = plan(photos, "--seconds", 8, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert [line.split()[0] for line in run.stdout.splitlines() if line[0] != " "] == LABELS, run.stdout
    for words in ["efficientnet-lite0 (model.onnx, 18 MiB of weights) on cpu", "per image +- ", "80 % of what is free",
                  " is chosen, at most ", "  chosen\n", " limits: ", "26; unreadable: 2 of 26, which are all",
                  "1 files are no pictures by their names", "about ", " img/s, with "]:
        assert words in run.stdout, (words, run.stdout)
    assert "empty.png: empty file" in run.stdout or "broken.jpg: " in run.stdout
    assert snapshot(tmp_path) == before


def test_json_for_programs(tmp_path, photos):
    break_some(photos)
    before = snapshot(tmp_path)
    got = told(plan(photos, "--seconds", 8, "--json", "--memory", "2GiB", cwd=tmp_path))
    assert snapshot(tmp_path) == before
    assert got["model"]["name"] == "efficientnet-lite0" and got["model"]["file"] == str(MODEL / "model.onnx")
    assert got["model"]["weights_bytes"] == (MODEL / "model.onnx").stat().st_size
    assert got["budget"]["from"] == "memory" and got["budget"]["bytes"] == 2**31
    assert 0 < got["budget"]["run_bytes"] < 2**31
    assert got["images"] == 26 and got["counted"] and got["skipped_files"] == 1
    assert {k: got["unreadable"][k] for k in ("sampled", "failed")} == {"sampled": 26, "failed": 2}
    assert got["unreadable"]["least"] == got["unreadable"]["most"] == pytest.approx(2 / 26, rel=1e-5)
    assert got["batch"] == chosen(got)["items"] <= got["largest_batch"]
    assert got["run_memory"]["per_image"] > 2**20
    assert got["limit"]["stage"] in ("reading", "decoding", "model", "storing")
    assert got["run_s"] == pytest.approx(got["load_s"] + 26 / got["images_per_s"], rel=1e-3)


def test_the_time_is_kept(photos):
    began = time.monotonic()
    got = told(plan(photos, "--seconds", 2, "--json"))
    assert got["probe_s"] <= (12 if SANITIZED else 6)
    assert time.monotonic() - began - got["load_s"] <= (30 if SANITIZED else 10)


def test_a_list_is_an_input_and_keys_have_a_root(tmp_path, photos):
    (tmp_path / "list.txt").write_text("photos/00.jpg\nphotos/01.png\nphotos/gone.jpg\n")
    got = told(plan(f"@{tmp_path / 'list.txt'}", "--root", tmp_path, "--seconds", 3, "--json"))
    assert got["images"] == 3 and got["unreadable"]["sampled"] == 3
    assert got["unreadable"]["example"].startswith("photos/gone.jpg: ")


def test_a_model_of_a_fixed_batch_is_settled_from_the_start(photos):
    got = told(plan(photos, "--seconds", 12, "--json", model=SMALL_MODELS / "fixed4"))
    assert got["batch"] == got["largest_batch"] == 4 and got["settled"]


def test_tiles_are_planned_by_picture(photos):
    got = told(plan(photos, "--tile", 128, "--seconds", 5, "--json"))
    assert got["images"] == 24 and got["unreadable"]["failed"] == 0 and got["run_s"] > 0
    assert 0 < got["unreadable"]["sampled"] <= 24


@pytest.mark.skipif(SANITIZED, reason="sanitizers reserve more than any limit")
def test_where_the_budget_comes_from(photos):
    free = plan(photos, "--seconds", 1).stdout
    assert "80 % of what is free; " in free or "80 % of what the control group leaves; " in free, free
    limit = 6 * 2**30
    tight = plan(photos, "--seconds", 1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))).stdout
    assert "80 % of the address space that is allowed (ulimit -v); " in tight, tight
    asked = plan(photos, "--seconds", 1, "--memory", "1GiB").stdout
    assert "budget    1.0 GiB: as --memory says; " in asked, asked
    lowered = plan(photos, "--seconds", 1, "--memory", "900TiB")
    assert "less than --memory, since no more is free; " in lowered.stdout, lowered.stdout
    assert "--memory is lowered to" in lowered.stderr


# ---- what cannot be planned ----

def test_a_list_from_standard_input_is_left_alone(photos):
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        one_line(plan("@-", stdin=cat.stdout), 1, "@-: can be read only once", "give @FILE")
        cat.stdin.write(b"photos/00.jpg\n")
        cat.stdin.close()
        assert cat.stdout.read() == b"photos/00.jpg\n"


def test_nothing_found(tmp_path):
    (tmp_path / "notes.txt").write_text("no picture")
    run = plan(tmp_path)
    assert run.returncode == 1 and not run.stdout
    assert "no pictures found; 1 files are none by their names" in run.stderr


def test_where_no_picture_can_be_read_the_time_is_not_known(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"")
    run = plan(tmp_path)
    assert run.returncode == 3, run.stderr
    assert "a.jpg: empty file" in run.stdout and "unreadable: 1 of 1, which are all" in run.stdout
    assert "\ntime" not in run.stdout and "\nladder" not in run.stdout
    assert told(plan(tmp_path, "--json"), 3)["run_s"] is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read_is_told(tmp_path, photos):
    (photos / "locked").mkdir(mode=0)
    run = plan(photos, "--seconds", 2)
    assert run.returncode == 3 and "1 inputs could not be read to their end" in run.stdout


@pytest.mark.parametrize("args, words", [
    (["--seconds", 31], "--seconds 31: not a whole number in range"),
    (["--seconds", 0], "--seconds 0: not a whole number in range"),
    (["-o", "x.db"], "no such option: -o"),
    (["--policy", "best"], "--policy best: not one of knee, aimd, estimate, watermark, fixed"),
    (["--device", "tpu"], "--device tpu: neither cpu nor sim:FILE.json")])
def test_mistakes_are_told_in_one_line(args, words):
    one_line(plan("null:5", *args), 2, words, "(see brimful plan --help)")


def test_no_model_and_no_input():
    one_line(brimful("plan", "null:5"), 2, "no model: give one with -m MODEL")
    one_line(brimful("plan", "-m", MODEL), 2, "no INPUT")
    one_line(plan("/no/such/folder"), 1, "/no/such/folder: no such file or folder")


def test_help_tells_the_options_of_runs_too():
    own = brimful("plan", "--help").stdout
    of_embed = brimful("embed", "--help").stdout
    assert own.startswith("plan - ") and "usage: brimful plan -m MODEL INPUT..." in own
    assert "--seconds N" in own and "--output" not in own and "--retry-failed" not in own
    shared = of_embed[of_embed.index("  -m, --model"):]
    assert [line.split() for line in shared.splitlines()] == [
        line.split() for line in own[own.index("  -m, --model"):].splitlines()]
    assert "  plan     what a run would be" in brimful("--help").stdout


def test_ctrl_c_ends_it(tmp_path):
    device = write_device(tmp_path, clock="real", capacity_bytes=2**30, seconds={"per_item": 0.5})
    run = subprocess.Popen([BRIMFUL, "plan", "-m", "sim", "--device", device, "null:1000"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130 and not out, err


# ---- against a run ----

def foretells_a_rehearsal(tmp_path, name, noise=1):
    """The device's seconds of a run, exploration and all, and as good a batch as the run's own."""
    device = f"sim:{DEVICES / name}.json"
    foretold = told(rehearse_plan("null:20000", "--json", device=device))
    run = embed("--device", device, "null:20000", "-o", tmp_path / "x.db", "--json", model="sim")
    assert run.returncode == 0, run.stderr
    came = json.loads(run.stdout)
    assert foretold["run_s"] == pytest.approx(came["device_seconds"], rel=0.2 * noise)
    assert chosen(foretold)["items_per_s"] == pytest.approx(chosen(came)["items_per_s"], rel=0.15 * noise)
    assert foretold["run_memory"]["per_image"] == pytest.approx(came["run_memory"]["per_image"], rel=0.1)
    assert foretold["limit"]["stage"] == "model" or SANITIZED  # that of a rehearsal goes by this machine's clock


@pytest.mark.parametrize("name", ["card-24gb", "laptop-spill"])
def test_a_plan_foretells_a_rehearsal(tmp_path, name):
    foretells_a_rehearsal(tmp_path, name)


def test_a_long_list_is_at_least_so_long(tmp_path):
    """Counting ends with its share of the time."""
    names = tmp_path / "list.txt"
    with names.open("w") as to:
        for _ in range(40):
            to.write("a.jpg\n" * 250000)
    device = write_device(tmp_path, capacity_bytes=2**30, seconds={"per_item": 0.001})
    began = time.monotonic()
    run = rehearse_plan(f"@{names}", "null:5", "--seconds", 1, device=device)
    assert time.monotonic() - began < (20 if SANITIZED else 8)
    assert run.returncode == 3 and "images    at least " in run.stdout, run.stdout
