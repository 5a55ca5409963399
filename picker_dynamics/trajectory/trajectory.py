"""Trajectories: q, v, a at time t as piecewise polynomials of degree 5 at most.

``from_points`` follows ros2_control's joint_trajectory_controller: between two points the path is linear if they have positions
only, cubic if both have velocities, quintic if both have accelerations besides.  ``remainder`` is what is left of a motion,
``head`` what comes first, ``superposed`` the sum of two; ``merge_joints`` joins the joints of motions, ``blend`` takes over from
the state that was last sent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import InputError, TrajectoryError
from picker_dynamics.robot.model import Array, as_states, checked_number
from picker_dynamics.robot.units import told

from . import splines
from .points import Point, Rows, checked_points

END_VELOCITY = float(np.finfo(np.float32).eps)
"""Speed [rad/s] that counts as standing at the last point; the threshold of joint_trajectory_controller."""

START_TOLERANCE = 0.05
"""How far [rad or m] a first point at time 0 may be from where the arm is."""

LIMIT_TOLERANCE = 1e-6
"""Rounding [rad, rad/s] by which a limit may be exceeded: of float32, and of poses that were printed."""

SHORTEST_S = 1e-3
"""Duration of a trajectory that only stands [s]; with less than this left, one counts as over."""

DASH, DASH_SHARE = (0.01, 0.2), 1.05
"""A segment whose velocity or acceleration may exceed those of its ends by this share and these [rad/s, rad/s²] is a dash."""

State = tuple[ArrayLike, ArrayLike | None, ArrayLike | None]
"""Position, velocity and acceleration, (n,) each, of which the last two may be unknown."""

SAME_BREAK_S = 1e-9
"""Breaks closer than this are one [s]."""


class Excess(NamedTuple):
    """A limit that a trajectory exceeds: index of the joint, value and limit, and when [s]."""

    joint: int
    value: float
    limit: float
    time_s: float


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Trajectory:
    """Piecewise polynomials of ``n`` joints over 0 ... ``duration``.

    Args:
        joint_names: (n,) names.
        breaks: (m + 1,) times [s] at which the m segments begin and end; the first is 0, strictly increasing.
        coefficients: (m, 6, n) of x^0 ... x^5 with x the time since the segment's begin.

    Attributes:
        duration: [s].
        start, end: (n,) positions at time 0 and at the end [rad].
    """

    joint_names: tuple[str, ...]
    breaks: Array
    coefficients: Array
    duration: float
    start: Array
    end: Array
    _breaks: list[float]
    _zero: Array

    def __init__(self, joint_names: Sequence[str], breaks: ArrayLike, coefficients: ArrayLike):
        put = partial(object.__setattr__, self)  # it is frozen
        put("joint_names", tuple(joint_names))
        for name, values in (("breaks", breaks), ("coefficients", coefficients), ("_zero", np.zeros(self.n))):
            array = np.array(values, dtype=float)
            array.setflags(write=False)
            put(name, array)
        put("_breaks", self.breaks.tolist())
        put("duration", self._breaks[-1])
        put("start", self._at(0, 0.0)[0])
        put("end", self._at(len(self.coefficients) - 1, self.duration - self._breaks[-2])[0])

    @property
    def n(self) -> int:
        return len(self.joint_names)

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position [rad], velocity [rad/s], acceleration [rad/s²] at time ``t`` [s].

        Args:
            t: a number, or an array of any shape (...).

        Returns:
            q, v, a: (n,) each and read-only for a number, else (..., n).  Before the begin and after the end
            the arm stands: q is the first or last position, v = a = 0.
        """
        if not np.ndim(t):
            one = float(t)  # type: ignore[arg-type]  # a number, or an array that holds one
            if 0.0 <= one <= self.duration:
                k = min(bisect_right(self._breaks, one), len(self._breaks) - 1) - 1
                return self._at(k, one - self._breaks[k])
            if one != one:
                raise InputError("time is nan", "t", one)
            return (self.start if one < 0.0 else self.end), self._zero, self._zero
        t = np.asarray(t, dtype=float)
        if np.isnan(t).any():
            raise InputError("time is nan", "t", float("nan"))
        segment = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.coefficients) - 1)
        q, v, a = self._many(segment, np.clip(t, 0.0, self.duration) - self.breaks[segment])
        moving = ((t >= 0.0) & (t <= self.duration))[..., None]
        return q, np.where(moving, v, 0.0), np.where(moving, a, 0.0)

    def grid(self, period_s: float, within: int = 0) -> tuple[Array, Array, Array, Array]:
        """Samples (t, q, v, a) every ``period_s`` [s] or closer and on both sides of every break, in order of time.

        Shapes (s,) and (s, n).  An acceleration or velocity that jumps at a break appears with both values.

        Args:
            within: samples inside each segment that may be faster than at its ends, however short it is.
        """
        count = int(np.ceil(self.duration / period_s)) + 1
        uniform = np.linspace(0.0, self.duration, count)[1:-1]
        m, lengths = len(self.coefficients), np.diff(self.breaks)
        dashes = np.repeat(self._dashes((within + 1) * period_s), within) if within else np.arange(0)
        share = np.tile(np.arange(1, within + 1) / (within + 1), dashes.size // within if within else 0)
        k = np.concatenate([np.searchsorted(self.breaks, uniform, side="right") - 1, dashes, np.arange(m), np.arange(m)])
        inside = np.concatenate([uniform - self.breaks[k[: uniform.size]], share * lengths[dashes]])
        x = np.concatenate([inside, np.zeros(m), lengths])
        order = np.lexsort((k, self.breaks[k] + x))
        k, x = k[order], x[order]
        return (self.breaks[k] + x, *self._many(k, x))

    def _dashes(self, longest_s: float) -> NDArray[np.intp]:
        """Segments shorter than ``longest_s`` [s] that may be faster inside, or accelerate more, than at their ends."""
        lengths, rates, dash = np.diff(self.breaks), self.coefficients, np.zeros(len(self.coefficients), dtype=bool)
        for least in DASH:
            rates = splines.derivative(rates)
            low, high = splines.hull(rates, lengths)
            ends = np.maximum(np.abs(rates[:, 0]), np.abs((rates * lengths[:, None, None] ** np.arange(6)[:, None]).sum(axis=1)))
            dash |= (np.maximum(-low, high) > DASH_SHARE * ends + least).any(axis=1)
        return np.flatnonzero(dash & (lengths < longest_s))

    def _at(self, k: int, x: float) -> tuple[Array, Array, Array]:
        x2, x3 = x * x, x * x * x
        powers = np.array(
            (
                (1.0, x, x2, x3, x2 * x2, x2 * x3),
                (0.0, 1.0, 2.0 * x, 3.0 * x2, 4.0 * x3, 5.0 * x2 * x2),
                (0.0, 0.0, 2.0, 6.0 * x, 12.0 * x2, 20.0 * x3),
            )
        )
        qva = powers @ self.coefficients[k]
        qva.flags.writeable = False
        q, v, a = qva
        return q, v, a

    def _many(self, k: NDArray[np.intp], x: Array) -> tuple[Array, Array, Array]:
        c = np.moveaxis(self.coefficients[k], -2, 0)
        x = x[..., None]
        q = c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * (c[4] + x * c[5]))))
        v = c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * (4.0 * c[4] + x * (5.0 * c[5]))))
        a = 2.0 * c[2] + x * (6.0 * c[3] + x * (12.0 * c[4] + x * (20.0 * c[5])))
        return q, v, a

    def stretched(self, factor: float) -> Trajectory:
        """The trajectory on the same path, ``factor`` times as slow: q'(t) = q(t / factor)."""
        powers = checked_number("stretch factor", factor, above=0.0, subject="factor") ** np.arange(splines.DEGREE + 1)
        return Trajectory(self.joint_names, self.breaks * factor, self.coefficients / powers[:, None])

    def worst_position(self, lower: Array, upper: Array) -> Excess | None:
        """How far a position limit, (n,) each, is exceeded at most, by the exact extrema of every segment; None: it is not.

        A limit that is passed at the start counts from there: an arm beyond it may leave, but not go further.
        """
        return self._worst(self.coefficients, np.minimum(lower, self.start), np.maximum(upper, self.start))

    def worst_velocity(self, limit: Array) -> Excess | None:
        """How far the velocity limit (n,) is exceeded at most, as ``worst_position`` tells it of positions."""
        return self._worst(splines.derivative(self.coefficients), -limit, limit)

    def _worst(self, coefficients: Array, lower: Array, upper: Array) -> Excess | None:
        lengths = np.diff(self.breaks)
        low, high = splines.hull(coefficients, lengths)
        most, worst = LIMIT_TOLERANCE, None
        for k, j in np.argwhere((low < lower - LIMIT_TOLERANCE) | (high > upper + LIMIT_TOLERANCE)):
            for (x, value), limit, side in zip(
                splines.extremum(coefficients[k, :, j], lengths[k]), (lower[j], upper[j]), (-1.0, 1.0)
            ):
                if side * (value - limit) > most:
                    most = side * (value - limit)
                    worst = Excess(int(j), float(value), float(limit), float(self.breaks[k] + x))
        return worst


