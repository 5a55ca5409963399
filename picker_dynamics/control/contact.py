"""Contact of joints that measure: what their motors give in motion beyond what the motion needs.

    r = low(tau_m - tau_d) + M (e - low(e)) / T,   e = v_d - v          low: first order, T

tau_m is what the spring gives less what speed takes of it, tau_d what the compensator asks of the motor, as far as friction's
side is known; the second term is what speeds up or slows down the joints meanwhile (a momentum observer: A. De Luca,
R. Mattone, Sensorless robot collision detection and hybrid force/motion control, 2005).  The arm meets something where |r| of a
joint is beyond what wrong figures explain and r pushes along the motion, r v_d > 0: the way back is free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo import ServoModel

from .compensation import UNCERTAIN, Compensator

T = 0.04
"""Time constant of the filters [s]."""

LEAST = 0.15
"""Share of the stall torque that counts as nothing, beside ``UNCERTAIN`` of the spring's: play, swinging, gears that grip."""

AFTER_S, GAP_S = 0.2, 0.03
"""How long after a motion contact is looked for still; after a longer gap of the samples the filters begin anew [s]."""


class Contact:
    """Watch over the contacts of one arm.

    Args:
        compensator: makes its set-points.
        servo: its servos.
        units: (n,) of the joints' torques.
        joints: (n,) whether it looks at the joint.

    Attributes:
        on: whether it looks.
    """

    def __init__(self, compensator: Compensator, servo: ServoModel, units: Sequence[str], joints: np.ndarray):
        self._compensator, self._servo, self._units, self._joints, self.on = compensator, servo, units, joints, True
        self.start()

    def start(self) -> None:
        """Begin anew."""
        self._v_d: Array | None = None
        self._moved_s = self._sample_s = -math.inf
        self._low: Array = np.zeros((2, self._servo.n))

    def advance(self, v_d: Array, time_s: float, q: Array, v: Array) -> str:
        """Advance to the reference's next velocity ``v_d``; measured at ``time_s``, while the one before held: q, v, (n,) each.

        Returns:
            What the arm meets, with joint, torque and limit; '': nothing.
        """
        before, self._v_d = self._v_d, v_d
        since_s, self._sample_s = time_s - self._sample_s, time_s
        if before is None or since_s <= 0.0 or not self.on:
            return ""
        if before.any():
            self._moved_s = time_s
        if time_s - self._moved_s > AFTER_S:
            return ""
        one, off = self._compensator, before - v
        excess = one.excess(q, v)
        if since_s > GAP_S:
            self._low = np.array([0.0 * excess, off])
            return ""
        self._low = self._low + (np.array([excess, off]) - self._low) * -math.expm1(-since_s / T)
        found = self._low[0] + one.model.mass_matrix(q) @ (off - self._low[1]) / T
        spring = np.abs(one.motor) + self._servo.damping * np.abs(before)
        limit = LEAST * self._servo.stall_torque + UNCERTAIN * spring
        share = np.where(self._joints, np.abs(found) / limit, 0.0)
        j = int(share.argmax())
        if share[j] <= 1.0 or found @ before <= 0.0:
            return ""
        told = f"{abs(found[j]):.2g} {self._units[j]} more than the motion needs, allowed {limit[j]:.2g}"
        return f"{self._servo.joint_names[j]} meets something: {told}"
