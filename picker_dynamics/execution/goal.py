"""Goals: motions as somebody asks for them, parsed once into the arm's order.  Times are seconds on any one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from picker_dynamics.errors import LimitError, TrajectoryError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.joint_order import order_of
from picker_dynamics.robot.kinematic_tree import tip_way
from picker_dynamics.robot.model import Array, as_array
from picker_dynamics.robot.units import degrees_hint, told
from picker_dynamics.trajectory.trajectory import START_TOLERANCE, Trajectory, blend, from_points, standing

from .lease import MAIN_TRACK

PAST_TOLERANCE_S = 0.1
"""A goal stamped up to this long ago starts now, whole; of an older one the points that lie ahead are left."""

MAX_GOAL_S = 600.0
"""Longest motion, and longest wait for one to start [s]."""

MAX_POINTS = 10_000

END_VELOCITY = 1e-3
"""Speed [rad/s or m/s] that counts as rest at the last point: what planners leave there."""

KNOT_S = 0.05
"""Spacing of the points in which a trajectory is sent [s]: quintic segments through them are the same curve to 1e-6 rad."""

LARGEST = 1e9
"""No position, velocity or acceleration of a joint is larger [rad, rad/s, rad/s²]: what is would overflow in a spline."""

HAIR = 1e-3
"""A position so little beyond a limit is at it [rad, m]: poses that are published are modelled, and may be copied into a goal."""

JOINS_S = 0.3, 0.6, 1.2
"""When an arm that moves, or is a little off, may join a dense goal [s]."""

DENSE_S = 0.05
"""A goal whose first point comes so soon is dense [s]: an arm at rest that is off there need not pass it."""

SHORTEST_S, SHORTEST_S_M = 0.8, 1.0
"""A motion asks for this duration, or for so long for each metre of its tip's way; the controller slows it to what tip speed and
torque allow, but at most tenfold."""


def asked_duration(arm: ArmDescription, start: Array, target: Array, least_s: float = 0.0) -> float:
    """Duration [s] that a motion between two poses (n,) [rad or m] asks for: ``least_s`` or more."""
    return max(least_s, SHORTEST_S, SHORTEST_S_M * tip_way(arm, start, target))


class OutdatedError(TrajectoryError):
    """A goal that would be over by now."""


@dataclass(frozen=True)
class Goal:
    """Points over time, joints in any order.

    ``positions`` (k, m) [rad]; ``velocities`` and ``accelerations`` (k, m) or None; ``times_s`` (k,) from the start;
    ``start_s`` when it starts, None for at once.  ``partial``: m may be less than the arm's n joints.  Goals of different
    ``track`` go on side by side where they move different joints, one of the same track takes the other's place.
    """

    joint_names: Sequence[str]
    times_s: Sequence[float]
    positions: Sequence[Sequence[float]]
    velocities: Sequence[Sequence[float]] | None = None
    accelerations: Sequence[Sequence[float]] | None = None
    start_s: float | None = None
    partial: bool = False
    track: str = MAIN_TRACK


@dataclass(frozen=True, eq=False)
class ParsedGoal:
    """A goal whose points were checked, in the arm's order.

    Attributes:
        joint_names: (m,) of the joints that it moves.
        joints: (m,) their indices among the arm's.
        times_s: (k,); the others (k, m), or None.
        units: (m,) of the positions, ``rad`` or ``m``; empty: all turn.
    """

    joint_names: tuple[str, ...]
    joints: NDArray[np.intp]
    times_s: Array
    positions: Array
    velocities: Array | None
    accelerations: Array | None
    start_s: float | None
    track: str
    units: tuple[str, ...]

    @property
    def stands(self) -> bool:
        """Whether the goal's last two points are one pose: it says how the motion ends, and nothing else may be made of that.

        The same goes for a goal of one point at 0 s, with which a planner answers where the arm is at its goal already.
        """
        return not self.times_s[-1] or (len(self.times_s) > 1 and bool((self.positions[-1] == self.positions[-2]).all()))

    def within(self, lower: Array, upper: Array) -> ParsedGoal:
        """Positions that are a hair beyond the arm's limits (n,) [rad, m] at them."""
        at = np.clip(self.positions, lower[self.joints], upper[self.joints])
        return replace(self, positions=np.where(np.abs(self.positions - at) < HAIR, at, self.positions))

    def require_within(self, arm: ArmDescription, pose: Array) -> None:
        """Raise a LimitError where a point is beyond a limit by more than a hair, and farther than the arm at ``pose`` (n,)."""
        j = self.joints
        lower, upper = np.minimum(arm.lower, pose)[j], np.maximum(arm.upper, pose)[j]
        beyond = np.maximum(lower - self.positions, self.positions - upper)
        point, joint = (int(i) for i in np.unravel_index(int(beyond.argmax()), beyond.shape))
        if beyond[point, joint] >= HAIR:
            value, unit = float(self.positions[point, joint]), arm.position_units[j[joint]]
            limit = float((lower if value < lower[joint] else upper)[joint])
            text = f"point {point}: {self.joint_names[joint]} at {told(value, unit, limit)}, limit {told(limit, unit, value)}"
            text += degrees_hint(value, float(lower[joint]), float(upper[joint]), unit)
            raise LimitError(text, self.joint_names[joint], value, limit)

    def after(self, late_s: float) -> ParsedGoal:
        """Rest of the goal ``late_s`` after its start, times from there on, at once; as joint_trajectory_controller does.

        Raises:
            OutdatedError: nothing does.
        """
        passed = int(np.searchsorted(self.times_s, late_s, side="right"))
        if passed == len(self.times_s):
            text = f"the goal should have started {late_s:.2f} s ago and would be over since {late_s - self.times_s[-1]:.2f} s"
            raise OutdatedError(text, None, late_s, PAST_TOLERANCE_S)
        return replace(self.without(passed), times_s=self.times_s[passed:] - late_s, start_s=None)

    def entries(self, start: tuple[Array, Array, Array]) -> list[ParsedGoal]:
        """The goal, and what is left of it for joints at q, v, a, (m,) each, that join it later, at each of ``JOINS_S``.

        The first points of a dense goal that was planned from the state of the arm are where it was. They may be passed by: in
        motion, and at rest where servos left it a little off. A point that comes ``JOINS_S[0]`` or more after its predecessor
        is not passed by, nor is the last.
        """
        gaps, away = np.diff(self.times_s, prepend=0.0), np.abs(self.positions[0] - start[0]).max()
        most = int(np.append(np.flatnonzero(gaps >= JOINS_S[0]), len(gaps) - 1)[0])
        if not np.any(start[1:]):
            speed = np.abs(np.diff(self.positions, axis=0) / gaps[1:, None]).max(initial=0.0)
            most *= bool(0.0 < gaps[0] <= DENSE_S and speed * gaps[0] < away <= START_TOLERANCE)
        if not most:
            return [self]
        goal = self if self.velocities is not None else replace(self, velocities=_velocities(self.times_s, self.positions, start))
        left = [goal.without(int(k)) for k in np.unique(np.searchsorted(self.times_s, JOINS_S).clip(max=most))]
        return left if not gaps[0] and away > START_TOLERANCE else [self, *left]

    def without(self, passed: int) -> ParsedGoal:
        """The goal without its first points."""
        v, a = (None if rows is None else rows[passed:] for rows in (self.velocities, self.accelerations))
        return replace(self, times_s=self.times_s[passed:], positions=self.positions[passed:], velocities=v, accelerations=a)

    def trajectory(self, start: tuple[Array, Array, Array], factor: float = 1.0) -> Trajectory:
        """Trajectory through its points, ``factor`` times as slow, blended from its joints' q, v, a, (m,) each, at time 0.

        Where the points have positions only, velocities are made such that no joint goes beyond two neighbouring points (PCHIP).
        An arm that stands within ``START_TOLERANCE`` of the only point at 0 s goes on to stand where it does.
        """
        if not self.times_s[-1] and not np.any(start[1:]) and np.abs(self.positions[0] - start[0]).max() <= START_TOLERANCE:
            return standing(self.joint_names, start[0])
        times = self.times_s * factor
        v = _velocities(times, self.positions, start) if self.velocities is None else self.velocities / factor
        a = None if self.accelerations is None else self.accelerations / factor**2
        return blend(start, from_points(times, self.positions, v, a, joint_names=self.joint_names, start=start, units=self.units))


