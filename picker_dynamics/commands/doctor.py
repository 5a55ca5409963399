"""``picker doctor --port /dev/ttyUSB0``: checks a real board against the protocol.

    facts           who the board is, whether it was flashed for this arm, what is latched, how well the wire does
    checks          rules of the protocol: first what moves nothing; with ``--motion`` also joints, a little and slowly

A board that keeps the protocol moves nothing before somebody has agreed, and the outputs are left as they were found.
"""

from __future__ import annotations

import json

from . import options as shared
from .terminal import INTERRUPTED, interruptible

NOT_CONFORMING = 15
"""Exit code: the board answers, but a check failed, or it was flashed for another arm."""


def add_parser(commands) -> None:
    """Register ``doctor``."""
    doctor = commands.add_parser("doctor", help="look at a board, and check that it keeps the protocol")
    shared.add(doctor, "--port", required=True, default=None)
    shared.add(doctor, "--baud", "--urdf", "--servos", "--servo-overlay")
    doctor.add_argument("--motion", action="store_true", help="also checks that move the joints: up to 43 us of pulse, slowly")
    doctor.add_argument("--yes", action="store_true", help="do not ask before something moves")
    doctor.add_argument("--check", action="append", metavar="NAME", help="make only this check; may be repeated")
    shared.add(doctor, "--json", help="print JSON; what happens goes to standard error")
    doctor.set_defaults(run=run)


def run(options, *, ask=None) -> int:
    """Examine the board that the options name.

    Args:
        options: from :func:`add_parser`.
        ask: how a person is asked, default ``input``.

    Returns:
        Exit code: 0, 15 where something is wrong with the board, 130 where a person interrupted.

    Raises:
        LinkError: no such port, busy, silent, gone.
        VersionError: the board speaks another protocol version.
        PickerError: a file or value that cannot be used.
    """
    from picker_dynamics.board.doctor_report import verdict

    from .examination import Examination

    examination = Examination(options, ask)
    with interruptible():
        report = examination.run()
    if options.json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
    examination.tell(verdict(report))
    return INTERRUPTED if report["interrupted"] else 0 if report["passed"] else NOT_CONFORMING
