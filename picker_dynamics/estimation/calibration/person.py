"""A person who is asked: what a question is, the person at a terminal, and what ends a step early."""

from __future__ import annotations

import sys
import termios
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from picker_dynamics.errors import InputError, PickerError


@dataclass(frozen=True)
class Question:
    """Question that a person is asked.

    Args:
        step, key: of the session.
        text: for the person.
        words: that may be typed in place of a value, each with what it does; "" is Enter alone.
        about: what a simulated person does or reads (``rehearsal.SimulatedPerson``): its name, and with what.
    """

    step: str
    key: str
    text: str
    words: Mapping[str, str] = field(default_factory=dict)
    about: tuple = ()


class Person(Protocol):
    """Whoever answers: somebody at a terminal, or simulated."""

    def ask(self, question: Question) -> str: ...
    def tell(self, text: str, style: str = "") -> None: ...
    def busy(self, text: str) -> AbstractContextManager: ...


class OpenQuestionError(InputError):
    """A question that is not answered yet, where nobody is to be asked."""


class TakenBackError(PickerError):
    """The last answer is open again: the step has to be walked again."""


class LeaveError(PickerError):
    """A person wants to go on another time; what was answered is kept."""

    exit_code = 0


class Terminal:
    """A person at a terminal."""

    STYLES = {"": "", "title": "bold", "hint": "dim", "warning": "yellow", "good": "green"}

    def __init__(self, console, read: Callable[[str], str] = input):
        self.console, self._read = console, read

    def ask(self, question: Question) -> str:
        """Show the question, and read a line; what was typed while the arm moved answers no question that came later.

        Raises:
            OpenQuestionError: there is nobody: the input has ended.
        """
        words = [f"{word or 'Enter'}: {what}" for word, what in question.words.items()]
        between = "\n  " if sum(map(len, words)) > self.console.width - 20 else "   "
        self.console.print(question.text, style="cyan", highlight=False, markup=False)
        if words:
            self.tell("  " + between.join(words), "hint")
        if sys.stdin.isatty():
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        try:
            return self._read("> ")
        except EOFError as error:
            why = "the input has ended; what was answered is kept: run the same command to go on"
            raise OpenQuestionError(why, subject="input") from error

    def tell(self, text: str, style: str = "") -> None:
        """Print it, on a line of its own."""
        self.console.print(text, style=self.STYLES[style], highlight=False, markup=False, soft_wrap=True)

    def busy(self, text: str) -> AbstractContextManager:
        """Show a spinner while something takes its time."""
        return self.console.status(text)
