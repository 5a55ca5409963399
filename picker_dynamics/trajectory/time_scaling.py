"""Time scaling of a trajectory: its own time x as a smooth function of the time t, so that it is followed more slowly.

    q(t) = Q(x),   v = Q' s,   a = Q'' s² + Q' ds/dt,   with the speed s = dx/dt in [0, 1]

A change of speed is a ramp of s with |ds/dt| <= ``rate`` and |d²s/dt²| = ``bend``: v and a have no steps, and the ramp
adds Q' ds/dt to the acceleration, at most rate times the fastest joint's speed.  It may begin while another is under way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
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


def scaled(state: Iterable[Array], speed: float | Array, rate: float | Array) -> tuple[Array, Array, Array]:
    """Scale the trajectory's (Q, Q', Q'') at an instant's speed s [1] and ds/dt [1/s], of many (s, 1) each."""
    q, v, a = state
    return q, v * speed, a * speed**2 + v * rate


class TimeScaling:
    """Smooth progress along a trajectory.

    Args:
        begin_s: when the progress is 0 [s].
        speed: share of the trajectory's own speed, 0 (a pause) to 1.
    """

    def __init__(self, begin_s: float, speed: float = 1.0):
        self.target = float(speed)
        self._phases = [(begin_s, Instant(0.0, self.target, 0.0), 0.0)]  # begin, state there, d²s/dt²: cubic progress

    @property
    def begin_s(self) -> float:
        """Time at which it begins [s]."""
        return self._phases[0][0]

    @property
    def settled_s(self) -> float:
        """Time at which the ramp ends [s]; the speed is ``target`` from there on."""
        return self._phases[-1][0]

    def at(self, time_s: float) -> Instant:
        """Progress at ``time_s`` [s]; negative before the begin."""
        begin_s, start, bend = next((one for one in reversed(self._phases) if time_s >= one[0]), self._phases[0])
        t = time_s - begin_s
        return Instant(
            start.progress + t * (start.speed + t * (start.rate / 2.0 + t * bend / 6.0)),
            start.speed + t * (start.rate + t * bend / 2.0),
            start.rate + t * bend,
        )

    def ramp(self, time_s: float, speed: float, rate: float, *, bend: float = SMOOTHNESS, restarted: bool = False) -> TimeScaling:
        """Return the scaling from ``time_s`` on with a ramp to ``speed``: to the largest rate, along it, and to the target.

        Args:
            rate: largest |ds/dt| [1/s]; exceeded only where it already is.
            bend: |d²s/dt²| [1/s²], or more where a ramp is under way that would else turn back.
            restarted: the progress is 0 at ``time_s``.
        """
        made, start = TimeScaling(time_s, speed), self.at(time_s)
        if start.rate < 0.0:  # out of a harder ramp: it does not go backwards
            bend = max(bend, start.rate**2 / max(2.0 * start.speed, 1e-9))
        stops_at = start.speed + start.rate * abs(start.rate) / (2.0 * bend)
        sign = 1.0 if speed >= stops_at else -1.0
        gap, now = sign * (speed - start.speed), sign * start.rate
        peak = min(math.sqrt(max(bend * gap + now * now / 2.0, 0.0)), rate)
        swing = abs(peak - now) / bend
        covered = 0.5 * (now + peak) * swing + peak * peak / (2.0 * bend)
        cruise = max((gap - covered) / peak, 0.0) if peak > 0.0 else 0.0
        begin = Instant(0.0 if restarted else start.progress, start.speed, start.rate)
        made._phases = [(time_s, begin, sign * math.copysign(bend, peak - now))]
        for duration, change in ((swing, 0.0), (cruise, -sign * bend), (peak / bend, 0.0)):
            end_s = made.settled_s + duration
            made._phases.append((end_s, made.at(end_s), change))
        end_s, end, _ = made._phases[-1]
        made._phases[-1] = end_s, Instant(end.progress, made.target, 0.0), 0.0
        return made
