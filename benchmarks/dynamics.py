"""Hand-written inverse dynamics against Pinocchio, on one core: ``python -m benchmarks.dynamics``.

What is compared, the closed form on urdf/picker.urdf:

* a batch of states: in NumPy, against a Python loop that calls ``pin.rnea`` for each state;
* one state: the model's call and ``RigidBody``'s beside a bare call of ``pin.rnea``;

and the same for the N-joint chain, on serial arms of 6 and 7 joints.  Besides: what a script's ``Arm``
adds to a question to its model.

Every round measures all of them one after the other, so that a busy machine slows all alike; figures are
medians over the rounds, ratios medians of the ratios within a round.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pinocchio as pin

from picker_dynamics import Arm, resources
from picker_dynamics.dynamics import cross_check, lagrangian
from picker_dynamics.dynamics.lagrangian import AnalyticModel
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.robot import description
from picker_dynamics.robot.description import ArmDescription

STATES = 100_000
CALLS = 5_000
CHAIN_JOINTS = (6, 7)


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _repeat(function, *arguments) -> Callable[[], None]:
    def repeat():
        for _ in range(CALLS):
            function(*arguments)

    return repeat


def serial_arm(joints: int) -> str:
    """URDF of an arm as they are sold: axes z y y z y z z, links of 0.25 m that get lighter outwards."""
    axes = ("0 0 1", "0 1 0", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 0 1")
    parts = ['<robot name="serial"><link name="link0"/>']
    for i, axis in enumerate(axes[:joints], start=1):
        mass = 6.0 / i
        parts.append(
            f'<joint name="joint{i}" type="revolute"><parent link="link{i - 1}"/><child link="link{i}"/>'
            f'<origin xyz="0 {0.02 * (-1) ** i} 0.25" rpy="0 0 {0.1 * i}"/><axis xyz="{axis}"/>'
            '<limit lower="-2.9" upper="2.9" velocity="2" effort="100"/></joint>'
            f'<link name="link{i}"><inertial><origin xyz="0.01 0 0.12" rpy="0 0.1 0"/><mass value="{mass}"/>'
            f'<inertia ixx="{mass * 6e-3}" ixy="0" ixz="0" iyy="{mass * 6e-3}" iyz="0" izz="{mass * 1e-3}"/></inertial></link>'
        )
    return "".join(parts) + "</robot>"


def run(rounds: int = 9) -> dict:
    """Measure; returns microseconds per call or nanoseconds per state, and the ratios, ready for JSON."""
    picker = description.load(resources.resource("urdf/picker.urdf"))
    chains = {joints: description.parse(serial_arm(joints)) for joints in CHAIN_JOINTS}
    return (
        _measured(picker, lagrangian.from_description(picker), rounds)
        | {f"chain_{joints}_joints": _measured(arm, lagrangian.ChainModel(arm), rounds) for joints, arm in chains.items()}
        | {"arm_beyond_model_us": _beyond_model_us(rounds)}
    )


def _beyond_model_us(rounds: int) -> float:
    """Microseconds that a call of ``Arm.gravity_torque`` takes longer than one of its model."""
    with Arm.offline() as arm:
        q = arm.q
        asks = [_repeat(arm.gravity_torque, q), _repeat(arm.model.gravity, q)]
        took = [[_seconds(ask) for ask in asks] for _ in range(rounds)]
    return round(median(asked - model for asked, model in took) / CALLS * 1e6, 2)


def _measured(arm: ArmDescription, analytic_model: AnalyticModel, rounds: int) -> dict:
    """All ways to compute the inverse dynamics of one arm, in turns."""
    rigid_body = RigidBody(arm)
    model = pin.buildModelFromXML(arm.urdf)
    data = model.createData()
    q, v, a = cross_check.sample_states(arm, STATES)
    one = tuple(np.array(x[0]) for x in (q, v, a))

    def pinocchio_loop():
        for i in range(STATES):
            pin.rnea(model, data, q[i], v[i], a[i])

    batch = {"pinocchio_loop": pinocchio_loop, "numpy": lambda: analytic_model.inverse_dynamics(q, v, a)}
    single = {
        "pinocchio": _repeat(pin.rnea, model, data, *one),
        "rigid_body": _repeat(rigid_body.inverse_dynamics, *one),
        "numpy": _repeat(analytic_model.inverse_dynamics, *one),
    }
    batch_s = [{name: _seconds(function) for name, function in batch.items()} for _ in range(rounds)]
    single_s = [{name: _seconds(function) for name, function in single.items()} for _ in range(rounds)]
    batch_s = {name: [r[name] for r in batch_s] for name in batch}
    single_s = {name: [r[name] for r in single_s] for name in single}

    return {
        "states": STATES,
        "rounds": rounds,
        "batch_ns_per_state": {name: round(median(s) / STATES * 1e9, 1) for name, s in batch_s.items()},
        "single_us_per_call": {name: round(median(s) / CALLS * 1e6, 3) for name, s in single_s.items()},
        "batch_numpy_speedup": round(median(s / f for s, f in zip(batch_s["pinocchio_loop"], batch_s["numpy"])), 1),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