def _velocities(times: Array, positions: Array, start: tuple[Array, Array, Array]) -> Array:
    """Velocities (k, m) at points from ``start`` on to rest."""
    from scipy.interpolate import PchipInterpolator  # not before it is needed: it takes memory

    begins = int(times[0] > 0.0)
    if len(times) + begins < 2:
        return 0.0 * positions
    t, q = (times, positions) if not begins else (np.append(0.0, times), np.vstack([start[0], positions]))
    v: Array = PchipInterpolator(t, q).derivative()(t)
    v[0], v[-1] = start[1], 0.0
    return v[begins:]


def parse(goal: Goal, joint_names: Sequence[str], position_units: Sequence[str] = ()) -> ParsedGoal:
    """The goal in the order of ``joint_names``, of joints with these ``position_units``, ``rad`` or ``m``; default all turn.

    Raises:
        JointNamesError: a joint that is missing (unless the goal is partial), unknown or listed twice.
        TrajectoryError: no points, too many, too long, out of order, not finite, not as many values as joints, or moving at
            the end.
    """
    joints, order = order_of(goal.joint_names, joint_names, "goal", goal.partial)
    count = len(goal.times_s)
    if not count:
        raise TrajectoryError("the goal has no points", None, 0, 1)
    require_few(count)
    times = as_array("times_s", goal.times_s)
    late = ~(np.diff(times, prepend=-np.inf) > 0.0) | ~(times >= 0.0) | ~np.isfinite(times)
    if late.any():
        i = int(late.argmax())
        before = float(times[i - 1]) if i else 0.0
        raise TrajectoryError(f"point {i} is at {times[i]:g} s, must be after {before:g} s", None, float(times[i]), before)
    if times[-1] > MAX_GOAL_S:
        text = f"the goal lasts {times[-1]:.0f} s, at most {MAX_GOAL_S:.0f} s"
        raise TrajectoryError(text, None, float(times[-1]), MAX_GOAL_S)
    names = tuple(joint_names[joint] for joint in joints)
    units = tuple(position_units[joint] for joint in joints) if position_units else ()
    q = _field("positions", goal.positions, count, order, names)
    v, a = (
        None if rows is None else _field(name, rows, count, order, names)
        for name, rows in (("velocities", goal.velocities), ("accelerations", goal.accelerations))
    )
    if v is None and a is not None:
        raise TrajectoryError("the goal has accelerations but no velocities")
    if v is not None and np.abs(v[-1]).max() > END_VELOCITY:
        j = int(np.abs(v[-1]).argmax())
        value = float(v[-1, j])
        moves = told(value, units[j] if units else "rad", 0.0)
        raise TrajectoryError(f"last point: {names[j]} still moves at {moves}/s, must be 0", names[j], value, 0.0)
    if v is not None:
        v[-1] = 0.0
    return ParsedGoal(names, joints, times, q, v, a, goal.start_s, goal.track, units)