def from_points(
    times_s: Iterable[float],
    positions: Rows,
    velocities: Rows | None = None,
    accelerations: Rows | None = None,
    *,
    joint_names: Sequence[str],
    start: State | None = None,
    allow_nonzero_end_velocity: bool = False,
    units: Sequence[str] = (),
) -> Trajectory:
    """A trajectory through points, by the rules of joint_trajectory_controller.

    Args:
        times_s: (m,) times of the points since the begin, strictly increasing.
        positions: m positions, (n,) each [rad].
        velocities, accelerations: None, or m entries, each (n,) or None [rad/s, rad/s²].
        joint_names: (n,) names, in the order of the arrays.
        start: (q, v, a) at time 0, where the arm comes from; v and a may be None.  It is the point before a
            first point later than 0; one at 0 must be within ``START_TOLERANCE`` of it (then ``blend``).
        allow_nonzero_end_velocity: accept a last point that moves.
        units: (n,) of the positions, ``rad`` or ``m``, for what is said of them; default all turn.

    Raises:
        TrajectoryError: points missing, out of order, not finite, of the wrong size, or the last one moving;
            the message names point, joint, value and limit.
    """
    names = tuple(joint_names)
    times, points = checked_points(times_s, positions, velocities, accelerations, names)
    if not allow_nonzero_end_velocity:
        require_rest(points[-1], names, units)
    return through(times, points, joint_names=names, start=start, units=units)


