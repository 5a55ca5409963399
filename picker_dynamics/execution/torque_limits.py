"""Torque limits of an arm's joints, as data: stall torques of servos, or the URDF's efforts, and the shares that may be used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_map import ServoMap

FULL = 0.995
"""Share of the supply's voltage from which on nothing is said of it."""


@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """Torques that joints may give, (n,) each [N·m; N where they slide].

    Attributes:
        joint_names: order of the arrays.
        full: the most that a joint can give: stall torque, or effort limit.
        peak_share, hold_share: shares of it that are allowed along a motion, and where the motion ends.
        units: of the torques.
        servo_map: where the joints are servos; they have to give their own speed too, and have a range of pulses.
        coulomb: friction of their gears without load.
        source: share of its nominal voltage that the servos' supply gives without load; more than 1 lets nothing pass that 1 does
            not.
    """

    joint_names: tuple[str, ...]
    full: Array
    peak_share: Array
    hold_share: Array
    units: tuple[str, ...]
    servo_map: ServoMap | None = None
    coulomb: Array | float = 0.0
    source: float = 1.0

    @classmethod
    def of_servos(cls, servos: ServoMap) -> TorqueLimits:
        """Torque limits of position servos."""
        units, coulomb = tuple("N" if unit == "m" else "N·m" for unit in servos.position_units), servos.model.coulomb
        return cls(servos.joint_names, servos.stall_torque, servos.peak_share, servos.hold_share, units, servos, coulomb)

    @classmethod
    def of_arm(cls, arm: Arm) -> TorqueLimits:
        """Torque limits of an arm whose joints take efforts."""
        described = arm.description
        peak, hold = (np.full(described.n, share) for share in (arm.peak_share, arm.hold_share))
        return cls(described.joint_names, described.effort, peak, hold, described.effort_units)

    @property
    def given(self) -> float:
        """Share of the nominal voltage that is planned with before the arm's own current takes of it."""
        return min(self.source, 1.0)

    def supply(self, torque: Array) -> Array:
        """Share (..., 1), or (), of it that is left while the joints give ``torque`` (..., n), all of them lifted."""
        return np.ones(()) if self.servo_map is None else self.servo_map.model.lowest_supply(torque, self.given)

    def peak_use(self, torque: Array, supply: Array | float | None = None) -> Array:
        """Shares of what is allowed along a motion, (..., n); ``supply``: default what is left under these torques."""
        use: Array = np.abs(torque) / self.most(self.peak_share * (self.supply(torque) if supply is None else supply))
        return use

    @property
    def peak(self) -> Array:
        """Torques allowed along a motion if no current flows: a motor gives its share of its own stall, friction and all."""
        return self.most(self.peak_share * self.given)

    def most(self, share: Array) -> Array:
        """Largest torques at a share: share (tau_full + tau_c) - tau_c, (n,)."""
        most: Array = share * (self.full + self.coulomb) - self.coulomb
        return most

    @property
    def held_share(self) -> Array:
        """Share of torque that may hold, (n,): ``hold_share``, to spare the motor heat, unless the supply gives less."""
        least: Array = np.minimum(self.hold_share, np.maximum(self.hold_share, self.peak_share) * self.given)
        return least

    @property
    def hold(self) -> Array:
        """Torques allowed where a motion ends, (n,)."""
        return self.most(self.held_share)

    def text(self, share: Array, joint: int, supply: float = 1.0) -> str:
        """An allowance in words."""
        unit = "stall" if self.servo_map is not None else self.units[joint]
        low = f", its supply at {100.0 * supply:.0f} %" if supply < FULL else ""
        return f"allowed {self.most(share * supply)[joint]:.2f} ({share[joint]:.2f} of {self.full[joint]:.2f} {unit}{low})"
