"""What the guard on the reference costs: ``python -m benchmarks.guard``.

Each sample of a motion of the picker, with the model that the controller has, is looked at as before it is sent.
"""

from __future__ import annotations

import json
import time

import numpy as np

SECONDS, ROUNDS = 4.0, 7


def run(rounds: int = ROUNDS) -> dict:
    """Time for each sample [ms]: median of the rounds, and the worst sample of the best round."""
    from picker_dynamics.dynamics import lagrangian
    from picker_dynamics.execution.guard import ReferenceGuard
    from picker_dynamics.execution.motion import Reference
    from picker_dynamics.execution.torque_limits import TorqueLimits
    from picker_dynamics.execution.validator import motion_validator
    from picker_dynamics.resources import resource
    from picker_dynamics.robot import description, servo_map
    from picker_dynamics.trajectory import profiles

    arm = description.load(resource("urdf/picker.urdf"))
    servos = servo_map.load(resource("config/servos.yaml"), arm.joint_names)
    limits = TorqueLimits.of_servos(servos)
    validator = motion_validator(arm, limits, lagrangian.analytic_model(arm, servos.armature, 0.025))
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
    return {"ms": {"median": round(float(np.median(medians)), 4), "least": round(min(medians), 4), "max": round(min(worst), 3)}}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
