"""The golden sample: worked cases of every system of the reference notes, from first principles in 50 digits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

TOLERANCE = 1e-12
"""Relative to an array's largest entry, absolute below 1."""

OTHER_NAMES = {
    "strawberry5": "picker",
    "spatial2": "spatial_2r",
    "planar2R": "planar_2r",
    "cylindrical2": "cylindrical",
    "ndof_chain": "chain",
}


def load_cases() -> dict[str, list[dict]]:
    """System -> its cases."""
    sample = json.loads((Path(__file__).parents[1] / "data/golden_sample.json").read_text(encoding="utf-8"))
    return {OTHER_NAMES.get(name, name): system["cases"] for name, system in sample["systems"].items()}


def agrees(actual, expected, about: str = "") -> None:
    """Same shape, and the largest difference within the tolerance."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, about
    assert np.max(np.abs(actual - expected)) <= TOLERANCE * max(1.0, np.max(np.abs(expected))), about


def check_dynamics(model, case: dict) -> None:
    """Every quantity of the common interface that the case has."""
    q, v, a, j = (case[key] for key in ("q", "qd", "qdd", "qddd"))
    C = model.coriolis_matrix(q, v)
    agrees(model.mass_matrix(q), case["M"], "M")
    agrees(C, case["C"], "C")
    agrees(C @ v, case["Cqd"], "C qd")
    agrees(model.gravity(q), case["G"], "G")
    agrees(model.inverse_dynamics(q, v, a), case["tau"], "tau")
    agrees(model.torque_rate(q, v, a, j), case["taudot"], "taudot")
    agrees(model.kinetic_energy(q, v), case["T"], "T")
    agrees(model.potential_energy(q), case["V"], "V")
    agrees(model.forward_dynamics(q, v, case["fd_tau"]), case["fd_qdd"], "forward dynamics")
    if "fk" in case:
        agrees(model.forward_kinematics(q), case["fk"], "fk")
        agrees(model.jacobian(q), case["J"], "J")
