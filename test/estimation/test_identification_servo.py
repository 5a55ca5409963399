"""Figures of one servo from logs that another integrator made, and what is said of logs that tell nothing."""

import json
import math
from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose
from pytest import approx, fixture, mark
from scipy.integrate import solve_ivp

from picker_dynamics.commands import cli
from picker_dynamics.errors import InputError
from picker_dynamics.estimation.identification import servo_fit

TRUTH = {
    "stiffness": 12.0,
    "gap": 0.012,
    "damping": 0.35,
    "load_friction": 0.4,
    "coulomb": 0.03,
    "stall_torque": 1.3,
    "armature": 3e-3,
    "tilt": 0.03,
    "delay": 0.012,
}
MASS, LENGTH, ROD, NOMINAL_V = 0.4, 0.2, 0.05, 7.0
NOISE = 5e-4

GOALS = {
    "waves": lambda t: 1.2 * np.sin(1.7 * t) + 0.3 * np.sin(5.0 * t),
    "stairs": lambda t: 0.6 * np.sin(0.7 * t) + 0.8 * np.clip(4.0 * np.sin(1.3 * t), -1.0, 1.0),
    "chirp": lambda t: 0.9 * np.sin(0.9 * t**1.6),
}


def moved(goal, t, figures, *, voltage=None, seed=0, source="log", gain=1.0) -> servo_fit.ServoLog:
    """A log of the servo as SciPy's Radau method integrates it, written out here once more, with noise.

    Friction is a steep slope through standstill, 1e-4 rad/s wide: what sticks creeps by that at the most.
    """
    f = {**TRUTH, **figures}
    inertia = (MASS + ROD / 3.0) * LENGTH**2 + f["armature"]
    moment = (MASS + ROD / 2.0) * 9.81 * LENGTH
    most = (f["stall_torque"] + f["coulomb"]) / (1.0 - f["load_friction"])

    def rate(now, state):
        q, v = state
        share = 1.0 if voltage is None else voltage(now) / NOMINAL_V
        ahead = goal(max(now - f["delay"], 0.0)) - q
        pull = f["stiffness"] * math.copysign(max(abs(ahead) - f["gap"], 0.0), ahead)
        motor = share * max(-most, min(most, pull)) - f["damping"] * v
        held = math.tanh(v / 1e-4) * (f["coulomb"] + f["load_friction"] * abs(motor))
        return v, (motor - held - moment * math.sin(q - f["tilt"])) / inertia

    q = solve_ivp(rate, (t[0], t[-1]), (0.0, 0.0), "Radau", t, rtol=1e-5, atol=1e-7, max_step=0.02).y[0]
    q = q + NOISE * np.random.default_rng(seed).normal(size=len(t))
    volts = np.zeros_like(t) if voltage is None else voltage(t)
    return servo_fit.ServoLog(source, t, goal(t), q, np.ones(len(t), bool), volts, MASS, LENGTH, ROD, gain)


T = np.arange(0.0, 4.5, 0.01)


@fixture(scope="module")
def logs():
    return [moved(goal, T, {}, seed=i, source=name) for i, (name, goal) in enumerate(GOALS.items())]


@fixture(scope="module")
def found(logs):
    return servo_fit.fit(logs[:2])


def test_the_model_moves_as_another_integrator_says(logs):
    """At half the gain the spring is half as stiff, and the supply counts for spring and stall torque."""

    def volts(t):
        return NOMINAL_V * (1.0 + 0.1 * np.sin(2.1 * t))

    weak = moved(GOALS["stairs"], T, {"stiffness": 0.5 * TRUTH["stiffness"]}, voltage=volts, gain=16.0)
    figures = np.array([[TRUTH[name] for name in servo_fit.FIGURES]])
    for log, gain in (*((log, 1.0) for log in logs), (weak, 32.0)):
        off = servo_fit.errors([log], figures, NOMINAL_V, gain, servo_fit.STEPS_S[-1])
        assert np.sqrt(np.mean(off**2)) < 0.6e-3  # 0.5 mrad of it noise


def test_figures_are_found_and_predict_another_log(found, logs):
    for name, true in TRUTH.items():
        slack = 0.05 if name == "armature" else 0.02  # of the step: half of it times D is 6 % of the inertia
        assert found.figures[name] == approx(true, abs=3.0 * found.sd[name] + slack * abs(true)), name
    assert found.figures["load_friction"] == approx(0.4, abs=0.03) and found.figures["stiffness"] == approx(12.0, rel=0.05)
    assert all(found.told.values()) and found.error(logs[2])["mean"] < 2e-3


