"""Replay of taught motions and of recordings: the whole of it checked before it begins, then leg by leg, each checked again.

A leg goes from rest to rest.  What is looked at first is what ``Arm.plan`` looks at: the way from where the arm is, with the
payload that it will carry then, twice through where it is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from picker_dynamics.errors import GoalRefusedError, InputError, JointNamesError, PickerError, RecordingError
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.robot.model import Array, checked_number
from picker_dynamics.trajectory.trajectory import Trajectory, through

from . import taught
from .equipment import Equipment
from .plan import Plan, planned, rest_to_rest
from .target import asked_duration, duration_s
from .taught import SPEEDS, Pause, Payload, Pose, Step

KNOT_S = 0.05
"""Spacing of the points in which a recording is followed [s]."""

STILL = 1e-3
"""A recording begins and ends where it has moved by so much [rad, m]."""

STAY_S = 0.2

LOOPS = 1000

RECORDINGS = ".mcap", ".db3"


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
"""Told each leg that is made, again and again, and the share of it that is over."""


def unheard(_leg: Leg, _share: float) -> None:
    """Progress that nobody wants to know."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Replay that was checked: its legs, those that are repeated too, and how long the motions and pauses take."""

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


def checked(
    known: Equipment,
    name: str | Path,
    held: Array,
    payload: float,
    tip_speed: float | None = None,
    *,
    loop: int = 1,
    speed: float = 1.0,
    first: int | str = 1,
) -> Replay:
    """The whole of it, for an arm that is held at ``held`` (n,) [rad or m] and carries ``payload`` [kg].

    Args:
        name: of a taught motion, or path of a recording.
        tip_speed: that its controller allows [m/s]; None: the default.
        loop: how many times.
        speed: times as fast as taught; limits are kept all the same.
        first: step to begin with, by its number or its name.

    Raises:
        GoalRefusedError: a step may not be made: which, and why.
        InputError: a file, a step or a number that cannot be used.
        RecordingError: a recording that cannot be read, or is of another arm.
    """
    speed = checked_number("speed", speed, least=SPEEDS[0])
    if speed > SPEEDS[1] or isinstance(loop, bool) or not isinstance(loop, int) or not 1 <= loop <= LOOPS:
        raise InputError(
            f"speed is {speed:g}, at most {SPEEDS[1]:g}, and loop is {loop!r}, 1 to {LOOPS}", subject="loop", value=loop
        )
    path = Path(name)
    if path.suffix in RECORDINGS or path.is_dir():
        steps, paths = _of_recording(path, known, speed)
    else:
        found = taught.read(name, known.description)
        steps, paths, speed = found.steps, {}, speed * found.speed
    begin = _index(steps, first)
    legs: list[Leg] = []
    for round_ in range(min(loop, 2)):  # from the second time on they are all alike
        for index in range(begin if round_ == 0 else 0, len(steps)):
            leg, held, payload = _leg(known, index + 1, steps[index], held, payload, speed, paths.get(index), tip_speed)
            legs.append(leg)
    again = legs[-len(steps) :] if loop > 1 else []
    return Replay((*legs, *again * max(loop - 2, 0)))


# -- legs --------------------------------------------------------------------------------------------------------------------


def _index(steps: tuple[Step, ...], first: int | str) -> int:
    names = [step.name for step in steps]
    if isinstance(first, str) and not first.isdecimal():
        if names.count(first) != 1:
            raise InputError(f"{names.count(first)} steps are called {first!r}; give a number, 1 to {len(steps)}", subject="from")
        return names.index(first)
    if not 1 <= int(first) <= len(steps):
        raise InputError(f"there is no step {first}: 1 to {len(steps)}", subject="from", value=int(first), limit=len(steps))
    return int(first) - 1


