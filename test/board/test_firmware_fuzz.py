"""A short, seeded run of the fuzzers; ``make fuzz TIME=600`` is the long one."""

import os
import re
import shutil
import subprocess

import pytest
from firmware_tools import needs

from picker_dynamics.board.firmware import toolchain

pytestmark = [needs("fuzz"), pytest.mark.long]
RUNS = {"fuzz_parser": 30_000, "fuzz_core": 6_000}


@pytest.fixture(scope="module")
def fuzzers():
    return toolchain.library("fuzz")


def fuzz(fuzzer, folder, runs: int, seed: int = 1) -> subprocess.CompletedProcess:
    """So many executions from an empty corpus, nearly the same ones for the same seed."""
    command = [fuzzer, f"-runs={runs}", f"-seed={seed}", "-max_len=2048", "-len_control=0", "-print_final_stats=1"]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"ASAN_OPTIONS": "quarantine_size_mb=16"},
    )


@pytest.mark.parametrize("name", RUNS)
def test_nothing_breaks_the_core(fuzzers, tmp_path, name):
    done = fuzz(fuzzers / name, tmp_path, RUNS[name])
    assert done.returncode == 0, done.stderr[-3000:]
    executed = int(re.search(r"number_of_executed_units: (\d+)", done.stderr)[1])
    covered = int(re.findall(r"cov: (\d+)", done.stderr)[-1])
    print(f"{name}: {executed} executions, {covered} edges")
    assert executed >= RUNS[name]


@pytest.mark.parametrize(
    ("name", "place", "defect"),
    [
        ("fuzz_parser", ("frame_reader.cpp", "++bad_frames_;"), ";"),
        ("fuzz_core", ("output_motion.cpp", "owned_ |= mask;"), "owned_ |= mask, live_ = owned_;"),
    ],
    ids=["a damaged frame is not counted", "outputs run that nobody enabled"],
)
def test_a_planted_defect_is_found(tmp_path, name, place, defect):
    """The fuzzers can fail: a core with one line changed does not survive the same number of runs, a few times."""
    copy = tmp_path / "firmware"
    shutil.copytree(toolchain.sources(), copy)
    file, line = copy / "picker_firmware" / "src" / "core" / place[0], place[1]
    text = file.read_text()
    assert line in text, f"{place[0]} has no line {line!r} any more: plant another defect"
    file.write_text(text.replace(line, defect))
    subprocess.run(["make", "-s", "-C", copy, f"OUT={tmp_path}", f"{tmp_path}/fuzz/{name}"], check=True, capture_output=True)
    ends = (fuzz(tmp_path / "fuzz" / name, tmp_path, RUNS[name], seed) for seed in range(1, 6))
    done = next((one for one in ends if one.returncode), None)
    assert done is not None and "deadly signal" in done.stderr
