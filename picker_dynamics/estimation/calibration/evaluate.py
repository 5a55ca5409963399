"""Tip errors of a simulated arm controlled with given numbers, at rest and on the way, and how uncertain readings leave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.feasibility import Gate
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.plant import Plant
from picker_dynamics.trajectory.trajectory import Trajectory

from ..closed_loop import REACH_M, ClosedLoop, feasible_poses, hold_errors, paths_between
from .droop_model import Reading, SensorModel
from .mass_properties import LinkProperties
from .measured import Measured
from .procedure import Calibrated
from .write_back import urdf_text

POSES, SEED = 10, 1
DRAWS = 2000

ABOVE_FLOOR_M, TIMES_SMALLER = 1e-3, 3.0
"""What a calibration is to reach: the median hold error above the floor [m], and how many times smaller than before."""

NO_WORSE_M = 1e-4
"""After may be this much worse than before and still count as no worse [m]: a tenth of what pulse steps make."""


@dataclass(frozen=True)
class Errors:
    """Distances of the true tip from where it should be [m]: (k,) at rest after each motion, and (k,) rms on the way."""

    hold: np.ndarray
    tracking: np.ndarray


def usual_paths(description: ArmDescription, servos: ServoMap, count: int = POSES, seed: int = SEED) -> list[Trajectory]:
    """Motions through random poses of the working area, as the hold benchmark has them."""
    gate = Gate(RigidBody(description, servos.armature), servos)
    return paths_between(
        feasible_poses(gate, description.lower, description.upper, count, seed=seed, start=servos.home, reach_m=REACH_M), gate
    )


def errors(
    plant: Plant, description: ArmDescription, servos: ServoMap, paths: Sequence[Trajectory], mode: str = "full"
) -> Errors:
    """Errors of an arm that is controlled with these beliefs.

    Args:
        plant: the true arm.
        description, servos: what is believed of it.
    """
    loop = ClosedLoop(plant, RigidBody(description, servos.armature), servos, mode)
    return Errors(*hold_errors(loop, paths))


def exact(plant: Plant, believed: ServoMap) -> tuple[ArmDescription, ServoMap]:
    """Description and servo map of an arm as it truly is: what no calibration can better.

    Args:
        believed: whose limits and shares stay.
    """
    error, links = plant.error, {}
    for name, link in plant.description.links.items():
        if link.mass > 0.0:
            mass, inertia = link.mass * error.mass[name], link.inertia[1, 1] * error.inertia[name]
            links[name] = LinkProperties(Measured(mass, 0.0), Measured(float(link.com[0]), 0.0), Measured(inertia, 0.0))
    description = descriptions.parse(urdf_text(plant.description, links, "exact"), plant.description.source)
    servos = [
        replace(
            was,
            zero=true.zero,
            horn_angles=true.horn_angles,
            stiffness=float(stiffness),
            deadband_us=true.deadband_us * float(deadband / true.deadband),
        )
        for was, true, stiffness, deadband in zip(
            believed.servos, plant.servo_map.servos, plant.servo.stiffness, plant.servo.deadband
        )
    ]
    return description, replace(believed, servos=tuple(servos))


@dataclass(frozen=True)
class TipErrorReport:
    """Errors of one true arm controlled with two sets of numbers, and with its own: what is left then is the floor of pulse
    steps, friction and servos that swing."""

    before: Errors
    after: Errors
    floor: Errors | None = None

    @property
    def reached(self) -> bool:
        """Whether the median hold error is within ``ABOVE_FLOOR_M`` of the floor's and at most a third of that before."""
        before, after, floor = (float(np.median(one.hold)) for one in (self.before, self.after, self.floor))
        return bool(after <= floor + ABOVE_FLOOR_M and after <= before / TIMES_SMALLER)

    @property
    def no_worse(self) -> bool:
        """Median error after is at most that before, at rest and on the way."""
        pairs = (self.before.hold, self.after.hold), (self.before.tracking, self.after.tracking)
        return all(np.median(after) <= np.median(before) + NO_WORSE_M for before, after in pairs)

    def summary(self) -> dict[str, dict[str, dict[str, float]]]:
        """Medians and worst [mm], by set and kind."""
        return {
            name: {
                kind: {"median": 1e3 * float(np.median(values)), "max": 1e3 * float(values.max())}
                for kind, values in vars(one).items()
            }
            for name, one in vars(self).items()
            if one is not None
        }


def tip_error_report(
    plant: Plant, sides: Sequence[tuple[ArmDescription, ServoMap]], paths: Sequence[Trajectory]
) -> TipErrorReport:
    """Move arms like ``plant``, errors included, along ``paths``, each controlled with one of two or three sets of numbers."""
    return TipErrorReport(
        *(errors(Plant(plant.description, plant.servo_map, plant_error=plant.error), *one, paths) for one in sides)
    )


def tip_uncertainty(found: Calibrated, poses, share: float = 0.95, seed: int = 0) -> float:
    """How far the resting tip may be off for what the readings leave open [m]: the ``share`` quantile over draws and poses.

    Each draw is an arm that the readings allow, to first order about the calibrated one, whose set-points it is sent.  Pulse
    steps and friction are not in it.

    Args:
        poses: (k, n) [rad] at which to hold.
    """
    fit, body, poses = found.fit, RigidBody(found.description), np.asarray(poses)
    rest = fit.model.rest(
        fit.unknowns, [Reading(row, SensorModel("height", found.description.tool), 0.0, 0) for row in pulses_at(found, poses)]
    )
    jacobian, rng = body.jacobian(rest.q), np.random.default_rng(seed)
    drawn = rng.multivariate_normal(np.zeros(len(fit.unknowns)), fit.covariance, DRAWS)
    off = np.einsum("kxu,du->dkx", jacobian @ rest.by_unknowns, drawn)
    for column, (name, servo) in enumerate(zip(found.description.joint_names, found.servos.servos)):
        one = found.figures.get(name)
        if name not in fit.model.joints and one is not None and one.zero is not None and one.scale is not None:
            away = rest.q[:, column] + servo.direction * servo.zero  # from mid-travel
            turned = rng.normal(0.0, one.zero.sd, (DRAWS, 1)) + rng.normal(0.0, one.scale.sd, (DRAWS, 1)) * away
            off += turned[..., None] * jacobian[..., column]
    return float(np.quantile(np.linalg.norm(off, axis=-1), share))


def pulses_at(found: Calibrated, poses) -> np.ndarray:
    """(k, n) pulses [us] with which the calibrated arm holds the poses (k, n), not rounded to what a board can make."""
    gravity = RigidBody(found.description).gravity(poses)
    return found.servos.to_pulse_us(found.servos.clamp(found.servos.model.setpoint(poses, np.zeros_like(poses), gravity)))
