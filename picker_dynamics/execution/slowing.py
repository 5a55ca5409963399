"""Slowing: ramps to another speed or to rest on the path, and stops straight on, as gentle as the limits want them where that is
possible.

Where nothing gentle enough is possible the gentlest is taken, as it has to be one; its ``LimitExcess`` tells how far
beyond the limits it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, tip_speeds
from picker_dynamics.trajectory.stops import stop_trajectory
from picker_dynamics.trajectory.time_scaling import SMOOTHNESS, TimeScaling
from picker_dynamics.trajectory.trajectory import Trajectory

from .active_plan import ActivePlan, State
from .checks import speed_limit
from .motion import Phase
from .validator import MotionValidator

GENTLER = tuple(0.5**halvings for halvings in range(5))
"""Shares of the rate with which a change of speed is tried until it needs no more torque than allowed."""

HARDER = (1.0, 2.0, 4.0, *GENTLER[1:])
"""Shares of the deceleration that are tried where the guard stopped an arm, which may accelerate."""

STOP_BEND = 10.0
"""Of a stop against other ramps: how much faster its deceleration may set in."""

PEAK_SAMPLES = 200
"""How many instants of a trajectory tell how fast it is at most."""

ROUNDING = 1e-3
"""Share by which a stop may exceed a speed: that of a motion that was slowed until it just fits."""

FALLS = 1e3
"""Added to the share of a stop that ends where the arm cannot stay: any other one is better."""

NEARLY = 1.05
"""Of two ways whose shares of the limits differ by less, the quicker one is taken."""

Way = TypeVar("Way")


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
        """Limit excess of states (s, n)."""
        arm, tip = validator.description, float(tip_speeds(validator.model, q, v).max() / validator.tip_speed)
        beyond = 0.0 if arm is None else max(float(np.maximum(arm.lower - q, q - arm.upper).max()), 0.0)
        return cls(validator.torque_share(q, v, a), tip, beyond)


NO_EXCESS = LimitExcess()


def _gentlest(ways: Iterable[tuple[float, Way, LimitExcess]]) -> tuple[Way, LimitExcess]:
    """The first way whose share of the limits is at most 1, else the first whose share is nearly the least, with its excess."""
    tried = []
    for one in ways:
        if one[0] <= 1.0:
            return one[1:]
        tried.append(one)
    least = min(share for share, _, _ in tried)
    return next(one for one in tried if one[0] <= NEARLY * least)[1:]


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

    def gentlest_stop(self, state: State, validator: MotionValidator | None) -> tuple[Trajectory, LimitExcess]:
        """Return a stop straight on that obeys torque, speed and range, else the one that exceeds them least, and its excess."""
        if validator is None:
            return self.stop(state), NO_EXCESS
        limit = speed_limit(self.description, validator.limits.servo_map)

        def ways(known: MotionValidator) -> Iterator[tuple[float, Trajectory, LimitExcess]]:
            for share in HARDER:
                made = self.stop(state, share)
                states = ActivePlan(made, TimeScaling(0.0)).states(0.0, made.duration)
                excess = LimitExcess.of(known, *states)
                begins = max(LimitExcess.of(known, *(part[:1] for part in states)).tip, 1.0)  # of a limit that was lowered
                fast = max(excess.tip / begins, float((np.abs(states[1]) / limit).max()))
                yield max(excess.torque, fast - ROUNDING, 1.0 + excess.beyond - 1e-6), made, excess

        return _gentlest(ways(validator))

    def ramp(
        self,
        active: ActivePlan,
        speed: float,
        time_s: float,
        validator: MotionValidator | None,
        *,
        restarted: bool = False,
        phase: Phase = Phase.EXECUTING,
    ) -> tuple[ActivePlan, LimitExcess]:
        """Return the plan with a ramp to ``speed`` from ``time_s`` on, gentle enough where that is possible, and its excess.

        Args:
            restarted: the plan's trajectory begins at ``time_s``; else its scaling's progress goes on.
            phase: ``STOPPING`` where the arm is to stay at the end of the ramp.
        """

        def ways() -> Iterator[tuple[float, ActivePlan, LimitExcess]]:
            progress = 0.0 if restarted else active.progress(time_s)
            speeds = active.trajectory.sample(np.linspace(progress, active.trajectory.duration, PEAK_SAMPLES))[1]
            rate = self.max_deceleration / max(float(np.abs(speeds).max()), 1e-6)
            for share in GENTLER:
                bend = SMOOTHNESS * (max(STOP_BEND * share, 1.0) if phase is Phase.STOPPING else 1.0)
                scaling = active.scaling.ramp(time_s, speed, rate * share, bend=bend, restarted=restarted)
                made = replace(active, scaling=scaling, phase=phase)
                if validator is None or scaling.settled_s <= time_s:
                    yield 0.0, made, NO_EXCESS
                    return
                excess = LimitExcess.of(validator, *made.states(time_s, scaling.settled_s))
                falls = phase is Phase.STOPPING and not validator.can_hold(made.state_at(made.ends_s)[0])
                yield excess.torque + FALLS * falls, made, excess

        return _gentlest(ways())
