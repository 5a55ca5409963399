"""Torque limits of an arm's joints, as data: stall torques of servos, or the URDF's efforts, and the shares that may be used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_map import ServoMap


@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """What joints may give, (n,) each [N·m; N where they slide].

    Attributes:
        joint_names: order of the arrays.
        full: the most that a joint can give: stall torque, or effort limit.
        peak_share, hold_share: shares of it that are allowed along a motion, and where the motion ends.
        units: of the torques.
        servo_map: where the joints are servos; they have to give their own speed too, and have a range of pulses.
        coulomb: friction of their gears without load.
    """

    joint_names: tuple[str, ...]
    full: Array
    peak_share: Array
    hold_share: Array
    units: tuple[str, ...]
    servo_map: ServoMap | None = None
    coulomb: Array | float = 0.0

    @classmethod
    def of_servos(cls, servos: ServoMap) -> TorqueLimits:
        """Those of position servos."""
        units, coulomb = ("N·m",) * servos.n, servos.model.coulomb
        return cls(servos.joint_names, servos.stall_torque, servos.peak_share, servos.hold_share, units, servos, coulomb)

    @classmethod
    def of_arm(cls, arm: Arm) -> TorqueLimits:
        """Those of an arm whose joints take efforts."""
        described = arm.description
        peak, hold = (np.full(described.n, share) for share in (arm.peak_share, arm.hold_share))
        return cls(described.joint_names, described.effort, peak, hold, described.effort_units)

    @property
    def peak(self) -> Array:
        """(n,) allowed along a motion: a motor gives its share of its own stall torque, friction and all."""
        return self.most(self.peak_share)

    def most(self, share: Array) -> Array:
        """share (tau_full + tau_c) - tau_c, (n,)."""
        most: Array = share * (self.full + self.coulomb) - self.coulomb
        return most

    @property
    def hold(self) -> Array:
        """(n,) allowed where a motion ends."""
        return self.most(self.hold_share)

    def text(self, share: Array, joint: int) -> str:
        """An allowance in words."""
        unit = "stall" if self.servo_map is not None else self.units[joint]
        return f"allowed {self.most(share)[joint]:.2f} ({share[joint]:.2f} of {self.full[joint]:.2f} {unit})"
