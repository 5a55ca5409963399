"""Slowing: ways to rest and ramps to another speed, as gentle as the limits want them where that is possible.

Where nothing gentle enough is possible the gentlest is taken, as it has to be one; its ``LimitExcess`` tells how far
beyond the limits it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.stops import stop_trajectory
from picker_dynamics.trajectory.time_scaling import TimeScaling
from picker_dynamics.trajectory.trajectory import Trajectory, from_points, remainder

from . import checks
from .active_plan import ActivePlan, State
from .checks import SampledMotion
from .motion import Phase
from .validator import MotionValidator

GENTLER = tuple(0.5**halvings for halvings in range(5))
"""Shares of the rate with which a change of speed is tried until it needs no more torque than allowed."""

HARDER = (1.0, 2.0, 4.0, *GENTLER[1:])
"""Likewise where the guard stopped an arm while it accelerated."""

PERIOD_S, KNOT_S = 0.005, 0.02
"""Spacing of the instants at which a way is looked at, and of the knots of a stop on the path (1e-6 rad) [s]."""

PEAK_SAMPLES = 200
"""How many instants of a trajectory tell how fast it is at most."""

ROUNDING = 1e-3
"""Share by which a way to rest may exceed a speed: that of a motion that was slowed until it just fits."""


@dataclass(frozen=True)
class LimitExcess:
    """Limit excess of a way to rest, or to a lower speed, where nothing gentler is possible; 1: as allowed.

    Attributes:
        torque, tip: shares of the allowed torque and of the tip's speed.
        beyond: how far beyond a position limit [rad, m].
    """

    torque: float = 1.0
    tip: float = 1.0
    beyond: float = 0.0

    @classmethod
    def of(cls, validator: MotionValidator, q: Array, v: Array, a: Array) -> LimitExcess:
        """Limit excess of states (s, n): their need of torque and tip speed."""
        motion = SampledMotion(validator.model, np.zeros(len(q)), q, v, a, q[-1])
        return cls(validator.torque_share(q, v, a), float(motion.tip_speed.max() / validator.tip_speed))


NO_EXCESS = LimitExcess()


class Way(NamedTuple):
    """Way to rest; ``ramp``: of the plan's own time where it stays on the path."""

    trajectory: Trajectory
    ramp: TimeScaling | None = None


