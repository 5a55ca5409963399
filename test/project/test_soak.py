"""Seconds of the soak: every fault once, and its books; what breaks an invariant is seen to."""

import copy
import json
import subprocess
import sys

import pytest

pytest.importorskip("mujoco")

from places import ROOT

from benchmarks.soak import STOPS, invariants

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


def test_what_does_not_hold_is_said(document):
    """Figures of a run, spoilt one by one: each spoils the invariant that is about it."""
    found = document[0]
    for key, value, name in (
        ("dropped_without_cause", 1, "accepted set-points lost without a fault"),
        ("repeated", 1, "set-points executed twice"),
        ("worst_step_share", 1.01, "largest step of an output in a frame, over what the servo can do"),
        ("telemetry_wrong", 1, "telemetry that disagrees with the books"),
        ("executed", found["board"]["executed"] - 1, "accepted, less executed, dropped by a fault, and queued"),
        ("deaf", found["board"]["deaf"] - 1, "arrived, less refused and accepted"),
    ):
        spoilt = copy.deepcopy(found)
        assert invariants(spoilt)[name]["ok"], name
        spoilt["board"][key] = value
        assert not invariants(spoilt)[name]["ok"], name
    spoilt = copy.deepcopy(found)
    spoilt["calm_stop_ms"] |= {"count": 1, "p99": 21.0}
    assert not invariants(spoilt)[STOPS]["ok"]
    spoilt["broken_off"] = "the arm cannot be enabled"
    assert not invariants(spoilt)["the arm always came back"]["ok"]
