"""``picker doctor --port /dev/ttyUSB0``: does a real board do what the protocol's page says?

    facts           who the board is, whether it was flashed for this arm, what is latched, how well the wire does
    checks          the conformance suite: first what moves nothing; with ``--motion`` also joints, a little and slowly;
                    with ``--bare`` everything, for a board to which no servo is connected

Nothing moves before somebody has agreed, and the outputs are left as they were found.
"""

from __future__ import annotations

import json
import sys

from picker_dynamics.errors import InputError

from .interrupt import interruptible

NOT_CONFORMING = 15
"""Exit code: the board answers, but a check failed, or it was flashed for another arm."""
INTERRUPTED = 130
WATCH_US = 2_000_000
"""How long the wire is watched before the checks [us]."""


def add_parser(commands) -> None:
    """Register ``doctor`` with an argparse sub-parser group; imports nothing heavy."""
    doctor = commands.add_parser("doctor", help="look at a board, and check that it keeps the protocol")
    doctor.add_argument("--port", required=True, help="serial port of the board, for example /dev/ttyACM0")
    doctor.add_argument("--baud", type=int, default=500_000, help="speed of the serial line (default 500000)")
    doctor.add_argument("--urdf", default="", help="URDF of the arm (default: the picker's)")
    doctor.add_argument("--servos", default="", help="servo map (default: config/servos.yaml)")
    doctor.add_argument("--servo-overlay", default="", help="file with differences from the servo map, for example a calibration")
    how = doctor.add_mutually_exclusive_group()
    how.add_argument("--motion", action="store_true", help="also checks that move the joints: up to 43 us of pulse, slowly")
    how.add_argument("--bare", action="store_true", help="all checks, fast ones too: no servo may be connected")
    doctor.add_argument("--yes", action="store_true", help="do not ask before something moves")
    doctor.add_argument(
        "--pot",
        default="",
        metavar="JOINT=RAW@US,RAW@US",
        help="what a joint's potentiometer reads at two exact pulses: estimates the PCA9685's oscillator",
    )
    doctor.add_argument("--check", action="append", metavar="NAME", help="make only this check; may be repeated")
    doctor.add_argument("--json", action="store_true", help="print JSON; what happens goes to standard error")
    doctor.set_defaults(run=run)


def run(options, *, ask=input) -> int:
    """Examine the board that the options name.

    Args:
        options: from :func:`add_parser`.
        ask: how a person is asked.

    Returns:
        Exit code: 0, 15 where something is wrong with the board, 130 where a person interrupted.

    Raises:
        LinkError: no such port, busy, silent, gone.
        VersionError: the board speaks another protocol version.
        PickerError: a file or value that cannot be used.
    """
    from picker_dynamics.board.conformance import CHECKS, named
    from picker_dynamics.board.doctor_report import Potentiometer
    from picker_dynamics.resources import resource
    from picker_dynamics.robot import description, servo_map

    arm = description.load(options.urdf or resource("urdf/picker.urdf"))
    servos = servo_map.load(options.servos or resource("config/servos.yaml"), arm.joint_names, options.servo_overlay or None)
    checks = tuple(map(named, options.check)) if options.check else CHECKS
    pot = Potentiometer.parse(options.pot) if options.pot else None
    if pot is not None and pot.joint not in servos.joint_names:
        raise InputError(
            f"there is no joint {pot.joint}, only {' '.join(servos.joint_names)}", subject=pot.joint, value=pot.joint
        )
    doctor = Doctor(servos, options, checks, ask)
    with interruptible():
        report = doctor.examine(pot)
    if options.json:
        print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False))
    doctor.tell(report.verdict())
    return INTERRUPTED if report.interrupted else 0 if report.passed else NOT_CONFORMING


