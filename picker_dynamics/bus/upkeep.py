"""Upkeep of servos on a bus: finds them, reads what they are and how well they answer, and sets one up.  Nothing moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from picker_dynamics.errors import BoardFaultError, LinkError
from picker_dynamics.robot.servo_map import Servo

from .dialects import BAUDS, Dialect
from .transport import FeetechBus, Transport

ALL = range(1, 254)
"""Ids that servos may have; they come with 1."""

AGAIN = 2
"""How often those that did not answer are asked again, where others do: replies get lost."""

ASKED = 100
"""How often each servo is asked for its position, to tell how well it answers."""

Registers = Mapping[str, int]


def look(bus: Transport, dialect: Dialect, servo: int) -> dict[str, int] | None:
    """Registers of a servo by name; None where it does not answer."""
    found: dict[str, int] = {}
    for first, last in (("firmware_major", "unload_mask"), ("torque", "moving")):
        address, size = dialect.span(first, last)
        if (reply := bus.read(servo, address, size)) is None:
            return None
        within = range(address, address + size)
        found |= {
            name: dialect.decode(name, reply.data, address) for name, one in dialect.registers.items() if one.address in within
        }
    for name in sorted(dialect.registers.keys() - found.keys()):
        if (reply := bus.read(servo, *dialect.span(name, name))) is not None:
            found[name] = dialect.decode(name, reply.data, dialect.registers[name].address)
    return found


def scan(bus: Transport, dialect: Dialect, ids: Iterable[int] = ALL) -> dict[int, dict[str, int]]:
    """Registers of each servo that answers, by its id."""
    return {servo: found for servo in ids if (found := look(bus, dialect, servo)) is not None}


def find(open_bus: Callable[[int], FeetechBus], dialect: Dialect) -> tuple[FeetechBus, dict[int, dict[str, int]]]:
    """Look for servos at each speed, until some answer; returns their bus, open, and their registers by id.

    Raises:
        LinkError: no such port, or no servo answers at any speed.
    """
    for baud in BAUDS:
        bus = open_bus(baud)
        bus.open()
        if found := scan(bus, dialect):
            for _ in range(AGAIN):
                found |= scan(bus, dialect, sorted(set(ALL) - found.keys()))
            return bus, dict(sorted(found.items()))
        bus.close()
    raise LinkError(f"no servo answers on {bus.name} at {', '.join(map(str, BAUDS))} bit/s: power, cable, adapter?")


def write_kept(bus: Transport, dialect: Dialect, servo: int, values: Registers) -> None:
    """Write registers that are kept without power, the id last, and read them back; the lock is shut afterwards.

    Raises:
        BoardFaultError: torque is on, or the servo has something else afterwards.
        LinkError: it does not answer.
    """

    def put(id: int, name: str, value: int) -> None:
        bus.write(id, dialect.registers[name].address, dialect.encode(name, value))

    before = look(bus, dialect, servo)
    if before is None:
        raise LinkError(f"servo {servo} does not answer: power, cable?")
    if before["torque"]:
        raise BoardFaultError(f"servo {servo} has torque: switch it off before it is set up", value=servo)
    put(servo, "lock", 0)
    for name in sorted(values, key=lambda name: name == "id"):
        put(servo, name, values[name])
    now = values.get("id", servo)
    put(now, "lock", 1)
    after = look(bus, dialect, now)
    if after is None:
        raise LinkError(f"servo {servo} does not answer as {now} after it was set up: switch its power off and on, and scan")
    for name, value in values.items():
        if after[name] != value:
            raise BoardFaultError(f"servo {now} has {name} {after[name]} after {value} was written", name, after[name], value)


def wanted(servo: Servo, number: int, dialect: Dialect) -> dict[str, int]:
    """Registers that are kept in a servo as its map says, ``number`` being its id."""
    said = {"id": number, "p_gain": servo.p_gain, "offset": servo.homing_offset}
    return {name: value for name, value in said.items() if value is not None and name in dialect.registers}


def answers(bus: Transport, dialect: Dialect, servo: int) -> dict[str, float]:
    """How well a servo answers: share of replies that are missing, and how long they take, median and worst [ms]."""
    times, span = [], dialect.span("present_position", "present_position")
    for _ in range(ASKED):
        begin_s = time.perf_counter()
        if bus.read(servo, *span) is not None:
            times.append(1e3 * (time.perf_counter() - begin_s))
    took = np.array(times or [np.nan])
    return {"lost": 1.0 - len(times) / ASKED, "median_ms": float(np.median(took)), "worst_ms": float(took.max())}
