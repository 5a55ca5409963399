"""The strawberry-arm note's simplified Arduino formulas against the exact model.

Random states      angles within ±pi, rates within ±3 rad/s, accelerations within ±10 rad/s², independent and uniform.
Exact model        ``lagrangian.make("picker", …)`` with the note's numbers; of those that the note does not give, Iix = 0,
                   Iiz = Iiy, no payload, no inertia of turret and scissor.
Degrees            the note's program hands the servos' degrees to formulas that take radians: what that costs.
"""

from __future__ import annotations

import math

import numpy as np

from picker_dynamics.dynamics import lagrangian

from . import arduino_formulas as formulas

JOINTS = ("base", "shoulder", "elbow", "wrist")
"""The scissor has no torque of note in the exact model."""

ANGLE, RATE, ACCELERATION = math.pi, 3.0, 10.0
BERRY_KG = 0.025

START_POSE_DEG = (90.0, 95.0, 80.0, 90.0, 180.0)
"""The pose at which the note's program begins."""


def exact_model(payload_kg: float = 0.0):
    """Exact model of the note's arm, with a payload."""
    given = {name: getattr(formulas, name) for name in ("g", "L1", "L2", "L3", "m1", "m2", "m3", "m4", "I1y", "I2y", "I3y")}
    slender = {f"I{i}z": given[f"I{i}y"] for i in (1, 2, 3)}  # Iiz = Iiy
    none = dict.fromkeys(("I0z", "I1x", "I2x", "I3x", "I4"), 0.0)
    return lagrangian.make("picker", m_p=payload_kg, **given, **slender, **none)


def random_states(samples: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random states q, v, a, (samples, 5) each."""
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(-limit, limit, (samples, 5)) for limit in (ANGLE, RATE, ACCELERATION))


def summarise(samples: int = 1_000_000, seed: int = 0) -> dict:
    """The whole study, ready for JSON; torques in N·m."""
    model = exact_model()
    q, v, a = random_states(samples, seed)
    inertial, coriolis, gravity = formulas.parts(q, v, a)
    exact = model.inverse_dynamics(q, v, a)
    exact_gravity = model.gravity(q)
    exact_coriolis = model.inverse_dynamics(q, v, np.zeros_like(a)) - exact_gravity
    error = inertial + coriolis + gravity - exact
    with_berry = inertial + coriolis + gravity - exact_model(BERRY_KG).inverse_dynamics(q, v, a)
    rms_error, rms_exact, rms_motion = _rms(error), _rms(exact), _rms(exact - exact_gravity)
    figures = {
        "rms_error": rms_error,
        "largest_error": np.abs(error).max(axis=0),
        "rms_torque": rms_exact,
        "error_percent_of_torque": 100.0 * rms_error / rms_exact,
        "error_percent_of_motion_torque": 100.0 * rms_error / rms_motion,
        "rms_error_of_gravity": _rms(gravity - exact_gravity),
        "rms_error_of_inertia": _rms(inertial - (exact - exact_coriolis - exact_gravity)),
        "rms_error_of_coriolis": _rms(coriolis - exact_coriolis),
        "rms_coriolis": _rms(exact_coriolis),
        "rms_error_with_berry": _rms(with_berry),
    }
    return {
        "samples": samples,
        "seed": seed,
        "angles_within_rad": ANGLE,
        "rates_within_rad_s": RATE,
        "accelerations_within_rad_s2": ACCELERATION,
        "berry_kg": BERRY_KG,
        "joints": {joint: {name: float(values[i]) for name, values in figures.items()} for i, joint in enumerate(JOINTS)},
        "stretched_out": _stretched_out(model),
        "degrees": _degrees(model, samples, seed),
    }


def _rms(values: np.ndarray) -> np.ndarray:
    """Over the states, for each of ``JOINTS``."""
    return np.sqrt(np.mean(values[:, : len(JOINTS)] ** 2, axis=0))


def _stretched_out(model) -> dict:
    """The diagonal of the mass matrix at q = 0 [kg·m²]."""
    exact, found = model.mass_matrix(np.zeros(5)).diagonal().tolist(), {}
    for i in (1, 2, 3):
        simplified = float(formulas.compute_mass_matrix_element(i, i, 0.0, 0.0, 0.0))
        found[JOINTS[i]] = {"simplified": simplified, "exact": exact[i], "ratio": simplified / exact[i]}
    return found


def _degrees(model, samples: int, seed: int) -> dict:
    """The formulas, right or wrong, with degrees in place of radians; the program leaves accelerations at 0."""
    pose, still = np.array(START_POSE_DEG), np.zeros(5)
    servo_deg = np.random.default_rng(seed).uniform(0.0, 180.0, (samples, 5))
    gravity, exact = formulas.parts(servo_deg, still, 0.0 * servo_deg)[2], model.gravity(np.radians(servo_deg))
    slip, truth = _rms(gravity - exact), _rms(exact)
    figures = {
        "rms_error_of_gravity": slip,
        "rms_gravity": truth,
        "error_percent_of_gravity": 100.0 * slip / np.where(truth > 0.0, truth, 1.0),
        "start_pose_said": formulas.compute_joint_torques(pose, still, still),
        "start_pose_needed": model.gravity(np.radians(pose)),
    }
    rate, bent = np.array([0.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, np.pi / 2, 0.0, 0.0])
    coriolis = {
        unit: float(formulas.parts(bent, v, still)[1][2]) for unit, v in (("radians", rate), ("degrees", np.degrees(rate)))
    }
    return {
        "joints": {JOINTS[i]: {name: float(values[i]) for name, values in figures.items()} for i in (1, 2, 3)},
        "start_pose_deg": START_POSE_DEG,
        "rate_products_times": float(np.degrees(1.0) ** 2),
        "elbow_coriolis_at_1_rad_s": coriolis,
    }
