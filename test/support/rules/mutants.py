"""Firmwares that each break a rule which ``picker doctor`` checks: a method of the sound one, done wrong.

A mutant is called with the honest method, then as it is; it stands in a table: (honest method, what is done instead).
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from picker_dynamics.board.protocol import Fault, Reason, Relax, Reset, SetPoint, Stop
from picker_dynamics.sim.firmware_core import VirtualFirmware as Firmware
from picker_dynamics.sim.output_motion import OutputMotion as Motion

Wrong = Callable[..., Any]
OK = Reason.NONE, 0


def then(**values: Any) -> Wrong:
    """Done right, and then attributes set wrong; a value that is a function is called with the object."""

    def wrong(honest: Wrong, it: Any, *rest: Any, **named: Any) -> Any:
        result = honest(it, *rest, **named)
        for name, value in values.items():
            setattr(it, name, value(it) if callable(value) else value)
        return result

    return wrong


def unless(condition: Callable[..., object], otherwise: Any = None) -> Wrong:
    """Done right but where ``condition`` (of the object and its arguments) holds."""
    return lambda honest, it, *rest, **named: otherwise if condition(it, *rest) else honest(it, *rest, **named)


def resumes(honest: Wrong, it: Any, message: Any, *rest: Any) -> Any:
    if isinstance(message, Stop):
        it.interrupted = tuple(it._motion.points)
    elif isinstance(message, Reset) and getattr(it, "interrupted", ()):
        answer, played_us = honest(it, message, *rest), it._motion.played_us
        it._motion.accept(SetPoint(played_us + 200_000 & 0xFFFF_FFFF, it.interrupted[-1].pulses), played_us, 2**30)
        return answer
    return honest(it, message, *rest)


MUTANTS: dict[str, tuple[Wrong, Wrong]] = {
    "another boot id": (Firmware._telemetry, lambda h, it, now: replace(h(it, now), boot_id=77)),
    "stopped clock": (Firmware._answer, lambda h, it, *rest: h(it, *rest[:3], 0)),
    "fast clock": (Firmware.board_time_us, lambda h, it, now: h(it, now) * 103 // 100 % 2**32),
    "counts no damage": (Firmware._telemetry, lambda h, it, now: replace(h(it, now), bad_frames=0)),
    "one period": (Firmware._set_period, lambda *_: OK),
    "reset needs a fault": (
        Firmware._carry_out,
        unless(lambda it, message, *_: isinstance(message, Reset) and not it.faults, (Reason.BAD_VALUE, 0)),
    ),
    "creeps": (Motion.frame, then(pulses=lambda it: [pulse + bool(pulse) for pulse in it.pulses])),
    "never moves": (Motion.accept, lambda *_: OK),
    "resumes": (Firmware._carry_out, resumes),
    "lets go of the arm": (
        Firmware._latch,
        lambda h, it, fault: (h(it, fault), fault is Fault.HOST_LOST and it._motion.disable(it.owned)),
    ),
    "relax stops": (
        Firmware._carry_out,
        lambda h, it, message, *r: (isinstance(message, Relax) and it._latch(Fault.STOPPED), h(it, message, *r))[1],
    ),
}
"""By name: the honest method, and what is done instead of it."""


def apply(monkeypatch, name: str) -> None:
    """Let every firmware in Python be this mutant."""
    honest, wrong = MUTANTS[name]
    owner = getattr(sys.modules[honest.__module__], honest.__qualname__.split(".")[0])
    instead = lambda it, *rest, **named: wrong(honest, it, *rest, **named)  # noqa: E731
    prop = isinstance(vars(owner)[honest.__name__], property)
    monkeypatch.setattr(owner, honest.__name__, property(instead) if prop else instead)
