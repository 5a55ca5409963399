"""Feasibility report of a motion: whether the arm may make it, what it costs each joint, and why not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import InfeasibleError, LimitError, PickerError
from picker_dynamics.execution.checks import SampledMotion
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Plan:
    """A motion as the validator sees it; printed, it is a table.

    Attributes:
        joint_names: order of the arrays.
        start, target: (n,) where it begins and ends [rad or m].
        duration: of the motion as it would be made, slowed by ``slowed`` to fit; as asked, where it may not be made [s].
        slowed: factor on the duration; 1: as asked.
        refusal: why it may not be made, with joint, value and limit; None: it may.
        motion: samples of it: ``times`` (s,), ``q``, ``v``, ``a``, ``torque`` (s, n).
        peak, hold: (n,) torques allowed along the motion, and where it ends [N·m or N].
    """

    joint_names: tuple[str, ...]
    start: Array
    target: Array
    duration: float
    slowed: float
    refusal: PickerError | None
    motion: SampledMotion
    peak: Array
    hold: Array

    def __bool__(self) -> bool:
        return self.possible

    @property
    def possible(self) -> bool:
        """Whether the arm may make the motion."""
        return self.refusal is None

    @property
    def peak_share(self) -> dict[str, float]:
        """Largest torque of each joint along the motion, as a share of what is allowed."""
        return self._named(np.abs(self.motion.torque).max(axis=0) / self.peak)

    @property
    def hold_share(self) -> dict[str, float]:
        """Torque with which each joint holds the target, as a share of what is allowed."""
        return self._named(np.abs(self.motion.rest_torque) / self.hold)

    @property
    def margins(self) -> dict[str, float]:
        """Margin of each joint: what is left of its torque where least is: 1 - the larger of both shares; negative: too much."""
        peak, hold = self.peak_share, self.hold_share
        return {name: 1.0 - max(peak[name], hold[name]) for name in self.joint_names}

    @property
    def worst_joint(self) -> str:
        """The joint with the smallest margin."""
        margins = self.margins
        return min(margins, key=lambda name: margins[name])

    def __str__(self) -> str:
        said = "may be made" if self.refusal is None else f"refused: {self.refusal}"
        slowed = f", slowed {self.slowed:.2f} times to fit" if self.slowed > 1.0 else ""
        rows = [f"{said}; {self.duration:.2f} s{slowed}", f"{'joint':<16} {'motion':>6} {'hold':>6} {'margin':>7}"]
        for name, margin in self.margins.items():
            rows.append(f"{name:<16} {self.peak_share[name]:>6.0%} {self.hold_share[name]:>6.0%} {margin:>7.0%}")
        return "\n".join(rows)

    def _named(self, values: Array) -> dict[str, float]:
        return dict(zip(self.joint_names, values.tolist()))


def planned(validator: MotionValidator, trajectory: Trajectory) -> Plan:
    """The report on a motion from rest, as asked for by ``trajectory``.

    Raises:
        JointNamesError: it is another arm's.
    """
    try:
        found = validator.scaled(trajectory)
        made, slowed, refusal = found.trajectory, found.factor, None
    except (LimitError, InfeasibleError) as error:
        made, slowed, refusal = trajectory, 1.0, error
    limits, names = validator.limits, tuple(trajectory.joint_names)
    return Plan(
        names, trajectory.start, trajectory.end, made.duration, slowed, refusal, validator.sampled(made), limits.peak, limits.hold
    )
