"""Time scaling of a trajectory: its own time x as a smooth function of the time t, so that it is gone through more slowly.

    q(t) = Q(x),   v = Q' s,   a = Q'' s² + Q' ds/dt,   with the speed s = dx/dt in [0, 1]

A change of speed is a ramp of s with |ds/dt| <= ``rate`` and |d²s/dt²| = ``SMOOTHNESS``: v and a have no steps, and the ramp
adds Q' ds/dt to the acceleration, at most rate times the fastest joint's speed.  It may begin while another is under way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from picker_dynamics.robot.model import Array

SMOOTHNESS = 20.0
"""Second derivative of the speed along a ramp [1/s²]: from full speed to a stop in 0.45 s, where the rate allows it."""


@dataclass(frozen=True)
class Instant:
    """Progress x [s of the trajectory's own time], speed s = dx/dt [1] and ds/dt [1/s]."""

    progress: float
    speed: float
    rate: float

    def scaled(self, state: Iterable[Array]) -> tuple[Array, Array, Array]:
        """The motion's state from the trajectory's (Q, Q', Q'') at this progress."""
        q, v, a = state
        return q, v * self.speed, a * self.speed**2 + v * self.rate


@dataclass(frozen=True)
class _Phase:
    """From ``begin_s`` on: cubic progress; ``bend`` is d²s/dt²."""

    begin_s: float
    instant: Instant
    bend: float

    def at(self, time_s: float) -> Instant:
        t, start = time_s - self.begin_s, self.instant
        return Instant(
            start.progress + t * (start.speed + t * (start.rate / 2.0 + t * self.bend / 6.0)),
            start.speed + t * (start.rate + t * self.bend / 2.0),
            start.rate + t * self.bend,
        )


class TimeScaling:
    """Smooth progress along a trajectory, slower than it was made or as fast.

    Args:
        begin_s: when progress is ``progress`` [s].
        speed: share of the trajectory's own speed, 0 (a pause) to 1.
    """

    def __init__(self, begin_s: float, speed: float = 1.0, progress: float = 0.0):
        self.target = float(speed)
        self._phases: Sequence[_Phase] = (_Phase(begin_s, Instant(progress, self.target, 0.0), 0.0),)

    @property
    def settled_s(self) -> float:
        """Time at which the last ramp ends [s]; the speed is ``target`` from there on."""
        return self._phases[-1].begin_s

    def at(self, time_s: float) -> Instant:
        for phase in reversed(self._phases):
            if time_s >= phase.begin_s:
                return phase.at(time_s)
        return self._phases[0].at(time_s)

    def ramp(self, time_s: float, speed: float, rate: float) -> TimeScaling:
        """The scaling from ``time_s`` on: a ramp to ``speed``, from what speed and rate are then.

        Args:
            rate: largest |ds/dt| [1/s]; exceeded only where it already is.
        """
        return self._planned(time_s, self.at(time_s), speed, rate)

    @staticmethod
    def _planned(time_s: float, start: Instant, speed: float, rate: float) -> TimeScaling:
        """Three phases of constant bend: towards the largest rate, along it, and to the target without passing it."""
        made = TimeScaling(time_s, speed)
        stops_at = start.speed + start.rate * abs(start.rate) / (2.0 * SMOOTHNESS)
        sign = 1.0 if speed >= stops_at else -1.0
        gap, now = sign * (speed - start.speed), sign * start.rate
        peak = min(math.sqrt(max(SMOOTHNESS * gap + now * now / 2.0, 0.0)), rate)
        swing = abs(peak - now) / SMOOTHNESS
        covered = 0.5 * (now + peak) * swing + peak * peak / (2.0 * SMOOTHNESS)
        cruise = (gap - covered) / peak if peak > 0.0 else 0.0
        bend = math.copysign(SMOOTHNESS, peak - now)
        phases = [_Phase(time_s, start, sign * bend)]
        for duration, next_bend in ((swing, 0.0), (max(cruise, 0.0), -SMOOTHNESS), (peak / SMOOTHNESS, None)):
            begin = phases[-1].begin_s + duration
            instant = phases[-1].at(begin)
            if next_bend is None:
                phases.append(_Phase(begin, Instant(instant.progress, float(speed), 0.0), 0.0))
            else:
                phases.append(_Phase(begin, instant, sign * next_bend))
        made._phases = tuple(phases)
        return made
