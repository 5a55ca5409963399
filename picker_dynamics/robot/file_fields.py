"""Figures of a YAML file, declared as fields of a dataclass: key, bounds and unit; one reader and one writer for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Any, NamedTuple

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.fields import Bounds, mapping, number, whole

NEEDED: Any = object()
"""Instead of a default: the key has to be there."""

TURN = math.pi / 180.0
TICKS = 4096
"""Of a bus servo's turn; horn angle 0 is half of them."""

TICK = 2.0 * math.pi / TICKS
"""[rad]"""

UNMEASURED = "unmeasured"


class Key(NamedTuple):
    """What a file says of a field.

    Attributes:
        name: of the key.
        kind: bounds of a number, as it is or as ``{value, measured}``; words or whole numbers; range of whole numbers;
            dataclass of a group.
        default: in SI.
        unit: of the number, in SI.
        power: of the pinion's radius r by which a servo's figure becomes that of the rack that it drives: x = r phi, F = tau / r.
        guess: stands for a number that is left out or ``unmeasured``, and counts as assumed.
    """

    name: str
    kind: Bounds | list[Any] | range | type
    default: Any = NEEDED
    unit: float = 1.0
    power: int = 0
    guess: float | None = None


def above(most: float) -> Bounds:
    """More than 0, at most ``most``."""
    return 0.0, False, most


def within(most: float) -> Bounds:
    """0 to ``most``."""
    return 0.0, True, most


def figure(name: str, kind: Any, default: Any = NEEDED, **more: Any) -> Any:
    """A dataclass field that a file gives as ``name``; arguments of ``Key``."""
    metadata = {"key": Key(name, kind, default, **more)}
    return field(metadata=metadata) if default is NEEDED else field(default=default, metadata=metadata)


def keys_of(kind: Any) -> dict[str, Key]:
    """Keys of a dataclass, by the names of their fields."""
    return {one.name: one.metadata["key"] for one in fields(kind) if "key" in one.metadata}


def fields_of(kind: Any) -> set[str]:
    """Names of a dataclass's fields."""
    return {one.name for one in fields(kind)}


def read_fields(
    kind: Any, given: Mapping[str, Any], where: str, subject: str, radius: float = 1.0, called: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Fields of a dataclass that a mapping of a file gives, and the keys of those that are assumed.

    Args:
        where: beginning of the errors' texts.
        subject: of the errors.
        radius: of the pinion [m].
        called: other names of some keys.

    Raises:
        ConfigurationError: a key that is missing, a value that is none.
    """
    values, assumed = dict[str, Any](), list[str]()
    for name, key in keys_of(kind).items():
        written = (called or {}).get(key.name, key.name)
        value: Any = given.get(written)
        said, sd = f"{where}{written}", None
        if key.guess is not None and value in (None, UNMEASURED):
            value = {"value": key.guess, "measured": False}
        if isinstance(value, dict) and isinstance(key.kind, tuple):
            mapping(
                value, said, ("value", "measured", "sd") if f"{name}_sd" in fields_of(kind) else ("value", "measured"), subject
            )
            known, value, sd = value.get("measured"), value.get("value"), value.get("sd")
            if not isinstance(known, bool):
                raise ConfigurationError(f"{said}: measured is {known!r}, must be true or false", subject)
            assumed += [] if known else [key.name]
        if value is None:
            if key.default is NEEDED:
                raise ConfigurationError(f"{said} is missing", subject, written)
            values[name] = key.default
        elif isinstance(key.kind, tuple):
            values[name] = number(value, said, key.kind, subject) * key.unit * radius**key.power
            if sd is not None:
                below = (0.0, True, math.nextafter(value, 0.0))
                values[f"{name}_sd"] = number(sd, f"{said}: sd", below, subject) * key.unit * radius**key.power
        elif isinstance(key.kind, range):
            values[name] = whole(value, said, key.kind[0], key.kind[-1], subject, ConfigurationError)
        elif isinstance(key.kind, list):
            if isinstance(value, bool) or value not in key.kind:
                must = ", ".join(map(str, key.kind))
                raise ConfigurationError(f"{said} is {value!r}, must be one of {must}", subject, value)
            values[name] = int(value) if isinstance(value, float) else value
        else:
            mapping(value, said, [one.name for one in keys_of(key.kind).values()], subject)
            group, guessed = read_fields(key.kind, value, f"{said}.", subject, radius)
            values[name] = key.kind(**group, **({"assumed": guessed} if "assumed" in fields_of(key.kind) else {}))
    return values, tuple(assumed)


def written_fields(one: Any, radius: float = 1.0, assumed: Sequence[str] = ()) -> dict[str, Any]:
    """What a file would say of a dataclass, at the pinion of that radius; what is none or unlimited is left out."""
    written = dict[str, Any]()
    for name, key in keys_of(one).items():
        value, sd = getattr(one, name), getattr(one, f"{name}_sd", None)
        if value is None or value == math.inf:
            continue
        if isinstance(key.kind, tuple):
            scale = radius**key.power * key.unit
            value /= scale
            if key.name in assumed or sd is not None:
                value = {"value": value, "measured": key.name not in assumed} | ({} if sd is None else {"sd": sd / scale})
        elif isinstance(key.kind, type):
            value = written_fields(value, radius, getattr(value, "assumed", ()))
        written[key.name] = value
    return written
