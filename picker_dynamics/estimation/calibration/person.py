"""Questions and answers of a session: the person who is asked, at a terminal or simulated, and the guide who asks.

``Guide`` stands between a step and the person: an answer that is on file already is not asked for again, one that cannot be
is refused and asked again, one that is surprising has to be typed twice.
"""

from __future__ import annotations

import sys
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from picker_dynamics.errors import InputError, PickerError

from .session import Session

Value = TypeVar("Value")


@dataclass(frozen=True)
class Question:
    """Question that a person is asked.

    Args:
        step, key: of the session.
        text: for the person.
        words: that may be typed in place of a value, each with what it does; "" is Enter alone.
        about: what a simulated person has to know: joint, link, point …
    """

    step: str
    key: str
    text: str
    words: tuple[tuple[str, str], ...] = ()
    about: tuple = ()


class OpenQuestionError(InputError):
    """A question that is not answered yet, where nobody is to be asked."""


class TakenBackError(PickerError):
    """The last answer is open again: the step has to be walked again."""


BACK = "back"
"""Typed at any question: the last answer was wrong."""

READING_S = 0.7
"""An Enter that comes sooner after a question about power or motion was meant for something else [s]."""


class Guide:
    """Asks a person, and keeps the session.

    Args:
        session: where answers go.
        person: who is asked: a ``Terminal``, or one with the same methods; None: nobody, answers on file have to do.
        step: of the session.
    """

    def __init__(self, session: Session, person, step: str):
        self.session, self.person, self.step = session, person, step

    def tell(self, text: str, style: str = "") -> None:
        """Say something, where somebody listens."""
        if self.person is not None:
            self.person.tell(text, style)

    def explain(self, text: str) -> None:
        """Say what a step is about, once."""
        if self.person is not None and text not in self.session.explained:
            self.session.explained.add(text)
            self.tell(text)

    def busy(self, text: str) -> AbstractContextManager:
        """Show that something takes its time."""
        return self._somebody(text).busy(text)

    def known(self, key: str):
        """The answer on file; None where there is none."""
        return self.session.value(self.step, key)

    def note(self, key: str, value, typed: str = "", *, fact: bool = False) -> None:
        """Put something on file that nobody typed; ``fact``: see ``Session.record``."""
        self.session.record(self.step, key, value, typed, fact=fact)

    def forget(self, key: str = "") -> None:
        """Forget answers of the step: questions whose keys begin so are open again."""
        self.session.forget(self.step, key)

    def ask(self, key: str, text: str, words: Sequence[tuple[str, str]] = (), about: tuple = ()) -> str:
        """Answer of a person, whatever is typed."""
        return self._somebody(text).ask(Question(self.step, key, text, tuple(words), about)).strip()

    def read(
        self,
        key: str,
        text: str,
        parse: Callable[[str], Value],
        *,
        words: Sequence[tuple[str, str]] = (),
        doubt: Callable[[Value], str] = lambda _value: "",
        about: tuple = (),
    ) -> Value | str:
        """A reading: the one on file, or else what the person types, parsed.

        Args:
            parse: from what is typed to a value that JSON has; raises InputError where it cannot be.
            words: see ``Question``; one that is typed is returned as it is, and not put on file.
            doubt: why a value is hard to believe; it has to be typed again then.
            about: see ``Question``.

        Raises:
            OpenQuestionError: not on file, and nobody to ask.
        """
        known = self.known(key)
        if known is not None:
            return known
        doubted = None
        while True:
            typed = self.ask(key, text, words, about)
            if typed.lower() in dict(words):
                return typed.lower()
            self.perhaps_back(typed)
            try:
                value = parse(typed)
            except InputError as error:
                self.tell(str(error), "warning")
                continue
            why = doubt(value)
            if why and (doubted is None or not _about_the_same(value, doubted)):
                self.tell(f"{why}  Read again; if it is the same, type it once more.", "warning")
                doubted = value
                continue
            self.note(key, value, typed)
            return value

    def choose(
        self, key: str, text: str, words: Sequence[tuple[str, str]], *, about: tuple = (), keep: bool = True, enter: str = ""
    ) -> str:
        """Word of some that a person chooses.

        Args:
            keep: it goes on file, and is not asked again.
            enter: the word that Enter alone stands for where there was time to read the question (``READING_S``).

        Raises:
            OpenQuestionError: as for ``read``.
        """
        known = self.known(key) if keep else None
        if known is not None:
            return known
        while True:
            asked_s = time.monotonic()
            typed = self.ask(key, text, words, about).lower()
            if enter and not typed:
                if time.monotonic() - asked_s < READING_S:
                    self.tell(f"that Enter came before the question can have been read: once more, or type {enter}", "warning")
                    continue
                typed = enter
            typed = {"y": "yes", "n": "no"}.get(typed, typed)
            if typed == "yes" and "" in dict(words) and "yes" not in dict(words):
                typed = ""
            if typed in dict(words):
                if keep:
                    self.note(key, typed, typed or "Enter")
                return typed
            self.perhaps_back(typed)
            offered = ", ".join(word or "Enter" for word, _ in words)
            self.tell(f"{repr(typed) if typed else 'Enter alone'} is none of: {offered}", "warning")

    def perhaps_back(self, typed: str) -> None:
        """Take the last answer back, if that is what was typed.

        Raises:
            TakenBackError: it was; the step has to be walked again.
        """
        if typed.lower() != BACK:
            return
        entry = self.session.take_back(self.step)
        if entry is None:
            self.tell(f"nothing was answered in {self.step} yet", "warning")
        else:
            self.tell(f"taken back: {entry['key']}, {entry['typed']}", "hint")
            raise TakenBackError(entry["key"])

    def agree(self, key: str, text: str, about: tuple = ()) -> bool:
        """Whether a person says yes, now, to what powers or moves the arm.  Never on file: what was safe yesterday may not be."""
        words = (("yes", "or Enter: go on"), ("no", "not now"))
        return self.choose(key, text, words, about=about, keep=False, enter="yes") == "yes"

    def wait_for(self, key: str, text: str, about: tuple = ()) -> None:
        """Wait until a person has done something, and says so: the arm moves then."""
        self.choose(key, text, (("yes", "or Enter: done, and the arm may move"),), about=about, keep=False, enter="yes")

    def _somebody(self, text: str):
        if self.person is None:
            raise OpenQuestionError(f"{self.step}: not answered yet: {text}", subject=self.step)
        return self.person


