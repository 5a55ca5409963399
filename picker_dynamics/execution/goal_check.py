"""Whether a motion may start: limits, tip speed and torque over its whole duration; slower where that helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import InfeasibleError, LimitError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import DynamicsModel
from picker_dynamics.trajectory.trajectory import Trajectory

from .effort_gate import EffortGate
from .feasibility import FeasibilityReport, Gate

MAX_STRETCH = 10.0
"""Slowest that a motion is made, as a factor on its duration."""

STRETCH_STEP = 1.05
"""The factor found is at most this much larger than needed."""

TIP_SAMPLES = 200
"""Samples of a motion at which the tip's speed is looked at."""

SLOWER = (0.0, 0.25, 0.5, 0.75)
"""Shares of its speed at which a motion must be possible too: it may be slowed, or stopped, anywhere."""


@dataclass(frozen=True)
class Fitted:
    """A motion that may start: ``factor`` is by how much its time was stretched (1: as asked)."""

    trajectory: Trajectory
    factor: float
    report: FeasibilityReport


class GoalCheck:
    """Checks every motion before it starts.

    Args:
        description: position and velocity limits.
        gate: torque, hold and pulse-range limits, for the present payload.
        model: for the tip's Jacobian.
        tip_speed_limit: [m/s]; people work beside this arm.
        stretch: slow a motion that is too fast instead of refusing it.
    """

    def __init__(
        self,
        description: ArmDescription,
        gate: Gate | EffortGate,
        model: DynamicsModel,
        *,
        tip_speed_limit: float = 0.25,
        stretch: bool = True,
    ):
        self.description, self.gate, self.model = description, gate, model
        self.tip_speed_limit = tip_speed_limit
        self.stretch = stretch

    def tip_speed(self, trajectory: Trajectory) -> tuple[float, float]:
        """Largest |J(q) v| of the tool along the motion [m/s], and when [s]."""
        times = np.linspace(0.0, trajectory.duration, TIP_SAMPLES)
        q, v, _ = trajectory.sample(times)
        speeds = np.linalg.norm(np.einsum("tij,tj->ti", self.model.jacobian(q), v), axis=-1)
        worst = int(np.argmax(speeds))
        return float(speeds[worst]), float(times[worst])

    def check(self, trajectory: Trajectory) -> FeasibilityReport:
        """Raise the first reason why this motion may not start.

        Raises:
            LimitError: position, velocity or tip speed.
            InfeasibleError: torque along the motion or where it ends.
        """
        description = self.description
        trajectory.check_limits(description.lower, description.upper, description.velocity, units=description.position_units)
        speed, time_s = self.tip_speed(trajectory)
        if speed > self.tip_speed_limit * (1.0 + 1e-6):
            raise LimitError(
                f"tip would move at {speed:.2f} m/s at {time_s:.2f} s, allowed {self.tip_speed_limit:.2f} m/s",
                subject="tip",
                value=speed,
                limit=self.tip_speed_limit,
            )
        report = self.gate.check(trajectory)
        self._require_slower(trajectory, report)
        return report

    def _require_slower(self, trajectory: Trajectory, report: FeasibilityReport) -> None:
        """At the share s of its speed a motion needs  g + F(s v) + s² (tau - g - F(v)).

        Gravity does not become less: where a swing relieves a joint, the arm could not be slowed.
        """
        q, v, _ = trajectory.sample(report.times)
        g, friction = self.model.gravity(q), self.model.friction
        inertial = report.torque - g - friction(v)
        for share in SLOWER:
            use = np.abs(g + friction(share * v) + share**2 * inertial) / report.peak_limit
            k, j = np.unravel_index(int(use.argmax()), use.shape)
            if use[k, j] > 1.0 + 1e-3:
                joint, limit = trajectory.joint_names[j], float(report.peak_limit[j])
                unit = self.description.effort_units[j]
                torque, time_s = float(use[k, j] * limit), float(report.times[k])
                raise InfeasibleError(
                    f"{joint} would need {torque:.2f} {unit} at {time_s:.2f} s if the motion were slowed to "
                    f"{100 * share:.0f} %, allowed {limit:.2f}",
                    subject=joint,
                    value=torque,
                    limit=limit,
                    time_s=time_s,
                )

    def torque_share(self, q, v, a) -> float:
        """Largest share of an allowed peak torque that these states (s, n) need; 1 is the limit."""
        return float((np.abs(self.model.required_torque(q, v, a)) / self.gate.peak_limit).max())

    def fit(self, build: Callable[[float], Trajectory]) -> Fitted:
        """The motion ``build(factor)`` with the smallest factor >= 1 that may start.

        ``build`` makes the whole motion anew for each factor, because one that starts while the arm moves
        cannot simply be scaled: its first velocity is given.

        Raises:
            LimitError, InfeasibleError: as :meth:`check`; where slowing is on, for the slowest motion: what it cannot mend.
        """
        try:
            trajectory = build(1.0)
            return Fitted(trajectory, 1.0, self.check(trajectory))
        except (LimitError, InfeasibleError) as refusal:
            if not self.stretch:
                raise
            slower = self._just_slow_enough(build, refusal)
        return slower or self._search(build)

    def _admissible(self, trajectory: Trajectory) -> FeasibilityReport | None:
        try:
            return self.check(trajectory)
        except (LimitError, InfeasibleError):
            return None

    def _just_slow_enough(self, build, refusal) -> Fitted | None:
        """A speed limit that is broken tells the factor itself: a motion from rest scales with it."""
        if not isinstance(refusal, LimitError) or not refusal.limit or abs(refusal.value) <= abs(refusal.limit):
            return None
        factor = min(MAX_STRETCH, abs(refusal.value / refusal.limit) * STRETCH_STEP**0.5)
        trajectory = build(factor)
        report = self._admissible(trajectory)
        return None if report is None else Fitted(trajectory, factor, report)

    def _search(self, build) -> Fitted:
        """Bisect the factor on a logarithmic scale, if the slowest motion may start at all."""
        trajectory = build(MAX_STRETCH)
        best = Fitted(trajectory, MAX_STRETCH, self.check(trajectory))
        low = 1.0
        while best.factor / low > STRETCH_STEP:
            factor = (low * best.factor) ** 0.5
            trajectory = build(factor)
            report = self._admissible(trajectory)
            if report is None:
                low = factor
            else:
                best = Fitted(trajectory, factor, report)
        return best
