"""Quality of a calibration: tip errors of a simulated arm, how uncertain readings leave the tip, what they leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.plant import Plant
from picker_dynamics.trajectory.trajectory import Trajectory

from ..closed_loop import HEIGHT_M, REACH_M, ClosedLoop, feasible_poses, hold_errors, paths_between
from .arm_estimate import ArmEstimate, LinkProperties
from .droop_model import FIGURES, PRIORS, DroopModel, Reading, believed
from .instruments import LEAST_KG, Inclinometer, lay
from .poses import SIDES, least_height
from .readings import Measured
from .servo_figures import ALIKE_SD, ServoFigures, usual_give
from .write_back import rewritten

POSES, SEED = 10, 1
DRAWS = 2000

NO_WORSE_M = 1e-4
"""After may be this much worse than before and still count as no worse [m]: a tenth of what pulse steps make."""


STAGES = "before", "after", "floor"
"""Sets of numbers: with the arm's own what is left is the floor of pulse steps, friction and servos that swing."""


def usual_paths(description: descriptions.ArmDescription, servos: ServoMap, count: int = POSES) -> list[Trajectory]:
    """Motions through random poses of the working area, as the hold benchmark has them."""
    validator = torque_validator(RigidBody(description, servos.armature), servos)
    turns = np.isfinite(description.lower)  # a joint without limits has its servo's
    lower = np.where(turns, description.lower, servos.setpoint_lower)
    upper = np.where(turns, description.upper, servos.setpoint_upper)
    tips = validator.model.forward_kinematics(sample_poses(description, 64))
    reach = min(REACH_M, 0.4 * float(np.hypot(tips[:, 0], tips[:, 1]).max()))
    height = min(HEIGHT_M, least_height(description, servos))
    poses = feasible_poses(validator, lower, upper, count, seed=SEED, start=servos.home, reach_m=reach, height_m=height)
    return paths_between(poses, validator)


def exact(plant: Plant, believed: ServoMap) -> tuple[descriptions.ArmDescription, ServoMap]:
    """Description and servo map of an arm as it truly is: what no calibration can better.

    Args:
        believed: whose limits and shares stay.
    """
    error, links = plant.error, {}
    for name, link in plant.description.links.items():
        if link.mass >= LEAST_KG:
            along = lay(plant.description, name)
            mass, inertia = link.mass * error.mass[name], along.inertia(link.inertia) * error.inertia[name]
            links[name] = LinkProperties(Measured(mass, 0.0), Measured(along.distance(link.com), 0.0), Measured(inertia, 0.0))
    description = rewritten(plant.description, links, "exact")
    whole, servos = plant.whole_servo, []
    for column, (was, true) in enumerate(zip(believed.servos, plant.servo_map.servos)):
        figures: Any = {key: float(getattr(whole, key)[column]) for key in ("stiffness", "load_friction", "coulomb", "play")}
        deadband_us = true.deadband_us * float(whole.deadband[column] / true.deadband)
        servos.append(replace(was, zero=true.zero, horn_angles=true.horn_angles, deadband_us=deadband_us, **figures))
    return description, replace(believed, servos=tuple(servos))


@dataclass(frozen=True)
class TipErrorReport:
    """Distances of one true arm's tip from where it should be [m], by ``STAGES``: (k,) at rest after each motion, (k,) rms on the
    way."""

    hold: Mapping[str, np.ndarray]
    tracking: Mapping[str, np.ndarray]

    @property
    def no_worse(self) -> bool:
        """Median error after is at most that before, at rest and on the way."""
        return all(np.median(one["after"]) <= np.median(one["before"]) + NO_WORSE_M for one in (self.hold, self.tracking))

    def summary(self) -> dict[str, dict[str, dict[str, float]]]:
        """Medians and worst [mm], by set and kind."""
        told: dict[str, dict[str, dict[str, float]]] = {stage: {} for stage in self.hold}
        for kind, errors in vars(self).items():
            for stage, values in errors.items():
                told[stage][kind] = {"median": 1e3 * float(np.median(values)), "max": 1e3 * float(values.max())}
        return told


