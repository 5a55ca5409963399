"""Checks of a motion: position, velocity, tip speed, torque.  Each says how much of its limit the motion uses.

A check looks at a :class:`SampledMotion`, which is sampled once, finely enough for all of them, and computes each quantity
(torque, gravity, speed of the tip) once, whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InfeasibleError, JointNamesError, LimitError, PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, DynamicsModel, tip_speeds
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told
from picker_dynamics.trajectory.trajectory import Excess, Trajectory

from .torque_limits import TorqueLimits

MIN_SAMPLES = 100
"""Samples along a short motion, where the period would take fewer."""

WITHIN = 7
"""Samples within a segment that is a dash, however short: of a quintic they find its largest speed to 3 %."""

SAMPLE_TOLERANCE = 1e-3
"""How far beyond a position limit one sample of a stream may be [rad]: the rounding of pulses and of float32 messages."""

SETPOINT_SHARE = 0.85
"""Of the speed of a servo's set-point that its joint may move with: compensation adds to it."""

SLOWER = (0.0, 0.25, 0.5, 0.75)
"""Shares of its speed at which a motion must be possible too: it may be slowed, or stopped, anywhere."""


MAX_SAMPLES = 60_000
"""Samples of the longest goal, as asked; where it is slowed no more are taken."""

BLOCK = 2000
"""Samples whose dynamics are computed at once: of a long motion all would take half a gigabyte, and hold up other threads."""


def in_blocks(work: Callable[..., Array], *states: Array) -> Array:
    """``work`` of states (s, n) each, block by block."""
    if len(states[0]) <= BLOCK:
        return work(*states)
    return np.concatenate([work(*(part[k : k + BLOCK] for part in states)) for k in range(0, len(states[0]), BLOCK)])


@dataclass(frozen=True)
class Usage:
    """Usage of one limit by a motion, where it uses most of it.

    Attributes:
        share: of the limit; above 1 (and ``slack``) the motion is refused.
        subject: joint, or ``tip``.
        value, limit: in SI units.
        time_s: when along the motion.
        text: the same in words.
        error: class of the refusal.
        by_speed: the share grows in proportion to the motion's speed.
    """

    share: float
    subject: str
    value: float
    limit: float
    time_s: float
    text: str
    error: type[LimitError] | type[InfeasibleError] = LimitError
    by_speed: bool = False
    slack: float = 1e-12

    @property
    def broken(self) -> bool:
        """Whether the limit is broken, and the motion may not be made."""
        return not self.share <= 1.0 + self.slack

    def refusal(self) -> PickerError:
        """Error that refuses the motion for this usage."""
        if self.error is InfeasibleError:
            return InfeasibleError(self.text, self.subject, self.value, self.limit, time_s=self.time_s)
        return LimitError(self.text, self.subject, self.value, self.limit)