def _leg(
    known: Equipment,
    number: int,
    step: Step,
    held: Array,
    payload: float,
    speed: float,
    path: Trajectory | None,
    tip_speed: float | None,
) -> tuple[Leg, Array, float]:
    """A step from there, and where the arm is and what it carries afterwards."""
    arm = known.description
    if isinstance(step, Payload):
        payload = step.mass
    try:
        validator = known.validator(payload, tip_speed)
        target = step.target(arm, held) if isinstance(step, Pose) else held

        if path is not None:
            if np.abs(held - path.start).max() > STILL:
                raise InputError("the arm is not where the recording begins: begin with step 1", subject="from")
            plan = planned(validator, path)
        elif isinstance(step, Pose):
            speed *= step.speed
            seconds = asked_duration(arm, held, target, step.seconds or 0.0) / max(speed, 1.0)
            plan = rest_to_rest(validator, held, target, seconds)
            if speed < 1.0 and plan.possible:  # half as fast takes twice as long as it takes at full speed
                plan = rest_to_rest(validator, held, target, plan.duration / speed)
        else:
            plan = rest_to_rest(validator, held, target, STAY_S)
        if path is None and plan.possible:
            duration_s(plan.duration)
    except PickerError as error:
        raise refused(f"step {number} ({step.name}) cannot be made, so none is", error) from error
    if plan.refusal is not None:
        raise refused(f"step {number} ({step.name}) cannot be made, so none is", plan.refusal) from plan.refusal
    return Leg(number, step.name, plan, step, path), np.array(plan.target), payload


def refused(text: str, why: PickerError) -> PickerError:
    """A refusal of the whole for the reason ``why``."""
    kind = type(why) if isinstance(why, InputError | GoalRefusedError) and not hasattr(why, "time_s") else GoalRefusedError
    return kind(f"{text}: {why}", subject=why.subject, value=why.value, limit=why.limit)


# -- recordings ----------------------------------------------------------------------------------------------------------------


def _of_recording(path: Path, known: Equipment, speed: float) -> tuple[tuple[Step, ...], dict[int, Trajectory]]:
    """A recording as two steps: to where it begins, and along it."""
    from picker_dynamics.recording.reader import read

    recording, arm = read(path), known.description
    if sorted(recording.joint_names) != sorted(arm.joint_names) or recording.arm not in ("", arm.name):
        raise JointNamesError(
            f"{path} is of the arm {recording.arm or 'without a name'} ({', '.join(recording.joint_names)}), this is {arm.name} "
            f"({', '.join(arm.joint_names)}): nothing moves",
            subject="arm",
            value=recording.arm,
        )
    series = recording.reference if len(recording.reference) else recording.state
    order = [recording.joint_names.index(name) for name in arm.joint_names]
    t, first = np.unique(series.t, return_index=True)
    q = series.values[first][:, order]
    good = np.isfinite(q).all(axis=1) & np.isfinite(t)
    motion = followed(t[good] - (t[good][0] if good.any() else 0.0), q[good], arm.joint_names, str(path), speed)
    begin = Pose("to where the recording begins", dict(zip(arm.joint_names, motion.start.tolist())))
    along = Pose(path.name, dict(zip(arm.joint_names, motion.end.tolist())))
    return (begin, along), {1: motion}


def followed(t: Array, q: Array, joint_names: tuple[str, ...], what: str, speed: float = 1.0) -> Trajectory:
    """The motion through samples (s, n) at times (s,) [s], from rest to rest, without what stands at both ends.

    Velocities and accelerations at the knots are differences of the samples there.

    Raises:
        RecordingError: nothing moves, or it is too long.
    """
    moving = np.flatnonzero((np.abs(q - q[:1]) > STILL).any(axis=1) if len(q) else [])
    if not len(moving):
        raise RecordingError(f"{what}: nothing moves in it, or nobody said where the arm was", value=what)
    end = int(np.flatnonzero((np.abs(q - q[-1:]) > STILL).any(axis=1))[-1]) + 1
    begin, end = max(int(moving[0]) - 1, 0), min(end + 1, len(q))
    t, q = (t[begin:end] - t[begin]) / speed, q[begin:end]
    count = int(np.ceil(t[-1] / KNOT_S)) + 1
    if count > MAX_POINTS:
        raise RecordingError(f"{what} lasts {t[-1]:.0f} s, at most {MAX_POINTS * KNOT_S:.0f} s: take a part", value=float(t[-1]))
    knots = np.linspace(0.0, max(float(t[-1]), KNOT_S), max(count, 3))
    at = np.stack([np.interp(knots, t, column) for column in q.T], axis=1)
    v = np.gradient(at, knots, axis=0)
    v[[0, -1]] = 0.0
    a = np.gradient(v, knots, axis=0)
    a[[0, -1]] = 0.0
    return through(knots, list(zip(at, v, a)), joint_names=joint_names)