def along(trajectory: Trajectory) -> Goal:
    """The goal to follow a trajectory that begins where the arm is and ends at rest: through its knots, and others between."""
    gaps = np.diff(trajectory.breaks)
    parts = np.maximum(np.ceil(gaps / KNOT_S - 1e-9), 1.0).astype(int)
    between = (begin + gap * np.arange(1, count + 1) / count for begin, gap, count in zip(trajectory.breaks, gaps, parts))
    times_s = np.concatenate(list(between))
    q, v, a = (rows.tolist() for rows in trajectory.sample(times_s))
    return Goal(trajectory.joint_names, times_s.tolist(), q, v, a)


def require_few(count: int) -> None:
    """Raise a TrajectoryError where a goal has too many points: before anything is done with them."""
    if count > MAX_POINTS:
        raise TrajectoryError(f"the goal has {count} points, at most {MAX_POINTS} are taken", None, count, MAX_POINTS)


def _field(name: str, rows: Sequence[Sequence[float]], count: int, order: NDArray[np.intp], names: Sequence[str]) -> Array:
    if len(rows) != count:
        raise TrajectoryError(f"{count} points but {name} for {len(rows)}", None, len(rows), count)
    for index, row in enumerate(rows):
        if len(row) != len(order):
            raise TrajectoryError(f"point {index}: {len(row)} {name} for {len(order)} joints", None, len(row), len(order))
    field = as_array(name, rows)[:, order]
    wrong = ~(np.abs(field) <= LARGEST)
    if wrong.any():
        k, j = (int(i) for i in np.argwhere(wrong)[0])
        value = float(field[k, j])
        text = f"point {k}: {names[j]} has {value:.3g} among its {name}, must be finite, at most {LARGEST:.0e}"
        raise TrajectoryError(text, names[j], value, LARGEST)
    return field
