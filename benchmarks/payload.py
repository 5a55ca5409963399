"""How well the scissor's payload is weighed with an inclinometer on the forearm: ``python -m benchmarks.payload``.

Each seed is another simulated arm with hidden masses, stiffness, deadband, zeros, scales and dry friction, known as well as a
calibration knows it (K 4 %, zero 0.15°, masses 1 %, one standard deviation); poses and their number are those that ``picker
weigh`` plans for ± 3 g.
"""

from __future__ import annotations

import json
import time

import numpy as np

PAYLOAD_KG, SEEDS = 0.025, 24


def run(seeds: int = SEEDS, servo: str = "ideal") -> dict:
    """Errors [g] over the seeds, how often the stated interval contains the truth, and what a person has to read."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.calibration.instruments import Inclinometer
    from picker_dynamics.estimation.payload import DroopScale, plan
    from picker_dynamics.estimation.rehearsal import WeighingBench
    from picker_dynamics.execution.validator import torque_validator
    from picker_dynamics.resources import resource
    from picker_dynamics.robot import servo_arm

    started, forearm = time.perf_counter(), Inclinometer("forearm")
    arm, servos = servo_arm.load(overlay=resource(f"config/servos.{servo}.yaml"))
    scale, validator = DroopScale(arm, servos), torque_validator(RigidBody(arm, servos.armature), servos)
    visits = plan(scale, validator, forearm, servos.home).visits
    errors, inside = [], []
    for seed in range(seeds):
        found = scale.weigh(WeighingBench(scale, PAYLOAD_KG, seed).read(visits)).mass
        errors.append(1e3 * abs(found.value - PAYLOAD_KG))
        inside.append(found.contains(PAYLOAD_KG))
    return {
        "payload_g": 1e3 * PAYLOAD_KG,
        "seeds": seeds,
        "error_g": {
            "median": round(float(np.median(errors)), 2),
            "p95": round(float(np.quantile(errors, 0.95)), 2),
            "max": round(float(max(errors)), 2),
        },
        "share_within_3_g": float(np.mean(np.array(errors) <= 3.0)),
        "intervals_with_the_truth": float(np.mean(inside)),
        "readings": len(visits),
        "seconds": round(time.perf_counter() - started, 1),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
