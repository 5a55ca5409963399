"""Interface of all control laws: a reference to follow, and the form (q, v, reference, state) -> (tau, rate of the state).

A law is a pure function of what it is given.  What it remembers (an integral, an estimate) is its ``state``, kept by
whoever runs it: a simulation integrates it together with the arm, a sampled controller adds period times rate.

    e = q_d - q,     ed = v_d - v                       errors, used by every law
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel, checked_number, per_joint, read_only

NO_STATE = read_only(())
"""The state of a law that remembers nothing."""


class Reference(NamedTuple):
    """Reference state of the joints: q_d, v_d, a_d, each (..., n) [rad or m, per s, per s²]."""

    q: Array
    v: Array
    a: Array


class ControlLaw(ABC):
    """A law for the efforts of ``n`` torque-controlled joints.

    Attributes:
        model: what the law believes of the arm.
        n: number of joints.
    """

    def __init__(self, model: DynamicsModel):
        self.model = model
        self.n = model.n

    @abstractmethod
    def __call__(self, q: Array, v: Array, reference: Reference, state: Array) -> tuple[Array, Array]:
        """The effort now, and how fast the law's state changes.

        Args:
            q, v: (..., n) measured positions and velocities; arrays.
            reference: to be followed, of the same shape.
            state: (..., k), for a law that remembers nothing (..., 0).

        Returns:
            tau (..., n) [N·m or N] and d(state)/dt, of the shape of ``state``.
        """

    def initial_state(self, q: Array, v: Array, reference: Reference) -> Array:
        """State (k,) to start with at ``q``, ``v`` and this reference, (n,) each."""
        return NO_STATE

    def _gains(self, name: str, value: ArrayLike, *, zero: bool = False) -> Array:
        """``value``, one for all joints or one per joint, as (n,) of positive numbers (with ``zero``: or 0)."""
        return per_joint(name, value, self.model.joint_names, positive=not zero)


def positive(name: str, value: float) -> float:
    """``value`` as a float > 0.

    Raises:
        InputError: naming it.
    """
    return checked_number(name, value, above=0.0)
