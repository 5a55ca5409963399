"""The reference (q, v, a)(t) of the arm: hold, follow what was accepted, decelerate when told.

Free of ROS and of clocks: times are seconds on any one clock and come in as arguments.  The node samples at
``now + lead``; everything here is expressed in the time at which a reference *holds*, so that a new goal can start
exactly from the last point that was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from picker_dynamics.errors import PickerError, TrajectoryError
from picker_dynamics.goal_check import Fitted, GoalCheck
from picker_dynamics.joint_order import order_of
from picker_dynamics.trajectory import Trajectory, blend, from_points, stop_trajectory

PAST_TOLERANCE_S = 0.1
"""A goal stamped up to this long ago starts now; an older one is refused."""

MAX_GOAL_S = 600.0
"""Longest motion, and longest wait for one to start [s]."""

MAX_POINTS = 10_000

STANDSTILL = 1e-9
"""Speed [rad/s] below which the reference counts as at rest."""


class Phase(Enum):
    INACTIVE = "inactive"
    HOLDING = "holding"
    EXECUTING = "executing"
    STOPPING = "stopping"
    STREAMING = "streaming"


@dataclass(frozen=True)
class Goal:
    """A motion as somebody asks for it: points over time, joints in any order.

    ``positions`` (k, n) [rad]; ``velocities`` and ``accelerations`` (k, n) or None; ``times_s`` (k,) from the start;
    ``start_s`` when it starts, None for at once.
    """

    joint_names: Sequence[str]
    times_s: Sequence[float]
    positions: Sequence[Sequence[float]]
    velocities: Sequence[Sequence[float]] | None = None
    accelerations: Sequence[Sequence[float]] | None = None
    start_s: float | None = None
    identifier: str = ""


@dataclass(frozen=True)
class Reference:
    """One point of the reference; arrays (n,) [rad, rad/s, rad/s²]."""

    time_s: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@dataclass(frozen=True)
class Motion:
    """A trajectory that starts at ``start_s``, and whose it is."""

    start_s: float
    trajectory: Trajectory
    identifier: str = ""
    phase: Phase = Phase.EXECUTING
    fitted: Fitted | None = field(default=None, repr=False)

    @property
    def end_s(self) -> float:
        return self.start_s + self.trajectory.duration


class ReferenceGenerator:
    """Produces the reference of an arm; inactive until told where the arm is.

    Args:
        joint_names: joints in the arm's order.
        check: decides whether a motion may start; replaced when the payload changes.
        max_deceleration: [rad/s²] with which a cancelled motion comes to rest.
        lower, upper: (n,) position limits [rad], within which it does.
    """

    def __init__(self, joint_names: Sequence[str], check: GoalCheck | None, max_deceleration, lower, upper):
        self.joint_names = tuple(joint_names)
        self.lower, self.upper = lower, upper
        self.check = check
        self.max_deceleration = np.asarray(max_deceleration, dtype=float)
        self._hold: np.ndarray | None = None
        self._motion: Motion | None = None
        self._sent_s = -np.inf

    @property
    def active(self) -> bool:
        return self._hold is not None

    @property
    def motion(self) -> Motion | None:
        """What is being executed, if anything."""
        return self._motion

    def phase(self) -> Phase:
        if self._hold is None:
            return Phase.INACTIVE
        return Phase.HOLDING if self._motion is None else self._motion.phase

    def start(self, q) -> None:
        """Become active, holding the pose ``q`` (n,) [rad]."""
        self._hold, self._motion = np.array(q, dtype=float), None

    def deactivate(self) -> Motion | None:
        """Stop producing a reference; returns the motion that this aborted, if any."""
        aborted, self._hold, self._motion = self._motion, None, None
        return aborted

    def state_at(self, time_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reference state at ``time_s`` as things stand, without advancing."""
        if self._hold is None:
            raise PickerError("the arm is not active: there is no reference to sample")
        motion = self._motion
        if motion is None or time_s < motion.start_s:
            return self._hold, np.zeros_like(self._hold), np.zeros_like(self._hold)
        return motion.trajectory.sample(time_s - motion.start_s)

    def sample(self, time_s: float) -> tuple[Reference, Motion | None]:
        """The reference to send for ``time_s``, and the motion that ended with it, if one did."""
        q, v, a = self.state_at(time_s)
        self._sent_s = max(self._sent_s, time_s)
        finished = None
        if self._motion is not None and time_s >= self._motion.end_s:
            finished, self._motion = self._motion, None
            self._hold = np.array(finished.trajectory.sample(finished.trajectory.duration)[0])
        return Reference(time_s, q, v, a), finished

    def submit(self, goal: Goal, time_s: float) -> Motion:
        """Check a goal and start it from the last point that was sent; a motion under way is blended into it.

        Args:
            goal: what is asked.
            time_s: time for which the next reference will be sent.

        Raises:
            PickerError: not active, no check possible yet, or any reason why the motion may not start; the reference
                goes on unchanged then.
        """
        if not self.active:
            raise PickerError("the arm is not active: enable it first")
        if self.check is None:
            raise PickerError("the payload is not known yet (is the dynamics node running?): no goal is accepted")
        start_s = self._start_time(goal, max(time_s, self._sent_s))
        times, positions, velocities, accelerations = _ordered_points(goal, self.joint_names)
        start = self.state_at(start_s)

        def build(factor: float) -> Trajectory:
            path = from_points(times * factor, positions,
                               None if velocities is None else velocities / factor,
                               None if accelerations is None else accelerations / factor**2,
                               start=start, joint_names=self.joint_names)
            return blend(start, path)

        fitted = self.check.fit(build)
        return self._begin(Motion(start_s, fitted.trajectory, goal.identifier, Phase.EXECUTING, fitted))

    def follow(self, trajectory: Trajectory, start_s: float, phase: Phase = Phase.STREAMING) -> Motion:
        """Execute a trajectory that was built on :meth:`state_at` ``start_s`` and checked by the caller."""
        return self._begin(Motion(start_s, trajectory, "", phase))

    def cancel(self, time_s: float) -> Motion | None:
        """Decelerate to rest from the last point that was sent; returns the motion cancelled, if any."""
        cancelled = self._motion
        if cancelled is None:
            return None
        start_s = max(time_s, self._sent_s)
        q, v, a = self.state_at(start_s)
        if np.abs(v).max() < STANDSTILL:
            self._hold, self._motion = np.array(q), None
            return cancelled
        stop = stop_trajectory(q, v, a, self.max_deceleration, joint_names=self.joint_names, lower=self.lower, upper=self.upper)
        self._begin(Motion(start_s, stop, cancelled.identifier, Phase.STOPPING))
        return cancelled

    def _begin(self, motion: Motion) -> Motion:
        """Let ``motion`` take over; one that starts later holds where the present one is until then."""
        self._hold = np.array(self.state_at(motion.start_s)[0])
        self._motion = motion
        return motion

    def _start_time(self, goal: Goal, earliest_s: float) -> float:
        if goal.start_s is None:
            return earliest_s
        late = earliest_s - goal.start_s
        if late > PAST_TOLERANCE_S:
            raise TrajectoryError(f"the goal should have started {late:.2f} s ago (allowed {PAST_TOLERANCE_S} s)",
                                  value=late, limit=PAST_TOLERANCE_S)
        if -late > MAX_GOAL_S:
            raise TrajectoryError(f"the goal starts {-late:.0f} s from now (allowed {MAX_GOAL_S:.0f} s)",
                                  value=-late, limit=MAX_GOAL_S)
        if late < 0.0 and self._motion is not None and goal.start_s < self._motion.end_s:
            raise TrajectoryError("a goal that starts later cannot be taken while another moves the arm", value=-late)
        return max(goal.start_s, earliest_s)