@dataclass(frozen=True, eq=False)
class Slowing:
    """Slowing of one arm, to rest or to another speed.

    Args:
        description: the arm; within its position limits it comes to rest.
        max_deceleration: [rad/s²], which a change of speed may add too.
    """

    description: ArmDescription
    max_deceleration: float

    def stop(self, state: State, share: float = 1.0) -> Trajectory:
        """Straight on to rest, with a share of the deceleration."""
        arm = self.description
        decel = self.max_deceleration * share
        return stop_trajectory(*state, decel, joint_names=arm.joint_names, lower=arm.lower, upper=arm.upper)

    def straight(self, state: State, shares: Sequence[float] = GENTLER) -> Iterator[Way]:
        """Ways straight on to rest, with these shares of the deceleration."""
        return (Way(self.stop(state, share)) for share in shares)

    def along(self, active: ActivePlan, start_s: float) -> Iterator[Way]:
        """Ways to rest on the path of goals, ever more gently."""
        if active.phase is not Phase.EXECUTING or start_s < active.scaling.begin_s:
            return
        rest = active.rest(start_s)
        for share in GENTLER:
            ramp = active.scaling.ramp(start_s, 0.0, self.rate(rest) * share)
            times, q, v, a = ramp.follow(rest, start_s, KNOT_S)
            path = from_points(times[1:], q[1:], v[1:], a[1:], start=(q[0], v[0], a[0]), joint_names=rest.joint_names)
            yield Way(path, ramp)

    def ways_to_rest(self, active: ActivePlan, start_s: float) -> Iterator[Way]:
        """Ways to rest: as a stream's filter foresaw; straight on, and on the path of goals; then both ever more gently."""
        if active.phase is Phase.STREAMING:
            yield Way(remainder(active.trajectory, start_s - active.scaling.begin_s))
        along = self.along(active, start_s)
        for way in self.straight(active.state_at(start_s)):
            yield way
            if (other := next(along, None)) is not None:
                yield other

    def gentlest(self, ways: Iterable[Way], validator: MotionValidator | None, to_hold: bool = False) -> tuple[Way, LimitExcess]:
        """Return the first way to rest that obeys torque, speed and range, else the one that needs least, and its excess.

        Args:
            ways: at least one.
            validator: of motions with the present payload; None: limits are not known.
            to_hold: those that end where the arm can stay go first.
        """
        tried: list[tuple[bool, float, Way, LimitExcess]] = []
        lower, upper = self.description.lower, self.description.upper
        for way in ways:
            if validator is None:
                return way, NO_EXCESS
            path = way.trajectory
            times = np.linspace(0.0, path.duration, int(np.ceil(path.duration / PERIOD_S)) + 1)
            motion = SampledMotion(validator.model, times, *path.sample(times), path.end, path)
            q, tip = motion.q, motion.tip_speed / validator.tip_speed
            beyond = np.maximum(np.minimum(lower, q[0]) - q, q - np.maximum(upper, q[0])).max()
            outside = max(float(np.maximum(lower - q, q - upper).max()), 0.0)
            excess = LimitExcess(validator.torque_share(q, motion.v, motion.a), float(tip.max()), outside)
            shares = [excess.torque, np.inf if beyond > 1e-6 else 0.0]
            if way.ramp is None:  # on its path a motion is no faster than it was let be
                begins = max(float(tip[0]), 1.0)  # a limit that was lowered: no way does better
                fast = checks.velocity(motion, self.description, validator.limits.servo_map)
                shares += [excess.tip / begins - ROUNDING, fast.share - ROUNDING]
            if validator.further:
                sampled = validator.sampled(path)
                shares += [check.worst(sampled).share for check in validator.further]
            falls = to_hold and not validator.can_hold(path.end)
            if max(shares) <= 1.0 and not falls:
                return way, excess
            tried.append((falls, max(shares), way, excess))
        return min(tried, key=lambda one: one[:2])[2:]

    def rate(self, rest: Trajectory) -> float:
        """Largest rate of the speed [1/s] that adds no more than ``max_deceleration`` to any joint's acceleration."""
        peak = np.abs(rest.sample(np.linspace(0.0, rest.duration, PEAK_SAMPLES))[1]).max()
        return self.max_deceleration / max(float(peak), 1e-6)

    def to_speed(
        self,
        before: TimeScaling,
        speed: float,
        rest: Trajectory,
        time_s: float,
        validator: MotionValidator | None,
        restarted: bool,
    ) -> tuple[TimeScaling, LimitExcess]:
        """Return the ramp to ``speed`` from ``time_s`` on, gentle enough for the torques where that is possible, and its excess.

        Args:
            rest: what is left then.
        """
        tried = []
        for share in GENTLER:
            ramp = before.ramp(time_s, speed, self.rate(rest) * share, restarted=restarted)
            if validator is None or ramp.settled_s <= time_s:
                return ramp, NO_EXCESS
            excess = LimitExcess.of(validator, *ramp.follow(rest, time_s, PERIOD_S)[1:])
            if excess.torque <= 1.0:
                return ramp, excess
            tried.append((excess.torque, ramp, excess))
        return min(tried, key=lambda one: one[0])[1:]


def require_followable(validator: MotionValidator, q: Array, v: Array, a: Array) -> None:
    """Raise a PickerError where the state (n,) of a stream is beyond the limits; it may just be at them."""
    try:
        validator.validate_state(q, v, a)
    except PickerError:
        excess = LimitExcess.of(validator, q[None], v[None], a[None])
        if max(excess.torque, excess.tip) > 1.0 + ROUNDING or not validator.can_hold(q):
            raise
