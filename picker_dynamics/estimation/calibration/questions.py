"""Questions of a calibration: asked of a person, at a terminal or simulated, or answered from the session's file.

An answer that is on file is not asked for again, one that cannot be is refused and asked again, one that is surprising has to be
typed twice.
"""

from __future__ import annotations

import math
import sys
import termios
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from picker_dynamics.errors import InputError, PickerError, refuse_if
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told

from . import readings
from .arm_estimate import ArmEstimate
from .mover import Mover
from .session import Session

Value = TypeVar("Value")

SETTLE_S = 2.5
"""A stretched shoulder comes to rest in 1.7 s."""

STYLES = {"": "", "title": "bold", "hint": "dim", "warning": "yellow", "good": "green"}


@dataclass(frozen=True)
class Question:
    """Question that a person is asked.

    Args:
        key: of the session.
        text: for the person.
        words: that may be typed in place of a value, each with what it does.
        about: what a simulated person does or reads (``rehearsal.SimulatedPerson``): its name, and with what.
    """

    key: str
    text: str
    words: Mapping[str, str] = field(default_factory=dict)
    about: tuple[Any, ...] = ()


class Person(Protocol):
    """Whoever answers: somebody at a terminal, or simulated."""

    def ask(self, question: Question) -> str: ...
    def tell(self, text: str, style: str = "") -> None: ...


class OpenQuestionError(InputError):
    """A question that is not answered yet, where nobody is to be asked."""


class TakenBackError(PickerError):
    """The last answer is open again: the step has to be walked again."""


class LeaveError(PickerError):
    """A person wants to go on another time; what was answered is kept."""

    exit_code = 0


class Terminal:
    """A person at a terminal."""

    def __init__(self, console: Any, read: Callable[[str], str] = input):
        self.console, self._read = console, read

    def ask(self, question: Question) -> str:
        """Show the question, and read a line; what was typed while the arm moved answers no question that came later.

        Raises:
            OpenQuestionError: there is nobody: the input has ended.
        """
        self.tell(question.text, "title")
        if question.words:
            self.tell("  " + "   ".join(f"{word}: {what}" for word, what in question.words.items()), "hint")
        if sys.stdin.isatty():
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        try:
            return self._read("> ")
        except EOFError as error:
            why = "the input has ended; what was answered is kept: run the same command to continue"
            raise OpenQuestionError(why, "input") from error

    def tell(self, text: str, style: str = "") -> None:
        """Print it, on a line of its own."""
        self.console.print(text, style=STYLES[style], highlight=False, markup=False, soft_wrap=True)


