"""Seconds of the soak: every fault once, and its books; what breaks an invariant is seen to."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("mujoco")

from places import ROOT

from benchmarks.soak import STOPS

pytestmark = [pytest.mark.ros, pytest.mark.long]

PATIENCE_S = 100.0
TIMING = (STOPS, "from the port's return to a connected board [s]")
"""Figures of a machine that does what it should; the tests' machine may be doing something else."""


def start(*words: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.soak", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture(scope="module")
def document():
    with start("--minutes", "0.25", "--seed", "3", "--load", "0.2") as process:
        said, complaints = process.communicate(timeout=PATIENCE_S)
    assert said, complaints
    return json.loads(said), process.returncode


def test_seconds_of_soak_lose_nothing_and_repeat_nothing(document):
    found, code = document
    broken = {name: one for name, one in found["invariants"].items() if not one["ok"] and name not in TIMING}
    assert broken == {}, found["board"]["first_trouble"]
    assert code == (0 if found["ok"] else 1)
    assert sum(found["rounds"].values()) >= 3 and max(found["rounds"].values()) - min(found["rounds"].values()) <= 1
    counts = found["counts"]
    assert counts["setpoints_executed"] > 100 and found["board"]["frames_compared"] > 50
    assert counts["commands_received"] == sum(
        value for name, value in counts.items() if name.startswith("commands_") and name != "commands_received"
    )
    assert counts["commands_sent"] <= counts["setpoints_sent"]  # and points on the way where commands were missing