def tip_error_report(
    plant: Plant, sides: Sequence[tuple[descriptions.ArmDescription, ServoMap]], paths: Sequence[Trajectory]
) -> TipErrorReport:
    """Move arms like ``plant``, errors included, along ``paths``, each controlled with one of two or three sets of numbers."""
    found = []
    for description, servos in sides:
        true = Plant(plant.description, plant.servo_map, plant_error=plant.error)
        found.append(hold_errors(ClosedLoop(true, RigidBody(description, servos.armature), servos), paths))
    return TipErrorReport(*(dict(zip(STAGES, kind)) for kind in zip(*found)))


def tip_uncertainty(found: ArmEstimate, poses: ArrayLike, share: float = 0.95, seed: int = 0) -> float:
    """How far the resting tip may be off for what the readings leave open [m]: the ``share`` quantile over draws and poses.

    Each draw is an arm that the readings allow, to first order about the calibrated one, whose set-points it is sent, come from
    either side; what was not measured is drawn as it is assumed.  Pulse steps and friction by chance are not in it.

    Args:
        poses: (k, n) [rad] at which to hold.
    """
    model, unknowns, covariance = with_assumed(found)
    told = [(row, side) for side in SIDES for row in pulses_at(found, poses, side)]
    unread = Inclinometer(found.description.tool)
    rates = model.tip_rates(unknowns, [Reading(row, unread, 0.0, 0, side=side) for row, side in told])
    drawn = np.random.default_rng(seed).multivariate_normal(np.zeros(len(unknowns)), covariance, DRAWS)
    off = np.einsum("kxu,du->dkx", rates, drawn)
    return float(np.quantile(np.linalg.norm(off, axis=-1), share))


def with_assumed(found: ArmEstimate) -> tuple[DroopModel, np.ndarray, np.ndarray]:
    """The droop model of every joint as calibrated, those too of which no droop was read; its unknowns (u,), their covariance.

    A joint that no droop tells of may bear weight nevertheless, one that rolls the forearm for example: it sags as is assumed of
    its servo, by what the others give and by what friction is typical.  Zero and scale that nobody read count as exact, and what
    hops leave as none.
    """
    servos, figures, fit, joints = found.known_servos, found.figures, found.fit, found.description.joint_names
    model = DroopModel(found.description, servos, joints)
    if fit:
        model = replace(fit.model, description=found.description, servos=servos, joints=joints)
    give, sd = usual_give(servos, figures), np.zeros((servos.n, len(FIGURES)))
    for row, servo in zip(sd, servos.servos):
        one, stall = figures.get(servo.joint, ServoFigures()), servo.stall_torque
        softer = ALIKE_SD / servo.stiffness if give is None or servo.slides else give.sd / stall
        friction = servo.per_turn * PRIORS["gap"][1], PRIORS["load_friction"][1], stall * PRIORS["coulomb"][1]
        row[:-1] = one.zero.sd if one.zero else 0.0, one.scale.sd if one.scale else 0.0, softer, *friction
    places = [model.names.index(name) for name in fit.model.names] if fit else []
    others = np.zeros(len(model.names) - sd.size)
    unknowns, covariance = np.append(believed(servos).ravel(), others), np.diag(np.append(sd.ravel() ** 2, others))
    hops = model.places("hop")
    if fit:
        covariance[np.ix_(places, places)] = fit.covariance
    unknowns[hops], covariance[hops], covariance[:, hops] = 0.0, 0.0, 0.0
    return model, unknowns, covariance


def pulses_at(found: ArmEstimate, poses: ArrayLike, side: float) -> np.ndarray:
    """(k, n) pulses [us] with which the calibrated arm holds the poses (k, n), come from one side, not rounded to what a board
    can make."""
    gravity, servos = RigidBody(found.description).gravity(poses), found.known_servos
    return servos.to_pulse_us(servos.clamp(servos.model.setpoint(poses, np.zeros_like(poses), gravity, side)))