@dataclass
class Context:
    """Session, person and arm of the steps: what they ask, note and move with.

    Args:
        session, person: of this run; person None: answers on file have to do.
        mover: of the arm; None: nothing moves, answers on file have to do.
        seed: of the poses to be visited.
        when: date, for the files.
        settle_s: how long the arm comes to rest before something is read [s].
        files: ``urdf``, ``servos`` and ``servo-overlay`` as given, for the commands that are shown; "": the picker's.
        step: whose questions these are.
        on: all outputs run, and the person knows that the arm moves.
    """

    session: Session
    person: Person | None
    mover: Mover | None
    seed: int = 0
    when: str = ""
    settle_s: float = SETTLE_S
    files: Mapping[str, str] = field(default_factory=dict)
    step: str = ""
    on: bool = False

    @property
    def folder(self) -> Path:
        """Folder of all files."""
        return self.session.path.parent

    # -- the session ---------------------------------------------------------------------------------------------------

    def known(self, key: str) -> Any:
        """The answer on file; None where there is none."""
        return self.session.value(self.step, key)

    def note(self, key: str, value: Value, typed: str = "") -> Value:
        """Put something on file; ``typed``: by a person, and can be taken ``back``."""
        self.session.record(self.step, key, value, typed)
        return value

    def forget(self, key: str = "") -> None:
        """Open the questions of the step whose keys begin so again."""
        self.session.forget(self.step, key)

    # -- the person ----------------------------------------------------------------------------------------------------

    def tell(self, text: str, style: str = "") -> None:
        """Say something, where somebody listens."""
        if self.person is not None:
            self.person.tell(text, style)

    def ask(self, key: str, text: str, words: Mapping[str, str] | None = None, about: tuple[Any, ...] = ()) -> str:
        """Answer of a person, whatever is typed, but ``back``.

        Raises:
            OpenQuestionError: there is nobody to ask.
            TakenBackError: the last answer was taken back; the step has to be walked again.
        """
        if self.person is None:
            raise OpenQuestionError(f"{self.step}: not answered yet: {text}", self.step)
        while (typed := self.person.ask(Question(key, text, words or {}, about)).strip()).lower() == "back":
            if (entry := self.session.take_back(self.step)) is not None:
                self.tell(f"taken back: {entry['key']}, {entry['typed']}", "hint")
                raise TakenBackError(entry["key"])
            self.tell(f"nothing was answered in {self.step} yet", "warning")
        return typed

    def read(
        self,
        key: str,
        text: str,
        what: str,
        unit: str,
        low: float,
        high: float,
        *,
        expected: float = 0.0,
        within: float = math.inf,
        most: float = math.inf,
        words: Mapping[str, str] | None = None,
        about: tuple[Any, ...] = (),
    ) -> float | str:
        """A reading in SI units: the one on file, or else what the person types (``readings.reading``).

        Args:
            what: is read, for messages.
            unit, low, high: that the question names, and what can be.
            expected, within, most: a reading further than ``within`` from it has to be typed twice; further than ``most`` it is
                refused.
            words: one that is typed is returned as it is, and not put on file.
            about: see ``Question``.

        Raises:
            OpenQuestionError: not on file, and nobody to ask.
        """
        known: float | str | None = self.known(key)
        doubted = None
        while known is None:
            typed = self.ask(key, f"{text} [{unit}]?", words, about)
            if typed.lower() in (words or {}):
                return typed.lower()
            try:
                value = readings.reading(what, typed, unit, low, high)
                impossible = readings.doubt(what, value, expected, most, unit)
                refuse_if(impossible, impossible, what, value, most)
            except InputError as error:
                self.tell(str(error), "warning")
                continue
            why = readings.doubt(what, value, expected, within, unit)
            if why and (doubted is None or not np.allclose(value, doubted, rtol=0.03, atol=0.005)):
                self.tell(f"{why}  Read again; if it is the same, type it once more.", "warning")
                doubted = value
                continue
            known = self.note(key, value, typed)
        return known

    def agree(self, key: str, text: str, otherwise: str) -> None:
        """Have a person type yes, now, to what powers or moves the arm.  Never on file: what was safe yesterday may not be.

        Raises:
            LeaveError: the person says no; ``otherwise``: how the arm is then.
        """
        words = {"yes": "go on", "no": "not now"}
        while (typed := self.ask(key, text, words).lower()) not in ("yes", "y"):
            if typed in ("no", "n"):
                raise LeaveError(f"{otherwise}; run the same command to continue")
            self.tell(f"type one of these, not {typed or 'Enter'}: yes, no", "warning")

    # -- the arm -------------------------------------------------------------------------------------------------------

    def arm(self, estimate: ArmEstimate) -> Mover:
        """The arm, all outputs on; asks before it clears a fault, switches one on, or, where all run, before it moves at first.

        Raises:
            OpenQuestionError: there is no arm, or nobody to ask.
            LeaveError: the person said no.
            PickerError: a fault, no link.
        """
        if self.mover is None or self.person is None:
            raise OpenQuestionError("the arm has to be connected for this: give its --port", "port")
        if not self.on:
            self._switch_on(self.mover, estimate.known_servos)
            self.take_off()
            self.on = True
        return self.mover

    def _switch_on(self, mover: Mover, servos: ServoMap) -> None:
        """Take over outputs that run; switch on what is off, joint by joint, each after a yes."""
        if mover.faults:
            text = f"The board is stopped: {mover.faults}. Is the cause gone, and the arm safe? yes clears it; nothing moves."
            self.agree("reset", text, "the fault stays latched; the arm holds")
            mover.reset()
        off = np.flatnonzero(~mover.live)
        if off.size < servos.n:
            self.tell("Outputs run already and hold. They are taken over as they stand.", "hint")
            mover.adopt()
        if not off.size:
            text = "All outputs run, and the arm moves from here on. Are hands out of it?"
            self.agree("move", text, "nothing was moved; the arm holds")
            return
        self.tell(
            "The servos have no power yet: each one jumps to its rest pose when its output starts.\nPut the arm at its rest "
            "pose, folded, as near as you can, on a box or against something. Keep the switch of the servo supply at hand.\n"
            "The joints are switched on one after the other; keep hands out of the arm from here on. Ctrl-C stops it at any "
            "time.",
            "warning",
        )
        pulses = servos.quantise_us(servos.to_pulse_us(servos.clamp(servos.rest)))
        for joint in map(int, off):
            name, at = servos.joint_names[joint], told(servos.rest[joint], servos.servos[joint].position_unit)
            text = f"Switch {name} on, at its rest pose ({at}, {pulses[joint]:.0f} us)?"
            self.agree(f"on.{name}", text, f"{name} is off; what is on holds")
            mover.switch_on(joint, float(pulses[joint]))
            mover.wait(min(0.5, self.settle_s))

    @property
    def hanging(self) -> list[float] | None:
        """Weight that hangs on the arm, mass [kg] and place [m], None: none; no step forgets it."""
        hanging: list[float] | None = self.session.value("arm", "hanging")
        return hanging

    def take_off(self) -> None:
        """Have the weight taken off that hangs there, if any."""
        if self.hanging:
            text = "Take the weight off, gently. Does nothing hang there, and are hands away again?"
            self.agree("take", text, "the arm holds")
            self.session.forget("arm")
