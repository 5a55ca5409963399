"""The examples run as they stand, and what they print is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _number(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


TRUE = {
    "first_move": lambda said: _number(said, r"is (\d+\.\d) mm from") < 4.0,
    "what_a_pose_costs": lambda said: said.count("may be held") == 2 and said.count("is refused: shoulder needs") >= 2,
    "computed_torque": lambda said: _number(said, r"off by (\S+) rad") < 1e-4,
    "formula_against_pinocchio": lambda said: len(set(re.findall(r"\[.*\]", said))) == 1,
    "payload": lambda said: max(map(float, re.findall(r"(\d+\.\d) mm off", said))) < 4.0 and said.count("g: shoulder holds") == 3,
    "record_and_plot": lambda said: _number(said, r"^(\d+) samples") > 100 and said.count(".png") == 3,
    "same_script_on_ros": lambda said: 10.0 < _number(said, r"half-way, at (\d+) deg") < 35.0,
}


def test_every_example_is_looked_at():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(TRUE)


@pytest.mark.parametrize("name", TRUE)
def test_an_example_runs_and_is_right(name, tmp_path):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")], capture_output=True, text=True, timeout=110, env=environment, cwd=tmp_path
    )
    assert run.returncode == 0 and not run.stderr, run.stderr
    assert TRUE[name](run.stdout), run.stdout