def test_what_a_gentle_motion_does_not_tell_is_said(monkeypatch):
    monkeypatch.setattr(servo_fit, "STARTS", servo_fit.STARTS[1:2])
    found = servo_fit.fit([moved(lambda t: 0.5 * np.sin(2.0 * t), T[:250], {})])
    assert not found.told["stall_torque"] and found.told["stiffness"]


def test_what_was_recorded_while_relaxed_is_left_out(logs):
    waves = logs[0]
    fallen = replace(waves, enabled=(waves.t < 1.5) | (waves.t > 3.0))
    assert [len(one.t) for one in fallen.pieces()] == [150, 149]
    torn = replace(waves, t=waves.t + np.where(waves.t > 3.0, 100.0, 0.0))
    assert [one.t[-1] - one.t[0] for one in torn.pieces()] == approx([3.0, 1.48])


# -- the command -----------------------------------------------------------------------------------------------------------

PENDULUM = ("--mass", f"{MASS}kg", "--length", str(LENGTH), "--rod-mass", f"{ROD}kg")


def csv(path, log: servo_fit.ServoLog, degrees: bool = False, **columns):
    """Write a log; ``columns`` replace its own, or are left out where None."""
    unit = "deg" if degrees else "rad"
    angle = np.degrees if degrees else np.asarray
    table = {"time_s": log.t, f"goal_{unit}": angle(log.goal), f"position_{unit}": angle(log.q), **columns}
    table = {name: values for name, values in table.items() if values is not None}
    np.savetxt(path, np.stack(list(table.values()), axis=-1), "%.9g", ", ", header=", ".join(table), comments="")
    return str(path)


def test_the_command_writes_figures(tmp_path, logs, found, capsys, monkeypatch):
    paths = [csv(tmp_path / f"{log.source}.csv", log, degrees=log.source == "stairs") for log in logs]
    fitted = []
    monkeypatch.setattr(servo_fit, "fit", lambda logs: fitted.extend(logs) or found)
    words = ["identify", "servo", *paths[:2], *PENDULUM, "--hold-out", paths[2], "-o", str(tmp_path / "out")]
    assert cli.main([*words, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content == json.loads((tmp_path / "out/servo.json").read_text())
    for log, read in zip(logs, fitted):
        assert_allclose([read.q, read.goal], [log.q, log.goal], atol=1e-8)
        assert (read.mass, read.length, read.rod_mass, read.gain) == (MASS, LENGTH, ROD, 1.0) and not read.voltage.any()
    assert content["servo_map"]["stiffness_nm_rad"] == approx(12.0, rel=0.05) and content["figures"]["delay"]["unit"] == "s"
    assert content["servo_map"]["no_load_speed_rad_s"] == approx(1.3 / (0.6 * 0.35), rel=0.1)
    assert list(content["error_rad"]["held_out"]) == [paths[2]] and content["error_rad"]["held_out"][paths[2]]["mean"] < 2e-3
    assert cli.main(words) == 0 and "kept as servo.json.1" in capsys.readouterr().out


STILL, HALF = np.zeros_like(T), np.linspace(0.0, 1.0, len(T))


@mark.parametrize(
    "columns, words, said",
    [
        ({}, ("--length", "0.2"), "mass is 0, must be above 0 (--mass or a column)"),
        ({"mass_kg": STILL - 0.4}, ("--length", "0.2"), "mass is -0.4, must be above 0"),
        ({"goal_rad": None}, PENDULUM, "no column goal_rad or goal_deg"),
        ({"position_rad": STILL}, PENDULUM, "the servo moves 0.0000 rad one way"),
        ({"goal_rad": np.degrees(GOALS["waves"](T))}, PENDULUM, "in degrees? name it goal_deg"),
        ({"goal_rad": -GOALS["waves"](T)}, PENDULUM, "run against each other"),
        ({"goal_rad": -1.1 * HALF, "position_rad": -HALF}, PENDULUM, "friction and spring look alike"),
        ({"voltage_v": np.where(T == T[7], 74.0, 7.4)}, PENDULUM, "voltage_v is 74, must be 2 to 60"),
    ],
)
def test_what_tells_nothing_is_named_and_nothing_written(tmp_path, capsys, columns, words, said):
    q = GOALS["waves"](T)
    log = servo_fit.ServoLog("log", T, q, 0.9 * q, np.ones(len(T), bool), STILL, MASS, LENGTH)
    path, kept = csv(tmp_path / "log.csv", log, **columns), tmp_path / "out/servo.json"
    kept.parent.mkdir()
    kept.write_text("kept")
    assert cli.main(["identify", "servo", path, *words, "-o", str(tmp_path / "out")]) == InputError.exit_code
    complaint = capsys.readouterr().err
    assert said in complaint and len(complaint.splitlines()) == 1
    assert kept.read_text() == "kept" and [one.name for one in kept.parent.iterdir()] == ["servo.json"]
