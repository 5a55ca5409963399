"""Calibration by droop: which joints and links count, bare poses, then poses with weights.

Bare poses come first: with zeros that may be degrees off, a weight could be more than a servo holds.  What they tell goes
into the choice of the poses with weights, and everything read goes into the last fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.servo_map import ServoMap

from .droop_fit import DroopFit, fit
from .droop_model import DroopModel, Reading, Weight
from .instruments import LEAST_KG, level_joints
from .poses import SIDES, Station, sensors, stations
from .servo_figures import ServoFigures, calibrated_servos, figures_from

BELIEVED_SD, WEIGHED_SD = 0.1, 0.01
"""Of masses and centres that nobody measured, and of measured ones, as a share (one standard deviation)."""

LEAST_LOAD_NM = 1e-3
"""What a joint bears at the most that bears nothing: the droop tells nothing of it."""

WORTH_SHARE = 0.1
"""Of stall torque: a joint that bears less sags hardly more than its gap is wide, and its own readings are asked for besides."""


def gravity_joints(description: descriptions.ArmDescription, servos: ServoMap) -> tuple[str, ...]:
    """Joints of whose servos a droop tells: they bear weight, and turn about axes that are level in every pose, or in every one
    in which the others are at home, as stations have them; the latter only if they bear ``WORTH_SHARE`` of stall torque.

    An arm whose upper arm and forearm roll (a seventh joint) has its elbow among them, if it does not roll at home.
    """
    always, level = level_joints(description), level_joints(description, servos.home)
    columns, q = [description.joint_names.index(name) for name in level], np.tile(servos.home, (64, 1))
    q[:, columns] = sample_poses(description, 64)[:, columns]
    found, most = [], np.abs(RigidBody(description).gravity(q)).max(axis=0)
    for servo, load, stall in zip(servos.servos, most, servos.stall_torque):
        least = LEAST_LOAD_NM if servo.joint in always else WORTH_SHARE * stall
        if load > least and servo.joint in level:
            found.append(servo.joint)
    return tuple(found)


def measured_links(description: descriptions.ArmDescription, joints: Sequence[str]) -> tuple[str, ...]:
    """Links whose mass those joints bear; frames that weigh nothing are none."""
    return tuple(
        name
        for name, link in description.links.items()
        if link.mass >= LEAST_KG and any(joint.name in joints for joint in description.path_to(name))
    )


def droop_fit(
    weighed: descriptions.ArmDescription,
    servos: ServoMap,
    angles: Mapping[str, ServoFigures],
    bench: Any,
    weights: Sequence[Weight],
    *,
    seed: int = 0,
    quick: bool = False,
) -> DroopFit:
    """Visit the stations, bare ones first, each from both sides, and fit all that was read.

    Args:
        weighed: the arm with the masses of its links as known.
        angles: of the joints that bear nothing, as far as known.
        bench: ``keep(stage, stations)`` is told the chosen stations of a stage ("bare", "loaded"), and returns those to visit;
            ``read_station(validator, station, side, columns)`` comes to a station from one side and returns what its sensors
            read [rad], or None where it is left out; ``supply`` is the share of their nominal voltage that servos got then.
        seed: of the random poses: the same readings lead to the same stations.
        quick: bare stations alone, of links that weigh what the URDF says, more or less.
    """
    joints = gravity_joints(weighed, servos)
    model, masses_sd = DroopModel(weighed, servos, joints), BELIEVED_SD if quick else WEIGHED_SD
    seen, readings = sensors(weighed, joints), list[Reading]()

    def visit(stage: str, validator: MotionValidator, chosen: Sequence[Station]) -> DroopFit:
        for station in bench.keep(stage, chosen):
            for side in SIDES:
                values = bench.read_station(validator, station, side, model.columns)
                if values is not None:
                    readings.extend(station.readings(values, len(readings), side, bench.supply))
        return fit(model, readings, masses_sd)

    bare = stations(model, calibrated_servos(servos, angles), [Weight()], seen, seed, quick=quick)
    first = visit("bare", *bare)
    if quick:
        return first
    found = calibrated_servos(servos, figures_from(first, angles))
    return visit("loaded", *stations(model, found, weights, seen, seed + 1, first))
