"""Timed sweeps: no-load speed and stall torque of a servo, by least squares on its speed-torque line.

A servo that is told to go far away gives all it has, and turns along its speed-torque line:

    v = v_0 (1 - tau / tau_stall)                 v_0: no-load speed, tau: load that opposes the move

so a move over s, with the load tau(s') on the way and the inertia J, takes

    t = lag + (1/v_0) ∫ ds' / (1 - tau(s') / tau_stall) + T (1 + ln(v(s) / v(0))),        T = J v_0 / tau_stall

The lag is whatever is the same for all moves: the reaction of who times, frames, slowing down at the end.  The last term
is the time lost while gathering speed, and while the speed follows a load that changes; to first order in T.  Moves over
different distances tell v_0 from the lag, moves with and without a weight tell tau_stall: weighted least squares in
1/v_0, lag and 1/tau_stall.

Dry friction f of the gears goes with the servo: what comes out is v_0 (1 - f / tau_stall) and tau_stall - f, which is what
there is to move with.

A weight makes the servo swing where it stops.  So time the passing of a mark, and send the servo ``BEYOND_RAD`` further.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.robot.units import told

from .. import least_squares
from .mass_properties import STOPWATCH_SD
from .measured import Measured

FRAME_S = 0.02
"""A servo looks at its pulse once a frame: its start is up to this late [s], evenly spread."""

BEYOND_RAD = 0.35
"""How far beyond the mark the set-point has to be: nearer, the servo slows down before it."""

FASTEST, SLOWEST = 40.0, 0.2
"""Of hobby servos [rad/s]: 60 degrees in 0.026 s and in 5 s."""

TORQUE_MAX = 10.0
"""Beyond this the load on such a servo is a slip of units [N·m]."""

GAINED_SPEED = 3.0
"""Time constants of gathering speed that a move has to last: then it is at 95 % of its speed."""


@dataclass(frozen=True)
class TimedMove:
    """Timed move of one joint.

    Args:
        distance: that it turned until it was timed [rad].
        time_s: as read, from the command on, reaction and all.
        sd: of the reading [s]: ``STOPWATCH_SD``, ``video_sd(30.0)``, 0.005 for a potentiometer in the telemetry.
        loads: torques that oppose the move at evenly spaced places on the way, both ends included, negative where they help
            [N·m]; one: the same all the way; none: nothing hangs there.  ``lever_loads`` makes them.
        inertia: of what turns, rotor included [kg·m²]; counts only between moves that differ in it.
    """

    distance: float
    time_s: float
    sd: float = STOPWATCH_SD
    loads: Sequence[float] = ()
    inertia: float = 1e-3


@dataclass(frozen=True)
class Sweep:
    """What timed moves say of a servo: no-load speed [rad/s], stall torque [N·m] (None where no move was loaded), lag [s],
    and the misfit: root mean square of the residuals in standard deviations, about 1 where the model fits."""

    speed: Measured
    stall: Measured | None
    lag: Measured
    misfit: float


def video_sd(frames_per_s: float) -> float:
    """Standard deviation [s] of a time counted in a video's frames: start and end are each off by up to half a frame."""
    return 1.0 / (frames_per_s * math.sqrt(6.0))


def lever_loads(mass: float, lever: float, start: float, end: float, count: int = 41) -> tuple[float, ...]:
    """Torques [N·m] that oppose a move with a mass on a lever, for ``TimedMove.loads``.

    Args:
        mass: [kg].  lever: from the joint axis [m].
        start, end: elevations of the lever from the horizontal where the move begins and where it is timed [rad].
    """
    upwards = math.copysign(1.0, end - start)
    return tuple(float(one) for one in upwards * mass * GRAVITY * lever * np.cos(np.linspace(start, end, count)))


