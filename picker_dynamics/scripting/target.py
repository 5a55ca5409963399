"""Target of a motion, as a person says it: some joints by name."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, checked_number

UNITS = {"rad": 1.0, "deg": math.pi / 180.0}
"""What turning joints may be told in; sliding ones are told in metres."""


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
