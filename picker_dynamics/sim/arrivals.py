"""Arrivals: when what waited on the wire while a simulated board's process stood still would have reached a board that runs.

a set-point                      EARLY_S before it is to be played, at most; in the order of the wire
anything before a set-point      with it
what follows the last one        spread evenly over the time that is left
"""

from __future__ import annotations

from collections.abc import Callable

from picker_dynamics.board.protocol import SetPoint
from picker_dynamics.board.protocol.framing import parse
from picker_dynamics.board.protocol.messages import decode
from picker_dynamics.errors import ProtocolError

EARLY_S = 0.05
"""How long before it is played a set-point comes [s]: what a host sends so far ahead fits the queue also at 200 Hz."""


def arrivals(data: bytes, since_s: float, until_s: float, plays_s: Callable[[int], float]) -> list[tuple[float, bytes]]:
    """Pieces of ``data``, each with the time at which it comes [s], none before the one before it.

    Args:
        data: what came while nobody read, from ``since_s`` to ``until_s`` [s].
        plays_s: the time [s] that a board time [us] stands for.
    """
    ended = data.split(b"\0")
    frames = [chunk + b"\0" for chunk in ended[:-1]] + ([ended[-1]] if ended[-1] else [])
    pieces: list[tuple[float, bytes]] = []
    first, at_s = 0, since_s
    for k, frame in enumerate(frames):
        time_us = _time_us(frame)
        if time_us is not None:
            at_s = min(max(at_s, plays_s(time_us) - EARLY_S), until_s)
            pieces.append((at_s, b"".join(frames[first : k + 1])))
            first = k + 1
    rest = frames[first:]
    return pieces + [(at_s + (until_s - at_s) * (k + 1) / len(rest), frame) for k, frame in enumerate(rest)]


def _time_us(frame: bytes) -> int | None:
    """Board time of a set-point [us]; None of anything else."""
    try:
        message = decode(parse(frame[:-1]))
    except ProtocolError:
        return None
    return message.time_us if isinstance(message, SetPoint) else None
