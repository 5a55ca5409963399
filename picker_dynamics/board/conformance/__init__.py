"""Conformance suite of the serial protocol, one for every board: virtual, simulated, or real.

    session = meet(Host(LockStepWire(VirtualFirmware(config))), limits=config.joints, start=pulses, allowed=Need.BARE)
    for outcome in run(session): ...
    session.leave()

Each check is a rule of docs/protocol.md and a function that asks a board for it through frames alone.  Time is the board's:
what is judged are the time stamps of its answers and telemetry, so the same checks run in simulated time on a simulated board,
and in real time on a serial port.  Checks that need the board's supply and outputs in hand belong to the tests.
"""

from .check import Check, Outcome, Status
from .host import Host
from .requirements import CheckSkipped, Need, Violation
from .session import Session, meet
from .suite import CHECKS, named, run, run_one, why_not
from .wire import LockStepWire, SerialWire, Wire

__all__ = [
    "CHECKS",
    "Check",
    "Host",
    "LockStepWire",
    "Need",
    "CheckSkipped",
    "Outcome",
    "SerialWire",
    "Session",
    "Status",
    "Violation",
    "Wire",
    "meet",
    "named",
    "run",
    "run_one",
    "why_not",
]