def timed_sweep(name: str, moves: Sequence[TimedMove]) -> Sweep:
    """Speed and, if some moves were loaded, stall torque from timed moves over several distances.

    Args:
        name: of the joint, for messages.
        moves: at least three over two distances or more; and two loaded ones for the stall torque.

    Raises:
        InputError: a reading that cannot be, or readings that do not tell the speed.
    """
    for number, move in enumerate(moves, start=1):
        _require_possible(name, number, move)
    loaded = [move for move in moves if len(move.loads)]
    distances = {round(move.distance, 2) for move in moves if not len(move.loads)}
    refuse_if(
        len(moves) - len(loaded) < 3 or len(distances) < 2,
        f"{name}: {len(moves) - len(loaded)} unloaded moves over {len(distances)} distances, must be at least 3 "
        "over 2: the reaction cannot be told from the speed",
        name,
        len(moves),
        3,
    )
    refuse_if(len(loaded) == 1, f"{name}: one loaded move, must be two or none", name, 1, 2)
    line = _Line(moves, bool(loaded))
    found, covariance, misfit = line.fit(name)
    sd = np.sqrt(np.diag(covariance))
    slowness = Measured(float(found[0]), float(sd[0]))
    _require_known(name, "speed", slowness, "time longer moves, more of them, or with a video")
    stall = None
    if loaded:
        inverse = Measured(float(found[2]), float(sd[2]))
        _require_known(name, "stall torque", inverse, "hang more on, or time more moves")
        stall = _reciprocal(inverse)
    sweep = Sweep(_reciprocal(slowness), stall, Measured(float(found[1]), float(sd[1])), misfit)
    _require_full_speed(name, sweep, moves)
    return sweep


# --- the line ---------------------------------------------------------------------------------------


class _Line:
    """Times as the speed-torque line has them, for unknowns 1/v_0 [s/rad], lag [s] and, with loads, 1/tau_stall [1/(N·m)]."""

    def __init__(self, moves: Sequence[TimedMove], loaded: bool):
        self.loaded = loaded
        self.distance, self.time, self.inertia = np.array([(move.distance, move.time_s, move.inertia) for move in moves]).T
        self._loads = sorted({tuple(move.loads) for move in moves})
        self._which = [self._loads.index(tuple(move.loads)) for move in moves]
        self.sd = np.array([math.hypot(move.sd, FRAME_S / math.sqrt(12.0)) for move in moves])
        self.largest_load = max((max(move.loads, default=0.0) for move in moves), default=0.0)

    def predict(self, unknowns) -> np.ndarray:
        slowness, lag, *rest = unknowns
        inverse_stall = rest[0] if rest else 0.0
        gathering = self.inertia * inverse_stall / slowness
        return lag + slowness * self._way(inverse_stall) + gathering * (1.0 + self._change(inverse_stall))

    def _way(self, inverse_stall: float) -> np.ndarray:
        """Distances that the moves would be worth without a load [rad]."""
        return self.distance * np.array([_slowing(loads, inverse_stall) for loads in self._loads])[self._which]

    def _change(self, inverse_stall: float) -> np.ndarray:
        """ln of the steady speed at the end over that at the start."""
        ends = np.array([(loads[0], loads[-1]) if loads else (0.0, 0.0) for loads in self._loads])
        return np.log((1.0 - inverse_stall * ends[:, 1]) / (1.0 - inverse_stall * ends[:, 0]))[self._which]

    def fit(self, name: str) -> tuple[np.ndarray, np.ndarray, float]:
        """Estimate, covariance (of the readings' spread where that is larger than the clock explains), misfit."""
        start, most = self._straight(0.0), 0.999 / max(self.largest_load, 1e-3)
        if self.loaded:
            starts = [np.append(self._straight(one), one) for one in most * np.linspace(0.04, 0.96, 24)]
            start = min((one for one in starts if one[0] > 0.0), key=self._misfit, default=starts[0])
        refuse_if(
            not start[0] > 0.0,
            f"{name}: longer moves took no longer: were distances and times mixed up?",
            name,
            float(start[0]),
            0.0,
        )
        bounds = np.array([(0.0, np.inf), (-np.inf, np.inf), (0.0, most)][: len(start)]).T
        found = least_squares.solve(self._residuals, start, "3-point", bounds=bounds, x_scale="jac", xtol=1e-12, ftol=1e-12)
        misfit = self._misfit(found.x)
        return found.x, found.covariance * max(1.0, misfit) ** 2, misfit

    def _straight(self, inverse_stall: float) -> np.ndarray:
        """1/v_0 and lag by linear least squares where the stall torque is known, inertia aside."""
        way = self._way(inverse_stall)
        rows = np.stack([way, np.ones(len(way))], axis=-1) / self.sd[:, None]
        return np.linalg.lstsq(rows, self.time / self.sd, rcond=None)[0]

    def _residuals(self, unknowns) -> np.ndarray:
        return (self.time - self.predict(unknowns)) / self.sd

    def _misfit(self, unknowns) -> float:
        residuals = self._residuals(unknowns)
        return float(np.sqrt(residuals @ residuals / max(1, len(residuals) - len(unknowns))))


