"""Target of a motion, as a person says it: some joints by name; and how long the motion is asked to take where nobody says."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import tip_way
from picker_dynamics.robot.model import Array, checked_number

SHORTEST_S, SHORTEST_S_M = 0.8, 1.0
"""A motion asks for this duration, or for so long for each metre of its tip's way; the controller slows it to what tip speed and
torque allow, but at most tenfold."""

UNITS = {"rad": 1.0, "deg": math.pi / 180.0}
"""What turning joints may be told in; sliding ones are told in metres."""


def asked_duration(arm: ArmDescription, start: Array, target: Array, least_s: float = 0.0) -> float:
    """For how long [s] a motion between two poses (n,) [rad or m] asks: ``least_s`` or more."""
    return max(least_s, SHORTEST_S, SHORTEST_S_M * tip_way(arm, start, target))


def joint_target(arm: ArmDescription, held: Array, joints: Mapping[str, float], unit: str = "rad") -> Array:
    """``held`` (n,) [rad or m], but for the joints that are named.

    Raises:
        InputError: an unknown unit, or a value that is no number.
        JointNamesError: a joint that the arm does not have.
    """
    if unit not in UNITS:
        raise InputError(f"unit is {unit!r}, must be one of {', '.join(UNITS)}", subject="unit", value=unit)
    target = np.array(held, dtype=float)
    for name, value in joints.items():
        if name not in arm.joint_names:
            raise JointNamesError(f"no joint {name!r}; the arm has {', '.join(arm.joint_names)}", subject=name)
        j = arm.joint_names.index(name)
        factor = 1.0 if arm.position_units[j] == "m" else UNITS[unit]
        target[j] = factor * checked_number(name, value)
    return target
