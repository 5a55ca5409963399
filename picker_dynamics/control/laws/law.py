"""What all control laws share: a reference to follow, and the form (q, v, reference, state) -> (tau, rate of the state).

A law is a pure function of what it is given.  What it remembers (an integral, an estimate) is its ``state``, kept by
whoever runs it: a simulation integrates it together with the arm, a sampled controller adds period times rate.

    e = q_d - q,     ed = v_d - v                       errors, used by every law
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import DynamicsModel, as_states

NO_STATE = np.zeros(0)
NO_STATE.setflags(write=False)


class Reference(NamedTuple):
    """Where the joints should be: q_d, v_d, a_d, each (..., n) [rad or m, per s, per s²]."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


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
    def __call__(self, q, v, reference: Reference, state=NO_STATE) -> tuple[np.ndarray, np.ndarray]:
        """The effort now, and how fast the law's state changes.

        Args:
            q, v: (..., n) measured positions and velocities; arrays.
            reference: to be followed, of the same shape.
            state: (..., k), for a law that remembers nothing (..., 0).

        Returns:
            tau (..., n) [N·m or N] and d(state)/dt, of the shape of ``state``.
        """

    def initial_state(self, q, v, reference: Reference) -> np.ndarray:
        """State (k,) to start with at ``q``, ``v`` and this reference, (n,) each."""
        return NO_STATE

    def _gains(self, name: str, value, *, zero: bool = False) -> np.ndarray:
        """``value``, one for all joints or one per joint, as (n,) of positive numbers (with ``zero``: or 0).

        Raises:
            InputError: naming gain, joint, value and limit.
        """
        gains = np.array(as_states(name, np.full(self.n, value) if np.ndim(value) == 0 else value, self.n))
        if gains.shape != (self.n,):
            raise InputError(f"{name} has shape {gains.shape}, expected a number or ({self.n},)", subject=name, value=gains.shape)
        for joint, gain in zip(self.model.joint_names, gains):
            if gain < 0.0 or (gain == 0.0 and not zero):
                raise InputError(
                    f"{name} of joint {joint} is {gain}, must be {'>=' if zero else '>'} 0",
                    subject=joint,
                    value=float(gain),
                    limit=0.0,
                )
        gains.setflags(write=False)
        return gains


def positive(name: str, value) -> float:
    """``value`` as a float > 0.

    Raises:
        InputError: naming it.
    """
    number = float(as_states(name, [value], 1)[0])
    if number <= 0.0:
        raise InputError(f"{name} is {number}, must be > 0", subject=name, value=number, limit=0.0)
    return number
