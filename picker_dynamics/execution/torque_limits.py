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
    """

    joint_names: tuple[str, ...]
    full: Array
    peak_share: Array
    hold_share: Array
    units: tuple[str, ...]
    servo_map: ServoMap | None = None

    @classmethod
    def of_servos(cls, servos: ServoMap) -> TorqueLimits:
        """Those of position servos."""
        units = ("N·m",) * servos.n
        return cls(servos.joint_names, servos.stall_torque, servos.peak_share, servos.hold_share, units, servos)

    @classmethod
    def of_arm(cls, arm: Arm) -> TorqueLimits:
        """Those of an arm whose joints take efforts."""
        described = arm.description
        peak, hold = (np.full(described.n, share) for share in (arm.peak_share, arm.hold_share))
        return cls(described.joint_names, described.effort, peak, hold, described.effort_units)

    @property
    def peak(self) -> Array:
        """(n,) allowed along a motion."""
        peak: Array = self.peak_share * self.full
        return peak

    @property
    def hold(self) -> Array:
        """(n,) allowed where a motion ends."""
        hold: Array = self.hold_share * self.full
        return hold

    def text(self, share: Array, joint: int) -> str:
        """An allowance in words."""
        unit = "stall" if self.servo_map is not None else self.units[joint]
        return f"allowed {share[joint] * self.full[joint]:.2f} ({share[joint]:.2f} of {self.full[joint]:.2f} {unit})"
