"""Checks of a motion: position, velocity, tip speed, torque.  Each tells how much of its limit the motion uses at the most.

A check looks at a :class:`SampledMotion`, which is sampled once, finely enough for all of them, and computes each quantity
(torque, gravity, speed of the tip) once, whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InfeasibleError, JointNamesError, LimitError, PickerError
from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, DynamicsModel, tip_speeds
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import degrees_hint, figure, told
from picker_dynamics.trajectory.trajectory import Trajectory

FULL = 0.995
"""Share of the supply's voltage from which on nothing is said of it."""


@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """Torques that joints may give, (n,) each [N·m; N where they slide].

    Attributes:
        joint_names: order of the arrays.
        full: the most that a joint can give: stall torque, or effort limit.
        peak_share, hold_share: shares of it that are allowed along a motion, and where the motion ends.
        units: of the torques.
        servo_map: where the joints are servos; they have to give their own speed too, and have a range of pulses.
        coulomb: friction of their gears without load.
        source: share of its nominal voltage that the servos' supply gives without load; more than 1 lets nothing pass that 1 does
            not.
    """

    joint_names: tuple[str, ...]
    full: Array
    peak_share: Array
    hold_share: Array
    units: tuple[str, ...]
    servo_map: ServoMap | None = None
    coulomb: Array | float = 0.0
    source: float = 1.0

    @classmethod
    def of_servos(cls, servos: ServoMap) -> TorqueLimits:
        """Torque limits of position servos."""
        units, coulomb = tuple("N" if unit == "m" else "N·m" for unit in servos.position_units), servos.model.coulomb
        return cls(servos.joint_names, servos.stall_torque, servos.peak_share, servos.hold_share, units, servos, coulomb)

    @classmethod
    def of_arm(cls, arm: Arm) -> TorqueLimits:
        """Torque limits of an arm whose joints take efforts."""
        described = arm.description
        peak, hold = (np.full(described.n, share) for share in (arm.peak_share, arm.hold_share))
        return cls(described.joint_names, described.effort, peak, hold, described.effort_units)

    @property
    def given(self) -> float:
        """Share of the nominal voltage that is planned with before the arm's own current takes of it."""
        return min(self.source, 1.0)

    def supply(self, torque: Array) -> Array:
        """Share (..., 1), or (), of it that is left while the joints give ``torque`` (..., n), all of them lifted."""
        return np.ones(()) if self.servo_map is None else self.servo_map.model.lowest_supply(torque, self.given)

    def peak_use(self, torque: Array) -> Array:
        """Shares of what is allowed along a motion, (..., n), of the supply that is left under these torques."""
        use: Array = np.abs(torque) / self.most(self.peak_share * self.supply(torque))
        return use

    @property
    def peak(self) -> Array:
        """Torques allowed along a motion if no current flows: a motor gives its share of its own stall, friction and all."""
        return self.most(self.peak_share * self.given)

    def most(self, share: Array) -> Array:
        """Largest torques at a share: share (tau_full + tau_c) - tau_c, (n,)."""
        most: Array = share * (self.full + self.coulomb) - self.coulomb
        return most

    @property
    def held_share(self) -> Array:
        """Share of torque that may hold, (n,): ``hold_share``, to spare the motor heat, unless the supply gives less."""
        least: Array = np.minimum(self.hold_share, np.maximum(self.hold_share, self.peak_share) * self.given)
        return least

    @property
    def hold(self) -> Array:
        """Torques allowed where a motion ends, (n,)."""
        return self.most(self.held_share)

    @property
    def give(self) -> Array | float:
        """How far from its set-point a servo that holds leaves its joint at the most, (n,) [rad, m]."""
        if self.servo_map is None:
            return 0.0
        model = self.servo_map.model
        return model.gap + model.motor_for(self.hold, 1.0) / model.stiffness

    def text(self, share: Array, joint: int, supply: float = 1.0, beside: float | None = None) -> str:
        """An allowance in words, so that it can be told from the torque ``beside`` it."""
        unit = "stall" if self.servo_map is not None else self.units[joint]
        low = f", its supply at {100.0 * supply:.0f} %" if supply < FULL else ""
        most = figure(self.most(share * supply)[joint], beside)
        return f"allowed {most} ({share[joint]:.2f} of {self.full[joint]:.2f} {unit}{low})"