def require_rest(last: Point, joint_names: Sequence[str], units: Sequence[str] = ()) -> None:
    """Raise a TrajectoryError where a joint still moves at the last point."""
    for j, value in enumerate(() if last[1] is None else last[1]):
        if abs(value) > END_VELOCITY:
            raise TrajectoryError(
                f"last point: {joint_names[j]} still moves at {told(value, _unit(units, j), 0.0)}/s, must be 0",
                joint_names[j],
                float(value),
                0.0,
            )


def _unit(units: Sequence[str], joint: int) -> str:
    return units[joint] if units else "rad"


def through(
    times: Iterable[float],
    points: Iterable[Point],
    *,
    joint_names: Sequence[str],
    start: State | None = None,
    units: Sequence[str] = (),
) -> Trajectory:
    """A trajectory through points that were checked before (``checked_points``); arguments as for ``from_points``."""
    names, times, points = tuple(joint_names), list(times), list(points)
    if times[0] > 0.0:
        if start is None:
            raise TrajectoryError(f"point 0 is at {times[0]:g} s, and no state at 0 s is given", None, times[0], 0.0)
        q, v, a = (*start, None, None)[:3]
        _, before = checked_points([0.0], [q], [v], [a], names)
        times, points = [0.0, *times], [*before, *points]
    elif start is not None:
        _require_near(names, points[0][0], start[0], units)
    if len(times) < 2:
        raise TrajectoryError("the only point is at 0 s: give it time to get there", None, 0.0, 0.0)
    return Trajectory(names, times, [_segment(t1 - t0, a, b) for t0, t1, a, b in zip(times, times[1:], points, points[1:])])


def _segment(h: float, before: Point, after: Point) -> Array:
    (p0, v0, a0), (p1, v1, a1) = before, after
    if v0 is None or v1 is None:
        return splines.linear(h, p0, p1)
    if a0 is None or a1 is None:
        return splines.cubic(h, p0, v0, p1, v1)
    return splines.quintic(h, p0, v0, a0, p1, v1, a1)


def _require_near(names: Sequence[str], first: Array, start: ArrayLike, units: Sequence[str]) -> None:
    distance = np.abs(np.subtract(first, as_states("start", start, len(names))))
    j = int(distance.argmax())
    if distance[j] > START_TOLERANCE:
        away, unit = float(distance[j]), _unit(units, j)
        limit = told(START_TOLERANCE, unit, away)
        raise TrajectoryError(
            f"point 0 is at 0 s, but {names[j]} would jump by {told(away, unit, START_TOLERANCE)}, limit {limit}",
            names[j],
            away,
            START_TOLERANCE,
        )


def remainder(trajectory: Trajectory, begin_s: float) -> Trajectory:
    """The remainder of a trajectory at ``begin_s`` [s, its own time], as one that starts at 0; where it stands if it is over."""
    if begin_s <= 0.0:
        return trajectory
    if begin_s > trajectory.duration - SHORTEST_S:
        return standing(trajectory.joint_names, trajectory.end)
    first = int(np.searchsorted(trajectory.breaks, begin_s, side="right")) - 1
    segments = trajectory.coefficients[first:].copy()
    segments[0] = splines.shifted(segments[0], begin_s - trajectory.breaks[first])
    return Trajectory(trajectory.joint_names, [0.0, *(trajectory.breaks[first + 1 :] - begin_s)], segments)


