"""Long goals as bytes: read beside the ticks, where a conversion by rclpy would hold up the reference.

rclpy makes a Python object of every point while nothing else of the process runs: a quarter of a second for 10 000 points.  So
goals of the topic come as the bytes that were sent (CDR, https://www.omg.org/spec/DDSI-RTPS).  Short ones are converted by rclpy
as ever; long ones are read here, step by step, in a thread that lets go of Python when a reference is due.
"""

from __future__ import annotations

import struct
import sys
from typing import NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.errors import TrajectoryError
from picker_dynamics.execution.goal import MAX_POINTS, require_few

SHORT_BYTES = 10_000
"""What rclpy converts in less than a millisecond: some 60 points of five joints."""

HEAD_BYTES = 100_000
"""More than header and names of the joints ever have."""

LITTLE_ENDIAN = b"\x00\x01"
"""CDR of this machine's byte order, as all middlewares of ROS 2 send it."""


def most_bytes(joints: int) -> int:
    """Size of the largest goal that is looked at, for an arm of so many joints."""
    return HEAD_BYTES + MAX_POINTS * (4 * (8 + 8 * joints) + 8)


NOTHING = np.zeros(0)


class Time(NamedTuple):
    """Time, as in the message."""

    sec: int
    nanosec: int


class Header(NamedTuple):
    """Header, as in the message."""

    stamp: Time
    frame_id: str


class Point(NamedTuple):
    """Trajectory point, as in the message."""

    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    effort: np.ndarray
    time_from_start: Time


class LongMessage(NamedTuple):
    """A JointTrajectory, as far as goals are made of it."""

    header: Header
    joint_names: list[str]
    points: list[Point]


def header_in(data: bytes) -> Header:
    """Stamp and ``frame_id`` of a goal in bytes; empty ones where they cannot be read."""
    try:
        return _Reader(data).header()
    except struct.error:
        return Header(Time(0, 0), "")


def short_message(data: bytes) -> JointTrajectory:
    """The message itself, as rclpy converts it; errors as ``message_in``."""
    try:
        return deserialize_message(data, JointTrajectory)
    except RuntimeError as error:
        raise TrajectoryError("the goal's message cannot be read") from error


def message_in(data: bytes) -> JointTrajectory | LongMessage:
    """Message of which ``goal_from`` makes a goal, out of the bytes of a JointTrajectory.

    Raises:
        TrajectoryError: too many points, or bytes that are none.
    """
    if data[:2] != LITTLE_ENDIAN or sys.byteorder != "little":
        return short_message(data)
    try:
        reader = _Reader(data)
        header = reader.header()
        names = [reader.text() for _ in range(reader.count(5))]
        count = reader.count(24)
        require_few(count)
        return LongMessage(header, names, [reader.point() for _ in range(count)])
    except struct.error as error:
        raise TrajectoryError("the goal's message breaks off") from error


class _Reader:
    """Goes through CDR; offsets are aligned from behind the four bytes that say what it is."""

    def __init__(self, data: bytes):
        self._data, self._at = memoryview(data)[4:], 0

    def header(self) -> Header:
        return Header(self.time(), self.text())

    def point(self) -> Point:
        return Point(self.numbers(), self.numbers(), self.numbers(), self.numbers(), self.time())

    def time(self) -> Time:
        self._at += -self._at % 4
        sec, nanosec = struct.unpack_from("<iI", self._data, self._at)
        self._at += 8
        return Time(sec, nanosec)

    def count(self, least_bytes: int = 1) -> int:
        """Of a sequence whose entries have ``least_bytes`` at the least; a struct.error where they are not all there."""
        self._at += -self._at % 4
        (count,) = struct.unpack_from("<I", self._data, self._at)
        self._at += 4
        if count * least_bytes > len(self._data) - self._at:
            raise struct.error
        return count

    def text(self) -> str:
        count = self.count()
        text = bytes(self._data[self._at : self._at + count])
        self._at += count
        return text.rstrip(b"\0").decode("utf-8", "replace")

    def numbers(self) -> np.ndarray:
        count = self.count(8)
        if not count:
            return NOTHING
        begin = self._at + -self._at % 8
        self._at = begin + 8 * count
        if self._at > len(self._data):
            raise struct.error
        return np.frombuffer(self._data, "<f8", count, begin)
