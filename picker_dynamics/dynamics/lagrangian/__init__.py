"""Hand-written dynamics by Euler and Lagrange, one file per system, behind one interface.

    arm = lagrangian.make("rrp")                            the systems of the reference notes, with the notes' numbers
    arm = lagrangian.make("rrp", M=1.0)                     or with others
    arm = lagrangian.from_description(description)          the picker with a URDF's numbers
    arm = lagrangian.from_urdf(path)                        N joints, branched or not, of any URDF
    arm = lagrangian.analytic_model(description)            the picker's closed form, or else the N joints
    A, B = lagrangian.linearise(arm, q, v, tau)             its linear state space at any point

Each system has a file of equations (``systems/rrp.py``: plain functions, derived in docs/derivations.md), entered in
``SYSTEMS``.
"""

from __future__ import annotations

import math
from types import ModuleType

from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import checked_number, payload_values

from .analytic import AnalyticModel, ClosedForm
from .chain_model import ChainModel, from_urdf
from .linearisation import linearise
from .picker_model import PickerModel, from_description
from .systems import cylindrical, pendulum, picker, planar_2r, rocking_bar, rrp, spatial_2r, spring_mass, three_link, two_link

__all__ = [
    "SYSTEMS",
    "AnalyticModel",
    "ChainModel",
    "ClosedForm",
    "PickerModel",
    "analytic_model",
    "from_description",
    "from_urdf",
    "linearise",
    "make",
]

SYSTEMS: dict[str, ModuleType] = {
    file.__name__.rpartition(".")[2]: file
    for file in (cylindrical, pendulum, picker, planar_2r, rocking_bar, rrp, spatial_2r, spring_mass, three_link, two_link)
}
"""The systems that :func:`make` knows, by name."""


def make(name: str, **parameters: float) -> ClosedForm:
    """Closed form of one of the reference notes' systems.

    Args:
        name: one of ``SYSTEMS``.
        parameters: SI units, named as in docs/derivations.md; what is left out is as in the note, or chosen where the note
            gives no numbers (its file says so).

    Raises:
        InputError: an unknown system or parameter (with the list), one that is no finite number, or a negative mass, length
            or inertia; gravity may point up.
    """
    if name not in SYSTEMS:
        raise InputError(f"no system {name!r}; there are {', '.join(SYSTEMS)}", name)
    system = SYSTEMS[name]
    fields, given = system.Parameters._fields, system.Parameters._field_defaults | parameters
    for key in given:
        if key not in fields:
            raise InputError(f"{name}: unknown {key}; it takes {', '.join(fields)}", key)
    values = {
        key: checked_number(f"{name}: {key}", value, least=-math.inf if key == "g" else 0.0, subject=key)
        for key, value in given.items()
    }
    if system is picker:
        return PickerModel.of_note(picker.Parameters(**values))
    return ClosedForm(system, system.Parameters(**values), system.COORDINATES)


def analytic_model(
    description: ArmDescription,
    armature: ArrayLike | None = None,
    payload_mass: float = 0.0,
    payload_com: ArrayLike = (0.0, 0.0, 0.0),
) -> PickerModel | ChainModel:
    """The hand-written model of any arm: the closed form where it fits the arm's shape and its load, otherwise the chain.

    Args:
        description: any fixed-base arm.
        armature: (n,) rotor inertia at each joint [kg·m²], default none.
        payload_mass: of a point mass at the tool [kg], default none.
        payload_com: (3,) where it is [m], tool frame.

    Raises:
        DescriptionError: no joint of the arm moves.
        InputError: a payload that :func:`~picker_dynamics.robot.model.payload_values` refuses.
    """
    payload_values(payload_mass, payload_com)
    model: PickerModel | ChainModel
    try:
        model = from_description(description, armature)
        return model.with_payload(payload_mass, payload_com) if payload_mass else model
    except (DescriptionError, InputError):
        model = ChainModel(description, armature=armature)
        return model.with_payload(payload_mass, payload_com) if payload_mass else model
