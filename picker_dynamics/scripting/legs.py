"""Legs of a replay, a pick or a place: motions from rest to rest, pauses and payloads, each checked as it is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import GoalRefusedError, InputError, PickerError
from picker_dynamics.execution.goal import asked_duration
from picker_dynamics.execution.waypoints import Waypoint, motion_through
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.tip_target import tip_target
from picker_dynamics.trajectory.trajectory import Trajectory

from .equipment import Equipment
from .plan import Plan, planned
from .target import duration_s, line
from .taught import Pause, Payload, Pose, Step

STILL = 1e-3
"""A path begins where the arm is held, within this [rad, m]."""

STAY_S = 0.2
"""Length of the plan of a leg in which nothing moves [s]."""


@dataclass(frozen=True)
class Grip:
    """The gripper's joint moves to ``at`` [rad or m], or until what it grips stops it."""

    name: str
    at: float


@dataclass(frozen=True, eq=False)
class Leg:
    """A step as it will be made, from rest to rest.

    Attributes:
        number: of the step, from 1.
        name: what a person calls it.
        plan: of the motion; of a pause and a payload that of standing there.
        step: that it is.
        path: that is followed; None: straight to ``plan.target``, or nothing moves.
    """

    number: int
    name: str
    plan: Plan
    step: Step | Grip
    path: Trajectory | None = None

    @property
    def moves(self) -> bool:
        """Whether the arm moves in the leg."""
        return isinstance(self.step, (Pose, Grip))


Progress = Callable[[Leg, float], None]
"""Called with each leg that is made, again and again, and the share of it that is over; what it raises cancels the leg."""


def unheard(_leg: Leg, _share: float) -> None:
    """Progress that nobody wants to know."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Legs that were checked, those that are repeated too, and how long the motions and pauses take."""

    legs: tuple[Leg, ...]

    @property
    def duration(self) -> float:
        """Duration of the whole [s]."""
        return sum(
            leg.plan.duration if leg.moves else leg.step.seconds if isinstance(leg.step, Pause) else 0.0 for leg in self.legs
        )

    def __str__(self) -> str:
        rows = [f"{len(self.legs)} steps, {self.duration:.1f} s"]
        for leg in self.legs:
            worst = f", {leg.plan.worst_joint} has {leg.plan.margins[leg.plan.worst_joint]:.0%} left" if leg.moves else ""
            rows.append(f"{leg.number:>4} {leg.name}{f': {leg.plan.duration:.2f} s{worst}' if leg.moves else ''}")
        return "\n".join(rows)


def refused(text: str, why: PickerError) -> PickerError:
    """A refusal of the whole for the reason ``why``."""
    kind = type(why) if isinstance(why, InputError | GoalRefusedError) and not hasattr(why, "time_s") else GoalRefusedError
    return kind(f"{text}: {why}", subject=why.subject, value=why.value, limit=why.limit)


class Way:
    """Legs one after another, each from where the one before ends, with what is carried then; a leg that may not be made raises
    its refusal.

    Args:
        known: the arm.
        held: (n,) where it begins [rad or m].
        payload: with which it begins [kg].
        tip_speed: that is allowed [m/s]; None: the default.

    Attributes:
        legs: that may be made.
        number: of the next leg; name: of the one that is looked at.
        held: (n,) where they end.
    """

    def __init__(self, known: Equipment, held: Array, payload: float = 0.0, tip_speed: float | None = None):
        self.known, self.tip_speed, self.held = known, tip_speed, held
        self.validator = known.validator(payload, tip_speed)
        self.name, self.number, self.legs = "the target", 1, list[Leg]()

    def pose(self, name: str, target: Array, least_s: float = 0.0, speed: float = 1.0) -> None:
        """Move to a pose (n,) on the joints' own way.

        Args:
            least_s: it takes at least so long [s].
            speed: times as fast as usual; limits are kept.
        """
        self.name = name
        plan = self._direct(target, asked_duration(self.known.description, self.held, target, least_s) / max(speed, 1.0))
        if speed < 1.0 and plan.possible:  # half as fast takes twice as long as it takes at full speed
            plan = self._direct(target, plan.duration / speed)
        self._add(Pose(name), plan)

    def to(self, name: str, tip: Array, pitch: float | None, jaws: float | None = None) -> None:
        """Move the tip to a place (3,) [m] on the joints' own way; by way of home, where the direct one may not be made."""
        self.name = name
        target = np.array(tip_target(self.known.description, tip, near=self.held, pitch_rad=pitch))
        if jaws is not None:
            target[self.known.gripper] = jaws
        home = self.known.home.copy()
        home[self.known.gripper] = target[self.known.gripper]
        plan = self._direct(target)
        if not plan.possible and (clear := self._direct(home)).possible:
            again = self._direct(target, start=home)
            if again.possible:
                self._add(Pose("by way of home"), clear)
                plan = again
        self._add(Pose(name), plan)

    def straight(self, name: str, tip: Array, pitch: float | None) -> None:
        """Move the tool on a straight line."""
        self.name = name
        waypoint = Waypoint(tip.tolist(), pitch=pitch, straight=True)
        self.follow(name, motion_through(self.held, [waypoint], self.validator, self.known.description))

    def follow(self, name: str, path: Trajectory) -> None:
        """Follow a path that begins where the arm is held."""
        self.name = name
        if np.abs(self.held - path.start).max() > STILL:
            raise InputError("the arm is not where the recording begins: begin with step 1", subject="from")
        self._add(Pose(name), planned(self.validator, path), path)

    def grip(self, name: str, at: float) -> None:
        """Move the gripper's joint alone."""
        self.name, target = name, self.held.copy()
        target[self.known.gripper] = at
        if not np.array_equal(target, self.held):
            self._add(Grip(name, at), self._direct(target))

    def set_payload(self, mass: float) -> None:
        """Set what the tool carries from here on [kg]."""
        step = Payload(mass)
        self.name = step.name
        self.validator = self.known.validator(mass, self.tip_speed)
        self._add(step, self._direct(self.held, STAY_S))

    def pause(self, seconds: float) -> None:
        """Stand for ``seconds`` [s]."""
        step = Pause(seconds)
        self.name = step.name
        self._add(step, self._direct(self.held, STAY_S))

    def _direct(self, target: Array, seconds: float | None = None, start: Array | None = None) -> Plan:
        arm, begin = self.known.description, self.held if start is None else start
        return planned(self.validator, line(arm, begin, target, seconds or asked_duration(arm, begin, target)))

    def _add(self, step: Step | Grip, plan: Plan, path: Trajectory | None = None) -> None:
        if plan.refusal is not None:
            raise plan.refusal
        if path is None:
            duration_s(plan.duration)
        self.legs.append(Leg(self.number, step.name, plan, step, path))
        self.number += 1
        self.held = np.array(plan.target)
