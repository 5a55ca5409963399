"""Motion validator: whether the arm may make a motion, and the smallest slowing with which it may.

Goals are held to all checks, streams and jogs to all but position and ``slowed_torque``; ways to rest to all, as far as there is
one that obeys them (``planning.best_way``); a change of payload to the torques.  A further check, such as collision, is one more
entry of ``further``.

A payload that is believed moves the arm, whether it is there or not: one that is set must be one that can be held where the arm
is.  Where driving begins it must be borne with no more torque than a motion may need: a stop on the way may leave the arm where
no motion would have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InfeasibleError, InputError, JointNamesError, PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import GRAVITY, Array, DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import figure, told
from picker_dynamics.trajectory.trajectory import Trajectory

from . import checks
from .checks import Check, SampledMotion, TorqueLimits, Usage

PERIOD_S = 0.01
"""Largest distance of the samples [s]."""

ROUNDING = 1e-3
"""Share by which a way to rest may exceed a limit: its samples lie between those by which its motion was let pass.

Of random goals of the picker that makes 1.2e-4; the guard leaves 1e-2.
"""

MAX_STRETCH = 10.0
"""Slowest that a motion is made, as a factor on its duration."""

RESOLUTION = 1.05
"""The factor found is at most this much larger than needed."""

TRIED = 8
"""Factors of each tenfold that are tried before the one that is found is bisected."""

SLOW_S = 20.0
"""A motion that takes so long is as slow as any [s]: one that would pass then was asked for in too short a time."""

TIP_SPEED = 0.25
"""Largest speed of the tool where nobody says another [m/s]."""


GAP_S = 0.005
"""Points of a motion that follow one another sooner, within a cycle of the loop, are named where it may not be made [s]."""


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
    factor: float
    motion: SampledMotion = field(repr=False)
    usages: tuple[Usage, ...] = ()

    @property
    def broken(self) -> list[Usage]:
        """Usages of the limits that the motion breaks."""
        return [usage for usage in self.usages if usage.broken]


@dataclass(frozen=True, eq=False)
class MotionValidator:
    """Checks motions of ``model``; the first check that is broken refuses, with its numbers.

    Frozen: ``dataclasses.replace(validator, model=...)`` for another payload.

    Args:
        model: the arm with its present payload.
        limits: torques, of the same joints in the same order.
        description: position and velocity limits; None: these are not looked at.
        tip_speed: largest speed of the tool [m/s]; infinite: it is not looked at.
        further: checks beside the arm's own limits.
        scales_time: slow a motion that is too fast instead of refusing it.
        stays: the arm stays where it ends, for which less torque is allowed than on the way.
    """

    model: DynamicsModel
    limits: TorqueLimits
    description: ArmDescription | None = None
    tip_speed: float = np.inf
    further: Sequence[Check] = ()
    scales_time: bool = True
    stays: bool = True

    def __post_init__(self) -> None:
        if self.model.joint_names != self.limits.joint_names:
            whose = "the arm's" if self.limits.servo_map is None else "the servo map's"
            raise JointNamesError(
                f"the model's joints are {', '.join(self.model.joint_names)}, {whose} {', '.join(self.limits.joint_names)}"
            )

    @property
    def servos(self) -> ServoMap:
        """The servo map, of an arm of servos."""
        assert self.limits.servo_map is not None
        return self.limits.servo_map

    # -- motions and states --------------------------------------------------------------------------------

    def usages(self, motion: SampledMotion) -> Iterator[Usage]:
        """Usages of the limits by a motion, computed as they are asked for, in the order in which they refuse."""
        yield from self.own_usages(motion)
        for check in self.further:
            yield check.worst(motion)

    def own_usages(self, motion: SampledMotion) -> Iterator[Usage]:
        """Usages of the arm's own limits."""
        if self.description is not None:
            yield checks.position(motion, self.description, self.limits.give)
        yield from self.state_usages(motion)
        if self.description is not None:
            yield checks.slowed_torque(motion, self.limits)

    def state_usages(self, motion: SampledMotion) -> Iterator[Usage]:
        """Usages of the limits that look at states one by one."""
        limits, servos = self.limits, self.limits.servo_map
        if self.description is not None:
            yield checks.velocity(motion, self.description, servos)
            yield checks.tip_speed(motion, self.tip_speed)
        if self.stays:
            yield checks.hold_torque(motion, limits)
        yield checks.peak_torque(motion, limits)
        if servos is not None:
            yield checks.motor_speed(motion, limits, servos)
            yield checks.setpoint_range(motion, limits, servos)

    def gets_worse(self, motion: SampledMotion) -> bool:
        """Whether a motion breaks one of the arm's own limits by more than the state in which it begins."""
        broken = [(k, usage.share) for k, usage in enumerate(self.own_usages(motion)) if usage.broken]
        begins = [usage.share for usage in self.own_usages(motion.beginning())] if broken else []
        return any(not share <= (1.0 + ROUNDING) * max(begins[k], 1.0) for k, share in broken)

    def touched(self, motion: SampledMotion) -> PickerError | None:
        """What a motion touches, or may; None: nothing."""
        usages = (check.touching.worst(motion) for check in self.further)
        return next((usage.refusal() for usage in usages if usage.broken), None)

    def sampled(self, trajectory: Trajectory) -> SampledMotion:
        """The trajectory as the checks see it."""
        return SampledMotion.along(trajectory, self.model, PERIOD_S)

    def require(self, motion: SampledMotion) -> tuple[Usage, ...]:
        """Return the usages of a motion that breaks no limit; raises the refusal of the first that is broken.

        Raises:
            LimitError: position, velocity, tip speed, or a set-point outside the pulse range.
            InfeasibleError: torque, naming joint, time, torque and limit.
        """
        usages = []
        for usage in self.usages(motion):
            if usage.broken:
                raise usage.refusal()
            usages.append(usage)
        return tuple(usages)

    def validate(self, trajectory: Trajectory) -> Validated:
        """Let the motion pass, or say why not; errors as ``require``, and a JointNamesError for other joints."""
        motion = self.sampled(trajectory)
        return Validated(trajectory, 1.0, motion, self.require(motion))

    def validate_state(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> None:
        """Let one state (n,) each pass at which the arm may stop: a sample of a stream; errors as ``require``."""
        self.require(SampledMotion.at(self.model, q, v, a))

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

    def scale_time(
        self, build: Callable[[float], Trajectory], resolution: float = RESOLUTION, asked_s: float | None = None
    ) -> Validated:
        """The motion ``build(factor)`` with the smallest factor >= 1 that may be made, to within ``resolution``.

        ``build`` makes the whole motion anew for each factor, because one that starts while the arm moves cannot simply be
        scaled: its first velocity is given.  Such a one may go astray where it is slowed too much, so factors are tried from the
        smallest on; below the first that passes it is bisected on a logarithmic scale.

        Args:
            asked_s: duration at factor 1 of what is scaled [s], where that is not all of the motion.

        Raises:
            LimitError, InfeasibleError: as ``require``, with the numbers of the motion as asked; where time may be scaled, of a
            check that the slowest motion breaks too, if there is one; else the shortest time in which it may be made, where that
            is more than ``MAX_STRETCH`` times what was asked.
        """
        asked = self._tried(build, 1.0)
        broken = asked.broken
        if not broken:
            return asked
        if not self.scales_time:
            raise broken[0].refusal()
        by_speed = max((usage.share for usage in broken if usage.by_speed), default=1.0) * resolution**0.5
        asked_s = asked.trajectory.duration if asked_s is None else asked_s
        longest, slowest = MAX_STRETCH, self._tried(build, MAX_STRETCH)
        if slowest.broken and SLOW_S > longest * asked_s:
            longest = SLOW_S / asked_s
            slowest = self._tried(build, longest)
        stay = [one for one, last in zip(asked.usages, slowest.usages) if one.broken and last.broken and not one.by_speed]
        if stay:
            raise _in_a_gap(stay[0], asked.trajectory).refusal()
        low, factors = asked, np.geomspace(1.0, longest, round(TRIED * np.log10(longest))).tolist()
        for factor in sorted({min(by_speed, longest), MAX_STRETCH, *factors} - {1.0}):
            best = self._tried(build, factor, whole=False)
            if not best.broken:
                break
            low = best
        else:
            raise _in_a_gap(broken[0], asked.trajectory).refusal()
        while best.factor / low.factor > resolution and best.factor != by_speed:
            trial = self._tried(build, (best.factor * low.factor) ** 0.5, whole=False)
            low, best = (trial, best) if trial.broken else (low, trial)
        if best.factor > MAX_STRETCH:
            usage, least_s = low.broken[0], best.factor * asked_s
            text = f"the motion is too short: it lasts {asked_s:.3g} s, {usage.subject} takes {least_s:.2g} s at least"
            raise replace(usage, text=text, value=asked_s, limit=least_s, time_s=0.0).refusal()
        return best

    def scaled(self, trajectory: Trajectory, resolution: float = RESOLUTION) -> Validated:
        """A motion from rest, slowed by the smallest factor with which it may be made.

        Raises:
            InputError: it starts moving; and as ``scale_time``.
        """
        speed = np.abs(trajectory.sample(0.0)[1])
        j = int(speed.argmax())
        if speed[j] > 1e-9:
            value, unit = float(speed[j]), "m" if self.limits.units[j] == "N" else "rad"
            text = f"{trajectory.joint_names[j]} starts at {told(value, unit)}/s: only a motion from rest can be slowed"
            raise InputError(text, trajectory.joint_names[j], value, 0.0)
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


def _in_a_gap(usage: Usage, trajectory: Trajectory) -> Usage:
    """The usage, with the reason where two points of the motion follow one another at once."""
    breaks = trajectory.breaks
    j = int(np.clip(np.searchsorted(breaks, usage.time_s), 1, len(breaks) - 1))
    for begin, end in zip(breaks[max(j - 2, 0) : j + 1], breaks[max(j - 2, 0) + 1 : j + 2]):
        if end - begin < GAP_S:
            why = f"points at {begin:.4g} s and {end:.4g} s are {1e3 * (end - begin):.3g} ms apart: give them more time"
            return replace(usage, text=f"{usage.text} ({why})")
    return usage


def torque_validator(model: DynamicsModel, limits: TorqueLimits | ServoMap, stays: bool = True) -> MotionValidator:
    """Validator of torques alone: for motions whose poses and speeds are known to be within limits."""
    return MotionValidator(model, TorqueLimits.of_servos(limits) if isinstance(limits, ServoMap) else limits, stays=stays)


TURNING = "N·m"


def require_graspable(mass: float, com: Sequence[float], limits: TorqueLimits) -> None:
    """Raise an InfeasibleError where a payload is so far from the tool that, turned the wrong way, no joint holds it."""
    hold = np.where([unit == TURNING for unit in limits.units], limits.hold, 0.0)
    away, j = float(np.linalg.norm(com)), int(hold.argmax())
    name, torque, most = limits.joint_names[j], mass * GRAVITY * away, float(hold[j])
    if most > 0.0 and torque > most:
        raise InfeasibleError(
            f"payload of {mass:g} kg, {away:.2f} m from the tool (payload.com): it turns the tool with up to "
            f"{figure(torque, most)} N·m, more than any joint holds, {name} {limits.text(limits.held_share, j, beside=torque)}",
            subject=name,
            value=torque,
            limit=most,
            time_s=0.0,
        )


def require_holdable(model: DynamicsModel, limits: TorqueLimits, poses: Sequence[Array]) -> None:
    """Raise where the arm with its payload, ``model``, can stand at none of ``poses`` (n,) [rad]; says why not at the first."""
    validator = torque_validator(model, limits)
    if not any(validator.can_hold(q) for q in poses):
        validator.require_holdable(poses[0])


def unbearable(model: DynamicsModel, limits: TorqueLimits, payload_kg: float, q: Array) -> str:
    """Why an arm that stands at ``q`` (n,) [rad] is not driven with its payload, and what to do; '' where it may be.

    The arm without payload always may: there is nothing to put right.
    """
    if not payload_kg:
        return ""
    try:
        torque_validator(model, limits, stays=False).require_holdable(q)
    except PickerError as error:
        return (
            f"the payload of {payload_kg:g} kg cannot be borne where the arm stands: {error}; "
            "the arm is held and not driven until a smaller one is set (picker payload 0)"
        )
    return ""
