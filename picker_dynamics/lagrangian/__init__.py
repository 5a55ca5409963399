"""Dynamics written by hand, one file per system, behind one interface.

    arm = lagrangian.make("picker", g=9.81, L1=0.2, …)      the systems of the reference notes
    arm = lagrangian.from_description(description)          the picker with a URDF's numbers

Each system has a file of equations (``picker.py``: plain functions, derived in docs/derivations.md) and a
subclass of ``ClosedForm``, entered in ``SYSTEMS``.
"""

from __future__ import annotations

import math

from picker_dynamics.errors import InputError
from picker_dynamics.lagrangian.closed_form import ClosedForm
from picker_dynamics.lagrangian.picker_description import from_description
from picker_dynamics.lagrangian.picker_model import PickerModel

__all__ = ["SYSTEMS", "ClosedForm", "PickerModel", "from_description", "make", "names"]

SYSTEMS: dict[str, type[ClosedForm]] = {system.system: system for system in (PickerModel,)}

SIGNED_PARAMETERS = ("g",)
"""Parameters that may be negative: gravity, pointing up.  All others are masses, lengths, inertias."""


def names() -> tuple[str, ...]:
    """The systems that :func:`make` knows."""
    return tuple(sorted(SYSTEMS))


def make(name: str, **parameters: float) -> ClosedForm:
    """One of the reference notes' systems.

    Args:
        name: one of :func:`names`.
        parameters: every parameter of the system, SI units, named as in docs/derivations.md.

    Raises:
        InputError: an unknown system or parameter (with the list), a missing one, one that is no finite
            number, or a negative mass, length or inertia.
    """
    if name not in SYSTEMS:
        raise InputError(f"no system {name!r}; there are {', '.join(names())}", joint=name)
    system = SYSTEMS[name]
    allowed = ", ".join(system.parameter_names)
    for kind, wrong in (("unknown", sorted(set(parameters) - set(system.parameter_names))),
                        ("missing", [p for p in system.parameter_names if p not in parameters])):
        if wrong:
            raise InputError(f"{name}: {kind} parameter {', '.join(wrong)}; it takes {allowed}",
                             joint=wrong[0])
    return system.from_parameters(**{key: _checked(name, key, value) for key, value in parameters.items()})


def _checked(system: str, parameter: str, value) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{system}: {parameter} is {value!r}, not a number",
                         joint=parameter, value=value) from error
    if not math.isfinite(number):
        raise InputError(f"{system}: {parameter} is {number}, not a finite number",
                         joint=parameter, value=number)
    if number < 0.0 and parameter not in SIGNED_PARAMETERS:
        raise InputError(f"{system}: {parameter} is {number}, must be >= 0",
                         joint=parameter, value=number, limit=0.0)
    return number
