"""The simplified Arduino formulas, and what the study says of them, against figures worked out beforehand (10⁶ states)."""

import json
import math

import numpy as np
from pytest import approx, fixture, mark

from picker_dynamics.commands.study import arduino
from picker_dynamics.commands.study import arduino_formulas as formulas


@fixture(scope="module")
def summary():
    return arduino.summarise(samples=300_000, seed=3)


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


@mark.parametrize(
    "joint, rms, largest, torque, percent, motion_percent, inertia, coriolis, berry",
    [
        ("shoulder", 0.0582, 0.518, 0.507, 11.5, 49, 0.0451, 0.0368, 0.084),
        ("elbow", 0.0399, 0.254, 0.204, 19.6, 78, 0.0368, 0.0154, 0.055),
        ("wrist", 0.0141, 0.100, 0.0520, 27.2, 97, 0.0101, 0.0098, 0.023),
    ],
)
def test_errors_over_random_states(summary, joint, rms, largest, torque, percent, motion_percent, inertia, coriolis, berry):
    """1 % is several times what 3·10⁵ samples scatter; ``largest`` is the worst state there is."""
    row = summary["joints"][joint]
    of_torque = [row[name] for name in ("rms_error", "rms_torque", "error_percent_of_torque")]
    assert of_torque == approx([rms, torque, percent], rel=0.01)
    assert 0.5 * largest < row["largest_error"] <= largest
    assert row["error_percent_of_motion_torque"] == approx(motion_percent, abs=1.0)
    assert [row["rms_error_of_inertia"], row["rms_error_of_coriolis"]] == approx([inertia, coriolis], rel=0.012)
    assert row["rms_error_with_berry"] == approx(berry, rel=0.03)
    assert row["rms_error_of_gravity"] < 1e-14


@mark.parametrize("joint, slip, needed", [("shoulder", 0.68, 0.47), ("elbow", 0.28, 0.20), ("wrist", 0.071, 0.050)])
def test_what_degrees_cost(summary, joint, slip, needed):
    row = summary["degrees"]["joints"][joint]
    assert [row["rms_error_of_gravity"], row["rms_gravity"]] == approx([slip, needed], rel=0.02)


def test_degrees_turn_the_sign_at_the_first_pose(summary):
    slip = summary["degrees"]
    shoulder, elbow = slip["joints"]["shoulder"], slip["elbow_coriolis_at_1_rad_s"]
    assert [shoulder["start_pose_said"], shoulder["start_pose_needed"]] == approx([0.659, -0.331], abs=5e-4)
    assert slip["rate_products_times"] == approx(3283, abs=1)
    assert elbow["radians"] == approx(0.0058, rel=1e-9) and elbow["degrees"] == approx(19.0, abs=0.05)


# --- command and bad input --------------------------------------------------------------------------------


def test_the_command_writes_figure_and_summary(tmp_path, run_picker):
    code, said, _ = run_picker("study", "arduino", "--out", str(tmp_path), "--samples", "20000", "--json")
    assert code == 0
    summary = json.loads(said)
    assert summary == json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["samples"] == 20000 and set(summary["joints"]) == {"base", "shoulder", "elbow", "wrist"}
    assert (tmp_path / "torque.png").read_bytes().startswith(b"\x89PNG")