MIN_SAMPLES, MAX_SAMPLES = 100, 60_000
"""Samples along a short motion, where the period would take fewer, and of the longest goal, however it was slowed."""

LIMIT_TOLERANCE = 1e-6
"""Rounding [rad, rad/s] by which a limit may be exceeded: of float32, and of poses that were printed."""

SAMPLE_TOLERANCE = 1e-3
"""How far beyond a position limit one sample of a stream may be [rad]: the rounding of pulses and of float32 messages."""

SETPOINT_SHARE = 0.85
"""Of the speed of a servo's set-point that its joint may move with: compensation adds to it."""

SLOWER = (0.0, 0.25, 0.5, 0.75)
"""Shares of its speed at which a motion must be possible too: it may be slowed, or stopped, anywhere."""

BLOCK = 2000
"""Samples whose dynamics are computed at once: of a long motion all would take half a gigabyte, and hold up other threads."""


def in_blocks(work: Callable[..., Array], *states: Array) -> Array:
    """``work`` of states (s, n) each, block by block."""
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
        times, q, v, a: (s,) [s], (s, n) each [rad, rad/s, rad/s²]; times in those of the goal as it was asked.
        rest: (n,) where the arm may come to rest [rad], at ``rest_s``.
        trajectory: what was sampled; None: a single state, of a stream or of an arm at rest.
    """

    def __init__(
        self, model: DynamicsModel, times: Array, q: Array, v: Array, a: Array, rest: Array, trajectory: Trajectory | None = None
    ):
        self.model, self.times, self.q, self.v, self.a = model, times, q, v, a
        self.rest, self.rest_s, self.trajectory = rest, float(times[-1]), trajectory

    @classmethod
    def along(cls, trajectory: Trajectory, model: DynamicsModel, period_s: float, begin_s: float = 0.0) -> SampledMotion:
        """A trajectory, every ``period_s`` [s] or closer, on both sides of every break, and where a joint is farthest or fastest.

        One longer than the longest goal, which is slowed then, is sampled as closely along its path; of a motion under way
        what is left begins at ``begin_s`` [s].

        Raises:
            JointNamesError: the joints are not the model's.
        """
        if trajectory.joint_names != model.joint_names:
            raise JointNamesError(
                f"the trajectory's joints are {', '.join(trajectory.joint_names)}, the model's {', '.join(model.joint_names)}"
            )
        period_s = max(min(period_s, trajectory.duration / MIN_SAMPLES), trajectory.duration / MAX_SAMPLES)
        times, q, v, a = trajectory.grid(period_s)
        return cls(model, begin_s + times, q, v, a, trajectory.end, trajectory)

    @classmethod
    def at(cls, model: DynamicsModel, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> SampledMotion:
        """Motion of a single state, (n,) each, at which the arm may stop."""
        q, v, a = (np.asarray(x, dtype=float)[None] for x in (q, v, a))
        return cls(model, np.zeros(1), q, v, a, q[0])

    def beginning(self) -> SampledMotion:
        """Motion that stays in the first state."""
        return SampledMotion(self.model, self.times[:1], self.q[:1], self.v[:1], self.a[:1], self.q[0], self.trajectory)

    def after(self, states: Collection[tuple[Array, Array, Array]]) -> SampledMotion:
        """The same motion after ``states`` (q, v, a), (n,) each, which were sent already and lie before the arm."""
        before = np.reshape([*states], (len(states), 3, self.q.shape[1]))
        q, v, a = (np.vstack([before[:, k], own]) for k, own in enumerate((self.q, self.v, self.a)))
        times = np.append(np.full(len(states), self.times[0]), self.times)
        return SampledMotion(self.model, times, q, v, a, self.rest, self.trajectory)

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

    def when(self, k: int) -> str:
        """Time of sample ``k``, in words; nothing for a single state."""
        return "" if self.trajectory is None else f" at {self.times[k]:.2f} s"


class Check(Protocol):
    """Check of a motion beside the arm's own limits, such as collision."""

    def worst(self, motion: SampledMotion) -> Usage:
        """Usage of the limit where the motion uses most of it."""

    @property
    def touching(self) -> Check:
        """The same check without a margin: what breaks it touches something, or may, as far as is known where it is."""


