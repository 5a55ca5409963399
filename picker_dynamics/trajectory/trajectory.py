"""Trajectories: q, v, a at time t as piecewise polynomials of degree 5 at most.

``from_points`` follows ros2_control's joint_trajectory_controller: between two points the path is linear if they have positions
only, cubic if both have velocities, quintic if both have accelerations besides.  ``part`` is what lies between two times of a
motion, ``superposed`` the sum of two; ``merge_joints`` joins the joints of motions, ``blend`` takes over from
the state that was last sent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import InputError, TrajectoryError
from picker_dynamics.robot.model import Array, checked_number, read_only
from picker_dynamics.robot.units import told

from . import splines

START_TOLERANCE = 0.05
"""How far [rad or m] a first point at time 0 may be from where the arm is."""

SHORTEST_S = 1e-3
"""Duration of a trajectory that only stands [s]; with less than this left, one counts as over."""

DASH, DASH_SHARE = (0.01, 0.2), 1.05
"""A segment whose velocity or acceleration exceeds those of its ends by this share and these [rad/s, rad/s²] is a dash."""

WITHIN = 7
"""Samples within a dash, however short: of a quintic they find its largest speed to 3 %."""

SAME_BREAK_S = 1e-9
"""Breaks closer than this are one [s]."""


class Trajectory:
    """Piecewise polynomials of ``n`` joints over 0 ... ``duration``; never changes.

    Args:
        joint_names: (n,) names.
        breaks: (m + 1,) times [s] at which the m segments begin and end; the first is 0, strictly increasing.
        coefficients: (m, 6, n) of x^0 ... x^5 with x the time since the segment's begin.

    Attributes:
        duration: [s].
        start, end: (n,) positions at time 0 and at the end [rad].
    """

    def __init__(self, joint_names: Sequence[str], breaks: ArrayLike, coefficients: ArrayLike):
        self.joint_names = tuple(joint_names)
        self.breaks, self.coefficients, self._zero = (read_only(x) for x in (breaks, coefficients, np.zeros(self.n)))
        self._breaks: list[float] = self.breaks.tolist()
        self.duration = self._breaks[-1]
        self.start, self.end = self._at(0, 0.0)[0], self._at(len(self.coefficients) - 1, self.duration - self._breaks[-2])[0]

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

    def grid(self, period_s: float) -> tuple[Array, Array, Array, Array]:
        """Samples (t, q, v, a) every ``period_s`` [s] or closer, in order of time; shapes (s,) and (s, n).

        Also on both sides of every break, where an acceleration or velocity may jump, within each segment, however short, and
        where velocities and accelerations change their sign: there a joint is farthest, or fastest.
        """
        lengths = np.diff(self.breaks)
        parts = np.maximum(np.ceil(lengths / period_s), np.where(self._dashes(), WITHIN + 1, 1)).astype(int)
        k = np.repeat(np.arange(len(lengths)), parts + 1)
        x = np.arange(len(k)) - np.repeat(np.cumsum(parts + 1) - parts - 1, parts + 1)
        x = x / parts[k] * lengths[k]
        t, samples = self.breaks[k] + x, self._many(k, x)
        added = []
        for rates in samples[1:]:
            turns, joints = np.nonzero((rates[:-1] * rates[1:] < 0.0) & (np.diff(k) == 0)[:, None])
            before, after = rates[turns, joints], rates[turns + 1, joints]
            added.append((t[turns] + np.diff(t)[turns] * before / (before - after), k[turns]))
        more, inside = (np.concatenate(part) for part in zip(*added))
        order = np.argsort(np.concatenate([t, more]), kind="stable")
        extremes = self._many(inside, more - self.breaks[inside])
        return np.concatenate([t, more])[order], *(np.concatenate(two)[order] for two in zip(samples, extremes))  # type: ignore[return-value]

    def _dashes(self) -> NDArray[np.bool_]:
        """Segments (m,) that are faster inside, or accelerate more, than at their ends."""
        x = np.linspace(0.0, 1.0, WITHIN + 2)[:, None] * np.diff(self.breaks)
        found = np.zeros(x.shape[1], dtype=bool)
        for rates, least in zip(self._many(np.broadcast_to(np.arange(x.shape[1]), x.shape), x)[1:], DASH):
            rates = np.abs(rates)
            found |= (rates[1:-1].max(axis=0) > DASH_SHARE * np.maximum(rates[0], rates[-1]) + least).any(axis=-1)
        return found

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


def from_points(
    times_s: ArrayLike,
    positions: ArrayLike,
    velocities: ArrayLike | None = None,
    accelerations: ArrayLike | None = None,
    *,
    joint_names: Sequence[str],
    start: tuple[Array, Array, Array] | None = None,
    units: Sequence[str] = (),
) -> Trajectory:
    """A trajectory through points, by the rules of joint_trajectory_controller: linear, cubic or quintic segments.

    Args:
        times_s: (m,) times of the points since the begin, strictly increasing.
        positions: (m, n) [rad].
        velocities, accelerations: (m, n) [rad/s, rad/s²]; None: not given.
        joint_names: (n,) names, in the order of the arrays.
        start: q, v, a (n,) at time 0, where the arm comes from: the point before a first point later than 0; one at 0 must be
            within ``START_TOLERANCE`` of it (then ``blend``).
        units: (n,) of the positions, ``rad`` or ``m``, for what is said of them; default all turn.

    Raises:
        TrajectoryError: no way from 0 s on, or a first point away from the start; names joint, value and limit.
    """
    times, rows = np.asarray(times_s, dtype=float), [np.asarray(positions, dtype=float)]
    rows += [np.asarray(one, dtype=float) for one in (velocities, accelerations) if one is not None]
    if times[0] > 0.0:
        if start is None:
            raise TrajectoryError(f"point 0 is at {times[0]:g} s, and no state at 0 s is given", None, times[0], 0.0)
        times, rows = np.append(0.0, times), [np.vstack(pair) for pair in zip(start, rows)]
    elif start is not None:
        away = np.abs(rows[0][0] - start[0])
        j = int(away.argmax())
        if away[j] > START_TOLERANCE:
            value, unit = float(away[j]), units[j] if units else "rad"
            jump, limit = told(value, unit, START_TOLERANCE), told(START_TOLERANCE, unit, value)
            text = f"point 0 is at 0 s, but {joint_names[j]} would jump by {jump}, limit {limit}: give it time to get there"
            raise TrajectoryError(text, joint_names[j], value, START_TOLERANCE)
    if len(times) < 2:
        raise TrajectoryError("the only point is at 0 s: give it time to get there", None, 0.0, 0.0)
    segment = (splines.linear, splines.cubic, splines.quintic)[len(rows) - 1]
    ends = [one[:-1] for one in rows] + [one[1:] for one in rows]
    return Trajectory(joint_names, times, segment(np.diff(times)[:, None], *ends))


def part(trajectory: Trajectory, begin_s: float, end_s: float = np.inf) -> Trajectory:
    """A trajectory between two times [s, its own], as one that starts at 0; before it begins, and where it is over, it stands."""
    if end_s == np.inf and begin_s > trajectory.duration - SHORTEST_S:
        return standing(trajectory.joint_names, trajectory.end)
    end_s = min(end_s, trajectory.duration)
    inner = trajectory.breaks[(trajectory.breaks > begin_s + SAME_BREAK_S) & (trajectory.breaks < end_s - SAME_BREAK_S)]
    breaks = np.array([begin_s, *inner, end_s])
    return Trajectory(trajectory.joint_names, breaks - begin_s, coefficients_at(trajectory, breaks[:-1]))


def standing(joint_names: Sequence[str], q: ArrayLike, duration_s: float = SHORTEST_S) -> Trajectory:
    """A trajectory that stays at ``q`` (n,)."""
    coefficients = np.zeros((1, splines.DEGREE + 1, len(joint_names)))
    coefficients[0, 0] = q
    return Trajectory(joint_names, [0.0, duration_s], coefficients)


def merge_joints(moving: Trajectory, others: Trajectory, columns: Iterable[int]) -> Trajectory:
    """``others`` with the joints of ``moving`` in place of its ``columns``; lasts as long as the longer one.

    Args:
        moving: k joints, or all n, of which those in ``columns`` count.
        others: n joints.
        columns: (k,) indices of the k joints among the n.
    """
    breaks = _common(moving.breaks, others.breaks)
    segments = coefficients_at(others, breaks[:-1])
    columns, own = list(columns), coefficients_at(moving, breaks[:-1])
    segments[:, :, columns] = own[:, :, columns] if moving.n == others.n else own
    return Trajectory(others.joint_names, breaks, segments)


def superposed(trajectory: Trajectory, more: Trajectory, begin_s: float) -> Trajectory:
    """The sum of a trajectory and ``more``, which begins at ``begin_s`` [s], and comes to rest; lasts until both have ended."""
    begin_s = begin_s if begin_s > 2.0 * SHORTEST_S else 0.0
    rest, before = part(trajectory, begin_s), part(trajectory, 0.0, begin_s)
    breaks = _common(rest.breaks, more.breaks)
    sums = coefficients_at(rest, breaks[:-1]) + coefficients_at(more, breaks[:-1])
    both = Trajectory(trajectory.joint_names, breaks, sums)
    return chained([before, both]) if begin_s else both


def chained(parts: Sequence[Trajectory]) -> Trajectory:
    """Trajectories one after another."""
    begins = np.cumsum([0.0, *(one.duration for one in parts)])
    breaks = [one.breaks[1:] + begin for one, begin in zip(parts, begins)]
    return Trajectory(parts[0].joint_names, np.concatenate([[0.0], *breaks]), np.concatenate([one.coefficients for one in parts]))


def _common(one: Array, other: Array) -> Array:
    """The breaks of two trajectories, those that are the same once."""
    breaks = np.unique(np.concatenate([one, other]))
    return breaks[np.diff(breaks, prepend=-1.0) > SAME_BREAK_S]


def coefficients_at(trajectory: Trajectory, times_s: Array) -> Array:
    """Coefficients (m, 6, n) from each of ``times_s`` (m,) on, up to the next break; constant outside of the motion."""
    k = np.searchsorted(trajectory.breaks, times_s + SAME_BREAK_S, side="right") - 1
    still = (k < 0) | (k >= len(trajectory.coefficients))
    k = k.clip(0, len(trajectory.coefficients) - 1)
    made = splines.shifted(trajectory.coefficients[k], times_s - trajectory.breaks[k])
    made[still], made[still, 0] = 0.0, np.where(times_s[still, None] < 0.0, trajectory.start, trajectory.end)
    return made


def blend(current: Iterable[ArrayLike], trajectory: Trajectory, blend_s: float = 0.3) -> Trajectory:
    """``trajectory``, taken over from the state (q, v, a) that was last sent: continuous in all three.

    What q and v are off by at the start is faded out by a quintic over ``blend_s`` [s], or a duration that is shorter; what a is
    off by (cubics begin with any) before the second point: later it would carry the joints past that, and back.

    Args:
        current: q, v, a, (n,) each, at time 0.
    """
    zero = np.zeros(trajectory.n)
    q, v, a = (np.subtract(x, y) for x, y in zip(current, trajectory.sample(0.0)))
    blended = trajectory
    for until_s, dq, dv, da in ((trajectory.duration, q, v, zero), (trajectory.breaks[1], zero, zero, a)):
        if np.any((dq, dv, da)):
            window = min(float(blend_s), float(until_s))
            fade = Trajectory(trajectory.joint_names, [0.0, window], [splines.quintic(window, dq, dv, da, zero, zero, zero)])
            blended = superposed(blended, fade, 0.0)
    return blended
