"""Frames: CRC-16/CCITT-FALSE, consistent overhead byte stuffing (COBS), and a decoder that never raises.

Before stuffing a frame is ``version u8, type u8, sequence u16, payload, crc u16`` (little-endian, the
checksum over everything before it).  These places of version and checksum hold for every version of the
protocol, so that two versions can at least tell each other apart.

References:
    [1] S. Cheshire, M. Baker, "Consistent Overhead Byte Stuffing", IEEE/ACM Trans. Networking 7(2), 1999.
"""

from __future__ import annotations

import binascii
import struct
from typing import NamedTuple

from picker_dynamics.errors import InputError, ProtocolError

DELIMITER = 0
STUFFED_MAX = 72
"""Longest frame after stuffing, without its delimiter [bytes]."""

_HEADER = struct.Struct("<BBH")
_CHECKSUM = struct.Struct("<H")


def crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE: polynomial 0x1021, initial value 0xFFFF, not reflected, no final XOR."""
    return binascii.crc_hqx(data, 0xFFFF)


def stuff(data: bytes) -> bytes:
    """COBS [1] of at most 253 bytes: no zero byte, one byte longer; the delimiter is not included."""
    if len(data) > 253:
        raise InputError(f"{len(data)} bytes are more than one COBS block of 253", value=len(data), limit=253)
    return b"".join(bytes((len(block) + 1,)) + block for block in data.split(b"\0"))


def unstuff(data: bytes) -> bytes:
    """Inverse of :func:`stuff`.

    Raises:
        ProtocolError: for a zero byte, an empty frame, a block of 255, or a length that points past the end.
    """
    blocks, at = [], 0
    while at < len(data):
        code = data[at]
        block = data[at + 1 : at + code]
        if code in (0, 255) or len(block) != code - 1 or DELIMITER in block:
            raise ProtocolError(f"byte {at} of a stuffed frame is {code}: no COBS length", value=code)
        blocks.append(block)
        at += code
    if not blocks:
        raise ProtocolError("an empty frame", value=0)
    return b"\0".join(blocks)


class RawFrame(NamedTuple):
    """A frame whose checksum was right; its payload is not yet understood."""

    version: int
    type_id: int
    sequence: int
    payload: bytes


def build(version: int, type_id: int, sequence: int, payload: bytes) -> bytes:
    """The bytes of one frame on the wire, delimiter included."""
    body = _HEADER.pack(version, type_id, sequence) + payload
    return stuff(body + _CHECKSUM.pack(crc16(body))) + b"\0"


def parse(stuffed: bytes) -> RawFrame:
    """Frame in stuffed bytes, which come without its delimiter.

    Raises:
        ProtocolError: where stuffing, length or checksum are wrong.
    """
    body = unstuff(stuffed)
    if len(body) < _HEADER.size + _CHECKSUM.size:
        raise ProtocolError(f"a frame of {len(body)} bytes is too short", value=len(body))
    (expected,) = _CHECKSUM.unpack_from(body, len(body) - 2)
    if crc16(body[:-2]) != expected:
        raise ProtocolError(f"checksum {crc16(body[:-2]):#06x} instead of {expected:#06x}", value=expected)
    version, type_id, sequence = _HEADER.unpack_from(body)
    return RawFrame(version, type_id, sequence, body[_HEADER.size : -2])


class FrameSplitter:
    """Bytes in, frames with a right checksum out; finds its way back after any garbage.

    Args:
        in_step: False where the stream may be joined in the middle of a frame: what comes before the first
            delimiter is then skipped and not counted as damage.

    Attributes:
        broken: frames that were lost to damage: stuffing, length or checksum wrong, or too long.
    """

    def __init__(self, *, in_step: bool = True):
        self.broken, self._buffer, self._skipping = 0, bytearray(), not in_step

    def split(self, data: bytes) -> list[RawFrame]:
        """All frames that ``data`` completes.  Never raises for what the bytes contain."""
        frames: list[RawFrame] = []
        *ended, rest = data.split(b"\0")
        for chunk in ended:
            self._take(chunk)
            if self._buffer:  # lone delimiters are allowed: they flush a half frame
                try:
                    frames.append(parse(bytes(self._buffer)))
                except ProtocolError:
                    self.broken += 1
            self._buffer.clear()
            self._skipping = False
        self._take(rest)
        return frames

    def _take(self, chunk: bytes) -> None:
        if not self._skipping:
            self._buffer += chunk
            if len(self._buffer) > STUFFED_MAX:
                self.broken += 1
                self._skipping = True
                self._buffer.clear()
