"""MCAP files as records (https://mcap.dev/spec), whole or damaged, each no larger than it may be.

Read by this package itself, because a few bytes of a file can ask for gigabytes: a length that is wrong, or a chunk that inflates
to more than it says.  A chunk that is damaged is left out, and what follows is read; a file that breaks off is read up to there.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from picker_dynamics.errors import RecordingError
from picker_dynamics.files.reading import opened

from .definitions import missing

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0F
WANTED = (SCHEMA, CHANNEL, MESSAGE, CHUNK)

RECORD_BYTES = 64 << 20
"""Largest record, and largest chunk when it is inflated [bytes]; ours are a thousandth of it."""


class Schema(NamedTuple):
    """Definition of a message type."""

    name: str
    encoding: str
    text: str


class Message(NamedTuple):
    """A message as it was sent, with topic, type and time of reception [s since 1970]."""

    topic: str
    schema: Schema
    time_s: float
    data: bytes


class DamagedError(Exception):
    """Bytes that are no record."""


class McapFile:
    """Messages of a file; ``damage`` says afterwards what could not be read, and is empty where all could.

    Raises:
        RecordingError: it is no regular file.
        MissingDependencyError: what unpacks the chunks is not installed.
    """

    def __init__(self, path: Path):
        try:
            import lz4.frame  # noqa: F401
            import zstandard  # noqa: F401
        except ImportError as error:
            raise missing(error) from error
        self.path, self.damage, self.found = path, "", False
        self._schemas: dict[int, Schema] = {}
        self._channels: dict[int, tuple[str, int]] = {}

    def messages(self, ends: tuple[str, ...]) -> Iterator[Message]:
        """Messages of topics that end so, in the file's order."""
        with opened(self.path, "recording", RecordingError) as file:
            try:
                yield from self._all(file, ends)
            except (DamagedError, OSError):
                self.damage = "the file has no end: read up to where it breaks off"

    def _all(self, file: BinaryIO, ends: tuple[str, ...]) -> Iterator[Message]:
        size = file.seek(0, 2)
        file.seek(0)
        if file.read(len(MAGIC)) != MAGIC:
            raise DamagedError
        while True:
            head = file.read(9)
            if len(head) < 9:
                raise DamagedError
            kind, length = head[0], int.from_bytes(head[1:], "little")
            if kind in (FOOTER, DATA_END):
                return
            if kind not in WANTED:
                if file.seek(length, 1) > size:
                    raise DamagedError
                continue
            if length > min(RECORD_BYTES, size - file.tell()):
                raise DamagedError
            record = file.read(length)
            try:
                for part, content in _inside(record) if kind == CHUNK else ((kind, record),):
                    message = self._take(part, content, ends)
                    if message is not None:
                        yield message
            except (DamagedError, struct.error, UnicodeDecodeError):
                self.damage = f"what stands before byte {file.tell()} is damaged and was left out"

    def _take(self, kind: int, record: memoryview | bytes, ends: tuple[str, ...]) -> Message | None:
        if kind == SCHEMA:
            (number,) = struct.unpack_from("<H", record)
            name, at = _text(record, 2)
            encoding, at = _text(record, at)
            self._schemas[number] = Schema(name, encoding, _text(record, at)[0])
        elif kind == CHANNEL:
            number, schema = struct.unpack_from("<HH", record)
            self._channels[number] = _text(record, 4)[0], schema
        elif kind == MESSAGE:
            number, _, time_ns = struct.unpack_from("<HIQ", record)
            topic, schema = self._channels.get(number, ("", 0))
            self.found = True
            if topic.endswith(ends) and schema in self._schemas:
                return Message(topic, self._schemas[schema], 1e-9 * time_ns, bytes(record[22:]))
        return None


def _text(record: memoryview | bytes, at: int) -> tuple[str, int]:
    """A text, and where it ends."""
    (length,) = struct.unpack_from("<I", record, at)
    end = at + 4 + length
    if end > len(record):
        raise DamagedError
    return bytes(record[at + 4 : end]).decode(), end


def _inside(chunk: bytes) -> Iterator[tuple[int, memoryview]]:
    """The records of a chunk."""
    size, crc = struct.unpack_from("<QI", chunk, 16)
    compression, at = _text(chunk, 28)
    (length,) = struct.unpack_from("<Q", chunk, at)
    if size > RECORD_BYTES or length != len(chunk) - at - 8:
        raise DamagedError
    content = memoryview(_inflated(chunk[at + 8 :], compression, size))
    if len(content) != size or (crc and zlib.crc32(content) != crc):
        raise DamagedError
    at = 0
    while at < size:
        kind, length = struct.unpack_from("<BQ", content, at)
        at += 9 + length
        if at > size:
            raise DamagedError
        yield kind, content[at - length : at]


def _inflated(data: bytes, compression: str, size: int) -> bytes:
    """Bytes as they were before they were compressed, and no more than one more than ``size``."""
    import lz4.frame
    import zstandard

    try:
        if compression == "lz4":
            return lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
        if compression == "zstd":
            return zstandard.ZstdDecompressor(max_window_size=RECORD_BYTES).stream_reader(data).read(size + 1)
    except (RuntimeError, zstandard.ZstdError, MemoryError) as error:
        raise DamagedError from error
    if compression:
        raise DamagedError
    return data
