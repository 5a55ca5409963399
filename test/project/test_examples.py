"""The examples and the notebook run as they stand, and what they print is true."""

import json
import math
import os
import re

import pytest
from places import ROOT
from waiting import python

EXAMPLES = ROOT / "examples"


def _number(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


TRUE = {
    "first_move": lambda said: _number(said, r"is (\d+\.\d) mm from") < 4.0,
    "what_a_pose_costs": lambda said: said.count("may be held") == 2 and said.count("is refused: shoulder needs") >= 2,
    "computed_torque": lambda said: _number(said, r"off by (\S+) rad") < 1e-4,
    "formula_against_pinocchio": lambda said: len(set(re.findall(r"\[.*\]", said))) == 1,
    "own_arm": lambda said: abs(_number(said, r"tilt (-\d+\.\d) deg") + 45.0) < 1.0,
    "payload": lambda said: max(map(float, re.findall(r"(\d+\.\d) mm off", said))) < 4.0 and said.count("g: shoulder holds") == 3,
    "pick_and_place": lambda said: (
        _number(said, r"close (\d+\.\d) mm from") < 4.0 and "pick refused, nothing moves; payload 200 g: shoulder needs" in said
    ),
    "record_and_plot": lambda said: _number(said, r"^(\d+) samples") > 100 and said.count(".png") == 1,
    "same_script_on_ros": lambda said: 10.0 < _number(said, r"half-way, at (\d+) deg") < 35.0,
}


def test_every_example_is_looked_at():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(TRUE)


@pytest.mark.parametrize("name", TRUE)
def test_an_example_runs_and_is_right(name, tmp_path):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    run = python(str(EXAMPLES / f"{name}.py"), timeout=110, env=environment, cwd=tmp_path)
    assert run.returncode == 0 and not run.stderr, run.stderr
    assert TRUE[name](run.stdout), run.stdout


# -- the notebook ------------------------------------------------------------------------------------------

NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebooks_cells_run_in_their_order(path, tmp_path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    script = tmp_path / "cells.py"
    script.write_text("\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"), encoding="utf-8")
    environment = os.environ | {"MPLBACKEND": "agg"}
    run = python(str(script), timeout=110, env=environment, cwd=tmp_path)
    assert run.returncode == 0 and not run.stderr, run.stderr
    NOTED[path.stem](run.stdout)
    assert any(cell.get("outputs") for cell in cells), "it is kept with its outputs"


def _holding(said: str) -> None:
    assert "may be made" in said and "refused" in said
    assert _number(said, r"at the end (\d+\.\d) mm") < 4.0
    g2, g3 = (float(x) for x in re.search(r"note's arm: \[\s*\S+\s+(\S+)\s+(\S+)\s*\]", said).groups())
    assert g3 == pytest.approx(9.81 * 8.9 * math.cos(2.2), abs=0.01) and abs(g2) > 10.0


def _sagging(said: str) -> None:
    sinks = [int(mm) for mm in re.findall(r"tip sinks (\d+) mm", said)]
    assert len(sinks) == 3 and 5 < sinks[0] <= sinks[1] < sinks[2]
    assert _number(said, r"none: at the end (\d+\.\d) mm") > 15.0 > 4.0 > _number(said, r"full: at the end (\d+\.\d) mm")


def _own_arm(said: str) -> None:
    assert "models passed" in said and "may be made" in said and "picked: 20 g" in said
    assert _number(said, r"(\d+\.\d) mm off") < 4.0


NOTED = {"what_holding_costs": _holding, "why_it_sags": _sagging, "own_arm_in_twenty_minutes": _own_arm}
