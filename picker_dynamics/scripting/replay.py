"""Replay of taught motions and of recordings: the whole of it checked before it begins, then leg by leg, each checked again.

A leg goes from rest to rest.  What is looked at first is what ``Arm.plan`` looks at: the way from where the arm is, with the
payload that it will carry then, twice through where it is repeated.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError, PickerError, RecordingError
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.robot.model import Array, checked_number
from picker_dynamics.trajectory.trajectory import Trajectory, from_points

from . import taught
from .equipment import Equipment
from .legs import STILL, Replay, Way, refused
from .taught import SPEEDS, Payload, Pose, Step

KNOT_S = 0.05
"""Spacing of the points in which a recording is followed [s]."""

LOOPS = 1000

RECORDINGS = ".mcap", ".db3"


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
    way = Way(known, held, payload, tip_speed)
    for round_ in range(min(loop, 2)):  # from the second time on they are all alike
        for index in range(begin if round_ == 0 else 0, len(steps)):
            way.number = index + 1
            try:
                _add(way, steps[index], speed, paths.get(index))
            except PickerError as error:
                raise refused(f"step {index + 1} ({steps[index].name}) cannot be made, so none is", error) from error
    again = way.legs[-len(steps) :] if loop > 1 else []
    return Replay((*way.legs, *again * max(loop - 2, 0)))


def _add(way: Way, step: Step, speed: float, path: Trajectory | None) -> None:
    """Add the leg of a step."""
    if path is not None:
        way.follow(step.name, path)
    elif isinstance(step, Pose):
        way.pose(step.name, step.target(way.known.description, way.held), step.seconds or 0.0, speed * step.speed)
    elif isinstance(step, Payload):
        way.set_payload(step.mass)
    else:
        way.pause(step.seconds)


def _index(steps: tuple[Step, ...], first: int | str) -> int:
    names = [step.name for step in steps]
    if isinstance(first, str) and not first.isdecimal():
        if names.count(first) != 1:
            raise InputError(f"{names.count(first)} steps are called {first!r}; give a number, 1 to {len(steps)}", subject="from")
        return names.index(first)
    if not 1 <= int(first) <= len(steps):
        raise InputError(f"there is no step {first}: 1 to {len(steps)}", subject="from", value=int(first), limit=len(steps))
    return int(first) - 1


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
    return from_points(knots, at, v, a, joint_names=joint_names)