def delayed(trajectory: Trajectory, by_s: float) -> Trajectory:
    """A trajectory that is at its start for ``by_s`` [s] first."""
    wait = np.zeros((1, *trajectory.coefficients.shape[1:]))
    wait[0, 0] = trajectory.start
    breaks = np.concatenate([[0.0], trajectory.breaks + by_s])
    return Trajectory(trajectory.joint_names, breaks, np.concatenate([wait, trajectory.coefficients]))


def head(trajectory: Trajectory, end_s: float) -> Trajectory:
    """A trajectory up to ``end_s`` [s], where it may move."""
    if end_s >= trajectory.duration - SHORTEST_S:
        return trajectory
    count = int(np.searchsorted(trajectory.breaks, end_s, side="left"))
    return Trajectory(trajectory.joint_names, [*trajectory.breaks[:count], end_s], trajectory.coefficients[:count])


def standing(joint_names: Sequence[str], q: ArrayLike) -> Trajectory:
    """A trajectory that stays at ``q`` (n,)."""
    coefficients = np.zeros((1, splines.DEGREE + 1, len(joint_names)))
    coefficients[0, 0] = q
    return Trajectory(joint_names, [0.0, SHORTEST_S], coefficients)


def merge_joints(moving: Trajectory, others: Trajectory, columns: Iterable[int]) -> Trajectory:
    """``others`` with the joints of ``moving`` in place of its ``columns``; lasts as long as the longer one.

    Args:
        moving: k joints, or all n, of which those in ``columns`` count.
        others: n joints.
        columns: (k,) indices of the k joints among the n.
    """
    breaks = _common(moving.breaks, others.breaks)
    segments = _coefficients_at(others, breaks[:-1])
    columns, own = list(columns), _coefficients_at(moving, breaks[:-1])
    segments[:, :, columns] = own[:, :, columns] if moving.n == others.n else own
    return Trajectory(others.joint_names, breaks, segments)


def superposed(trajectory: Trajectory, more: Trajectory, begin_s: float) -> Trajectory:
    """The sum of a trajectory and ``more``, which begins at ``begin_s`` [s], and comes to rest; lasts until both have ended."""
    rest = remainder(trajectory, begin_s)
    breaks = _common(rest.breaks, more.breaks)
    sums = _coefficients_at(rest, breaks[:-1]) + _coefficients_at(more, breaks[:-1])
    if begin_s <= SAME_BREAK_S:
        return Trajectory(trajectory.joint_names, breaks, sums)
    before = head(trajectory, begin_s)
    after = breaks[1:] + before.duration
    return Trajectory(trajectory.joint_names, [*before.breaks, *after], [*before.coefficients, *sums])


def _common(one: Array, other: Array) -> Array:
    """The breaks of two trajectories, those that are the same once."""
    breaks = np.unique(np.concatenate([one, other]))
    return breaks[np.diff(breaks, prepend=-1.0) > SAME_BREAK_S]


def _coefficients_at(trajectory: Trajectory, times_s: Array) -> Array:
    """Coefficients (m, 6, n) from each of ``times_s`` (m,) on, up to the next break; constant after the end."""
    k = np.searchsorted(trajectory.breaks, times_s + SAME_BREAK_S, side="right") - 1
    over = k >= len(trajectory.coefficients)
    k = np.minimum(k, len(trajectory.coefficients) - 1)
    made = splines.shifted(trajectory.coefficients[k], times_s - trajectory.breaks[k])
    made[over], made[over, 0] = 0.0, trajectory.end
    return made


def blend(current: Iterable[ArrayLike], trajectory: Trajectory, blend_s: float = 0.3) -> Trajectory:
    """``trajectory``, taken over from the state (q, v, a) that was last sent: continuous in all three.

    The difference at the start is faded out by a quintic over ``blend_s`` [s], or a duration that is shorter.

    Args:
        current: q, v, a, (n,) each, at time 0.
    """
    zero = np.zeros(trajectory.n)
    difference = [np.subtract(x, y) for x, y in zip(current, trajectory.sample(0.0))]
    if not np.any(difference):
        return trajectory
    window = min(float(blend_s), trajectory.duration)
    q, v, a = difference
    fade = Trajectory(trajectory.joint_names, [0.0, window], [splines.quintic(window, q, v, a, zero, zero, zero)])
    return superposed(trajectory, fade, 0.0)