def _slowing(loads: Sequence[float], inverse_stall: float) -> float:
    """Mean of 1 / (1 - tau / tau_stall) along the way, by the trapezoidal rule; 1 without a load."""
    if not len(loads):
        return 1.0
    factors = 1.0 / (1.0 - inverse_stall * np.asarray(loads, dtype=float))
    return float(factors[0]) if len(factors) == 1 else float(np.mean(0.5 * (factors[1:] + factors[:-1])))


def _reciprocal(one: Measured) -> Measured:
    return Measured(1.0 / one.value, one.sd / one.value**2)


# --- what cannot be ---------------------------------------------------------------------------------


def _require_possible(name: str, number: int, move: TimedMove) -> None:
    def refuse(why: str, value: float, limit: float) -> InputError:
        return InputError(f"{name}: timed move {number}: {why}", subject=name, value=value, limit=limit)

    if not (math.isfinite(move.distance) and math.isfinite(move.time_s) and np.isfinite(move.loads).all()):
        raise refuse("a reading is not a finite number", move.time_s, 0.0)
    if not 0.0 < move.distance <= 2.0 * math.pi:
        raise refuse(
            f"distance is {told(move.distance, 'rad')}, must be above 0 and at most 360 deg"
            + (": degrees given as radians?" if move.distance > 0.0 else ""),
            move.distance,
            2.0 * math.pi,
        )
    if not (move.sd > 0.0 and move.inertia >= 0.0):
        raise refuse("the clock's standard deviation must be above 0, the inertia not below", move.sd, 0.0)
    if not move.time_s > 0.0:
        raise refuse(f"time is {move.time_s:g} s, must be above 0", move.time_s, 0.0)
    if move.distance > FASTEST * (move.time_s + 2.0 * move.sd):
        raise refuse(
            f"{told(move.distance, 'rad')} in {move.time_s:g} s is faster than any hobby servo ({told(FASTEST, 'rad')}/s)",
            move.time_s,
            move.distance / FASTEST,
        )
    if move.distance < SLOWEST * move.time_s:
        raise refuse(
            f"{told(move.distance, 'rad')} in {move.time_s:g} s is slower than any servo ({told(SLOWEST, 'rad')}/s): "
            "are these milliseconds?",
            move.time_s,
            move.distance / SLOWEST,
        )
    largest = max(map(abs, move.loads), default=0.0)
    if largest > TORQUE_MAX:
        raise refuse(
            f"load is {largest:g} N·m, must be at most {TORQUE_MAX:g}: are these kilogram-centimetres?", largest, TORQUE_MAX
        )


def _require_known(name: str, what: str, inverse: Measured, hint: str) -> None:
    """A reciprocal that may as well be 0 leaves the figure without an upper end."""
    refuse_if(
        inverse.interval[0] <= 0.0,
        f"{name}: these moves do not tell the {what}, it may be anything above {1.0 / inverse.interval[1]:.2f}: {hint}",
        name,
        1.0 / inverse.value,
    )


def _require_full_speed(name: str, sweep: Sweep, moves: Sequence[TimedMove]) -> None:
    if sweep.stall is None:
        return
    for number, move in enumerate(moves, start=1):
        gathering = move.inertia * sweep.speed.value / sweep.stall.value
        lasted = move.distance / sweep.speed.value * _slowing(move.loads, 1.0 / sweep.stall.value)
        refuse_if(
            lasted < GAINED_SPEED * gathering,
            f"{name}: timed move {number} lasted {lasted:.2f} s, and what hangs there takes {gathering:.2f} s "
            "to gather speed: longer moves, or a heavier weight on a shorter lever",
            name,
            lasted,
            GAINED_SPEED * gathering,
        )
