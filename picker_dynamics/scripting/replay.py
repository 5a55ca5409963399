"""Replay of taught motions and recordings: the whole of it checked before it begins, then leg by leg, each checked again.

What is looked at first is what ``Arm.plan`` looks at: the way from where the arm is, with the payload that it will carry then,
twice through where it is repeated.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from picker_dynamics.errors import RecordingError, refuse_if
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.files.fields import whole
from picker_dynamics.recording.reader import read_of
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, checked_number
from picker_dynamics.trajectory.trajectory import from_points

from . import taught
from .equipment import Equipment
from .legs import STILL, Replay
from .legs import checked as checked_legs
from .steps import Follow, Pose, Step
from .taught import SPEEDS, Taught

LOOPS = 1000

KNOT_S = 0.05
"""Spacing of the points in which a recording is followed [s]."""

RECORDING = ".mcap"


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
        speed: times as fast as taught or recorded; limits are kept all the same.
        first: step to begin with, by its number or its name.

    Raises:
        GoalRefusedError: a step may not be made: which, and why.
        InputError: a file, a step or a number that cannot be used, or another arm's recording.
        RecordingError: a recording that cannot be read, or in which nothing moves.
    """
    speed, loop = checked_number("speed", speed, least=SPEEDS[0], most=SPEEDS[1]), whole(loop, "loop", 1, LOOPS)
    path, arm = Path(name), known.description
    found = of_recording(path, arm, speed) if path.suffix == RECORDING else taught.read(name, arm)
    steps = list(enumerate(found.steps, 1))
    rounds = steps[_index(found.steps, first) :] + (steps if loop > 1 else [])  # from the second time on they are all alike
    refusal = "step {number} ({name}) cannot be made, so none is"
    legs = tuple(checked_legs(known, rounds, held, payload, tip_speed, refusal, speed * found.speed))
    return Replay((*legs, *legs[-len(steps) :] * max(loop - 2, 0)))


def _index(steps: tuple[Step, ...], first: int | str) -> int:
    names = [step.name for step in steps]
    if isinstance(first, str) and not first.isdecimal():
        count = names.count(first)
        refuse_if(
            count != 1,
            f"{count or 'no'} step{'s are' if count else ''} named {first!r}; give a number, 1 to {len(steps)}",
            "from",
        )
        return names.index(first)
    number = int(first) if isinstance(first, int | str | np.integer) and not isinstance(first, bool) else 0
    refuse_if(not 1 <= number <= len(steps), f"there is no step {first}: 1 to {len(steps)}", "from", first, len(steps))
    return number - 1


def of_recording(path: Path, arm: ArmDescription, speed: float) -> Taught:
    """A recording of this arm as two steps: to where its first motion begins, and along it to the last, ``speed`` times as fast.

    The references count, the states where there are none; velocities and accelerations are their differences.

    Raises:
        InputError: it is another arm's.
        RecordingError: it cannot be read, nothing moves in it, or it is too long.
    """
    recording, names = read_of(path, arm), arm.joint_names
    another = sorted(recording.joint_names) != sorted(names) or recording.arm not in ("", arm.name)
    whose = f"{recording.arm or 'without a name'} ({', '.join(recording.joint_names)})"
    refuse_if(another, f"{path} is of the arm {whose}; this is {arm.name} ({', '.join(names)})", "arm", recording.arm)
    series = recording.reference if len(recording.reference) else recording.state
    t, first = np.unique(series.t, return_index=True)
    q = series.values[first][:, [recording.joint_names.index(name) for name in names]]
    t, q = t[good := np.isfinite(q).all(axis=1)], q[good]
    moving, moved = (np.flatnonzero((np.abs(q - end) > STILL).any(axis=1)) for end in (q[:1], q[-1:]))
    if not len(moving):
        raise RecordingError(f"{path}: nothing moves in it", value=str(path))
    begin, end = moving[0] - 1, moved[-1] + 2
    t, q = (t[begin:end] - t[begin]) / speed, q[begin:end]
    count = max(int(np.ceil(t[-1] / KNOT_S)) + 1, 3)
    if count > MAX_POINTS:
        raise RecordingError(f"{path} moves for {t[-1]:.0f} s, at most {MAX_POINTS * KNOT_S:.0f} s", value=float(t[-1]))
    knots = np.linspace(0.0, t[-1], count)
    rows = [np.stack([np.interp(knots, t, column) for column in q.T], axis=1)]
    for _ in range(2):
        rows.append(np.gradient(rows[-1], knots, axis=0))
        rows[-1][[0, -1]] = 0.0
    motion = from_points(knots, *rows, joint_names=names)
    return Taught(1.0, (Pose("to where the recording begins", dict(zip(names, q[0].tolist()))), Follow(path.name, motion)))
