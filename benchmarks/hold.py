"""Tip error at rest and in motion, with and without compensation, on typical and on ideal servos: ``python -m benchmarks.hold``.

Truth is the simulated arm's tip, moved through the whole chain (compensation, frames, firmware, quantised pulses, servos with
deadband, friction and play, MuJoCo) along the same seeded poses in every case; holding is read 2.5 s after arrival.  ``typical``
servos are those of config/servos.sim.yaml, all numbers known; of ``typical_assumed`` ones the friction that grows with the load
is drawn for each joint and believed to be 0.4; ``ideal`` ones have neither friction nor play.  What is not said to be of typical
servos is of ideal ones.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
from plant_truths import scaled_masses

from picker_dynamics.commands.demo.measure import driven
from picker_dynamics.commands.demo.scene import load_scene
from picker_dynamics.control.compensation import MODES
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, LimitError
from picker_dynamics.estimation.closed_loop import (
    REACH_M,
    SETTLE_S,
    TIP_SPEED,
    ClosedLoop,
    endings,
    feasible_poses,
    hold_errors,
    paths_between,
)
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.plant import STEP_S, Plant
from picker_dynamics.sim.plant_error import draw

POSES, POSE_SEED = 16, 1
PLANT_ERROR, PLANT_SEEDS = 0.15, (1, 2, 3, 4, 5)
TRUE_STIFFNESS = 25.0
"""K [N·m/rad] of the arm whose controller believes in the map's 10: over-compensation, which does harm."""


DRAWN_FRICTION, FRICTION_SEEDS = (0.2, 0.5), (1, 2)
"""Friction of typical servos as a share of their motors' torque."""

LOW_SUPPLY = 0.9
"""Share of the nominal voltage."""

STEP_RAD, STEPS, BERRY_KG = np.radians(1.0), 3, 0.025


class Study:
    """The poses, and the controller that knows the nominal arm."""

    def __init__(self, servos: str = "ideal"):
        self.arm, self.servos = servo_arm.load(overlay=resource(f"config/servos.{servos}.yaml"))
        self.model = RigidBody(self.arm, self.servos.armature)
        self.validator = torque_validator(self.model, self.servos)
        self.ends = endings(self.arm, self.model, self.servos)

    @property
    def assumed(self) -> ServoMap:
        """The servos as somebody knows them who has not measured their friction."""
        return replace(self.servos, servos=tuple(replace(one, unmeasured=("load_friction",)) for one in self.servos.servos))

    def paths(self, reach_m: float):
        """Motions through random poses whose tip is at least ``reach_m`` from the base axis."""
        poses = feasible_poses(
            self.validator, self.arm.lower, self.arm.upper, POSES, seed=POSE_SEED, start=self.servos.home, reach_m=reach_m
        )
        return paths_between(poses, self.validator)

    def modes(self, paths, *, servos=None, believed=None, modes=MODES, **plant) -> dict:
        """Errors [mm] per mode on an arm that differs as ``plant`` says, and how they compare with ``none``."""
        believed = believed or self.servos
        ends = endings(self.arm, self.model, believed)
        hold, result = {}, {}
        for mode in modes:
            arm = Plant(self.arm, servos or self.servos, **plant)
            loop = ClosedLoop(arm, self.model, believed, mode, ends=ends)
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

    def drawn_friction(self, seed: int):
        """The servos with another load friction at each joint."""
        drawn = np.random.default_rng(seed).uniform(*DRAWN_FRICTION, self.arm.n)
        return replace(
            self.servos, servos=tuple(replace(one, load_friction=float(x)) for one, x in zip(self.servos.servos, drawn))
        )

    def low_supply(self, paths) -> dict:
        """The supply's source gives less than what the servos' figures hold at; the board measures it, or does not."""
        low = replace(draw(self.arm, self.servos.stall_torque), source=LOW_SUPPLY)
        return {
            "source": LOW_SUPPLY,
            "measured": self.modes(paths, modes=("none", "full"), plant_error=low),
            "not_measured": self.modes(
                paths, believed=replace(self.servos, supply=None), modes=("none", "full"), plant_error=low
            ),
        }

    def tour(self) -> dict:
        """The demo's tour: motions, those that ended by an approach, and how much longer that makes it [%]."""
        scene = load_scene(self.arm, self.servos)
        loop = self.loop()
        loop.start(self.servos.home)
        loop.hold(SETTLE_S)
        motions_s = 0.0
        for _ in driven(loop, scene):
            motions_s += loop.reference.duration
            loop.hold(1.0)
        made = [one for one in loop.approaches if one is not None and one.joints]
        added_s = sum(one.duration_s for one in made)
        longer = round(100.0 * added_s / (motions_s - added_s), 2)
        return {"motions": len(loop.approaches), "approaches": len(made), "longer_percent": longer}

    # -- what leaves the side of the friction in doubt -----------------------------------------------------

    def loop(self) -> ClosedLoop:
        return ClosedLoop(Plant(self.arm, self.servos), self.model, self.servos, ends=self.ends)

    def afterwards(self, paths, way) -> dict:
        """Errors at rest [mm] after ``way(loop, rng)`` at the end of each path."""
        loop, rng, errors = self.loop(), np.random.default_rng(POSE_SEED), []
        loop.start(paths[0].start)
        loop.hold(SETTLE_S)
        for path in paths:
            loop.run(path)
            way(loop, rng)
            errors.append(loop.hold(SETTLE_S).tip_error[-1])
            loop.set_payload(0.0)
            for back in paths_between([loop.reference.end, path.end], self.validator):
                loop.run(back)
        return {"hold_mm": _spread(np.array(errors))}

    def steps(self, loop, rng) -> None:
        """A few steps of at most a degree, each joint to and fro."""
        for _ in range(STEPS):
            self.go(loop, loop.reference.end + rng.uniform(-STEP_RAD, STEP_RAD, self.arm.n))

    def reversal(self, loop, rng) -> None:
        """Beyond the pose by three degrees, and back."""
        pose = loop.reference.end
        self.go(loop, pose + 3.0 * STEP_RAD * rng.choice([-1.0, 1.0], self.arm.n))
        self.go(loop, pose)

    def go(self, loop, pose) -> None:
        """To a pose, or as far to the other side where that cannot be held."""
        here = loop.reference.end
        for target in (pose, 2.0 * here - pose):
            try:
                (path,) = paths_between([here, np.clip(target, self.arm.lower, self.arm.upper)], self.validator)
            except (InfeasibleError, LimitError):
                continue
            loop.run(path)
            loop.hold(0.2)
            return

    def berry(self, loop, _rng) -> None:
        """A berry is put on while the arm stands."""
        loop.hold(0.5)
        loop.set_payload(BERRY_KG)

    def first_motions(self, paths) -> dict:
        """Each path is the first motion after the arm was enabled where it stood."""
        errors = []
        for path in paths:
            loop = self.loop()
            loop.start(path.start)
            loop.hold(1.0)
            loop.run(path)
            errors.append(loop.hold(SETTLE_S).tip_error[-1])
        return {"hold_mm": _spread(np.array(errors))}


