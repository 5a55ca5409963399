"""The benchmark on recordings of others, with recordings made up: it reads their form, and says what is missing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import recordings

T = np.arange(0.0, 4.0, 0.02)


def recording(gain: float, trajectory: str, phase: float) -> dict:
    """A pendulum that follows its goal slowly enough to rest at each sample: a spring without friction, 8 N·m/rad at gain 400."""
    q = 0.8 * np.sin(0.5 * np.pi * T + phase)
    goal = q + 0.5 * 9.81 * 0.1 * np.sin(q) / (8.0 * gain / 400.0)
    rows = zip(T.tolist(), goal.tolist(), q.tolist())
    entries = [
        {"timestamp": t, "goal_position": g, "position": p, "input_volts": 7.3, "torque_enable": t < 3.0} for t, g, p in rows
    ]
    about = {"motor": "xl330", "mass": 0.5, "arm-mass": 0.0, "length": 0.1, "kp": gain, "vin": 7.4, "trajectory": trajectory}
    return {**about, "entries": entries}


@pytest.fixture
def folder(tmp_path):
    for number, (gain, trajectory) in enumerate(((200, "a"), (400, "b"))):
        (tmp_path / f"{number}.json").write_text(json.dumps(recording(gain, trajectory, 0.3 * number)))
    (tmp_path / "other.json").write_text('{"motor": 1}')
    (tmp_path / "cut.json").write_text('{"motor": ')
    return tmp_path


def test_what_is_held_out_is_predicted_and_what_is_missing_is_said(folder, capsys, monkeypatch):
    monkeypatch.setattr(recordings, "KINDS", {"load_friction": {"load_friction": 0.0, "coulomb": 0.0}})
    assert recordings.main(["--data", str(folder)]) == 0
    said = capsys.readouterr()
    content = json.loads(said.out)
    found = content["xl330_gain_400"]["load_friction"]
    assert found["held_out_rad"] < 0.01 and found["at"]["gain"] == 200.0
    assert [row["figure"] for row in content["targets"]] == ["xl330_gain_400.load_friction.held_out_rad"]
    assert "sts3250_sin_sin did not run" in said.err and "ur10e did not run: no ur10e.urdf" in said.err
