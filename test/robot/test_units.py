"""What people are told of joints: degrees and millimetres, with as many digits as a difference needs to be seen."""

import math
import re
from pathlib import Path

import pytest

import picker_dynamics
from picker_dynamics.robot.units import told

ROOT = Path(picker_dynamics.__file__).parent
TO_PEOPLE = (
    *("board", "commands", "control", "execution", "nodes", "recording", "scripting", "trajectory"),
    *("estimation/calibration", "estimation/payload"),
    *(f"robot/{name}.py" for name in ("description", "kinematics", "serial_arm", "servo_map")),
)
"""Rooms and files whose messages come to who typed a command."""


@pytest.mark.parametrize(
    ("value", "unit", "beside", "said"),
    [
        (math.pi, "rad", None, "180.0 deg"),
        (-0.0352, "m", None, "-35.2 mm"),
        (1.20005, "rad", 1.2, "68.7578 deg"),
        (1.2, "rad", 1.20005, "68.7549 deg"),
        (1.2, "rad", 1.2, "68.8 deg"),
        (0.4, "m", 0.3, "400.0 mm"),
        (0.30000002, "m", 0.3, "300.000020 mm"),
        (-1e-5, "rad", None, "0.0 deg"),
        (math.inf, "rad", 1.0, "inf deg"),
        (math.nan, "rad", 1.0, "nan deg"),
    ],
)
def test_degrees_and_millimetres(value, unit, beside, said):
    assert told(value, unit, beside) == said


def test_no_message_to_a_person_tells_radians():
    """Numbers before ``rad``, or before a unit that may be it, in what is put together from values."""
    files = [file for one in TO_PEOPLE for file in ([ROOT / one] if one.endswith(".py") else sorted((ROOT / one).rglob("*.py")))]
    wrong = re.compile(r"f[\"'].*\}+ (rad\b|\{+([\w.]*position_units\[|unit\}+/s))")
    found = [f"{file}: {line}" for file in files for line in file.read_text(encoding="utf-8").splitlines() if wrong.search(line)]
    assert len(files) > 60 and found == []