def _about_the_same(value, other) -> bool:
    """Two readings of one thing: within 3 %, or 0.3 degrees or 5 grams."""
    pairs = zip(value, other) if isinstance(value, (list, tuple)) else ((value, other),)
    return all(abs(one - two) <= 0.03 * max(abs(one), abs(two)) + 0.005 for one, two in pairs)


class Terminal:
    """A person at a terminal."""

    STYLES = {"": "", "title": "bold", "hint": "dim", "warning": "yellow", "good": "green"}

    def __init__(self, console, read: Callable[[str], str] = input):
        self.console, self._read = console, read

    def ask(self, question: Question) -> str:
        """Show the question, and read a line.

        Raises:
            OpenQuestionError: there is nobody: the input has ended.
        """
        self.console.print(question.text, style="cyan", highlight=False, markup=False)
        words = [f"{word or 'Enter'}: {what}" for word, what in question.words]
        between = "\n  " if sum(map(len, words)) > self.console.width - 20 else "   "
        if words:
            self.console.print("  " + between.join(words), style="dim", highlight=False, markup=False)
        _forget_typed_ahead()
        try:
            return self._read("> ")
        except EOFError as error:
            raise OpenQuestionError(
                "the input has ended; what was answered is kept: run the same command to go on", subject="input"
            ) from error

    def tell(self, text: str, style: str = "") -> None:
        """Print it, on a line of its own."""
        self.console.print(text, style=self.STYLES[style], highlight=False, markup=False, soft_wrap=True)

    def busy(self, text: str) -> AbstractContextManager:
        """Spinner, shown while something takes its time."""
        return self.console.status(text)


def _forget_typed_ahead() -> None:
    """What was typed while the arm moved answers no question that came later."""
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