class SampledMotion:
    """A motion as checks see it.

    Args:
        model: the arm with its payload.
        times, q, v, a: (s,) [s], (s, n) each [rad, rad/s, rad/s²]; times as ``own_s``.
        rest: (n,) where the arm may come to rest [rad], at ``rest_s``.
        trajectory: what was sampled; None: a single state, of a stream or of an arm that stands.
        begin_s, stretch: where the trajectory begins in that of a goal [s], and how much longer that lasts than was asked.
    """

    def __init__(
        self,
        model: DynamicsModel,
        times: Array,
        q: Array,
        v: Array,
        a: Array,
        rest: Array,
        trajectory: Trajectory | None = None,
        begin_s: float = 0.0,
        stretch: float = 1.0,
    ):
        self.model, self.times, self.q, self.v, self.a = model, times, q, v, a
        self.rest, self.rest_s, self.trajectory = rest, float(times[-1]), trajectory
        self._begin_s, self._stretch = begin_s, stretch

    @classmethod
    def along(
        cls, trajectory: Trajectory, model: DynamicsModel, period_s: float, begin_s: float = 0.0, stretch: float = 1.0
    ) -> SampledMotion:
        """A trajectory, every ``period_s`` [s] or closer, on both sides of every break, and within each dash.

        One longer than the longest goal, which is slowed then, is sampled as closely along its path; of a motion under way
        what is left begins at ``begin_s`` [s], and all of it was made longer by ``stretch``.

        Raises:
            JointNamesError: the joints are not the model's.
        """
        if trajectory.joint_names != model.joint_names:
            raise JointNamesError(
                f"the trajectory's joints are {', '.join(trajectory.joint_names)}, the model's {', '.join(model.joint_names)}"
            )
        period_s = max(min(period_s, trajectory.duration / MIN_SAMPLES), trajectory.duration / MAX_SAMPLES)
        times, q, v, a = trajectory.grid(period_s, WITHIN)
        return cls(model, (begin_s + times) / stretch, q, v, a, trajectory.end, trajectory, begin_s, stretch)

    @classmethod
    def at(cls, model: DynamicsModel, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> SampledMotion:
        """Motion of a single state, (n,) each, at which the arm may stop."""
        q, v, a = (np.asarray(x, dtype=float)[None] for x in (q, v, a))
        return cls(model, np.zeros(1), q, v, a, q[0])

    def slowed(self, share: float) -> SampledMotion:
        """Motion along the same path at that share of its speed, by the same samples, whose times are those of the goal still."""
        slower = self.q, self.v * share, self.a * share**2
        return SampledMotion(self.model, self.times, *slower, self.rest, self.trajectory, self._begin_s, self._stretch)

    def own_s(self, time_s: float) -> float:
        """A time of the trajectory in the goal's own: as it was asked, however it was slowed and whatever is over of it [s]."""
        return (self._begin_s + time_s) / self._stretch

    def stopping(self, deceleration: float) -> Array:
        """Way of a stop from a single state, (3, n): the state, halfway, and the rest, with a [rad/s²] 0.75 v |v| / a onwards."""
        q, v = self.q[0], self.v[0]
        way: Array = q + np.array([[0.0], [0.5], [1.0]]) * (0.75 * np.abs(v).max() / deceleration * v)
        return way

    @property
    def joint_names(self) -> Sequence[str]:
        return self.model.joint_names

    @cached_property
    def torque(self) -> Array:
        """Required torques, (s, n): tau_d = M a + C v + g + F(v) [N·m]."""
        return in_blocks(self.model.required_torque, self.q, self.v, self.a)

    @cached_property
    def gravity(self) -> Array:
        """Gravity torques g, (s, n) [N·m]."""
        return in_blocks(self.model.gravity, self.q)

    @cached_property
    def rest_torque(self) -> Array:
        """Gravity torques g, (n,), where the arm comes to rest [N·m]."""
        return self.model.gravity(self.rest)

    @cached_property
    def tip_speed(self) -> Array:
        """Speed of the tool |J(q) v|, (s,) [m/s]."""
        return in_blocks(lambda q, v: tip_speeds(self.model, q, v), self.q, self.v)

    def lowest_supply(self, limits: TorqueLimits) -> float:
        """Smallest share of the servos' supply that the motion's own current leaves anywhere along it."""
        return float(limits.supply(self.torque).min())

    def when(self, k: int, digits: int = 2) -> str:
        """Time of sample ``k``, in words; nothing for a single state."""
        return "" if self.trajectory is None else f" at {self.times[k]:.{digits}f} s"


class Check(Protocol):
    """Check of a motion: one reason why it may not be made."""

    def worst(self, motion: SampledMotion) -> Usage:
        """Usage of the limit where the motion uses most of it."""


@dataclass(frozen=True, eq=False)
class PositionLimits:
    """The URDF's position limits, by the exact extrema of the motion; one that is passed where it begins counts from there."""

    description: ArmDescription

    def worst(self, motion: SampledMotion) -> Usage:
        lower, upper = self.description.lower, self.description.upper
        if motion.trajectory is not None:
            found = motion.trajectory.worst_position(lower, upper)
        else:
            q = motion.q[0]
            beyond = np.maximum(lower - q, q - upper)
            j = int(beyond.argmax())
            limit = float(np.clip(q[j], lower[j], upper[j]))
            found = Excess(j, float(q[j]), limit, 0.0) if beyond[j] > SAMPLE_TOLERANCE else None
        if found is None:
            return Usage(1.0, motion.joint_names[0], 0.0, 0.0, 0.0, "within the position limits")
        j, value, limit, at_s = found
        time_s = motion.own_s(at_s)
        name, unit = motion.joint_names[j], self.description.position_units[j]
        when = "" if motion.trajectory is None else f" at {time_s:.3f} s"
        text = f"{name} reaches {told(value, unit, limit)}{when}, limit {told(limit, unit, value)}"
        return Usage(np.inf, name, value, limit, time_s, text)


def speed_limit(description: ArmDescription, servos: ServoMap | None, share: float = SETPOINT_SHARE) -> Array:
    """Largest speed of each joint, (n,) [rad/s, m/s]: the URDF's, and of servos a share of the speed of their set-points."""
    return description.velocity if servos is None else np.minimum(description.velocity, share * servos.setpoint_speed)


@dataclass(frozen=True, eq=False)
class VelocityLimits:
    """The URDF's velocity limits, and of servos the speed of set-points, by the exact extrema of the motion."""

    description: ArmDescription
    servos: ServoMap | None = None

    def worst(self, motion: SampledMotion) -> Usage:
        limit = speed_limit(self.description, self.servos)
        use = np.abs(motion.v) / limit
        k, j = (int(i) for i in np.unravel_index(int(use.argmax()), use.shape))
        value, time_s, when = float(motion.v[k, j]), float(motion.times[k]), motion.when(k, 3)
        found = None if motion.trajectory is None else motion.trajectory.worst_velocity(limit)
        if found is not None:
            j, value, _, at_s = found
            time_s = motion.own_s(at_s)
            when = f" at {time_s:.3f} s"
        name, unit, most = motion.joint_names[j], self.description.position_units[j], float(limit[j])
        limit_j = float(np.copysign(most, value))
        share = abs(value) / most if found is not None or motion.trajectory is None else min(abs(value) / most, 1.0)
        text = f"{name} moves at {told(value, unit, limit_j)}/s{when}, limit {told(limit_j, unit, value)}/s"
        return Usage(share, name, value, limit_j, time_s, text, by_speed=True)


@dataclass(frozen=True)
class TipSpeed:
    """Largest speed of the tool [m/s]: people work beside this arm."""

    limit: float

    def worst(self, motion: SampledMotion) -> Usage:
        k = int(motion.tip_speed.argmax())
        speed, time_s = float(motion.tip_speed[k]), float(motion.times[k])
        text = f"tip would move at {speed:.2f} m/s{motion.when(k)}, allowed {self.limit:.2f} m/s"
        return Usage(speed / self.limit, "tip", speed, self.limit, time_s, text, by_speed=True, slack=1e-6)


@dataclass(frozen=True, eq=False)
class HoldTorque:
    """Torque that holds the end: |g(q_end)| <= hold_share tau_stall: the arm can stay where the motion ends."""

    limits: TorqueLimits

    def worst(self, motion: SampledMotion) -> Usage:
        use = np.abs(motion.rest_torque) / self.limits.hold
        j = int(use.argmax())
        name, value, time_s = motion.joint_names[j], float(abs(motion.rest_torque[j])), motion.rest_s
        when = "" if motion.trajectory is None else f" at {time_s:.2f} s"
        text = (
            f"{name} needs {value:.2f} {self.limits.units[j]} to hold its pose{when}, "
            f"{self.limits.text(self.limits.held_share, j)}"
        )
        return Usage(float(use[j]), name, value, float(self.limits.hold[j]), time_s, text, InfeasibleError)


@dataclass(frozen=True, eq=False)
class PeakTorque:
    """Peak torque along the motion: |tau_d| <= peak_share u tau_stall, u the lowest supply that the motion itself causes."""

    limits: TorqueLimits

    def worst(self, motion: SampledMotion) -> Usage:
        supply = motion.lowest_supply(self.limits)
        k, j, share, first = _most(self.limits.peak_use(motion.torque, supply))
        name, value, time_s = motion.joint_names[j], float(abs(motion.torque[k, j])), float(motion.times[first])
        onwards = f", too much from {time_s:.2f} s on" if share > 1.0 and motion.trajectory is not None else ""
        allowed, unit = self.limits.text(self.limits.peak_share, j, supply), self.limits.units[j]
        text = f"{name} needs {value:.2f} {unit}{motion.when(k)}, {allowed}{onwards}"
        limit = float(self.limits.most(self.limits.peak_share * supply)[j])
        return Usage(share, name, value, limit, time_s, text, InfeasibleError)


@dataclass(frozen=True, eq=False)
class MotorSpeed:
    """|tau_m + D v_d| <= u tau_ms: torque, friction and speed together are what a servo's motor must give, at the lowest supply u
    that the motion itself causes.
    """

    servos: ServoMap
    source: float = 1.0

    def worst(self, motion: SampledMotion) -> Usage:
        demand = self.servos.model.spring_demand(motion.v, motion.torque)
        supply = float(self.servos.model.lowest_supply(motion.torque, min(self.source, 1.0)).min())
        stall = supply * self.servos.model.motor_stall
        k, j, share, first = _most(np.abs(demand) / stall)
        name, value, limit = motion.joint_names[j], float(abs(demand[k, j])), float(stall[j])
        unit = self.servos.position_units[j]
        strength = "N" if unit == "m" else "N·m"
        speed, idle = told(float(abs(motion.v[k, j])), unit), told(supply * float(self.servos.no_load_speed[j]), unit)
        text = (
            f"{name} is too fast: {speed}/s with {abs(motion.torque[k, j]):.2f} {strength}{motion.when(k)} "
            f"needs {value:.2f} {strength} of its motor, stall is {limit:.2f} ({idle}/s without load)"
        )
        return Usage(share, name, value, limit, float(motion.times[first]), text, InfeasibleError)


@dataclass(frozen=True, eq=False)
class SetpointRange:
    """Set-points q_cmd inside the pulse range: q_cmd = q_d + compensation, whichever side the friction is on."""

    servos: ServoMap
    source: float = 1.0

    def worst(self, motion: SampledMotion) -> Usage:
        lower, upper = self.servos.setpoint_lower, self.servos.setpoint_upper
        middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        model, state = self.servos.model, (motion.q, motion.v, motion.torque)
        sides = [model.setpoint(*state, side, self.source) for side in model.sides]
        q_cmd = max(sides, key=lambda one: float((np.abs(one - middle) / half).max()))
        k, j, share, first = _most(np.abs(q_cmd - middle) / half)
        name, value = motion.joint_names[j], float(q_cmd[k, j])
        limit = float(lower[j] if value < middle[j] else upper[j])
        unit = self.servos.position_units[j]
        ends = f"{told(float(lower[j]), unit, value)} ... {told(float(upper[j]), unit, value)}"
        text = f"{name} needs its set-point at {told(value, unit, limit)}{motion.when(k)}, its pulses allow {ends}"
        return Usage(share, name, value, limit, float(motion.times[first]), text)


@dataclass(frozen=True, eq=False)
class SlowedTorque:
    """Torque at the share s of the motion's speed: |g + F(s v) + s² (tau_d - g - F(v))| <= peak_share u tau_stall.

    Gravity does not become less: where a swing relieves a joint, the arm could not be slowed.
    """

    limits: TorqueLimits

    def worst(self, motion: SampledMotion) -> Usage:
        g, friction = motion.gravity, motion.model.friction
        inertial = motion.torque - g - friction(motion.v)
        needed = np.abs([g + friction(share * motion.v) + share**2 * inertial for share in SLOWER])
        supply = float(self.limits.supply(needed).min())
        use = self.limits.peak_use(needed, supply)
        s, k, j = (int(i) for i in np.unravel_index(int(use.argmax()), use.shape))
        name, value, limit = (
            motion.joint_names[j],
            float(needed[s, k, j]),
            float(self.limits.most(self.limits.peak_share * supply)[j]),
        )
        text = (
            f"{name} would need {value:.2f} {self.limits.units[j]}{motion.when(k)} if the motion were slowed to "
            f"{100 * SLOWER[s]:.0f} %, allowed {limit:.2f}"
        )
        return Usage(float(use[s, k, j]), name, value, limit, float(motion.times[k]), text, InfeasibleError, slack=1e-3)


def _most(use: Array) -> tuple[int, int, float, int]:
    """Sample and joint of the largest share of (s, n), that share, and the sample from which on that joint uses too much."""
    k, j = np.unravel_index(int(use.argmax()), use.shape)
    return int(k), int(j), float(use[k, j]), int((use[:, j] > 1.0).argmax())
