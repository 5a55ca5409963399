"""``picker doctor --port /dev/ttyUSB0``: checks a real board against the protocol.

    facts           who the board is, whether it was flashed for this arm, what is latched, how well the wire does
    checks          rules of the protocol: first what moves nothing; with ``--motion`` also joints, a little and slowly

A board that keeps the protocol moves nothing before somebody has agreed, and the outputs are left as they were found.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import Any

from picker_dynamics.board.doctor_checks import CHECKS, SKIPPED, named, run_one
from picker_dynamics.board.doctor_report import findings, line, passed, table, verdict
from picker_dynamics.board.doctor_session import DoctorSession
from picker_dynamics.board.link import Link
from picker_dynamics.errors import InputError
from picker_dynamics.robot import servo_arm

from . import options as shared
from .terminal import INTERRUPTED, agreed

NOT_CONFORMING = 15
"""Exit code: the board answers, but a check failed, or it was flashed for another arm."""

WATCH_S = 2.0
"""How long the wire is watched before the checks [s]."""


def add_parser(commands) -> None:
    """Register ``doctor``."""
    doctor = commands.add_parser("doctor", help="check a board: wiring, firmware and protocol")
    shared.add(doctor, "--port", required=True, default=None)
    shared.add(doctor, "--baud", "--urdf", "--servos", "--servo-overlay")
    doctor.add_argument(
        "--motion", action="store_true", help="also run checks that move the joints slowly, by up to 43 us of pulse"
    )
    doctor.add_argument("--yes", action="store_true", help="move without asking")
    doctor.add_argument("--check", action="append", metavar="NAME", help="run only this check; repeatable")
    shared.add(doctor, "--json", help="print JSON; messages go to standard error")


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
        PickerError: a file or value that cannot be used; nobody agreed to what moves.
    """

    def tell(text: str) -> None:
        print(text, file=sys.stderr if options.json else sys.stdout, flush=True)

    _, servos = servo_arm.load(options.urdf, options.servos, options.servo_overlay)
    checks = tuple(map(named, options.check)) if options.check else CHECKS
    with closing(Link(options.port, baud=options.baud, joint_names=servos.joint_names)) as link:
        session = DoctorSession(link, servos, options.motion)
        session.watch(WATCH_S)
        report = {**findings(session), "checks": [], "left_as_found": None, "interrupted": False}
        tell(f"board on {options.port}\n{table(findings(session))}")
        if session.may_move and any(one.moves for one in checks):
            tell(_warning(session))
            if not options.yes and not agreed("Type yes to continue: ", ask):
                raise InputError("nothing was moved: not confirmed (--yes confirms in advance)", "yes")
        _check(session, checks, report, tell)
        report["drift_ppm"] = round(link.statistics.drift_ppm, 1)
    report["passed"] = passed(report)
    if options.json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
    tell(verdict(report))
    return INTERRUPTED if report["interrupted"] else 0 if report["passed"] else NOT_CONFORMING


def _check(session: DoctorSession, checks, report: dict[str, Any], tell) -> None:
    """Run the checks, and leave the outputs as they were found, whatever happens."""
    try:
        for check in checks:
            outcome = run_one(session, check)
            report["checks"].append(outcome)
            if outcome["status"] != SKIPPED or session.may_move or not check.moves:
                tell(line(outcome))
    except KeyboardInterrupt:
        report["interrupted"] = True
        tell("interrupted: the outputs are brought back to where they were found (Ctrl-C again: leave them)")
    touched = session.touched
    session.leave(hurry=report["interrupted"])
    if touched:
        now, found = session.fresh(), session.found
        report["left_as_found"] = (now.live, now.pulses) == (found.live, found.pulses)


def _warning(session: DoctorSession) -> str:
    live, off = session.found.live & session.usable, session.usable & ~session.found.live
    lines = ["Joints will move by up to 43 us of pulse (about 4 degrees), slowly. Hands away."]
    if live:
        lines.append(f"  from where they stand now: {session.names(live)}")
    if off:
        pulses = ", ".join(f"{session.names(1 << j)} {session.start[j] / 8:g}" for j in session.joints if off >> j & 1)
        lines.append(f"  switched on at the rest pose, where the arm has to stand now: {pulses} us; afterwards off again")
    return "\n".join(lines)
