"""Spring and mass, of the note from pendulum to three-link arm: one sliding body on a spring.

The functions below are the equations of docs/derivations.md ("Spring and mass"), for scalars or arrays: ``k`` holds
the parameters, ``q``, ``v`` and ``a`` are sequences of one value, x from the unstretched spring and its derivatives.

    K = 1/2 m v²          P = 1/2 k x²
"""

from __future__ import annotations

from typing import NamedTuple

from ..analytic import Rows, Scalar, Values

COORDINATES = ("x",)


class Parameters(NamedTuple):
    """Constants of the spring and mass, in its note's letters.

    The note gives no numbers; the defaults are chosen.

    Attributes:
        m: mass [kg].
        k: stiffness of the spring [N/m].
    """

    m: float = 1.0
    k: float = 100.0


def mass_matrix(k: Parameters, q: Values) -> Rows:
    """Mass matrix M: the mass [kg]."""
    return ((k.m,),)


def inverse_dynamics(k: Parameters, q: Values, v: Values, a: Values) -> Values:
    """External force F_ext = m xdd + k x [N]."""
    return (k.m * a[0] + k.k * q[0],)


def potential_energy(k: Parameters, q: Values) -> Scalar:
    """Potential energy P [J]."""
    return 0.5 * k.k * q[0] * q[0]
