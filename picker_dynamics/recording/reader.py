"""Reader of recordings into arrays: any rosbag2, MCAP or SQLite, and files cut short; tracking errors of what was read."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from picker_dynamics.errors import InputError, RecordingError
from picker_dynamics.files.reading import opened
from picker_dynamics.robot import arm_text
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import placed_elsewhere

from .messages import known_types, missing

_log = logging.getLogger(__name__)

REFERENCE, STATE, COMMAND = "arm_controller/reference", "joint_states", "joint_commands"
STATUS, ARM = "arm_controller/status", "arm_controller/arm"
TORQUE = " torque"
"""Behind the topic: the efforts in its messages."""

WANTED = (REFERENCE, STATE, COMMAND, STATUS, ARM)
ENDS = tuple("/" + name for name in WANTED)

RECORD_BYTES = 64 << 20
"""Largest record [bytes]; ours are a thousandth of it."""

UNREADABLE = Exception
"""What the parsers of damaged messages and files raise: each part of the library has its own."""

Read = tuple[str, float, Callable[[], Any]]
"""Topic, time of reception [s since 1970], and what decodes the message."""


@dataclass(frozen=True, eq=False)
class Series:
    """Values (k, n) at times (k,) [s since 1970], in order of time."""

    t: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, eq=False)
class Event:
    """Event of a goal: what became of it, and when [s since 1970]."""

    t: float
    outcome: str
    message: str


@dataclass(frozen=True, eq=False)
class ArmRecording:
    """Recording of one arm: its words, at the times for which they hold (the stamps in the messages).

    Attributes:
        joint_names: order of every series.
        reference, state, setpoint: positions [rad or m]; any may be empty.
        torque: what the dynamics asked for [N·m or N]; state_torque: what the joints report.
        arm: name of the arm, if it was said; told: the arm itself, as the graph told it, unread; empty: it did not.
        damaged: why not all of the file was read, or what of it was left out; empty: all was taken.
    """

    joint_names: tuple[str, ...]
    reference: Series
    state: Series
    setpoint: Series
    torque: Series
    state_torque: Series
    events: tuple[Event, ...] = ()
    arm: str = ""
    namespace: str = ""
    damaged: str = ""
    told: str = ""


class Bounds(NamedTuple):
    """Bounds (n,) [N·m or N]: what joints give at the most, along a motion, and where it ends; units of positions."""

    stall: np.ndarray
    peak: np.ndarray
    hold: np.ndarray
    units: tuple[str, ...]


class _Collected:
    """Rows (time, values) of each topic by the names in its messages, as they came."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[tuple[str, ...], list[list[float]]]] = defaultdict(lambda: defaultdict(list))
        self.events: list[Event] = []
        self.arm = self.told = ""
        self.left_out: Counter[str] = Counter()

    def take(self, topic: str, message: Any, received_s: float) -> None:
        if topic == ARM:
            self.told = message.data
        elif topic == STATUS:
            outcome = {pair.key: pair.value for pair in message.values}.get("outcome")
            self.arm = message.hardware_id or self.arm
            if outcome:
                self.events.append(Event(received_s, outcome, message.message))
        else:
            stamp = message.header.stamp
            time_s = stamp.sec + 1e-9 * stamp.nanosec or received_s
            if topic == REFERENCE:
                names, parts = message.joint_names, {topic: message.points[0].positions}
                self.left_out[f"points beyond the first in {topic}"] += len(message.points) - 1
            else:
                names, parts = message.name, {topic: message.position, topic + TORQUE: message.effort}
            for kind, values in parts.items():
                if len(values) not in (0, len(names)):
                    self.left_out[f"{topic} with {len(values)} values for {len(names)} joints"] += 1
                elif len(values):
                    self.rows[kind][tuple(names)].append([time_s, *map(float, values)])

    def left_out_of(self, joints: tuple[str, ...]) -> list[str]:
        """What was left out of the series of these joints, counted."""
        others = Counter(
            {
                f"{kind} of {', '.join(one)}": len(rows[one])
                for kind, rows in self.rows.items()
                for one in rows
                if {*joints} - {*one}
            }
        )
        return [f"left out: {count} {what}" for what, count in (self.left_out + others).items()]

    def series(self, kind: str, names: tuple[str, ...]) -> Series:
        """What was said of these joints; messages of others are left out: a bag may have a gripper's states on the same topic."""
        parts = [np.zeros((0, 1 + len(names)))]
        for present, rows in self.rows.get(kind, {}).items():
            if set(names) <= set(present):
                parts.append(np.array(rows)[:, [0, *(1 + present.index(name) for name in names)]])
        taken = np.concatenate(parts)
        taken = taken[np.argsort(taken[:, 0], kind="stable")]
        return Series(taken[:, 0], taken[:, 1:])


