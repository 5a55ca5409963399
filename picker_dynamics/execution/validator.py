"""Motion validator: whether the arm may make a motion, and the smallest slowing with which it may.

Goals are held to all checks, streams and jogs to all but ``SlowedTorque``; ways to rest to peak torque, speeds, positions and the
further checks, as far as there is a way that obeys them; a change of payload to the torques (``torque_validator``).  A further
check, such as collision, is one more entry of ``checks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError, JointNamesError, PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told
from picker_dynamics.trajectory.trajectory import Trajectory

from .checks import (
    Check,
    HoldTorque,
    MotorSpeed,
    PeakTorque,
    PositionLimits,
    SampledMotion,
    SetpointRange,
    SlowedTorque,
    TipSpeed,
    Usage,
    VelocityLimits,
)
from .torque_limits import TorqueLimits

MAX_STRETCH = 10.0
"""Slowest that a motion is made, as a factor on its duration."""

OWN = (PositionLimits, VelocityLimits, TipSpeed, HoldTorque, PeakTorque, MotorSpeed, SetpointRange, SlowedTorque)
"""Checks of the arm's own limits."""

RESOLUTION = 1.05
"""The factor found is at most this much larger than needed."""

SCAN = 12
"""Factors that are tried where neither the motion as asked nor the slowest one may be made."""

TIP_SPEED = 0.25
"""Largest speed of the tool where nobody says another [m/s]."""


