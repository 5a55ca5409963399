"""What the validator and the guard on the reference cost: ``python -m benchmarks.guard``.

The validator looks at a whole motion before it is begun: of 2 s, of an arm of 7 joints (panda) with a gripper, where
example-robot-data is installed.  The guard looks at each sample of a motion of the picker, with the model that the controller
has, before it is sent.
"""

from __future__ import annotations

import json
import time

import numpy as np

SECONDS, ROUNDS = 4.0, 7

GATED_S, MOTIONS, FAR = 2.0, 20, 0.15
"""Motions that the validator looks at: duration [s], how many, and how far their joints go [rad or m]."""


def run(rounds: int = ROUNDS) -> dict:
    """Time for each sample, of the guard, and for each motion, of the validator [ms]."""
    return {"ms": _guard_ms(rounds), "gate_of_7_joints_ms": _validator_ms(rounds)}


def _validator_ms(rounds: int) -> dict:
    """Over seeded motions that may be made as they are asked for; median: None without the arm."""
    from benchmarks.inverse_kinematics import urdfs
    from picker_dynamics.scripting.equipment import equipment
    from picker_dynamics.trajectory import profiles

    path = urdfs().get("panda")
    if path is None:
        return {"median": None}
    known, rng, took = equipment(path), np.random.default_rng(1), []
    validator, arm, quintic = known.validator(), known.description, profiles.profile("quintic")
    for _ in range(rounds * MOTIONS):
        target = np.clip(known.home + rng.uniform(-FAR, FAR, arm.n), arm.lower, arm.upper)
        motion = profiles.along(quintic, known.home, target, GATED_S, arm.joint_names)
        started = time.perf_counter()
        found = validator.scaled(motion)
        if found.factor == 1.0:
            took.append(1e3 * (time.perf_counter() - started))
    return {"joints": arm.n, "motions": len(took), "median": round(float(np.median(took)), 2), "max": round(max(took), 2)}


def _guard_ms(rounds: int) -> dict:
    """Median of the rounds, and the worst sample of the best round."""
    from picker_dynamics.dynamics import lagrangian
    from picker_dynamics.execution.checks import TorqueLimits
    from picker_dynamics.execution.guard import ReferenceGuard
    from picker_dynamics.execution.motion import Reference
    from picker_dynamics.execution.validator import TIP_SPEED, MotionValidator
    from picker_dynamics.resources import resource
    from picker_dynamics.robot import description, servo_map
    from picker_dynamics.trajectory import profiles

    arm = description.load(resource("urdf/picker.urdf"))
    servos = servo_map.load(resource("config/servos.yaml"), arm.joint_names)
    limits = TorqueLimits.of_servos(servos)
    validator = MotionValidator(lagrangian.analytic_model(arm, servos.armature, 0.025), limits, arm, TIP_SPEED)
    begin = np.array(servos.home)
    path = profiles.along(profiles.profile("quintic"), begin, begin + [0.3, 0.1, -0.1, 0.2, 0.0], SECONDS, arm.joint_names)
    references = [Reference(time_s, *path.sample(time_s)) for time_s in np.arange(0.0, SECONDS, 0.01)]
    medians, worst = [], []
    for _ in range(rounds):
        guard, took = ReferenceGuard(arm), []
        guard.begin(begin)
        for reference in references:
            started = time.perf_counter()
            breach = guard.breach(reference, validator)
            guard.sent(reference)
            took.append(1e3 * (time.perf_counter() - started))
            if breach is not None:
                raise breach
        medians.append(float(np.median(took)))
        worst.append(max(took))
    return {"median": round(float(np.median(medians)), 4), "least": round(min(medians), 4), "max": round(min(worst), 3)}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
