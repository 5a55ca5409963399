"""What a calibration is worth: hold and tracking error of the simulated arm before and after, and what is left uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.calibration.droop import Reading, Sight
from picker_dynamics.calibration.walk import Calibrated
from picker_dynamics.description import ArmDescription
from picker_dynamics.feasibility import Gate
from picker_dynamics.rigid_body import RigidBody
from picker_dynamics.servo_map import ServoMap
from picker_dynamics.sim.closed_loop import REACH_M, ClosedLoop, feasible_poses, hold_errors, paths_between
from picker_dynamics.sim.plant import Plant
from picker_dynamics.trajectory import Trajectory

POSES, SEED = 10, 1
DRAWS = 200


@dataclass(frozen=True)
class Errors:
    """Distances of the true tip from where it should be [m]: (k,) at rest after each motion, and (k,) rms on the way."""

    hold: np.ndarray
    tracking: np.ndarray


def usual_paths(description: ArmDescription, servos: ServoMap, count: int = POSES, seed: int = SEED) -> list[Trajectory]:
    """Motions through random poses of the working area, as the hold benchmark has them."""
    gate = Gate(RigidBody(description, servos.armature), servos)
    return paths_between(feasible_poses(gate, description.lower, description.upper, count, seed=seed, start=servos.home,
                                        reach_m=REACH_M), gate)


def errors(plant: Plant, description: ArmDescription, servos: ServoMap, paths: Sequence[Trajectory],
           mode: str = "full") -> Errors:
    """Errors of an arm that is controlled with these beliefs.

    Args:
        plant: the true arm.
        description, servos: what is believed of it.
    """
    loop = ClosedLoop(plant, RigidBody(description, servos.armature), servos, mode)
    return Errors(*hold_errors(loop, paths))


def tip_uncertainty(found: Calibrated, poses, share: float = 0.95, seed: int = 0) -> float:
    """How far the resting tip may be off for what the readings leave open [m]: the ``share`` quantile over draws and poses.

    Each draw is an arm that the readings allow; the set-points are those of the calibrated one.  Pulse steps and friction are
    not in it.

    Args:
        poses: (k, n) [rad] at which to hold.
    """
    fit, model = found.fit, RigidBody(found.description)
    poses = np.asarray(poses)
    setpoints = found.servos.model.setpoint(poses, np.zeros_like(poses), model.gravity(poses))
    pulses = found.servos.to_pulse_us(found.servos.clamp(setpoints))
    wanted = model.forward_kinematics(_resting(found, fit.unknowns, pulses))
    rng, off = np.random.default_rng(seed), []
    for unknowns in rng.multivariate_normal(fit.unknowns, fit.covariance, DRAWS):
        off.append(np.linalg.norm(model.forward_kinematics(_resting(found, unknowns, pulses)) - wanted, axis=-1))
    return float(np.quantile(off, share))


def _resting(found: Calibrated, unknowns, pulses) -> np.ndarray:
    """(k, n) where an arm with these figures rests; joints that bear nothing, at their set-points."""
    tool = Sight("height", found.description.tool)
    readings = [Reading(row, tool, 0.0, 0) for row in pulses]
    return found.fit.model.resting(np.asarray(unknowns), readings)
