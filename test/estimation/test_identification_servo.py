"""Figures of one servo from logs that another integrator made, and what is said of logs that tell nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
from pytest import approx, fixture, importorskip, mark
from scipy.integrate import solve_ivp

from picker_dynamics.commands import cli
from picker_dynamics.errors import InputError
from picker_dynamics.estimation.identification import servo_fit, servo_log

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


def moved(goal, t, figures, *, voltage=None, load=None, mass=MASS, seed=0, source="log") -> servo_log.ServoLog:
    """A log of the servo as SciPy's Radau method integrates it, written out here once more, with noise.

    Friction is a steep slope through standstill, 1e-4 rad/s wide: what sticks creeps by that at the most.
    """
    f = {**TRUTH, **figures}
    inertia = (mass + ROD / 3.0) * LENGTH**2 + f["armature"] if load is None else 0.02
    moment = (mass + ROD / 2.0) * 9.81 * LENGTH
    most = (f["stall_torque"] + f["coulomb"]) / (1.0 - f["load_friction"])

    def rate(now, state):
        q, v = state
        share = 1.0 if voltage is None else voltage(now) / NOMINAL_V
        ahead = goal(max(now - f["delay"], 0.0)) - q
        pull = f["stiffness"] * math.copysign(max(abs(ahead) - f["gap"], 0.0), ahead)
        motor = share * max(-most, min(most, pull)) - f["damping"] * v
        held = math.tanh(v / 1e-4) * (f["coulomb"] + f["load_friction"] * abs(motor))
        borne = moment * math.sin(q - f["tilt"]) if load is None else load(now)
        return v, (motor - held - borne) / inertia

    q = solve_ivp(rate, (t[0], t[-1]), (0.0, 0.0), "Radau", t, rtol=1e-5, atol=1e-7, max_step=0.02).y[0]
    q = q + NOISE * np.random.default_rng(seed).normal(size=len(t))
    pendulum = {} if load is not None else {"mass": mass, "length": LENGTH, "rod_mass": ROD}
    torque = np.zeros_like(t) if load is None else load(t)
    volts = None if voltage is None else voltage(t)
    return servo_log.ServoLog(source, t, goal(t), q, torque, np.ones(len(t), bool), voltage=volts, **pendulum)


T = np.arange(0.0, 4.5, 0.01)


@fixture(scope="module")
def logs():
    return [moved(goal, T, {}, seed=i, source=name) for i, (name, goal) in enumerate(GOALS.items())]


@fixture(scope="module")
def found(logs):
    return servo_fit.fit(logs[:2])


def within(found: servo_fit.Fit, truth: dict[str, float], names) -> None:
    for name in names:
        slack = 0.05 if name == "armature" else 0.02  # of the step: half of it times D is 6 % of the inertia
        assert found.figures[name] == approx(truth[name], abs=3.0 * found.sd[name] + slack * abs(truth[name])), name


def known(*sought: str) -> dict[str, float]:
    """What the truth has, but for the figures that are ``sought``."""
    return {name: value for name, value in TRUTH.items() if name not in sought}


def test_the_model_moves_as_another_integrator_says(logs):
    figures = np.array([[TRUTH[name] for name in servo_fit.NAMES]])
    for log in logs:
        off = servo_fit.rig([log]).simulate(figures)[0] - log.q
        assert np.sqrt(np.mean(off**2)) < 0.6e-3  # 0.5 mrad of it noise


def test_figures_are_found_and_predict_another_log(found, logs):
    within(found, TRUTH, TRUTH)
    assert found.figures["load_friction"] == approx(0.4, abs=0.03) and found.figures["stiffness"] == approx(12.0, rel=0.05)
    assert all(map(found.told, TRUTH)) and found.error(logs[2])["mean"] < 2e-3


def test_each_log_takes_its_turn_and_one_alone_is_cut(found, logs):
    fixed = known("stiffness")
    errors = servo_fit.held_out(logs[:2], fixed, found) | {"tail": servo_fit.held_out(logs[:1], fixed, found)["waves"]}
    assert list(errors) == ["waves", "stairs", "tail"] and all(one["mean"] < 5e-3 for one in errors.values())


def test_a_measured_load_gains_and_supply():
    """In place of a pendulum the load is measured; stiffness goes with the gain and with the supply."""

    def volts(t):
        return NOMINAL_V * (1.0 + 0.1 * np.sin(2.1 * t))

    def load(t):
        return 0.6 * np.sin(0.9 * t) + 0.1

    logs = [
        replace(
            moved(GOALS["waves"], T, {"stiffness": 12.0 * gain / 32.0}, seed=gain, voltage=volts, load=load), gain=float(gain)
        )
        for gain in (16, 32)
    ]
    found = servo_fit.fit(logs, known("stiffness", "load_friction", "tilt") | {"armature": 0.02})
    within(found, {**TRUTH, "stiffness": 12.0 * found.rig.voltage / NOMINAL_V}, ("stiffness", "load_friction"))
    assert found.rig.gain == 32.0 and found.figures["tilt"] == 0.0  # the supply is the median of what was read


def test_what_a_gentle_motion_does_not_tell_is_said():
    found = servo_fit.fit([moved(lambda t: 0.5 * np.sin(2.0 * t), T[:250], {})], known("stiffness", "stall_torque"))
    assert not found.told("stall_torque") and found.told("stiffness")


def test_what_was_recorded_while_relaxed_is_left_out(logs):
    waves = logs[0]
    fallen = replace(waves, enabled=(waves.t < 1.5) | (waves.t > 3.0))
    assert [len(one.t) for one in fallen.pieces()] == [150, 149]
    torn = replace(waves, t=waves.t + np.where(waves.t > 3.0, 100.0, 0.0))
    assert [one.t[-1] - one.t[0] for one in torn.pieces()] == approx([3.0, 1.48])


# -- the command -----------------------------------------------------------------------------------------------------------

PENDULUM = ("--mass", str(MASS), "--length", str(LENGTH), "--rod-mass", str(ROD))


def csv(path, log: servo_log.ServoLog, degrees: bool = False, **columns):
    """Write a log; ``columns`` replace its own, or are left out where None."""
    unit = "deg" if degrees else "rad"
    angle = np.degrees if degrees else np.asarray
    table = {"time_s": log.t, f"goal_{unit}": angle(log.goal), f"position_{unit}": angle(log.q), **columns}
    table = {name: values for name, values in table.items() if values is not None}
    np.savetxt(path, np.stack(list(table.values()), axis=-1), "%.9g", ", ", header=", ".join(table), comments="")
    return str(path)


def test_the_command_writes_figures_and_a_plot(tmp_path, logs, capsys):
    importorskip("matplotlib", reason="matplotlib is an extra")
    paths = [csv(tmp_path / f"{log.source}.csv", log, degrees=log.source == "stairs") for log in logs]
    fixed = [f"--fix={name}={value}" for name, value in known("stiffness").items()]
    words = ["identify", "servo", *paths[:2], *PENDULUM, "--hold-out", paths[2], "-o", str(tmp_path / "out"), *fixed]
    assert cli.main([*words, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content == json.loads((tmp_path / "out/servo.json").read_text())
    assert content["figures"]["load_friction"] == {"value": 0.4, "interval_95": 0.0, "unit": "", "how": "given"}
    assert content["servo_map"]["stiffness_nm_rad"] == approx(12.0, rel=0.05)
    assert content["servo_map"]["no_load_speed_rad_s"] == approx(1.3 / (0.6 * 0.35), rel=0.1)
    assert list(content["error_rad"]["held_out"]["logs"]) == [paths[2]] and content["error_rad"]["held_out"]["mean"] < 2e-3
    assert (tmp_path / "out/servo.png").read_bytes().startswith(b"\x89PNG")
    assert cli.main(words) == 0
    said = capsys.readouterr().out
    assert "kept as servo.json.1" in said and "kept as servo.png.1" in said and "given" in said


STILL, HALF = np.zeros_like(T), np.linspace(0.0, 1.0, len(T))


@mark.parametrize(
    "columns, words, said",
    [
        ({}, ("--length", "0.2"), "no column load_nm, and no pendulum: --mass is missing"),
        ({}, ("--mass", "-0.4", "--length", "0.2"), "mass_kg is -0.4, must be above 0"),
        ({"load_nm": STILL + 1.0}, PENDULUM, "column load_nm, and a pendulum besides"),
        ({"goal_rad": None}, PENDULUM, "no column goal_rad or goal_deg: name them in their order"),
        ({"position_rad": STILL}, PENDULUM, "no motion: the position changes by 0.0000 rad"),
        ({"goal_rad": np.degrees(GOALS["waves"](T))}, PENDULUM, "in degrees? name it goal_deg"),
        ({"goal_rad": -GOALS["waves"](T)}, PENDULUM, "run against each other"),
        ({"goal_rad": -1.1 * HALF, "position_rad": -HALF}, PENDULUM, "moves towards negative angles only"),
        ({"voltage_v": np.where(T == T[7], 74.0, 7.4)}, PENDULUM, "voltage_v is 74 in sample 7, must be 2 to 60"),
        ({}, (*PENDULUM, "--fix", "load_friction=0.95"), "load_friction is 0.95 , must be 0 to 0.9"),
        ({}, (*PENDULUM, "--fix", "play=0.01"), "no figure 'play': there are stiffness, gap"),
    ],
)
def test_what_tells_nothing_is_named_and_nothing_written(tmp_path, capsys, columns, words, said):
    q = GOALS["waves"](T)
    log = servo_log.ServoLog("log", T, q, 0.9 * q, STILL, np.ones(len(T), bool))
    path, kept = csv(tmp_path / "log.csv", log, **columns), tmp_path / "out/servo.json"
    kept.parent.mkdir()
    kept.write_text("kept")
    assert cli.main(["identify", "servo", path, *words, "-o", str(tmp_path / "out")]) == InputError.exit_code
    complaint = capsys.readouterr().err
    assert said in complaint and len(complaint.splitlines()) == 1
    assert kept.read_text() == "kept" and [one.name for one in kept.parent.iterdir()] == ["servo.json"]
