"""Hand-written dynamics by Euler and Lagrange, one file per system, behind one interface.

    arm = lagrangian.make("rrp")                            the systems of the reference notes, with the notes' numbers
    arm = lagrangian.make("rrp", M=1.0)                     or with others
    arm = lagrangian.from_description(description)          the picker with a URDF's numbers
    arm = lagrangian.chain(joints, gravity)                 N joints in a row
    arm = lagrangian.from_urdf(path)                        N joints, branched or not, of any URDF
    arm = lagrangian.analytic_model(description)            the picker's closed form, or else the N joints
    A, B = lagrangian.linearise(arm, q, v, tau)             its linear state space at any point

Each system has a file of equations (``picker.py``: plain functions, derived in docs/derivations.md) and a
subclass of ``ClosedForm``, entered in ``SYSTEMS``.
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import checked_number, payload_values

from .analytic import AnalyticModel, ClosedForm
from .chain_model import ChainModel, chain, chain_of, from_urdf
from .chain_parameters import require_keys
from .linearisation import linearise
from .systems.cylindrical import Cylindrical
from .systems.pendulum import Pendulum
from .systems.picker_description import from_description
from .systems.picker_model import PickerModel
from .systems.planar_2r import Planar2R
from .systems.rocking_bar import RockingBar
from .systems.rrp import Rrp
from .systems.spatial_2r import Spatial2R
from .systems.spring_mass import SpringMass
from .systems.three_link import ThreeLink
from .systems.two_link import TwoLink

__all__ = [
    "SYSTEMS",
    "AnalyticModel",
    "ChainModel",
    "ClosedForm",
    "PickerModel",
    "analytic_model",
    "chain",
    "chain_of",
    "from_description",
    "from_urdf",
    "linearise",
    "make",
    "names",
]

SYSTEMS: dict[str, type[ClosedForm]] = {
    system.system: system
    for system in (PickerModel, Rrp, Spatial2R, Planar2R, Pendulum, SpringMass, Cylindrical, RockingBar, TwoLink, ThreeLink)
}

SIGNED_PARAMETERS = ("g",)
"""Parameters that may be negative: gravity, pointing up.  All others are masses, lengths, inertias."""


def names() -> tuple[str, ...]:
    """The systems that :func:`make` knows."""
    return tuple(sorted(SYSTEMS))


def make(name: str, **parameters: float) -> ClosedForm:
    """Closed form of one of the reference notes' systems.

    Args:
        name: one of :func:`names`.
        parameters: SI units, named as in docs/derivations.md; what is left out is as in the note, or chosen where the note
            gives no numbers (its file says so).

    Raises:
        InputError: an unknown system or parameter (with the list), one that is no finite number, or a negative mass, length
            or inertia.
    """
    if name not in SYSTEMS:
        raise InputError(f"no system {name!r}; there are {', '.join(names())}", name)
    system = SYSTEMS[name]
    parameters = dict(system.defaults) | parameters
    require_keys(name, parameters, system.parameter_names)
    return system.from_parameters(
        **{
            key: checked_number(f"{name}: {key}", value, least=-math.inf if key in SIGNED_PARAMETERS else 0.0, subject=key)
            for key, value in parameters.items()
        }
    )


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
    payload_values(payload_mass, payload_com, None)
    try:
        return _carrying(from_description(description, armature), payload_mass, payload_com)
    except (DescriptionError, InputError):
        return _carrying(chain_of(description, armature=armature), payload_mass, payload_com)


def _carrying(model: PickerModel | ChainModel, mass: float, com: ArrayLike) -> PickerModel | ChainModel:
    return model.with_payload(mass, com) if mass else model