@dataclass(frozen=True, eq=False)
class Validated:
    """A motion that was looked at, and may be made where it is handed out.

    Attributes:
        trajectory: the motion.
        factor: by how much its time was scaled; 1: as asked.
        motion: the same as the checks saw it.
        usages: of every check, in their order.
    """

    trajectory: Trajectory
    factor: float = 1.0
    motion: SampledMotion | None = field(default=None, repr=False)
    usages: tuple[Usage, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the motion breaks no limit."""
        return not any(usage.broken for usage in self.usages)


@dataclass(frozen=True, eq=False)
class MotionValidator:
    """Checks motions of ``model``; the first check that is broken refuses, with its numbers.

    Frozen: ``dataclasses.replace(validator, model=...)`` for another payload.

    Args:
        model: the arm with its present payload.
        limits: torques, of the same joints in the same order.
        checks: in the order in which they refuse.
        scales_time: slow a motion that is too fast instead of refusing it.
        period_s: largest distance of the samples [s].
    """

    model: DynamicsModel
    limits: TorqueLimits
    checks: tuple[Check, ...]
    scales_time: bool = True
    period_s: float = 0.01

    def __post_init__(self) -> None:
        if self.model.joint_names != self.limits.joint_names:
            whose = "the arm's" if self.limits.servo_map is None else "the servo map's"
            raise JointNamesError(
                f"the model's joints are {', '.join(self.model.joint_names)}, {whose} {', '.join(self.limits.joint_names)}"
            )
        if not self.period_s > 0.0:
            raise InputError(f"period_s is {self.period_s}, must be > 0", "period_s", self.period_s, 0.0)

    @property
    def tip_speed(self) -> float:
        """Largest speed of the tool [m/s]; infinite where nobody looks at it."""
        return min((check.limit for check in self.checks if isinstance(check, TipSpeed)), default=np.inf)

    @cached_property
    def further(self) -> tuple[Check, ...]:
        """The checks beside the arm's own limits: streams and ways to rest look at those by themselves, and ask each of these."""
        return tuple(check for check in self.checks if not isinstance(check, OWN))

    # -- motions and states --------------------------------------------------------------------------------

    def usages(self, motion: SampledMotion) -> Iterable[Usage]:
        """Usages of the limits by a motion, computed as they are asked for."""
        return (check.worst(motion) for check in self.checks)

    def sampled(self, trajectory: Trajectory) -> SampledMotion:
        """The trajectory as the checks see it."""
        return SampledMotion.along(trajectory, self.model, self.period_s)

    def validate(self, trajectory: Trajectory) -> Validated:
        """Let the motion pass, or say why not.

        Raises:
            LimitError: position, velocity, tip speed, or a set-point outside the pulse range.
            InfeasibleError: torque, naming joint, time, torque and limit.
            JointNamesError: a trajectory of other joints.
        """
        motion = self.sampled(trajectory)
        return Validated(trajectory, 1.0, motion, tuple(_passed(self.usages(motion))))

    def validate_state(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> SampledMotion:
        """Let one state (n,) each pass at which the arm may stop: a sample of a stream; errors as ``validate``."""
        motion = SampledMotion.at(self.model, q, v, a)
        for _ in _passed(self.usages(motion)):
            pass
        return motion

    def require_holdable(self, q: ArrayLike) -> None:
        """Raise an InfeasibleError or LimitError where the arm cannot stand at ``q`` (n,) [rad]."""
        still = np.zeros(self.model.n)
        self.validate_state(q, still, still)

    def can_hold(self, q: ArrayLike) -> bool:
        """Whether the arm can stand at ``q`` (n,) [rad]."""
        try:
            self.require_holdable(q)
        except PickerError:
            return False
        return True

    # -- slower ----------------------------------------------------------------------------------------------

    def scale_time(self, build: Callable[[float], Trajectory], resolution: float = RESOLUTION) -> Validated:
        """The motion ``build(factor)`` with the smallest factor >= 1 that may be made, to within ``resolution``.

        ``build`` makes the whole motion anew for each factor, because one that starts while the arm moves cannot simply be
        scaled: its first velocity is given.  A share that grows with speed tells the factor itself; else it is bisected on a
        logarithmic scale, below the slowest motion or, where that goes astray, the first that does not.

        Raises:
            LimitError, InfeasibleError: as ``validate``, with the numbers of the motion as asked; where time may be scaled, of a
            check that the slowest motion breaks too, if there is one.
        """
        asked = self._tried(build, 1.0)
        broken = [usage for usage in asked.usages if usage.broken]
        if not broken:
            return asked
        if not self.scales_time:
            raise broken[0].refusal()
        by_speed = max((usage.share for usage in broken if usage.by_speed), default=1.0)
        if 1.0 < by_speed < MAX_STRETCH:
            trial = self._tried(build, min(by_speed * resolution**0.5, MAX_STRETCH), whole=False)
            if trial.passed:
                return trial
        low, best = 1.0, self._tried(build, MAX_STRETCH)
        pairs = list(zip(asked.usages, best.usages))
        unmended = [one for one, slowest in pairs if one.broken and slowest.broken]
        astray = any(slowest.broken and not one.broken for one, slowest in pairs)
        unmended.sort(key=lambda usage: usage.by_speed)
        if unmended and not (astray and unmended[0].by_speed):
            raise unmended[0].refusal()
        between = iter(np.geomspace(1.0, MAX_STRETCH, SCAN + 2)[1:-1])
        while not best.passed:  # one that begins moving goes astray where it is slowed too much
            low = 1.0 if best.factor == MAX_STRETCH else best.factor
            factor = next(between, None)
            if factor is None:
                raise broken[0].refusal()
            best = self._tried(build, float(factor), whole=False)

        while best.factor / low > resolution:
            trial = self._tried(build, (best.factor * low) ** 0.5, whole=False)
            if trial.passed:
                best = trial
            else:
                low = trial.factor
        return best

    def scaled(self, trajectory: Trajectory, resolution: float = RESOLUTION) -> Validated:
        """A motion from rest, slowed by the smallest factor with which it may be made.

        Raises:
            InputError: it starts moving; and as ``scale_time``.
        """
        speed = np.abs(trajectory.sample(0.0)[1])
        if speed.max() > 1e-9:
            j = int(speed.argmax())
            joint, unit = trajectory.joint_names[j], "m" if self.limits.units[j] == "N" else "rad"
            raise InputError(
                f"{joint} starts at {told(float(speed.max()), unit)}/s: only a motion from rest can be slowed",
                joint,
                float(speed.max()),
                0.0,
            )
        return self.scale_time(lambda factor: trajectory if factor == 1.0 else trajectory.stretched(factor), resolution)

    def _tried(self, build: Callable[[float], Trajectory], factor: float, whole: bool = True) -> Validated:
        """The motion at that factor with what it uses, whether it may be made or not; not ``whole``: up to the first broken."""
        trajectory = build(factor)
        motion, usages = self.sampled(trajectory), list[Usage]()
        for usage in self.usages(motion):
            usages.append(usage)
            if usage.broken and not whole:
                break
        return Validated(trajectory, factor, motion, tuple(usages))

    def torque_share(self, q: Array, v: Array, a: Array) -> float:
        """Largest share of an allowed peak torque that these states (s, n) need; 1 is the limit."""
        return float(self.limits.peak_use(self.model.required_torque(q, v, a)).max())


def _passed(usages: Iterable[Usage]) -> Iterable[Usage]:
    """The same, as long as none is broken; raises that one's refusal."""
    for usage in usages:
        if usage.broken:
            raise usage.refusal()
        yield usage


def torque_checks(limits: TorqueLimits) -> tuple[Check, ...]:
    """Checks of what a motion needs of its joints: hold first, peak, and for servos their speed and range of set-points."""
    servos = limits.servo_map
    of_servos: tuple[Check, ...] = (
        () if servos is None else (MotorSpeed(servos, limits.source), SetpointRange(servos, limits.source))
    )
    return HoldTorque(limits), PeakTorque(limits), *of_servos


def torque_validator(model: DynamicsModel, limits: TorqueLimits | ServoMap, stays: bool = True) -> MotionValidator:
    """Validator of torques alone: for motions whose poses and speeds are known to be within limits.

    Args:
        stays: the arm stays where it ends, for which less torque is allowed than on the way.
    """
    limits = TorqueLimits.of_servos(limits) if isinstance(limits, ServoMap) else limits
    return MotionValidator(model, limits, torque_checks(limits)[0 if stays else 1 :])


def motion_validator(
    description: ArmDescription,
    limits: TorqueLimits,
    model: DynamicsModel,
    *,
    tip_speed: float = TIP_SPEED,
    scales_time: bool = True,
    further: Sequence[Check] = (),
) -> MotionValidator:
    """Validator of goals, and, by ways of their own, of streams, jogs and ways to rest.

    Args:
        description: position and velocity limits.
        limits: torques.
        model: the arm with its present payload.
        tip_speed: largest speed of the tool [m/s].
        scales_time: slow a motion that is too fast instead of refusing it.
        further: checks beside those.
    """
    checks: tuple[Check, ...] = (
        PositionLimits(description),
        VelocityLimits(description, limits.servo_map),
        TipSpeed(tip_speed),
        *torque_checks(limits),
        SlowedTorque(limits),
        *further,
    )
    return MotionValidator(model, limits, checks, scales_time)
