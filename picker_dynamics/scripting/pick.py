"""Pick and place: legs from rest to rest, all of them checked before the first begins, so that nothing is touched in vain.

    pick    to a clear pose before the target, jaws open | straight in, along the hand | close | it weighs so much | straight up
    place   above the target | straight down | open | it weighs nothing | straight up

The hand's pitch is the same at the target and on both straight legs.  Where nobody chooses it, that of the arm's own choice for
the target is tried first, then others near it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from picker_dynamics.errors import LimitError, PickerError, refuse_if
from picker_dynamics.execution.goal import MAX_GOAL_S
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.model import Array, as_vector, checked_number
from picker_dynamics.robot.tip_target import TASK, tip_target
from picker_dynamics.robot.units import told

from .equipment import Equipment
from .legs import Leg, Replay, checked, refused
from .steps import Pause, Payload, Pose, Step

APPROACH_M, LIFT_M, SETTLE_S = 0.04, 0.03, 0.5
MASS_KG, MASS_MAX_KG = 0.025, 5.0
"""Of a strawberry; more is a slip of unit."""

WAY_MAX_M = 0.5
"""No straight leg is longer [m]."""

UP = np.array([0.0, 0.0, 1.0])

PITCHES = tuple(math.radians(by) for by in (0.0, 10.0, -10.0, 20.0, -20.0, 35.0, -35.0, 50.0, -50.0))
"""Turns of the hand that are tried, from the pitch that the arm itself would take [rad]."""


@dataclass(frozen=True)
class Handling:
    """Handling of a load: where it is picked or placed, and how.

    Args:
        tip: (3,) of the tool where it grips or lets go [m], base frame.
        pitch: elevation of the tool's direction there [rad]; None: any, see above.
        mass: of what is picked [kg]: the payload from then on.
        approach: how far before the target the straight way in begins, along the hand [m]; of ``place``: ``lift``.
        lift: how far straight up the way out is [m]; 0: out the way it came in.
        opened, closed: of the gripper's joint [rad or m]; None: its upper limit; where the servo map says that it touches, or its
            lower limit.
        settle: how long the arm stands before it grips or lets go, and before it leaves [s].

    Raises:
        InputError: numbers that make no sense.
    """

    tip: Sequence[float]
    pitch: float | None = None
    mass: float = MASS_KG
    approach: float = APPROACH_M
    lift: float = LIFT_M
    opened: float | None = None
    closed: float | None = None
    settle: float = SETTLE_S

    def __post_init__(self) -> None:
        numbers: dict[str, Any] = {"tip": tuple(as_vector("tip", self.tip, 3).tolist())}
        numbers["settle"] = checked_number("settle", self.settle, "s", least=0.0, most=MAX_GOAL_S)
        for name, most, unit, meant in (
            ("mass", MASS_MAX_KG, "kg", "grams"),
            ("approach", WAY_MAX_M, "m", "millimetres"),
            ("lift", WAY_MAX_M, "m", "millimetres"),
        ):
            value = numbers[name] = checked_number(name, getattr(self, name), unit, least=0.0)
            refuse_if(value > most, f"{name} is {value:g} {unit}, at most {most:g} {unit}: are these {meant}?", name, value, most)
        refuse_if(not numbers["approach"], "approach is 0 m: the hand needs a way in", "approach", 0.0)
        if self.pitch is not None:
            numbers["pitch"] = checked_number("pitch", self.pitch, "rad")
        for name, value in numbers.items():
            object.__setattr__(self, name, value)


def _jaws(known: Equipment, how: Handling) -> tuple[str, float, float]:
    """The gripper's joint, and where it is open, and closed."""
    j, arm = known.require_gripper(), known.description
    name, lower, upper = arm.joint_names[j], float(arm.lower[j]), float(arm.upper[j])
    found = []
    for what, value, usual in zip(("opened", "closed"), (how.opened, how.closed), known.grips()):
        value = usual if value is None else checked_number(what, value)
        if not lower <= value <= upper:
            low, high, asked = (told(one, arm.position_units[j]) for one in (lower, upper, value))
            text = f"{what} is {asked}, {name} goes from {low} to {high}"
            raise LimitError(text, name, value, upper if value > upper else lower)
        found.append(value)
    return name, found[0], found[1]


def _legs(what: str, known: Equipment, how: Handling, held: Array, payload: float, tip_speed: float | None = None) -> Replay:
    """The legs of a pick or a place, for an arm that is held at ``held`` (n,) [rad or m] and carries ``payload`` [kg]: those at
    the first pitch of the hand with which all may be made.

    Args:
        tip_speed: what its controller allows [m/s]; None: the default.

    Raises:
        GoalRefusedError, UnreachableError: a leg that may not be made: which, and why.
        InputError: an arm without a gripper.
    """
    jaws, opened, closed = _jaws(known, how)
    arm, chain, tip = known.description, ChainKinematics(known.description), np.asarray(how.tip, dtype=float)
    carried = {jaws: float(held[known.require_gripper()])}

    def steps(target: Array, pitch: float | None) -> list[Step]:
        if what == "pick":
            before = tip - how.approach * chain.direction(target)
            out = tip + how.lift * UP if how.lift else before
            first, grip = Pose("approach", {jaws: opened}, before, pitch, detour=True), Pose("close", {jaws: closed}, grips=True)
        else:
            out = tip + (how.lift or how.approach) * UP
            first, grip = Pose("above", carried, out, pitch, detour=True), Pose("open", {jaws: opened}, grips=True)
        return [
            first,
            Pose("in", tip=tip, pitch=pitch, straight=True),
            Pause(how.settle),
            grip,
            Payload(how.mass if what == "pick" else 0.0),
            Pause(how.settle),
            Pose("out", tip=out, pitch=pitch, straight=True),
        ]

    why: PickerError | None = None
    nothing, furthest = f"{what} refused, nothing moves; ", -1
    try:
        target = tip_target(arm, how.tip, near=held, pitch_rad=how.pitch)
    except PickerError as error:
        raise refused(f"{nothing}the target", error) from error
    chooses = len(chain.columns) >= TASK
    own = float(chain.pitch(target)) if how.pitch is None else how.pitch
    for turn in PITCHES if chooses and how.pitch is None else (0.0,):
        if turn and abs(own + turn) > 0.5 * math.pi:  # beyond straight up or down
            continue
        legs = list[Leg]()
        try:
            if turn:
                target = tip_target(arm, how.tip, near=held, pitch_rad=own + turn)
            known.validator(payload, tip_speed).require_holdable(target)
            made = steps(target, own + turn if chooses else how.pitch)
            for leg in checked(known, enumerate(made, 1), held, payload, tip_speed, nothing + "{name}"):
                legs.append(leg)
        except PickerError as error:
            if len(legs) > furthest:
                why, furthest = error if str(error).startswith(nothing) else refused(f"{nothing}the target", error), len(legs)
            continue
        return Replay(tuple(legs))
    assert why is not None
    raise why


pick, place = partial(_legs, "pick"), partial(_legs, "place")
