"""Settings of a running arm: named values with type, unit and range, checked in one place, whoever gives them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from picker_dynamics.errors import ConfigurationError, InputError, PickerError, shown
from picker_dynamics.files.fields import as_float, number


@dataclass(frozen=True)
class Setting:
    """Declaration of a setting.

    Attributes:
        name: with dots, as ROS parameters have them.
        default: its type is the setting's; of a list, that of its entries.
        text: what it is, with its unit.
        low, high: range of numbers; None: any.
        choices: of a text; empty: any.
        fixed: it is given at the start and stays.
        endless: minus infinity is a value beside the range.
    """

    name: str
    default: Any
    text: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    fixed: bool = False
    endless: bool = False

    def checked(self, value: Any) -> Any:
        """Return the value in the setting's type.

        Raises:
            InputError: another type, out of range, or none of the choices; names setting, value and limit.
        """
        kind = type(self.default)
        if kind is float and (read := as_float(value)) is not None:
            value = read
        if kind is list and isinstance(value, (list, tuple)):
            value = [number(one, self.name, subject=self.name, error=InputError) for one in value]
        limit, wrong = None, ""
        if type(value) is not kind:
            wrong = f"is {shown(' '.join(repr(value).split()), 60)}, must be of type {kind.__name__}"
        elif self.choices and value not in self.choices:
            wrong = f"is {value!r}, must be one of {', '.join(self.choices)}"
        elif self.endless and value == -math.inf:
            return value
        elif kind is float and not math.isfinite(value):
            wrong = f"is {value}, not a finite number"
        elif self.low is not None and self.high is not None and not self.low <= value <= self.high:
            limit = self.low if value < self.low else self.high
            wrong = f"is {value:g}, must be {self.low:g} to {self.high:g}" + (", or -inf" if self.endless else "")
        if wrong:
            raise InputError(f"{self.name} {wrong}", subject=self.name, value=value, limit=limit)
        return value


class Settings:
    """Values of the settings of one part of an arm.

    Args:
        owner: name of the part.
        read: gives the value of each setting at the start; the default where it has none.

    Attributes:
        take: called with the names that change, values already set; may refuse them by a PickerError.
        heard: each is called with new values after they were taken.
    """

    def __init__(self, owner: str, read: Callable[[Setting], Any]):
        self.owner, self._read = owner, read
        self.declared: dict[str, Setting] = {}
        self._values: dict[str, Any] = {}
        self.take: Callable[[set[str]], None] = lambda _names: None
        self.heard: list[Callable[[Mapping[str, Any]], object]] = []

    def declare(self, *settings: Setting) -> None:
        """Declare settings that are not declared yet, and read their values.

        Raises:
            ConfigurationError: a value that does not fit.
        """
        for one in settings:
            if one.name in self.declared:
                continue
            self.declared[one.name] = one
            try:
                self._values[one.name] = one.checked(self._read(one))
            except InputError as error:
                text = f"parameter {error}" if not str(error).startswith("parameter ") else str(error)
                raise ConfigurationError(text, subject=one.name, value=error.value, limit=error.limit) from error

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def change(self, values: Mapping[str, Any]) -> None:
        """Take new values, all of them or none.

        Raises:
            PickerError: a value that does not fit, or that cannot be taken now; says which and why.
        """
        checked = {}
        for name, value in values.items():
            if name not in self.declared:
                raise InputError(f"{self.owner} has no setting {name}", subject=name)
            if self.declared[name].fixed:
                raise InputError(f"{name} can be set at the start only", subject=name, value=value)
            checked[name] = self.declared[name].checked(value)
        before = dict(self._values)
        self._values.update(checked)
        try:
            self.take(set(checked))
        except PickerError:
            self._values = before
            raise
        for hear in tuple(self.heard):
            hear(checked)


def given(values: Mapping[str, Any]) -> Callable[[Setting], Any]:
    """Reader of settings out of a mapping; what it does not have is the default."""
    return lambda one: values.get(one.name, one.default)
