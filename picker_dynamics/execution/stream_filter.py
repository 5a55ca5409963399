"""Stream filter: from one sent reference to the next towards a target that may be anything, within every limit, rest included.

The reference is the response of a third-order low-pass (three equal real poles) to a rest position ``r``:

    q(t) = r + e^-x (c0 + c1 x + c2 x²),  x = w t,    c0 = q - r,  c1 = c0 + v / w,  c2 = (a / w² + 2 c1 - c0) / 2

so q, v, a belong together, a does not jump, and the arm comes to rest at ``r`` if nobody says anything any more.  The low-pass
takes off noise; from rest it never leaves the range of the ``r`` that it was given.  A reference governor keeps the other
limits: ``r`` moves straight towards the target, all joints together, as far as the whole response up to its rest keeps torque
and speed; to stay is always possible.  So the way to rest of what is sent was checked before it was sent.

Reference: E. Garone, S. Di Cairano, I. Kolmanovsky, Reference and command governors for systems with constraints, 2017.
"""

from __future__ import annotations

import math

import numpy as np

from picker_dynamics.errors import InfeasibleError, LimitError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory import splines
from picker_dynamics.trajectory.trajectory import Trajectory

from .checks import SampledMotion
from .validator import MotionValidator

State = tuple[Array, Array, Array]
"""q, v, a, (n,) each [rad, rad/s, rad/s²; m where a joint slides]."""

CUTOFF_HZ = 9.0
"""Of each of the three poles."""

POLE = 2.0 * math.pi * CUTOFF_HZ

DELAY_S = 3.0 / POLE
"""By which the reference follows a steady stream [s]."""

TORQUE_SHARE, SPEED_SHARE = 0.98, 0.997
"""Shares of the limits that are used: the response does more than that between two instants that are looked at."""

TRIED, LEAST = 3, 0.1
"""How often a part of the way to the target is tried where the whole is too far, and the least share of what is not known yet."""

_LOOKED_AT = np.concatenate([np.arange(0.2, 4.0, 0.2), [4.5, 5.0, 6.0, 7.5, 14.0]])
"""x at which a response is held to the limits."""

_KNOTS = np.concatenate([np.arange(0.0, 4.0, 0.25), np.arange(4.0, 6.0, 0.5), np.arange(6.0, 10.0), [10.0, 12.0, 14.0]])
"""x at which the quintics meet that stand for a response; at the last it is at rest."""


def _response(x: Array) -> Array:
    """Of q - r, v and a at ``x`` (m,) to c0, c1, c2: (3, m, 3)."""
    one = np.ones_like(x)
    position = np.stack([one, x, x * x], axis=1)
    velocity = np.stack([-one, 1.0 - x, 2.0 * x - x * x], axis=1) * POLE
    acceleration = np.stack([one, x - 2.0, 2.0 - 4.0 * x + x * x], axis=1) * POLE**2
    fading: Array = np.stack([position, velocity, acceleration]) * np.exp(-x)[:, None]
    return fading


def _quintics() -> Array:
    """Coefficients of the quintics between the knots, of q - r, to c0, c1, c2: (m, 6, 3)."""
    ends = _response(_KNOTS)
    ends[:, -1] = 0.0
    lengths = np.diff(_KNOTS) / POLE
    return np.array([splines.quintic(h, *ends[:, k], *ends[:, k + 1]) for k, h in enumerate(lengths.tolist())])


_TIMES, _STATES, _COEFFICIENTS = _LOOKED_AT / POLE, _response(_LOOKED_AT), _quintics()


class StreamFilter:
    """Filters the targets of a stream into a reference; arrays (n,) [rad, m].

    Args:
        description: the arm.

    Attributes:
        rest: r, where the arm comes to rest if nothing more is said.
    """

    def __init__(self, description: ArmDescription):
        self.description, self.joint_names = description, description.joint_names
        self.rest = np.zeros(description.n)

    def settling(self, state: State) -> Trajectory:
        """The way from ``state`` (q, v, a) to ``rest``."""
        return self._way(state, self.rest)

    def approach(self, target: Array, state: State, validator: MotionValidator) -> Trajectory:
        """The way from ``state`` towards ``target``, which is within the position limits: to a rest as near to it as may be."""
        if not np.array_equal(target, self.rest):
            self.rest = self._allowed(target, state, validator)
        return self.settling(state)

    # -- how -----------------------------------------------------------------------------------------------

    def _allowed(self, target: Array, state: State, validator: MotionValidator) -> Array:
        """The farthest rest on the way to ``target`` whose response keeps each limit, or is no worse in that than to stay."""
        begin, end, way, far = 0.0, 1.0, target - self.rest, self._shares(state, target, validator)
        if far.max() <= 1.0:
            return target
        near = self._shares(state, self.rest, validator)
        most = np.maximum(near, 1.0)
        for _ in range(TRIED):
            over = far > most
            if not over.any():
                break
            room = ((most - near)[over] / (far - near)[over]).min()  # shares are nearly convex along the way
            share = begin + max(room, LEAST) * (end - begin)
            shares = self._shares(state, self.rest + share * way, validator)
            if (shares <= most).all():
                begin, near = share, shares
            else:
                end, far = share, shares
        else:
            end = begin
        rest: Array = self.rest + end * way
        return rest

    def _way(self, state: State, rest: Array) -> Trajectory:
        coefficients = _COEFFICIENTS @ _constants(state, rest)
        coefficients[:, 0] += rest
        return Trajectory(self.joint_names, _KNOTS / POLE, coefficients)

    def _shares(self, state: State, rest: Array, validator: MotionValidator) -> Array:
        """Share of each limit that the response to ``rest`` (n,) uses, (m,)."""
        q, v, a = _STATES @ _constants(state, rest)
        motion = SampledMotion(validator.model, _TIMES, q + rest, v, a, rest, self._way(state, rest))
        usages = [*validator.state_usages(motion), *(check.worst(motion) for check in validator.further)]
        used = {LimitError: 1.0, InfeasibleError: TORQUE_SHARE}
        return np.array([usage.share / (SPEED_SHARE if usage.by_speed else used[usage.error]) for usage in usages])


def _constants(state: State, rest: Array) -> Array:
    """c0, c1, c2 of the response that begins at ``state``, (3, n)."""
    q, v, a = state
    c0 = q - rest
    c1 = c0 + v / POLE
    return np.array([c0, c1, 0.5 * (a / POLE**2 + 2.0 * c1 - c0)])
