"""Frames of the Feetech protocol, ``FF FF id length instruction parameters ~sum``; replies have a status for the instruction.

length = parameters + 2          ~sum over id, length, instruction, parameters
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

HEADER = b"\xff\xff"
BROADCAST = 0xFE
PING, READ, WRITE, SYNC_READ, SYNC_WRITE = 0x01, 0x02, 0x03, 0x82, 0x83
OVERHEAD = 6
"""Bytes of a frame beside its parameters."""


class Frame(NamedTuple):
    """Request or reply: id, instruction or status byte, parameters."""

    id: int
    code: int
    data: bytes


def encode(frame: Frame) -> bytes:
    """Bytes of a frame."""
    body = bytes((frame.id, len(frame.data) + 2, frame.code)) + frame.data
    return HEADER + body + bytes((~sum(body) & 0xFF,))


def read(servo: int, address: int, size: int) -> bytes:
    """Request for ``size`` bytes from ``address`` of one servo."""
    return encode(Frame(servo, READ, bytes((address, size))))


def write(servo: int, address: int, data: bytes) -> bytes:
    """Request to write ``data`` from ``address`` of one servo."""
    return encode(Frame(servo, WRITE, bytes((address,)) + data))


def sync_read(servos: Sequence[int], address: int, size: int) -> bytes:
    """Request for the same registers of several servos, which reply in this order."""
    return encode(Frame(BROADCAST, SYNC_READ, bytes((address, size, *servos))))


def sync_write(address: int, data: Mapping[int, bytes]) -> bytes:
    """Request to write the same registers of several servos, ``data`` by id; nobody replies."""
    (size,) = {len(one) for one in data.values()}
    return encode(Frame(BROADCAST, SYNC_WRITE, bytes((address, size)) + b"".join(bytes((id,)) + one for id, one in data.items())))


def take(buffer: bytearray, size: int | None = None) -> tuple[list[Frame], int]:
    """Take the whole frames out of ``buffer``, and how many damaged ones or pieces of them were dropped; a begun one stays.

    Args:
        size: of the parameters of all of them; a frame of another size is damaged.  None: any.
    """
    frames, damaged = [], 0
    while len(buffer) >= OVERHEAD:
        begin = buffer.find(HEADER)
        while begin >= 0 and len(buffer) > begin + 2 and buffer[begin + 2] == 0xFF:
            begin += 1
        if begin < 0:
            damaged += 1
            del buffer[: len(buffer) - (buffer[-1] == 0xFF)]
            break
        if begin:
            damaged += 1
            del buffer[:begin]
            continue
        length, end = buffer[3], buffer[3] + 4
        fits = length >= 2 if size is None else length == size + 2
        if fits and len(buffer) < end:
            break
        body = bytes(buffer[2 : end - 1])
        if not fits or ~sum(body) & 0xFF != buffer[end - 1]:
            damaged += 1
            del buffer[:2]
            continue
        frames.append(Frame(body[0], body[2], body[3:]))
        del buffer[:end]
    return frames, damaged
