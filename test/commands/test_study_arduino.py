"""The simplified Arduino formulas, and what the study says of them, against figures worked out beforehand (10⁶ states)."""

import json
import math

import numpy as np
from pytest import approx, fixture

from picker_dynamics.commands.study import arduino
from picker_dynamics.commands.study import arduino_formulas as formulas


@fixture(scope="module")
def summary():
    return arduino.summarise(samples=200_000, seed=3)


# --- formulas ---------------------------------------------------------------------------------------------


def test_gravity_is_exact():
    q, v, _ = arduino.random_states(500, 1)
    still = np.zeros_like(q)
    np.testing.assert_allclose(formulas.compute_joint_torques(q, still, still), arduino.exact_model().gravity(q), atol=1e-14)


def test_a_worked_state():
    """Arm stretched out and rising: each figure worked out on paper."""
    q = np.zeros(5)
    tau = formulas.compute_joint_torques(q, np.zeros(5), np.zeros(5))
    shoulder = 9.81 * (0.15 * 0.1 + 0.12 * 0.2725 + 0.08 * 0.385 + 0.05 * 0.425)
    assert tau[1] == approx(shoulder, rel=1e-12) == approx(0.9785, abs=1e-4)
    inertial, coriolis, gravity = formulas.parts(np.array([0, 0, math.pi / 2, 0, 0]), np.array([0, 2.0, 3.0, 0, 0]), np.ones(5))
    assert coriolis[1] == approx(-0.2 * 0.029 * 9) and coriolis[2] == approx(0.2 * 0.029 * 4)
    assert inertial[0] == 0.1 and inertial[4] == 0.05
    assert inertial[3] == approx(0.0002 + 0.08 * 0.0064 / 4)
    assert inertial[1] == approx(0.001 + 0.15 * 0.01 + 0.12 * (0.04 + 0.021025 / 4) + 0.08 * (0.04 + 0.021025 + 0.0016))


# --- the study --------------------------------------------------------------------------------------------


def test_errors_over_random_states(summary):
    """1 % is several times what the samples scatter; ``largest`` is the worst state there is."""
    errors = summary["tables"]["simplified formulas less the exact model [N·m], 200000 random states"]
    for joint, rms, largest, torque, percent, motion_percent, inertia, coriolis, berry in (
        ("shoulder", 0.0582, 0.518, 0.507, 11.5, 49, 0.0451, 0.0368, 0.084),
        ("elbow", 0.0399, 0.254, 0.204, 19.6, 78, 0.0368, 0.0154, 0.055),
        ("wrist", 0.0141, 0.100, 0.0520, 27.2, 97, 0.0101, 0.0098, 0.023),
    ):
        row = errors[joint]
        of_torque = [row[name] for name in ("RMS error", "RMS torque", "error [% of torque]")]
        assert of_torque == approx([rms, torque, percent], rel=0.01)
        assert 0.5 * largest < row["largest error"] <= largest
        assert row["error [% of what the motion needs]"] == approx(motion_percent, abs=1.0)
        assert [row["RMS error of inertia"], row["RMS error of Coriolis"]] == approx([inertia, coriolis], rel=0.012)
        assert row["RMS error with a berry of 25 g"] == approx(berry, rel=0.03)
        assert row["RMS error of gravity"] < 1e-14


def test_what_degrees_cost(summary):
    slip = summary["tables"]["degrees where radians belong: gravity torque [N·m]"]
    for joint, error, needed in (("shoulder", 0.68, 0.47), ("elbow", 0.28, 0.20), ("wrist", 0.071, 0.050)):
        assert [slip[joint]["RMS error"], slip[joint]["RMS torque"]] == approx([error, needed], rel=0.02)
    pose = slip["shoulder"]["first pose: says"], slip["shoulder"]["first pose: needs"]
    assert pose == approx([0.659, -0.331], abs=5e-4), "the sign turns"
    assert "3283 times too large" in summary["findings"][1] and "19.0 N·m instead of 0.0058" in summary["findings"][1]


def test_inertias_stretched_out(summary):
    """Exact by hand: a link is a rod about its joint, with the masses beyond it at their distances."""
    table = summary["tables"]["inertia stretched out [kg·m²]"]
    assert [table[joint]["exact"] for joint in arduino.JOINTS[1:]] == approx([0.03230, 0.006400, 0.000648], rel=1e-3)
    assert [table[joint]["ratio"] for joint in arduino.JOINTS[1:]] == approx([0.652, 0.6045, 0.5062], rel=1e-3)


def test_the_command_writes_figure_and_summary(tmp_path, run_picker):
    code, said, _ = run_picker("study", "arduino", "--out", str(tmp_path), "--samples", "2000", "--json")
    assert code == 0
    summary = json.loads(said)
    assert summary == json.loads((tmp_path / "summary.json").read_text(encoding="utf-8")) and summary["samples"] == 2000
    assert (tmp_path / "torque.png").read_bytes().startswith(b"\x89PNG")
