"""Payload hold: whether the arm may be driven with what its tool is said to carry, where it stands.

A payload that is believed moves the arm, whether it is there or not: the set-points rise by what it would bend the servos.
So one that is set must be one that can be held where the arm is.  Where driving begins, it must be borne with no more torque than
a motion may need: a stop on the way may leave the arm where no motion would have ended.

Whether it is borne is asked in two nodes, as neither can wait for the other: the payload's owner sends no command from the first
reference of an epoch on, by the payload that it controls with; the controller, which may hear of the payload later, takes no goal
and says why.

    m g |c| <= max_j hold_j       a payload of mass m, its centre c from the tool, however the tool is turned
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from picker_dynamics.errors import InfeasibleError, PickerError
from picker_dynamics.robot.model import GRAVITY, Array, DynamicsModel

from .torque_limits import TorqueLimits
from .validator import torque_validator

TURNING = "N·m"


def require_graspable(mass: float, com: Sequence[float], limits: TorqueLimits) -> None:
    """Raise an InfeasibleError where a payload is so far from the tool that, turned the wrong way, no joint holds it."""
    hold = np.where([unit == TURNING for unit in limits.units], limits.hold, 0.0)
    away, j = float(np.linalg.norm(com)), int(hold.argmax())
    name, torque, most = limits.joint_names[j], mass * GRAVITY * away, float(hold[j])
    if most > 0.0 and torque > most:
        raise InfeasibleError(
            f"payload of {mass:g} kg, {away:.2f} m from the tool (payload.com): it turns the tool with up to {torque:.2f} N·m, "
            f"more than any joint holds, {name} {limits.text(limits.held_share, j)}",
            subject=name,
            value=torque,
            limit=most,
            time_s=0.0,
        )


def require_holdable(model: DynamicsModel, limits: TorqueLimits, poses: Sequence[Array]) -> None:
    """Raise where the arm with its payload, ``model``, can stand at none of ``poses`` (n,) [rad]; says why not at the first."""
    validator = torque_validator(model, limits)
    if not any(validator.can_hold(q) for q in poses):
        validator.require_holdable(poses[0])


def unbearable(model: DynamicsModel, limits: TorqueLimits, payload_kg: float, q: Array) -> str:
    """Why an arm that stands at ``q`` (n,) [rad] is not driven with its payload, and what to do; '' where it may be.

    The arm without payload always may: there is nothing to put right.
    """
    if not payload_kg:
        return ""
    try:
        torque_validator(model, limits, stays=False).require_holdable(q)
    except PickerError as error:
        return (
            f"the payload of {payload_kg:g} kg cannot be borne where the arm stands: {error}; "
            "the arm is held and not driven until a smaller one is set (picker payload 0)"
        )
    return ""