def _worst(
    motion: SampledMotion, subject: Sequence[str], values: Array, limits: Array, text: Callable[..., str], **fields: Any
) -> Usage:
    """Usage where |values| (k s, n) is the largest share of ``limits`` (n,).

    Args:
        text: of sample, joint, value and limit.
        fields: of ``Usage``.
    """
    use = np.abs(values) / limits
    row, j = (int(i) for i in np.unravel_index(int(use.argmax()), use.shape))
    k, value, limit = row % len(motion.times), float(values[row, j]), float(limits[j])
    return Usage(float(use[row, j]), subject[j], value, limit, float(motion.times[k]), text(row, j, value, limit), **fields)


def position(motion: SampledMotion, arm: ArmDescription, give: Array | float = 0.0) -> Usage:
    """The URDF's position limits; one that is passed where a motion begins counts from there, a single pose may ``give``."""
    one_state = motion.trajectory is None
    tolerance = SAMPLE_TOLERANCE + give if one_state else LIMIT_TOLERANCE
    lower = arm.lower if one_state else np.minimum(arm.lower, motion.q[0])
    upper = arm.upper if one_state else np.maximum(arm.upper, motion.q[0])
    beyond = np.maximum(lower - motion.q, motion.q - upper) - tolerance
    k, j = (int(i) for i in np.unravel_index(int(beyond.argmax()), beyond.shape))
    value, unit = float(motion.q[k, j]), arm.position_units[j]
    limit = float((lower if value < lower[j] else upper)[j])
    text = f"{arm.joint_names[j]} reaches {told(value, unit, limit)}{motion.when(k)}, limit {told(limit, unit, value)}"
    text += degrees_hint(value, float(lower[j]), float(upper[j]), unit)
    share = np.inf if not beyond[k, j] <= 0.0 else 1.0
    return Usage(share, arm.joint_names[j], value, limit, float(motion.times[k]), text)


def speed_limit(description: ArmDescription, servos: ServoMap | None, share: float = SETPOINT_SHARE) -> Array:
    """Largest speed of each joint, (n,) [rad/s, m/s]: the URDF's, and of servos a share of the speed of their set-points."""
    return description.velocity if servos is None else np.minimum(description.velocity, share * servos.setpoint_speed)


def velocity(motion: SampledMotion, arm: ArmDescription, servos: ServoMap | None) -> Usage:
    """The URDF's velocity limits, and of servos the speed of set-points."""

    def text(k: int, j: int, value: float, limit: float) -> str:
        unit, limit = arm.position_units[j], np.copysign(limit, value)
        moves = f"{arm.joint_names[j]} moves at {told(value, unit, limit)}/s{motion.when(k)}"
        return f"{moves}, limit {told(limit, unit, value)}/s"

    limits = speed_limit(arm, servos)
    return _worst(motion, arm.joint_names, motion.v, limits, text, by_speed=True, slack=LIMIT_TOLERANCE / float(limits.min()))


def tip_speed(motion: SampledMotion, limit: float) -> Usage:
    """Largest speed of the tool [m/s]: people work beside this arm."""

    def text(k: int, _j: int, value: float, limit: float) -> str:
        return f"tip would move at {figure(value, limit)} m/s{motion.when(k)}, allowed {figure(limit, value)} m/s"

    return _worst(motion, ("tip",), motion.tip_speed[:, None], np.array([limit]), text, by_speed=True, slack=1e-6)


def _torque(motion: SampledMotion, limits: TorqueLimits, torque: Array, share: Array, supply: float, **fields: Any) -> Usage:
    """Usage of a share of the torque that joints can give, by ``torque`` (k s, n)."""
    words = fields.pop("words", lambda row: f"needs {{}}{motion.when(row)}")

    def text(row: int, j: int, value: float, limit: float) -> str:
        needs = words(row).format(f"{figure(abs(value), limit)} {limits.units[j]}")
        return f"{limits.joint_names[j]} {needs}, {limits.text(share, j, supply, abs(value))}"

    return _worst(motion, limits.joint_names, np.abs(torque), limits.most(share * supply), text, error=InfeasibleError, **fields)


