"""Calibration by droop: which joints count, the poses that are looked at, and the fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.servo_map import ServoMap

from .droop_fit import DroopFit, fit
from .droop_model import DroopModel, Reading
from .instruments import level_joints
from .poses import SIDES, sensors, stations
from .servo_figures import ServoFigures, calibrated_servos

BELIEVED_SD = 0.1
"""Of masses and centres that nobody measured, as a share (one standard deviation)."""

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


def droop_fit(
    arm: descriptions.ArmDescription, servos: ServoMap, angles: Mapping[str, ServoFigures], bench: Any, *, seed: int = 0
) -> DroopFit:
    """Visit the stations, each from both sides, and fit what was read; links weigh what the URDF says, more or less.

    Args:
        angles: of the joints that bear nothing, as far as known.
        bench: ``keep(stations)`` returns those of the chosen stations that are visited; ``read_station(validator, station, side,
            columns)`` comes to one from one side and returns what its sensors read [rad], or None where it is left out;
            ``supply`` is the share of their nominal voltage that servos got then.
        seed: of the random poses.
    """
    joints = gravity_joints(arm, servos)
    model, readings = DroopModel(arm, servos, joints), list[Reading]()
    validator, chosen = stations(model, calibrated_servos(servos, angles), sensors(arm, joints), seed)
    for station in bench.keep(chosen):
        for side in SIDES:
            values = bench.read_station(validator, station, side, model.columns)
            if values is not None:
                readings.extend(station.readings(values, len(readings), side, bench.supply))
    return fit(model, readings, BELIEVED_SD)
