"""Golden sample: worked cases of every system of the reference notes, from first principles in 50 digits."""

import json
from functools import cache
from pathlib import Path

import numpy as np

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.robot.description import parse

TOLERANCE = 1e-12
"""Relative to an array's largest entry, absolute below 1."""

OTHER_NAMES = {
    "strawberry5": "picker",
    "spatial2": "spatial_2r",
    "planar2R": "planar_2r",
    "cylindrical2": "cylindrical",
    "ndof_chain": "chain",
}


@cache
def load_cases() -> dict[str, list[dict]]:
    """System -> its cases."""
    sample = json.loads((Path(__file__).parents[1] / "data/golden_sample.json").read_text(encoding="utf-8"))
    return {OTHER_NAMES.get(name, name): system["cases"] for name, system in sample["systems"].items()}


def model_of(system: str, case: int = 3) -> lagrangian.AnalyticModel:
    """The arm of one case; the last one has the most general numbers."""
    case = load_cases()[system][case]
    return chain_of(case["joints"], case["gravity"]) if system == "chain" else lagrangian.make(system, **case["params"])


def chain_of(joints: list[dict], gravity, **more) -> lagrangian.ChainModel:
    """Joints in a row as the golden sample has them: type R or P, axis, xyz and rpy in the frame before, the body's numbers."""
    said = ['<link name="link0"/>']
    for i, joint in enumerate(joints):
        axis = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}.get(str(joint["axis"]), joint["axis"])
        xyz, rpy, com, axis = (" ".join(map(repr, values)) for values in (joint["xyz"], joint["rpy"], joint["com"], axis))
        moments = " ".join(f'{key.lower()}="{value!r}"' for key, value in joint["inertia"].items())
        said.append(
            f'<joint name="joint{i}" type="{"continuous" if joint["type"] == "R" else "prismatic"}"><parent link="link{i}"/>'
            f'<child link="link{i + 1}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            f'<limit lower="-1" upper="1" velocity="1" effort="1"/></joint><link name="link{i + 1}"><inertial>'
            f'<origin xyz="{com}"/><mass value="{joint["mass"]!r}"/><inertia {moments}/></inertial></link>'
        )
    return lagrangian.ChainModel(parse(f'<robot name="chain">{"".join(said)}</robot>', "chain"), gravity, **more)


def agrees(actual, expected, about: str = "") -> None:
    """Same shape, and the largest difference within the tolerance."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, about
    assert np.max(np.abs(actual - expected)) <= TOLERANCE * max(1.0, np.max(np.abs(expected))), about


def check_dynamics(model, case: dict, **more) -> None:
    """Every quantity of the common interface that the case has, and ``more``."""
    q, v, a, j = (case[key] for key in ("q", "qd", "qdd", "qddd"))
    C = model.coriolis_matrix(q, v)
    actual = more | {
        "M": model.mass_matrix(q),
        "Cqd": C @ v,
        "G": model.gravity(q),
        "tau": model.inverse_dynamics(q, v, a),
        "taudot": model.torque_rate(q, v, a, j),
        "fd_qdd": model.forward_dynamics(q, v, case["fd_tau"]),
    }
    if "C" in case:
        actual |= {"C": C, "T": 0.5 * np.dot(v, model.mass_matrix(q) @ v), "V": model.potential_energy(q)}
    if "fk" in case:
        actual |= {"fk": model.forward_kinematics(q), "J": model.jacobian(q)}
    for key, value in actual.items():
        agrees(value, case[key], key)
