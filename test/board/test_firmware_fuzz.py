"""A short, seeded run of the fuzzers; ``make fuzz TIME=600`` is the long one."""

import os
import re
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
