"""Target of a motion, as a person says it: some joints by name; and how long the motion is asked to take where nobody says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import JointNamesError, refuse_if
from picker_dynamics.execution.goal import MAX_GOAL_S, asked_duration
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.execution.waypoints import Waypoint, motion_through
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, as_states, as_vector, checked_number
from picker_dynamics.robot.tip_target import tip_target
from picker_dynamics.robot.units import degrees_hint
from picker_dynamics.trajectory.trajectory import Trajectory, from_points

LEAST_S = 0.01
"""Shortest motion that may be asked for [s]: what is too fast is slowed to the limits, but at most tenfold."""

UNITS = {"rad": 1.0, "deg": math.pi / 180.0}
"""What turning joints may be told in; sliding ones are told in metres."""


def line(arm: ArmDescription, start: Array, target: Array, seconds: float) -> Trajectory:
    """The straight way of the joints from rest at one pose (n,) to rest at another, in ``seconds`` [s]."""
    still = np.zeros(arm.n)
    points = [seconds], [target], [still], [still]
    return from_points(*points, joint_names=arm.joint_names, start=(start, still, still))


@dataclass(frozen=True, eq=False)
class Asked:
    """Motion that is asked for: where it shall go, and how; fields as the arguments of ``Arm.move``."""

    q: ArrayLike | None = None
    tip: Sequence[float] | None = None
    pitch: float | None = None
    direction: ArrayLike | None = None
    unit: str = "rad"
    duration: float | None = None
    straight: bool = False
    via: Sequence[Waypoint | Sequence[float]] = ()
    joints: Mapping[str, float] = field(default_factory=dict)

    @property
    def dense(self) -> bool:
        """Whether the motion is planned here, as points that the controller follows as they are."""
        return bool(self.straight or self.via)

    def target(self, arm: ArmDescription, held: Array) -> Array:
        """Pose (n,) [rad or m] where the motion ends, for an arm that is held at ``held`` (n,), within its limits.

        Raises:
            InputError: none or several of q, tip and joints, an unknown unit, or a value that is no number.
            JointNamesError: a joint that the arm does not have.
        """
        self._require_one()
        if self.q is not None:
            return as_vector("q", self.q, arm.n)
        if self.tip is not None:
            return tip_target(arm, self.tip, near=held, pitch_rad=self.pitch, direction=self.direction)
        refuse_if(self.unit not in UNITS, f"unit is {self.unit!r}, must be one of {', '.join(UNITS)}", "unit", self.unit)
        target = np.array(held, dtype=float)
        for name, value in self.joints.items():
            if name not in arm.joint_names:
                raise JointNamesError(f"no joint {name!r}; the arm has {', '.join(arm.joint_names)}", name)
            j = arm.joint_names.index(name)
            target[j] = (1.0 if arm.position_units[j] == "m" else UNITS[self.unit]) * checked_number(name, value)
        return target

    def seconds(self, arm: ArmDescription, held: Array, target: Array) -> float:
        """Duration that the motion asks for [s]."""
        return asked_duration(arm, held, target) if self.duration is None else duration_s(self.duration)

    def motion(self, arm: ArmDescription, held: Array, validator: MotionValidator) -> Trajectory:
        """The motion from ``held`` (n,); errors as ``motion_through``."""
        if not self.dense:
            target = self.target(arm, held)
            return line(arm, held, target, self.seconds(arm, held, target))
        if self.tip is None:
            last = Waypoint(q=self.target(arm, held))
        else:
            self._require_one()
            last = Waypoint(self.tip, pitch=self.pitch, direction=self.direction, straight=self.straight)
        flat = any(isinstance(one, int | float) for one in self.via)
        refuse_if(flat, "via is a list of places: via=[(x, y, z), ...]", "via")
        via = [one if isinstance(one, Waypoint) else Waypoint(one, straight=self.straight) for one in self.via]
        straight = any(one.straight for one in (*via, last))
        refuse_if(self.straight and not straight, "straight belongs to a tip: tip=(x, y, z)", "straight")
        motion = motion_through(held, [*via, last], validator, arm)
        least_s = 0.0 if self.duration is None else duration_s(self.duration)
        return motion if motion.duration >= least_s else motion.stretched(least_s / motion.duration)

    def _require_one(self) -> None:
        ways = {"q": self.q is not None, "tip": self.tip is not None, "joints by name": bool(self.joints)}
        given = [name for name, is_given in ways.items() if is_given]
        refuse_if(len(given) != 1, f"give q, tip or joints by name; given: {' and '.join(given) or 'none'}", "target")
        turned = self.tip is None and not (self.pitch is None and self.direction is None)
        refuse_if(turned, "pitch and direction belong to a tip: tip=(x, y, z)", "tip")


def not_degrees(arm: ArmDescription, q: ArrayLike) -> ArrayLike:
    """Return poses (..., n) [rad or m] as given; raise an InputError for angles beyond their limits that fit them as degrees."""
    for values in as_states("q", q, arm.n).reshape(-1, arm.n):
        for joint, value, unit in zip(arm.movable, values, arm.position_units):
            beyond = not joint.lower <= value <= joint.upper
            hint = degrees_hint(value, joint.lower, joint.upper, unit) if beyond else ""
            refuse_if(hint, f"{joint.name} is in radians{hint}: numpy.radians(q) converts", joint.name, float(value))
    return q


def duration_s(value: float, name: str = "duration", least: float = LEAST_S) -> float:
    """A duration [s] that may be asked for."""
    return checked_number(name, value, "s", least=least, most=MAX_GOAL_S)