def _together(arms: list[dict]) -> dict:
    """Spread of all arms' errors at rest [mm]."""
    errors = np.concatenate([arm["hold_per_pose_mm"]["full"] for arm in arms])
    return {"median": round(float(np.median(errors)), 2), "max": round(float(errors.max()), 2)}


def _spread(errors_m: np.ndarray) -> dict:
    return {"median": round(1e3 * float(np.median(errors_m)), 2), "max": round(1e3 * float(errors_m.max()), 2)}


def run() -> dict:
    """All cases; JSON-able."""
    started = time.perf_counter()
    study, typical = Study(), Study("sim")
    paths, typical_paths = study.paths(REACH_M), typical.paths(REACH_M)
    drawn = [
        {
            "seed": seed,
            **typical.modes(typical_paths, servos=typical.drawn_friction(seed), believed=typical.assumed, modes=("none", "full")),
        }
        for seed in FRICTION_SEEDS
    ]
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
        "typical": typical.modes(typical_paths)
        | {
            "after_steps_of_a_degree": typical.afterwards(typical_paths, typical.steps),
            "after_reversals": typical.afterwards(typical_paths, typical.reversal),
            "with_25_g_taken_at_rest": typical.afterwards(typical_paths, typical.berry),
            "tour": typical.tour(),
            "first_motion_after_enabling": typical.first_motions(typical_paths),
            "supply_10_percent_down": typical.low_supply(typical_paths),
        },
        "typical_assumed": {
            "load_friction": {"believed": typical.servos.servos[0].load_friction, "drawn_from": DRAWN_FRICTION},
            "arms": drawn,
            "full": {"hold_mm": _together(drawn)},
            "poses_worse_than_none": sum(arm["full"]["poses_worse_than_none"] for arm in drawn),
        },
        "ideal": study.modes(paths),
        "exact_anywhere": study.modes(study.paths(0.02)),
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
