"""The simplified Arduino formulas, and what the study says of them, against figures worked out beforehand (10⁶ states)."""

import json
import math

import numpy as np
from pytest import approx, fixture, mark, raises

from picker_dynamics.commands.study import arduino
from picker_dynamics.commands.study import arduino_formulas as formulas
from picker_dynamics.errors import InputError


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


def test_the_parts_add_up_and_a_batch_is_its_states():
    q, v, a = arduino.random_states(50, 2)
    whole = formulas.compute_joint_torques(q, v, a)
    np.testing.assert_array_equal(whole, sum(formulas.parts(q, v, a)))
    for i in range(5):
        np.testing.assert_allclose(formulas.compute_joint_torques(q[i], v[i], a[i]), whole[i], rtol=1e-14)


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


def test_the_base_is_off_by_seven_times_its_torque(summary):
    row = summary["joints"]["base"]
    assert row["rms_error"] == approx(0.534, rel=0.01) and row["rms_torque"] == approx(0.076, rel=0.015)
    assert row["error_percent_of_torque"] == approx(700, rel=0.03)


def test_the_coriolis_terms_remove_little(summary):
    """8 % of the shoulder's, 39 % of the elbow's, nothing of the wrist's."""
    for joint, removed in (("shoulder", 0.08), ("elbow", 0.39), ("wrist", 0.0)):
        row = summary["joints"][joint]
        assert 1.0 - row["rms_error_of_coriolis"] / row["rms_coriolis"] == approx(removed, abs=0.01)


@mark.parametrize(
    "joint, simplified, exact, ratio",
    [("shoulder", 0.0211, 0.0323, 0.65), ("elbow", 0.00387, 0.00640, 0.60), ("wrist", 0.000328, 0.000648, 0.51)],
)
def test_inertia_stretched_out(summary, joint, simplified, exact, ratio):
    row = summary["stretched_out"][joint]
    assert [row["simplified"], row["exact"]] == approx([simplified, exact], rel=5e-3)
    assert row["ratio"] == approx(ratio, abs=0.01)


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


def test_the_same_seed_says_the_same():
    assert arduino.summarise(2000, 7) == arduino.summarise(2000, 7) != arduino.summarise(2000, 8)


# --- command and bad input --------------------------------------------------------------------------------


def test_the_command_writes_figure_and_summary(tmp_path, run_picker):
    code, said, _ = run_picker("study", "arduino", "--out", str(tmp_path), "--samples", "20000", "--json")
    assert code == 0
    summary = json.loads(said)
    assert summary == json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["samples"] == 20000 and set(summary["joints"]) == {"base", "shoulder", "elbow", "wrist"}
    assert (tmp_path / "torque.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_a_table(tmp_path, run_picker, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, shown, _ = run_picker("study", "arduino", "--out", str(tmp_path), "--samples", "20000")
    assert code == 0 and all(
        word in shown for word in ("shoulder", "elbow", "wrist", "Gravity is exact", "3283 times", "+0.659", "-0.331")
    )


@mark.parametrize(
    "samples, seed, message",
    [
        (0, 0, "samples is 0"),
        (-5, 0, "samples is -5"),
        (10**9, 0, "samples is 1000000000"),
        (1.5, 0, "samples is 1.5"),
        (True, 0, "samples is True"),
        (10, -1, "seed is -1"),
        (10, None, "seed is None"),
    ],
)
def test_states_refused(samples, seed, message):
    with raises(InputError, match=message):
        arduino.random_states(samples, seed)