class Doctor:
    """One examination.

    Args:
        servos: servo map of the arm that the board should be for.
        options: from the command line.
        checks: to be made.
        ask: how a person is asked.
    """

    def __init__(self, servos, options, checks, ask):
        self.servos, self.options, self.checks, self._ask = servos, options, checks, ask

    def tell(self, text: str) -> None:
        """Say something to whoever watches."""
        print(text, file=sys.stderr if self.options.json else sys.stdout, flush=True)

    def examine(self, pot):
        """All of it; the report, also where a person interrupted.

        Raises:
            LinkError, VersionError: see :func:`run`.
        """
        from picker_dynamics.board.conformance import Host, SerialWire

        wire = SerialWire(self.options.port, self.options.baud)
        try:
            return self._examine(Host(wire), pot)
        finally:
            wire.close()

    def _examine(self, host, pot):
        from picker_dynamics.board.conformance import Need, meet
        from picker_dynamics.board.doctor_report import LinkFigures, Patient, Report, table
        from picker_dynamics.board.firmware.config import board_limits
        from picker_dynamics.board.protocol import pulse_units

        allowed = Need.BARE if self.options.bare else Need.MOTION if self.options.motion else Need.WIRE
        begin_us = host.wire.now_us
        limits = board_limits(self.servos)
        rest = tuple(pulse_units(pulse) for pulse in self.servos.to_pulse_us(self.servos.rest).tolist())
        session = meet(host, limits=limits, start=rest, allowed=allowed)
        host.keep_alive = True
        host.listen(WATCH_US)
        host.keep_alive = session.watched
        figures = LinkFigures.of(session, 1e-6 * (host.wire.now_us - begin_us))
        patient = Patient(self.options.port, self.options.baud, session, self.servos.joint_names, limits, figures)
        report = Report(patient, oscillator=self._oscillator(session, pot))
        self.tell(f"board on {self.options.port}\n{table([*patient.facts(), ('oscillator', report.oscillator_text())])}")
        if session.allowed > Need.WIRE and any(one.need > Need.WIRE for one in self.checks):
            self._agree(patient)
        self._check(session, report)
        report.drift_ppm = round(1e6 * host.clock.drift, 1)
        self.tell(f"clock in the end: {report.drift_ppm:+.0f} ppm against this machine")
        return report

    def _check(self, session, report) -> None:
        """Run the suite, and leave the outputs as they were found, whatever happens."""
        from picker_dynamics.board.conformance import Status, run
        from picker_dynamics.board.doctor_report import line

        def note(outcome) -> None:
            report.outcomes.append(outcome)
            if outcome.status is not Status.SKIPPED or session.allowed >= outcome.check.need:
                self.tell(line(outcome))

        try:
            run(session, (one for one in self.checks if not one.owned and not one.exact), note)
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

    def _oscillator(self, session, pot):
        """An estimate of the oscillator's frequency, or why there is none."""
        from picker_dynamics.board.doctor_report import estimate

        if not session.keeps_outputs:
            return "none: timer-driven pins go by the board's clock"
        if pot is None:
            return "not measured (--pot takes a potentiometer's readings at two exact pulses)"
        index = self.servos.joint_names.index(pot.joint)
        if index >= session.n or session.found.feedback[index] is None:
            return f"not measured: the board reads no potentiometer at {pot.joint}"
        servo = self.servos.servos[index]
        found = estimate(pot, index, session.host.telemetry, self.servos.oscillator_hz, servo.deadband_us)
        return found or f"not measured: the output of {pot.joint} is off, or it did not stand still"

    def _agree(self, patient) -> None:
        """Say what will move, and let a person agree.

        Raises:
            InputError: nobody did.
        """
        self.tell(self._warning(patient))
        if self.options.yes:
            return
        try:
            answer = self._ask("Type yes to go on: ")
        except EOFError:
            answer = ""
        if answer.strip().lower() != "yes":
            raise InputError("nothing was moved: nobody agreed (--yes agrees in advance)", subject="yes", value=answer)

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
