"""Examination of a board: facts, oscillator, conformance checks; the outputs are left as they were found."""

from __future__ import annotations

import sys

from picker_dynamics.board.conformance import CHECKS, Host, Need, SerialWire, Status, meet, named, run
from picker_dynamics.board.doctor_report import LinkFigures, Patient, Potentiometer, Report, estimate, line, table
from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.protocol import pulse_units
from picker_dynamics.errors import InputError
from picker_dynamics.robot import servo_arm

from .terminal import agreed

WATCH_US = 2_000_000
"""How long the wire is watched before the checks [us]."""


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
        self.pot = Potentiometer.parse(options.pot) if options.pot else None
        if self.pot is not None and self.pot.joint not in self.servos.joint_names:
            joint = self.pot.joint
            raise InputError(f"there is no joint {joint}, only {' '.join(self.servos.joint_names)}", subject=joint, value=joint)

    def tell(self, text: str) -> None:
        """Say something to whoever watches."""
        print(text, file=sys.stderr if self.options.json else sys.stdout, flush=True)

    def run(self) -> Report:
        """Examine the board; the report, also where a person interrupted.

        Raises:
            LinkError: no such port, busy, silent, gone.
            VersionError: the board speaks another protocol version.
            InputError: nobody agreed to what moves.
        """
        wire = SerialWire(self.options.port, self.options.baud)
        try:
            return self._examine(Host(wire))
        finally:
            wire.close()

    def _examine(self, host: Host) -> Report:
        options, servos = self.options, self.servos
        allowed = Need.BARE if options.bare else Need.MOTION if options.motion else Need.WIRE
        begin_us = host.wire.now_us
        limits = board_limits(servos)
        rest = tuple(pulse_units(pulse) for pulse in servos.to_pulse_us(servos.rest).tolist())
        session = meet(host, limits=limits, start=rest, allowed=allowed)
        host.keep_alive = True
        host.listen(WATCH_US)
        host.keep_alive = session.watched
        figures = LinkFigures.of(session, 1e-6 * (host.wire.now_us - begin_us))
        patient = Patient(options.port, options.baud, session, servos.joint_names, limits, figures)
        report = Report(patient, oscillator=self._oscillator(session))
        self.tell(f"board on {options.port}\n{table([*patient.facts(), ('oscillator', report.oscillator_text())])}")
        if session.allowed > Need.WIRE and any(one.need > Need.WIRE for one in self.checks):
            self.tell(self._warning(patient))
            if not options.yes and not agreed("Type yes to go on: ", self._ask):
                raise InputError("nothing was moved: nobody agreed (--yes agrees in advance)", subject="yes")
        self._check(session, report)
        report.drift_ppm = round(1e6 * host.clock.drift, 1)
        self.tell(f"clock in the end: {report.drift_ppm:+.0f} ppm against this machine")
        return report

    def _check(self, session, report) -> None:
        """Run the suite, and leave the outputs as they were found, whatever happens."""

        def note(outcome) -> None:
            report.outcomes.append(outcome)
            if outcome.status is not Status.SKIPPED or session.allowed >= outcome.check.need:
                self.tell(line(outcome))

        try:
            run(session, self.checks, note)
        except KeyboardInterrupt:
            report.interrupted = True
            self.tell("interrupted: the outputs are brought back to where they were found (Ctrl-C again: leave them)")
        self._leave(session, report)

    def _leave(self, session, report) -> None:
        touched = session.touched
        try:
            session.leave(hurry=report.interrupted)
            if touched:
                now, found = session.host.fresh(), session.found
                report.left_as_found = (now.live, now.pulses) == (found.live, found.pulses)
                if not report.left_as_found:
                    self.tell(f"the outputs are now live {now.live:#x} at {now.pulses}, not as found: {found.pulses}")
        except KeyboardInterrupt:
            report.interrupted, report.left_as_found = True, False
            self.tell("left as it is: the board holds what it drives")

    def _oscillator(self, session):
        """An estimate of the oscillator's frequency, or why there is none."""
        if not session.keeps_outputs:
            return "none: timer-driven pins go by the board's clock"
        if (pot := self.pot) is None:
            return "not measured (--pot takes a potentiometer's readings at two exact pulses)"
        index = self.servos.joint_names.index(pot.joint)
        if index >= session.n or session.found.feedback[index] is None:
            return f"not measured: the board reads no potentiometer at {pot.joint}"
        servo = self.servos.servos[index]
        found = estimate(pot, index, session.host.telemetry, self.servos.oscillator_hz, servo.deadband_us)
        return found or f"not measured: the output of {pot.joint} is off, or it did not stand still"

    def _warning(self, patient) -> str:
        session = patient.session
        if self.options.bare:
            return (
                "The outputs will be switched on and off and driven through their whole range, fast: NO SERVO MAY BE CONNECTED."
            )
        live, off = session.found.live & session.usable, session.usable & ~session.found.live
        lines = ["Joints will move by up to 43 us of pulse (about 4 degrees), slowly. Hands away."]
        if live:
            lines.append(f"  from where they stand now: {patient.names(live)}")
        if off:
            pulses = ", ".join(
                f"{patient.name(joint)} {session.start[joint] / 8:g}" for joint in range(session.n) if off >> joint & 1
            )
            lines.append(f"  switched on at the rest pose, where the arm has to stand now: {pulses} us; afterwards off again")
        if session.all & ~session.usable:
            lines.append(f"  left alone, for their pulses are outside the limits: {patient.names(session.all & ~session.usable)}")
        return "\n".join(lines)
