"""Tip error at rest and in motion, with and without compensation: ``python -m benchmarks.hold``.

Truth is the simulated arm's tip, moved through the whole chain (compensation, frames, firmware, quantised pulses,
servos with deadband, MuJoCo) along the same seeded poses in every case; holding is read 2.5 s after arrival.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np

from picker_dynamics.control.compensation import MODES
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.closed_loop import (
    REACH_M,
    SETTLE_S,
    TIP_SPEED,
    ClosedLoop,
    feasible_poses,
    hold_errors,
    paths_between,
)
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.sim.plant import STEP_S, Plant
from picker_dynamics.sim.plant_error import scaled_masses

POSES, POSE_SEED = 16, 1
PLANT_ERROR, PLANT_SEEDS = 0.15, (1, 2, 3, 4, 5)
TRUE_STIFFNESS = 25.0
"""K [N·m/rad] of the arm whose controller believes in the map's 10: over-compensation, which does harm."""


class Study:
    """The poses, and the controller that knows the nominal arm."""

    def __init__(self):
        self.arm, self.servos = servo_arm.load(overlay=resource("config/servos.sim.yaml"))
        self.model = RigidBody(self.arm, self.servos.armature)
        self.validator = torque_validator(self.model, self.servos)

    def paths(self, reach_m: float):
        """Motions through random poses whose tip is at least ``reach_m`` from the base axis."""
        poses = feasible_poses(
            self.validator, self.arm.lower, self.arm.upper, POSES, seed=POSE_SEED, start=self.servos.home, reach_m=reach_m
        )
        return paths_between(poses, self.validator)

    def modes(self, paths, *, servos=None, modes=MODES, half_frame=True, **plant) -> dict:
        """Errors [mm] per mode on an arm that differs as ``plant`` says, and how they compare with ``none``."""
        hold, result = {}, {}
        for mode in modes:
            arm = Plant(self.arm, servos or self.servos, **plant)
            loop = ClosedLoop(arm, self.model, self.servos, mode, half_frame=half_frame)
            hold[mode], rms = hold_errors(loop, paths)
            result[mode] = {"hold_mm": _spread(hold[mode]), "tracking_rms_mm": _spread(rms)}
        for mode in set(modes) - {"none"} if "none" in modes else ():
            ratio = hold["none"] / hold[mode]
            result[mode] |= {
                "times_smaller": round(float(np.median(hold["none"]) / np.median(hold[mode])), 1),
                "times_smaller_at_worst_pose": round(float(ratio.min()), 1),
                "poses_worse_than_none": int((ratio < 1.0).sum()),
            }
        result["hold_per_pose_mm"] = {mode: (1e3 * errors).round(2).tolist() for mode, errors in hold.items()}
        return result


def _spread(errors_m: np.ndarray) -> dict:
    return {"median": round(1e3 * float(np.median(errors_m)), 2), "max": round(1e3 * float(errors_m.max()), 2)}


def run() -> dict:
    """All cases; JSON-able."""
    started = time.perf_counter()
    study = Study()
    paths = study.paths(REACH_M)
    servo = study.servos.servos[0]
    stiffer = replace(study.servos, servos=tuple(replace(one, stiffness=TRUE_STIFFNESS) for one in study.servos.servos))
    perturbed = [{"seed": seed, **study.modes(paths, plant_error=PLANT_ERROR, seed=seed)} for seed in PLANT_SEEDS]
    return {
        "setup": {
            "stiffness_nm_rad": servo.stiffness,
            "deadband_us_in_all": servo.deadband_us,
            "quantum_us": study.servos.quantum_us,
            "poses": POSES,
            "pose_seed": POSE_SEED,
            "reach_at_least_m": REACH_M,
            "settle_s": SETTLE_S,
            "tip_speed_m_s": TIP_SPEED,
            "step_s": STEP_S,
        },
        "exact": study.modes(paths),
        "exact_anywhere": study.modes(study.paths(0.02)),
        "exact_without_half_frame": study.modes(paths, modes=("full",), half_frame=False),
        "masses_15_percent_more": study.modes(paths, plant_error=scaled_masses(study.arm, 1.15)),
        "masses_15_percent_less": study.modes(paths, plant_error=scaled_masses(study.arm, 0.85)),
        "plant_error": {
            "share": PLANT_ERROR,
            "arms": perturbed,
            "times_smaller": [arm["full"]["times_smaller"] for arm in perturbed],
            "times_smaller_at_worst_pose": min(arm["full"]["times_smaller_at_worst_pose"] for arm in perturbed),
            "poses_worse_than_none": sum(arm["full"]["poses_worse_than_none"] for arm in perturbed),
        },
        "stiffness_believed_10_true_25": study.modes(paths, servos=stiffer, modes=("none", "full")),
        "seconds": round(time.perf_counter() - started, 1),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