def hold_torque(motion: SampledMotion, limits: TorqueLimits) -> Usage:
    """Torque that holds the end: |g(q_end)| <= hold_share tau_stall: the arm can stay where the motion ends."""
    when = "" if motion.trajectory is None else f" at {motion.rest_s:.2f} s"
    words = f"needs {{}} to hold its pose{when}"
    found = _torque(motion, limits, motion.rest_torque[None], limits.held_share, 1.0, words=lambda _row: words)
    return replace(found, time_s=motion.rest_s)


def peak_torque(motion: SampledMotion, limits: TorqueLimits) -> Usage:
    """Peak torque along the motion: |tau_d| <= peak_share u tau_stall, u the lowest supply that the motion itself causes."""
    return _torque(motion, limits, motion.torque, limits.peak_share, motion.lowest_supply(limits))


def motor_speed(motion: SampledMotion, limits: TorqueLimits, servos: ServoMap) -> Usage:
    """|tau_m + D v_d| <= u tau_ms: torque, friction and speed together are what a servo's motor must give, at the lowest supply u
    that the motion itself causes.
    """
    supply = motion.lowest_supply(limits)

    def text(k: int, j: int, value: float, limit: float) -> str:
        speed, unit = told(float(abs(motion.v[k, j])), servos.position_units[j]), limits.units[j]
        return (
            f"{servos.joint_names[j]} is too fast: {speed}/s{motion.when(k)} needs {figure(abs(value), limit)} {unit} of its "
            f"motor, stall is {figure(limit, abs(value))}"
        )

    demand = np.abs(servos.model.spring_demand(motion.v, motion.torque))
    return _worst(motion, servos.joint_names, demand, supply * servos.model.motor_stall, text, error=InfeasibleError)


def setpoint_range(motion: SampledMotion, limits: TorqueLimits, servos: ServoMap) -> Usage:
    """Set-points q_cmd inside the pulse range: q_cmd = q_d + compensation, whichever side the friction is on."""
    lower, upper = servos.setpoint_lower, servos.setpoint_upper
    middle, state = 0.5 * (lower + upper), (motion.q, motion.v, motion.torque)
    q_cmd = np.concatenate([servos.model.setpoint(*state, side, limits.source) for side in servos.model.sides])

    def text(row: int, j: int, off: float, _limit: float) -> str:
        unit, value = servos.position_units[j], middle[j] + off
        ends = f"{told(float(lower[j]), unit, value)} ... {told(float(upper[j]), unit, value)}"
        at = f"{told(value, unit, lower[j] if off < 0.0 else upper[j])}{motion.when(row % len(motion.q))}"
        return f"{servos.joint_names[j]} needs its set-point at {at}, its pulses allow {ends}"

    found = _worst(motion, servos.joint_names, q_cmd - middle, 0.5 * (upper - lower), text)
    j = servos.joint_names.index(found.subject)
    return replace(found, value=middle[j] + found.value, limit=float((lower if found.value < 0.0 else upper)[j]))


def slowed_torque(motion: SampledMotion, limits: TorqueLimits) -> Usage:
    """Torque at the share s of the motion's speed: |g + F(s v) + s² (tau_d - g - F(v))| <= peak_share u tau_stall.

    Gravity does not become less: where a swing relieves a joint, the arm could not be slowed.
    """
    g, friction = motion.gravity, motion.model.friction
    needed = np.concatenate(
        [g + friction(share * motion.v) + share**2 * (motion.torque - g - friction(motion.v)) for share in SLOWER]
    )

    def words(row: int) -> str:
        share, k = divmod(row, len(motion.times))
        return f"would need {{}}{motion.when(k)} if the motion were slowed to {100 * SLOWER[share]:.0f} %"

    supply = float(limits.supply(needed).min())
    return _torque(motion, limits, needed, limits.peak_share, supply, words=words, slack=1e-3)
