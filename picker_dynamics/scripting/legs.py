"""Legs of a replay, a pick or a place: motions from rest to rest, pauses and payloads, all checked before the first is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import GoalRefusedError, InputError, PickerError, refuse_if
from picker_dynamics.execution.goal import asked_duration
from picker_dynamics.execution.validator import MAX_STRETCH
from picker_dynamics.execution.waypoints import Waypoint, motion_through
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import Trajectory

from .equipment import Equipment
from .plan import Plan, planned
from .steps import Follow, Pause, Payload, Pose, Step
from .target import duration_s, line

STILL = 1e-3
"""A path begins where the arm is held, within this [rad, m]."""

SPARE = 1.2
"""How far a fast motion stays below the most that the validator slows one, so that the limits decide and none is refused."""

STAY_S = 0.2
"""Length of the plan of a leg in which nothing moves [s]."""


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
    step: Step
    path: Trajectory | None = None

    @property
    def moves(self) -> bool:
        """Whether the arm moves in the leg."""
        return not isinstance(self.step, Pause | Payload)


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
            worst = f": {leg.plan.duration:.2f} s, {leg.plan.worst_joint} has {min(leg.plan.margins.values()):.0%} left"
            rows.append(f"{leg.number:>4} {leg.name}{worst if leg.moves else ''}")
        return "\n".join(rows)


def refused(text: str, why: PickerError) -> PickerError:
    """A refusal of the whole for the reason ``why``."""
    kind = type(why) if isinstance(why, InputError | GoalRefusedError) and not hasattr(why, "time_s") else GoalRefusedError
    return kind(f"{text}: {why}", why.subject, why.value, why.limit)


def checked(
    known: Equipment,
    steps: Iterable[tuple[int, Step]],
    held: Array,
    payload: float,
    tip_speed: float | None,
    refusal: str,
    speed: float = 1.0,
) -> Iterator[Leg]:
    """Check numbered steps one after another, each from where the one before ends, with what is carried then.

    Args:
        held: (n,) where the arm is held [rad or m], with ``payload`` [kg].
        tip_speed: that its controller allows [m/s]; None: the default.
        refusal: what is said of a step that may not be made, with its {number} and {name}.
        speed: times as fast as usual, all of them.

    Raises:
        PickerError: a step that may not be made: which, and why.
    """
    way = _Way(known, held, payload, tip_speed, speed)
    for number, step in steps:
        try:
            for name, plan, path in way.motions(step):
                if plan.refusal is not None:
                    raise plan.refusal
                if path is None:
                    duration_s(plan.duration)
                way.held = np.array(plan.target)
                yield Leg(number, name, plan, step, path)
        except PickerError as error:
            raise refused(refusal.format(number=number, name=step.name), error) from error


class _Way:
    """Where the arm is held (n,), and what checks its motions from there; arguments as of ``checked``."""

    def __init__(self, known: Equipment, held: Array, payload: float, tip_speed: float | None, speed: float):
        self.known, self.held, self._tip_speed, self._speed = known, held, tip_speed, speed
        self._validator = known.validator(payload, tip_speed)

    def motions(self, step: Step) -> Iterator[tuple[str, Plan, Trajectory | None]]:
        """Name, plan and path of each motion that a step is."""
        arm, path = self.known.description, None
        if isinstance(step, Payload):
            self._validator = self.known.validator(step.mass, self._tip_speed)
        if isinstance(step, Pause | Payload):
            plan = self._direct(self.held, self.held, STAY_S)
        elif isinstance(step, Follow):
            path, away = step.path, np.abs(self.held - step.path.start).max()
            refuse_if(away > STILL, "the arm is not where the recording begins: begin with step 1", "from")
            plan = planned(self._validator, path)
        elif step.straight:
            waypoint = Waypoint(np.asarray(step.tip).tolist(), pitch=step.pitch, straight=True)
            path = motion_through(self.held, [waypoint], self._validator, arm)
            plan = planned(self._validator, path)
        else:
            target, speed = step.target(arm, self.held), self._speed * step.speed
            if step.grips and np.array_equal(target, self.held):
                return
            asked_s = asked_duration(arm, self.held, target, step.seconds)
            plan = self._direct(self.held, target, asked_s)
            if (
                speed != 1.0 and plan.possible
            ):  # half as fast takes twice as long as it takes at full speed; faster: limits decide
                quick_s = max(asked_s / speed, SPARE * plan.duration / MAX_STRETCH)
                plan = self._direct(self.held, target, plan.duration / speed if speed < 1.0 else quick_s)
            if step.detour and not plan.possible:
                home = Pose("by way of home", step.at).target(arm, self.known.home)
                clear, again = self._direct(self.held, home), self._direct(home, target)
                if clear.possible and again.possible:
                    yield "by way of home", clear, None
                    plan = again
        yield step.name, plan, path

    def _direct(self, start: Array, target: Array, seconds: float | None = None) -> Plan:
        arm = self.known.description
        return planned(self._validator, line(arm, start, target, seconds or asked_duration(arm, start, target)))
