"""Examination of a board: facts, checks; the outputs are left as they were found."""

from __future__ import annotations

import sys
from typing import Any

from picker_dynamics.board.doctor_checks import CHECKS, SKIPPED, named, run_one
from picker_dynamics.board.doctor_report import findings, line, passed, table
from picker_dynamics.board.doctor_session import DoctorSession
from picker_dynamics.board.link import Link
from picker_dynamics.errors import InputError
from picker_dynamics.robot import servo_arm

from .terminal import agreed

WATCH_S = 2.0
"""How long the wire is watched before the checks [s]."""


class Examination:
    """One examination of the board that options of ``picker doctor`` name.

    Args:
        options: from the command line.
        ask: how a person is asked; None: ``input``.

    Raises:
        PickerError: a file or value that cannot be used.
    """

    def __init__(self, options, ask=None):
        self.options, self._ask = options, ask
        _, self.servos = servo_arm.load(options.urdf, options.servos, options.servo_overlay)
        self.checks = tuple(map(named, options.check)) if options.check else CHECKS

    def tell(self, text: str) -> None:
        """Say something to whoever watches."""
        print(text, file=sys.stderr if self.options.json else sys.stdout, flush=True)

    def run(self) -> dict[str, Any]:
        """Examine the board; the report, ready for JSON, also where a person interrupted.

        Raises:
            LinkError: no such port, busy, silent, gone.
            VersionError: the board speaks another protocol version.
            InputError: nobody agreed to what moves.
        """
        options = self.options
        link = Link(options.port, baud=options.baud, joint_names=self.servos.joint_names)
        try:
            return self._examine(link)
        finally:
            link.close()

    def _examine(self, link: Link) -> dict[str, Any]:
        options = self.options
        session = DoctorSession(link, self.servos, options.motion)
        session.watch(WATCH_S)
        report = {**findings(session), "checks": [], "left_as_found": None, "interrupted": False}
        self.tell(f"board on {options.port}\n{table(findings(session))}")
        if session.may_move and any(one.moves for one in self.checks):
            self.tell(self._warning(session))
            if not options.yes and not agreed("Type yes to go on: ", self._ask):
                raise InputError("nothing was moved: nobody agreed (--yes agrees in advance)", subject="yes")
        self._check(session, report)
        report["drift_ppm"] = round(link.statistics.drift_ppm, 1)
        report["passed"] = passed(report)
        self.tell(f"clock in the end: {report['drift_ppm']:+.0f} ppm against this machine")
        return report

    def _check(self, session, report) -> None:
        """Run the suite, and leave the outputs as they were found, whatever happens."""
        try:
            for check in self.checks:
                outcome = run_one(session, check)
                report["checks"].append(outcome)
                if outcome["status"] != SKIPPED or session.may_move or not check.moves:
                    self.tell(line(outcome))
        except KeyboardInterrupt:
            report["interrupted"] = True
            self.tell("interrupted: the outputs are brought back to where they were found (Ctrl-C again: leave them)")
        self._leave(session, report)

    def _leave(self, session, report) -> None:
        touched = session.touched
        try:
            session.leave(hurry=report["interrupted"])
            if touched:
                now, found = session.fresh(), session.found
                report["left_as_found"] = (now.live, now.pulses) == (found.live, found.pulses)
                if not report["left_as_found"]:
                    self.tell(f"the outputs are now live {now.live:#x} at {now.pulses}, not as found: {found.pulses}")
        except KeyboardInterrupt:
            report["interrupted"], report["left_as_found"] = True, False
            self.tell("left as it is: the board holds what it drives")

    def _warning(self, session) -> str:
        live, off = session.found.live & session.usable, session.usable & ~session.found.live
        lines = ["Joints will move by up to 43 us of pulse (about 4 degrees), slowly. Hands away."]
        if live:
            lines.append(f"  from where they stand now: {session.names(live)}")
        if off:
            pulses = ", ".join(f"{session.names(1 << j)} {session.start[j] / 8:g}" for j in session.joints if off >> j & 1)
            lines.append(f"  switched on at the rest pose, where the arm has to stand now: {pulses} us; afterwards off again")
        if session.all & ~session.usable:
            lines.append(f"  left alone, for their pulses are outside the limits: {session.names(session.all & ~session.usable)}")
        return "\n".join(lines)
