"""Conformance suite of the serial protocol, for the simulated boards: the virtual one, and the real firmware on a simulated Uno.

    session = meet(Host(board), limits=config.joints, start=pulses)
    for outcome in run(session): ...

Each check is a rule of docs/protocol.md and a function that asks a board for it through frames.  Time is simulated; what
counts are the time stamps of answers and telemetry.  Each check is tried on a firmware that breaks its rule (``mutants``).
"""

from .host import Host
from .session import Session, meet
from .suite import CHECKS, Status, run

__all__ = ["CHECKS", "Host", "Session", "Status", "meet", "run"]