def _ordered_points(goal: Goal, joint_names: Sequence[str]):
    """The goal's arrays in the arm's joint order: times (k,), positions, velocities, accelerations (k, n)."""
    order = order_of(goal.joint_names, joint_names, "goal")
    if not len(goal.times_s):
        raise TrajectoryError("the goal has no points")
    if len(goal.times_s) > MAX_POINTS:
        raise TrajectoryError(f"the goal has {len(goal.times_s)} points, at most {MAX_POINTS} are taken",
                              value=len(goal.times_s), limit=MAX_POINTS)
    times = np.asarray(goal.times_s, dtype=float)
    if times[-1] > MAX_GOAL_S:
        raise TrajectoryError(f"the goal lasts {times[-1]:.0f} s, at most {MAX_GOAL_S:.0f} s",
                              value=float(times[-1]), limit=MAX_GOAL_S)
    return (times, *(_field(goal, name, len(times), order) for name in ("positions", "velocities", "accelerations")))


def _field(goal: Goal, name: str, count: int, order) -> np.ndarray | None:
    rows = getattr(goal, name)
    if rows is None:
        return None
    for index, row in enumerate(rows):
        if len(row) != len(order):
            raise TrajectoryError(f"point {index}: {len(row)} {name} for {len(order)} joints", value=len(row), limit=len(order))
    if len(rows) != count:
        raise TrajectoryError(f"{count} points but {name} for {len(rows)}", value=len(rows), limit=count)
    return np.array(rows, dtype=float)[:, order]
