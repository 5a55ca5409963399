"""The strawberry-arm note's simplified Arduino formulas against the exact model.

Random states      angles within ±pi, rates within ±3 rad/s, accelerations within ±10 rad/s², independent and uniform.
Exact model        ``lagrangian.make("picker", …)`` with the note's numbers; of those that the note does not give, Iix = 0,
                   Iiz = Iiy, no payload, no inertia of turret and scissor.
Degrees            the note's program hands the servos' degrees to formulas that take radians: what that costs.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.trajectory.profiles import along, profile

from . import arduino_formulas as formulas

JOINTS = ("base", "shoulder", "elbow", "wrist")
"""The scissor has no torque of note in the exact model."""

ANGLE, RATE, ACCELERATION = math.pi, 3.0, 10.0
BERRY_KG = 0.025

START_POSE_DEG = (90.0, 95.0, 80.0, 90.0, 180.0)
"""The pose at which the note's program begins."""

MOVE_S = 0.7
FOLDED, REACHING = (-0.6, 1.9, -2.2, 0.2, 0.0), (0.6, 0.5, -0.6, -0.4, 0.0)
"""Of the figure: a quick reach for a berry [rad]."""


def exact_model(payload_kg: float = 0.0):
    """Exact model of the note's arm, with a payload."""
    given = {name: getattr(formulas, name) for name in ("g", "L1", "L2", "L3", "m1", "m2", "m3", "m4", "I1y", "I2y", "I3y")}
    slender = {f"I{i}z": given[f"I{i}y"] for i in (1, 2, 3)}  # Iiz = Iiy
    none = dict.fromkeys(("I0z", "I1x", "I2x", "I3x", "I4"), 0.0)
    return lagrangian.make("picker", m_p=payload_kg, **given, **slender, **none)


def random_states(samples: int, seed: int) -> tuple[np.ndarray, ...]:
    """Random states q, v, a, (samples, 5) each."""
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(-limit, limit, (samples, 5)) for limit in (ANGLE, RATE, ACCELERATION))


def summarise(samples: int = 1_000_000, seed: int = 0) -> dict:
    """The whole study, ready for JSON; torques in N·m."""
    model = exact_model()
    q, v, a = random_states(samples, seed)
    inertial, coriolis, gravity = formulas.parts(q, v, a)
    simplified = inertial + coriolis + gravity
    exact, exact_gravity = model.inverse_dynamics(q, v, a), model.gravity(q)
    exact_coriolis = model.inverse_dynamics(q, v, np.zeros_like(a)) - exact_gravity
    error = simplified - exact
    rms_error, rms_exact, rms_motion = _rms(error), _rms(exact), _rms(exact - exact_gravity)
    figures = {
        "RMS error": rms_error,
        "largest error": np.abs(error).max(axis=0),
        "RMS torque": rms_exact,
        "error [% of torque]": 100.0 * rms_error / rms_exact,
        "error [% of what the motion needs]": 100.0 * rms_error / rms_motion,
        "RMS error of gravity": _rms(gravity - exact_gravity),
        "RMS error of inertia": _rms(inertial - (exact - exact_coriolis - exact_gravity)),
        "RMS error of Coriolis": _rms(coriolis - exact_coriolis),
        f"RMS error with a berry of {1e3 * BERRY_KG:.0f} g": _rms(simplified - exact_model(BERRY_KG).inverse_dynamics(q, v, a)),
    }
    inertia, exact_inertia = np.array(formulas.mass_diagonal(np.zeros(5))), model.mass_matrix(np.zeros(5)).diagonal()[1:4]
    inertias = {"simplified": inertia, "exact": exact_inertia, "ratio": inertia / exact_inertia}
    times, radians, degrees = np.degrees(1.0) ** 2, _elbow_coriolis(1.0), _elbow_coriolis(float(np.degrees(1.0)))
    return {
        "passed": True,
        "samples": samples,
        "seed": seed,
        "findings": [
            "Gravity is exact. Inertia is not, and there is no coupling between joints.",
            f"Products of rates in degrees per second are {times:.0f} times too large: at 1 rad/s the elbow's Coriolis torque "
            f"becomes {degrees:.1f} N·m instead of {radians:.4f} N·m.",
        ],
        "tables": {
            f"simplified formulas less the exact model [N·m], {samples} random states": _by_joint(figures),
            "inertia stretched out [kg·m²]": _by_joint(inertias, JOINTS[1:]),
            "degrees where radians belong: gravity torque [N·m]": _degrees(model, samples, seed),
        },
    }


def _by_joint(figures: dict[str, np.ndarray], joints=JOINTS) -> dict[str, dict[str, float]]:
    """Figures, an array of each joint's, by joint and name."""
    return {joint: {name: float(values[i]) for name, values in figures.items()} for i, joint in enumerate(joints)}


def _rms(values: np.ndarray) -> np.ndarray:
    """Over the states, for each of ``JOINTS``."""
    return np.sqrt(np.mean(values[:, : len(JOINTS)] ** 2, axis=0))


def _elbow_coriolis(rate: float) -> float:
    """Coriolis torque that the formulas have for the bent elbow while the shoulder turns at ``rate`` [N·m]."""
    v, bent = np.array([0.0, rate, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, np.pi / 2, 0.0, 0.0])
    return float(formulas.parts(bent, v, np.zeros(5))[1][2])


def _degrees(model, samples: int, seed: int) -> dict:
    """Gravity by the formulas, with servo angles of 0 to 180 degrees in place of radians, and at the program's first pose."""
    pose, still = np.array(START_POSE_DEG), np.zeros(5)
    servo_deg = np.random.default_rng(seed).uniform(0.0, 180.0, (samples, 5))
    exact = model.gravity(np.radians(servo_deg))
    slip, truth = _rms(formulas.parts(servo_deg, still, 0.0 * servo_deg)[2] - exact)[1:], _rms(exact)[1:]
    figures = {
        "RMS error": slip,
        "RMS torque": truth,
        "error [%]": 100.0 * slip / truth,
        "first pose: says": formulas.compute_joint_torques(pose, still, still)[1:4],
        "first pose: needs": model.gravity(np.radians(pose))[1:4],
    }
    return _by_joint(figures, JOINTS[1:])


def figure(path: Path) -> None:
    """Write torque.png: the torques of a reach."""
    from ..report import draw

    model, t = exact_model(), np.linspace(0.0, MOVE_S, 501)
    q, v, a = along(profile("quintic"), FOLDED, REACHING, MOVE_S, model.joint_names).sample(t)
    reach = (
        (model.inverse_dynamics(q, v, a), "exact", "k"),
        (formulas.compute_joint_torques(q, v, a), "simplified", "#2471a3"),
        (model.gravity(q), "gravity only", "#e6a117"),
    )
    panels = []
    for i, joint in enumerate(JOINTS[1:], 1):
        curves = [(t, tau[:, i], {"label": name, "color": colour}) for tau, name, colour in reach]
        panels.append((curves, {"xlabel": "time [s]", "ylabel": f"{joint} [N·m]"}))
    draw(path, f"Simplified Arduino formulas against the exact model: a reach in {MOVE_S:g} s", 3, panels)