def read(path: str | Path, namespace: str | None = None) -> ArmRecording:
    """Read one arm of a recording.

    Args:
        namespace: of the arm; None: the only one there is.

    Raises:
        RecordingError: no such recording, one that is none, or without states and references.
        MissingDependencyError: rosbags or mcap is not installed.
    """
    known_types()
    path = Path(path)
    if not path.exists():
        raise RecordingError(f"no recording {path}", value=str(path))
    collected: dict[str, _Collected] = defaultdict(_Collected)
    damage: list[str] = []
    messages = _of_mcap if path.suffix == ".mcap" and not path.is_dir() else _of_bag
    for topic, time_s, decoded in messages(path, damage):
        wanted = next(name for name in WANTED if topic.endswith("/" + name))
        try:
            collected[topic[: -len(wanted) - 1].strip("/")].take(wanted, decoded(), time_s)
        except UNREADABLE:  # its definition is another one
            damage.append("messages that cannot be read were left out")
    arms = sorted(name for name, one in collected.items() if one.rows)
    there = ", ".join(map(repr, arms)) or "none"
    chosen = [name for name in arms if namespace is None or name == namespace.strip("/")]
    if not arms:
        raise RecordingError(f"{path} has no messages of an arm (looked for {', '.join(WANTED)})", value=str(path))
    if not chosen:
        raise RecordingError(f"{path} has no arm in namespace {namespace!r}; it has {there}", value=namespace)
    if len(chosen) > 1:
        raise RecordingError(f"{path} has {len(arms)} arms: choose with --namespace one of {there}", value=str(path))
    one = collected[chosen[0]]
    kinds = (REFERENCE, COMMAND, COMMAND + TORQUE, *one.rows)
    names = next(next(iter(one.rows[kind])) for kind in kinds if kind in one.rows)
    topics = REFERENCE, STATE, COMMAND, COMMAND + TORQUE, STATE + TORQUE
    why = "; ".join(dict.fromkeys([*damage, *one.left_out_of(names)]))
    q_ref, q, setpoint, tau, state_tau = (one.series(kind, names) for kind in topics)
    return ArmRecording(names, q_ref, q, setpoint, tau, state_tau, tuple(one.events), one.arm, chosen[0], why, one.told)


def read_of(path: str | Path, arm: ArmDescription, namespace: str | None = None) -> ArmRecording:
    """Read a recording of ``arm``; what was left out of it is logged, and so is a recording that does not tell its arm.

    Raises:
        InputError: the arm that it tells is built otherwise.
        RecordingError, MissingDependencyError: as of ``read``.
    """
    recorded = read(path, namespace)
    if recorded.damaged:
        _log.warning("%s: %s", path, recorded.damaged)
    if not recorded.told:
        _log.warning("%s does not tell how its arm is built (no %s): only the names of the joints are compared", path, ARM)
    elif elsewhere := placed_elsewhere(arm_text.read(recorded.told).description, arm):
        raise InputError(f"{path} is of another arm: {elsewhere}", "arm", recorded.arm)
    return recorded


def _of_mcap(path: Path, damage: list[str]) -> Iterator[Read]:
    """Messages of an MCAP file, up to where it breaks off."""
    try:
        from mcap.records import Channel, Message, Schema
        from mcap.stream_reader import StreamReader
    except ImportError as error:
        raise missing(error) from error
    decode, schemas, topics, found = known_types().deserialize_cdr, dict[int, str](), dict[int, tuple[str, int]](), False
    with opened(path, "recording", RecordingError) as file:
        try:
            for record in StreamReader(file, validate_crcs=True, record_size_limit=RECORD_BYTES).records:
                if isinstance(record, Schema):
                    schemas[record.id] = record.name
                elif isinstance(record, Channel):
                    topics[record.id] = record.topic, record.schema_id
                elif isinstance(record, Message):
                    found, (topic, schema) = True, topics[record.channel_id]
                    if topic.endswith(ENDS):
                        yield topic, 1e-9 * record.log_time, partial(decode, record.data, schemas[schema])
        except UNREADABLE:
            damage.append("the file is damaged, or has no end: read up to there")
    if not found:
        raise RecordingError(f"{path} is not an MCAP recording, or is empty", value=str(path))


def _of_bag(path: Path, damage: list[str]) -> Iterator[Read]:
    """Messages of a bag that rosbags reads: a folder, or a file of SQLite."""
    from rosbags.highlevel import AnyReader

    begun = False
    try:
        with AnyReader([path], default_typestore=known_types()) as reader:
            begun, wanted = True, [one for one in reader.connections if one.topic.endswith(ENDS)]
            for connection, time_ns, data in reader.messages(wanted) if wanted else ():
                yield connection.topic, 1e-9 * time_ns, partial(reader.deserialize, data, connection.msgtype)
    except UNREADABLE as error:
        words = " ".join(str(error).split()) or type(error).__name__
        if not begun:
            raise RecordingError(f"cannot read {path}: {words}", value=str(path)) from error
        damage.append(words)


# -- tracking error --------------------------------------------------------------------------------------------------------

GAP_S = 0.25
"""Two references further apart than this have nothing between them: the arm was not active."""


def tracking_error(reference: Series, state: Series) -> Series:
    """State less reference, the reference interpolated between its two neighbours in time; NaN where there are none."""
    if len(reference) < 2 or not len(state):
        return Series(state.t, np.full_like(state.values, np.nan))
    after = np.clip(np.searchsorted(reference.t, state.t), 1, len(reference) - 1)
    before, end = reference.t[after - 1], reference.t[after]
    known = (state.t >= before) & (state.t <= end) & (end - before <= GAP_S)
    wanted = np.stack([np.interp(state.t, reference.t, column) for column in reference.values.T], axis=-1)
    return Series(state.t, np.where(known[:, None], state.values - wanted, np.nan))


def with_gaps(series: Series) -> Series:
    """The series with a NaN in each gap, so that a line drawn through it breaks there."""
    gaps = np.flatnonzero(np.diff(series.t) > GAP_S) + 1
    return Series(
        np.insert(series.t, gaps, series.t[gaps] - 1e-6 if len(gaps) else []), np.insert(series.values, gaps, np.nan, axis=0)
    )
