"""Context of a calibration step: asks a person and keeps the answers; the arm, switched on when first it has to move.

An answer that is on file already is not asked for again, one that cannot be is refused and asked again, one that is surprising
has to be typed twice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.units import LENGTH, quantity

from . import readings
from .arm_estimate import ArmEstimate
from .instruments import SensorModel, lay
from .mover import Mover
from .person import LeaveError, OpenQuestionError, Person, Question, TakenBackError
from .session import Session

Value = TypeVar("Value")

SETTLE_S = 2.5
"""A stretched shoulder comes to rest in 1.7 s."""

READING_S = 0.7
"""An Enter that comes sooner after a question about power or motion was meant for something else [s]."""


@dataclass
class StepContext:
    """Session, person and arm of a step: what it asks, notes and moves with.

    Args:
        session, person: of this run; person None: answers on file have to do.
        mover: of the arm; None: nothing moves, answers on file have to do.
        folder: for files.
        seed: of the poses to be visited.
        when: date, for the files.
        settle_s: how long the arm comes to rest before something is read [s].
        repeats: how often each link is weighed, balanced and swung.
        urdf, servos, overlay: files, for the commands that are shown; "": the picker's.
        quick: zeros and stiffness alone, from few answers.
        step: whose questions these are.
        switched: ``taken over``: outputs that ran were; ``on``: all outputs run; the same set for all steps.
        explained: what was explained already, the same set for all steps.
    """

    session: Session
    person: Person | None
    mover: Mover | None
    folder: Path
    seed: int = 0
    when: str = ""
    settle_s: float = SETTLE_S
    repeats: int = 3
    urdf: str = ""
    servos: str = ""
    overlay: str = ""
    quick: bool = False
    step: str = ""
    switched: set[str] = field(default_factory=set)
    explained: set[str] = field(default_factory=set)

    def of(self, step: str) -> StepContext:
        """Context for another step; what is switched on stays known."""
        return replace(self, step=step)

    # -- the session ---------------------------------------------------------------------------------------------------

    def known(self, key: str):
        """The answer on file; None where there is none."""
        return self.session.value(self.step, key)

    def note(self, key: str, value: Value, typed: str = "", *, fact: bool = False) -> Value:
        """Put something on file; ``fact``: see ``Session.record``."""
        self.session.record(self.step, key, value, typed, fact=fact)
        return value

    def once(self, key: str, make: Callable[[], Value], typed: str = "") -> Value:
        """What is on file, or else what ``make`` gives, put on file; ``typed``: by a person, and can be taken ``back``."""
        known = self.known(key)
        return self.note(key, make(), typed) if known is None else known

    def forget(self, key: str = "") -> None:
        """Open the questions of the step whose keys begin so again."""
        self.session.forget(self.step, key)

    # -- the person ----------------------------------------------------------------------------------------------------

    def tell(self, text: str, style: str = "") -> None:
        """Say something, where somebody listens."""
        if self.person is not None:
            self.person.tell(text, style)

    def explain(self, text: str) -> None:
        """Say what a step is about, once."""
        if text not in self.explained:
            self.explained.add(text)
            self.tell(text)

    def busy(self, text: str) -> AbstractContextManager:
        """Show that something takes its time."""
        return self._somebody(text).busy(text)

    def ask(self, key: str, text: str, words: Mapping[str, str] | None = None, about: tuple = ()) -> str:
        """Answer of a person, whatever is typed, but ``back``.

        Raises:
            OpenQuestionError: there is nobody to ask.
            TakenBackError: the last answer was taken back; the step has to be walked again.
        """
        while True:
            typed = self._somebody(text).ask(Question(self.step, key, text, words or {}, about)).strip()
            if typed.lower() != "back":
                return typed
            entry = self.session.take_back(self.step)
            if entry is not None:
                self.tell(f"taken back: {entry['key']}, {entry['typed']}", "hint")
                raise TakenBackError(entry["key"])
            self.tell(f"nothing was answered in {self.step} yet", "warning")

    def read(
        self,
        key: str,
        text: str,
        parse: Callable[[str], Value],
        *,
        words: Mapping[str, str] | None = None,
        doubt: Callable[[Value], str] = lambda _value: "",
        about: tuple = (),
    ) -> Value | str:
        """A reading: the one on file, or else what the person types, parsed.

        Args:
            parse: from what is typed to a value that JSON has; raises InputError where it cannot be.
            words: one that is typed is returned as it is, and not put on file.
            doubt: why a value is hard to believe; it has to be typed again then.
            about: see ``Question``.

        Raises:
            OpenQuestionError: not on file, and nobody to ask.
        """
        known, doubted = self.known(key), None
        while known is None:
            typed = self.ask(key, text, words, about)
            if typed.lower() in (words or {}):
                return typed.lower()
            try:
                value = parse(typed)
            except InputError as error:
                self.tell(str(error), "warning")
                continue
            why = doubt(value)
            if why and (doubted is None or not np.allclose(value, doubted, rtol=0.03, atol=0.005)):
                self.tell(f"{why}  Read again; if it is the same, type it once more.", "warning")
                doubted = value
                continue
            known = self.note(key, value, typed)
        return known

    def read_sensor(
        self,
        key: str,
        arm: ArmDescription,
        sensor: SensorModel,
        expected: float,
        within: float,
        most: float = math.inf,
        *,
        words: Mapping[str, str] | None = None,
        what: str = "",
    ) -> float | str:
        """Reading of an instrument on the arm [rad or m], or one of ``words``; doubted further than ``within`` from what is
        expected, refused further than ``most``; ``what``: before the question."""
        link = sensor.link

        def off(value: float, most: float) -> str:
            return readings.near(f"{sensor.kind} of {link}", value, expected, most, sensor.unit)

        def parse(text: str) -> float:
            value = quantity(link, text, LENGTH, "mm") if sensor.unit == "m" else readings.angle(link, text)
            refuse_if(off(value, most), off(value, most), link, value, most)
            return value

        text = f"{what}Inclinometer on {link}, {lay(arm, link).laid} [deg]?"
        if sensor.unit == "m":
            text = f"Height of {link if link == arm.tool else f'the axis of {link}'} above the mounting plane [mm]?"
        return self.read(key, text, parse, words=words, doubt=lambda value: off(value, within), about=("sensor", sensor))

    def choose(
        self, key: str, text: str, words: Mapping[str, str], *, about: tuple = (), keep: bool = True, enter: str = ""
    ) -> str:
        """Word of some that a person chooses.

        Args:
            keep: it goes on file, and is not asked again.
            enter: the word that Enter alone stands for where there was time to read the question (``READING_S``).

        Raises:
            OpenQuestionError: as for ``read``.
        """
        known = self.known(key) if keep else None
        while known is None:
            asked_s = time.monotonic()
            typed = self.ask(key, text, words, about).lower()
            typed = {"y": "yes", "n": "no"}.get(typed, typed)
            if enter and not typed:
                if time.monotonic() - asked_s < READING_S:
                    self.tell(f"that Enter came before the question can have been read: once more, or type {enter}", "warning")
                    continue
                typed = enter
            if typed == "yes" and "yes" not in words and "" in words:
                typed = ""
            if typed in words:
                known = self.note(key, typed, typed or "Enter") if keep else typed
            else:
                self.tell(f"{typed or 'Enter'} is none of: {', '.join(word or 'Enter' for word in words)}", "warning")
        return known

    def agree(self, key: str, text: str, about: tuple = ()) -> bool:
        """Whether a person says yes, now, to what powers or moves the arm.  Never on file: what was safe yesterday may not be."""
        return self.choose(key, text, {"yes": "or Enter: go on", "no": "not now"}, about=about, keep=False, enter="yes") == "yes"

    def wait_for(self, key: str, text: str, about: tuple = ()) -> None:
        """Wait until a person has done something, and says so: the arm moves then."""
        self.choose(key, text, {"yes": "or Enter: done, and the arm may move"}, about=about, keep=False, enter="yes")

    def _somebody(self, text: str) -> Person:
        if self.person is None:
            raise OpenQuestionError(f"{self.step}: not answered yet: {text}", subject=self.step)
        return self.person

    # -- the arm -------------------------------------------------------------------------------------------------------

    def arm(self, estimate: ArmEstimate) -> Mover:
        """The arm, all outputs on; asks before it switches any on, or, where all of them run, before it moves at first.

        Raises:
            OpenQuestionError: there is no arm, or nobody to ask.
            LeaveError: the person said no.
            PickerError: a fault, no link.
        """
        mover = self.port()
        if "on" not in self.switched:
            self.take_over()
            self.of("power").switch_on(mover, estimate)
            self.switched.add("on")
        return mover

    def port(self) -> Mover:
        """The arm as it is, perhaps off.

        Raises:
            OpenQuestionError: there is none.
        """
        if self.mover is None or self.person is None:
            why = "the arm has to be connected for this: give its --port, or --step for one that needs no arm (links)"
            raise OpenQuestionError(why, subject="port")
        return self.mover

    def take_over(self) -> None:
        """Take over outputs that run already; faults are told first.

        Raises:
            LeaveError: the person leaves a fault latched.
        """
        if "taken over" in self.switched:
            return
        outputs, power = self.port().outputs, self.of("power")
        if outputs.faults:
            power.tell(outputs.faults, "warning")
            text = "The board is stopped by this. Is its cause gone, and the arm safe? yes clears it; nothing moves by that."
            if not power.agree("reset", text):
                raise LeaveError("the fault stays latched; the arm holds")
            outputs.reset()
        if outputs.found_live:
            power.tell(
                f"Outputs run already and hold: {', '.join(outputs.found_live)}. They are taken over as they stand.", "hint"
            )
            outputs.adopt()
        self.switched.add("taken over")

    def switch_on(self, mover: Mover, estimate: ArmEstimate) -> None:
        """Switch on what is off, joint by joint, each after a yes; where all runs, ask before anything moves."""
        servos, off = estimate.known_servos, np.flatnonzero(~mover.live)
        if not off.size and not self.agree("move", "All outputs run, and the arm moves from here on. Are hands out of it?"):
            raise LeaveError("nothing was moved; the arm holds")
        if off.size:
            self.tell(
                "The servos have no power yet: each one jumps to its rest pose when its output starts.\nPut the arm at its rest "
                "pose, folded, as near as you can, on a box or against something. Keep the switch of the servo supply at hand.\n"
                "The joints are switched on one after the other; keep hands out of the arm from here on. Ctrl-C stops it at any "
                "time.",
                "warning",
            )
        pulses = servos.quantise_us(servos.to_pulse_us(servos.clamp(servos.rest)))
        for joint in map(int, off):
            name, at = servos.joint_names[joint], readings.position(servos.rest[joint], servos.servos[joint].slides, "+.0f")
            if not self.agree(f"on.{name}", f"Switch {name} on, at its rest pose ({at}, {pulses[joint]:.0f} us)?"):
                raise LeaveError(f"{name} is off; what is on holds")
            mover.outputs.switch_on(joint, float(pulses[joint]))
            mover.outputs.wait(min(0.5, self.settle_s))

    def require_sound(self) -> None:
        """Raise where the board stopped or is gone while a person read."""
        if self.mover is not None and "on" in self.switched:
            self.mover.outputs.wait(0.0)

    def leave(self) -> None:
        """Leave the arm at the end: it holds, or is switched off if the person says so."""
        if self.mover is None or "on" not in self.switched:
            return
        words = {"": "it holds", "off": "all outputs off, I support it"}
        text = "The arm holds. Leave it so, or switch it off? It falls then: support it first."
        if self.of("power").choose("leave", text, words, keep=False) == "off":
            self.mover.outputs.switch_off()

    def command(self, name: str, overlay: str) -> str:
        """A ``picker`` command for this arm, with files as they were given."""
        files = {"--urdf": self.urdf, "--servos": self.servos, "--servo-overlay": overlay}
        return " ".join([f"picker {name}", *(f"{option} {value}" for option, value in files.items() if value)])
