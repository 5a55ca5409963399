"""Guard on the reference: the last look at what is about to be sent, against what was sent before; nothing goes around it.

Goals, streams and ways to rest are checked where they are made; this one looks at the very numbers that leave, so that no mistake
in there reaches the arm.  It should never refuse.  Free of ROS and of clocks.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import LimitError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, tip_speeds
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import figure, told

from .checks import SAMPLE_TOLERANCE, speed_limit
from .motion import Reference
from .planning import NO_EXCESS, LimitExcess
from .validator import MotionValidator

SHORTEST_S = 1e-3
"""Time between two references [s] below which differences are taken over this: a clock of 1970 counts in 0.2 µs."""

SAME = 1e-6
"""Positions and velocities [rad, rad/s] closer than this are one: float32 messages and the rounding of times."""

SAME_TIME_S = 1e-6
"""Times closer than this are one [s]: rounding of sums of periods, and of a clock of 1970."""

AT_REST = 1e-9
"""Below this nothing moves [rad, rad/s, rad/s²]: rounding at the end of a motion."""

LONGEST_S = 0.05
"""Time between two references [s] up to which their velocities tell what was between; over more they are those of two poses."""

JUMP = 0.5
"""Speed [rad/s, m/s] that a joint may have between two references beyond what they say."""

SLOW = 0.5
"""Share of its allowed speed up to which the tip's way since the last reference says enough: J v is looked at beyond."""

RATE_TOLERANCE = 0.01
"""Share by which velocities and the tip may exceed their limits: motions are looked at every 10 ms, and sent in between."""

TORQUE_TOLERANCE = 0.03
"""Share by which the torque may exceed its limit, for the same reason; accelerations change faster than velocities."""


class ReferenceGuard:
    """Compares each reference with the one before; one for each arm.

    Args:
        description: position and velocity limits.

    Attributes:
        last: the newest reference that was sent in this epoch.
        stopped: how many were not sent.
    """

    def __init__(self, description: ArmDescription):
        self.description = description
        self.stopped = 0
        self._speed: tuple[ServoMap | None, Array] | None = None  # of joints, with these servos
        self.begin(np.zeros(description.n))

    def begin(self, pose: ArrayLike) -> None:
        """Begin a new epoch: the first reference is ``pose`` (n,) [rad], at rest."""
        self._held = self._rest = np.array(pose, dtype=float)
        self.last: Reference | None = None
        self._tip: Array | None = None  # where the tip was with the last one
        self._allowed_speed = 0.0  # of the tip, then
        self._looked: tuple[Array | None, float] = None, 0.0  # these of the reference that was looked at last

    def answers(self, time_s: float) -> bool:
        """Whether a reference was sent for this time [s] already: it stays, and nothing is said twice about one instant."""
        return self.last is not None and abs(time_s - self.last.time_s) < SAME_TIME_S

    def sent(self, reference: Reference) -> None:
        """Remember the reference that was looked at last, and sent."""
        self.last, (self._tip, self._allowed_speed) = reference, self._looked
        if not reference.v.any():
            self._rest = reference.q

    def breach(self, reference: Reference, validator: MotionValidator, excess: LimitExcess = NO_EXCESS) -> LimitError | None:
        """The invariant that would be broken if this were sent, with joint, value and limit; None: send it.

        Args:
            validator: model, torques and tip speed of the present.
            excess: of the way to rest that is under way.
        """
        self._looked = None, 0.0
        for name, values in (("position", reference.q), ("velocity", reference.v), ("acceleration", reference.a)):
            if not math.isfinite(sum(values.tolist())) and not np.isfinite(values).all():
                j = int(np.isfinite(values).argmin())
                return self._said(f"{name} is {values[j]}", j, float(values[j]))
        if not math.isfinite(reference.time_s):
            return LimitError(f"its time is {reference.time_s}", "time", reference.time_s)
        last = self.last
        if last is None:
            away, v = np.abs(reference.q - self._held), np.abs(reference.v)
            begins = self._exceeded("begins {value} from the pose that is held", away, SAME, 0.0)
            return begins or self._exceeded("begins at {value}/s", v, SAME, 0.0)
        dt = reference.time_s - last.time_s
        if dt <= 0.0:
            return LimitError(f"its time is {-dt:.6f} s before the last one", "time", dt, 0.0)
        step, change = reference.q - last.q, reference.v - last.v
        if all(abs(x) < AT_REST for values in (step, reference.v, last.v, reference.a) for x in values.tolist()):
            self._looked = self._tip, 0.0
            return None  # at rest: nothing that is sent could be gentler
        gap, dt = step - dt * (reference.v + last.v) / 2.0, max(dt, SHORTEST_S)
        return (
            self._beyond(reference.q, excess)
            or self._too_fast(np.maximum(np.abs(reference.v), np.abs(step / dt)), validator)
            or (None if dt > LONGEST_S else self._jumps(reference, last, gap, change / dt, dt, validator))
            or self._too_hard(reference, last, change / dt, dt, validator, excess)
        )

    # -- the invariants --------------------------------------------------------------------------------------

    def _beyond(self, q: Array, excess: LimitExcess) -> LimitError | None:
        """Position limits; an arm that stood beyond one may leave from there, not go further."""
        lower, upper = np.minimum(self.description.lower, self._rest), np.maximum(self.description.upper, self._rest)
        off = q - np.minimum(np.maximum(q, lower), upper)
        found = self._exceeded("", off, SAMPLE_TOLERANCE + excess.beyond, 0.0)
        if found is None:
            return None
        j = int(np.abs(off).argmax())
        value, limit, unit = float(q[j]), float((lower if q[j] < lower[j] else upper)[j]), self.description.position_units[j]
        return self._said(f"would be at {told(value, unit, limit)}, limit {told(limit, unit, value)}", j, value, limit)

    def _too_fast(self, rate: Array, validator: MotionValidator) -> LimitError | None:
        """The URDF's speed, and that of set-points: motions keep a share of that, which a way to rest out of one may use."""
        servos = validator.limits.servo_map
        if self._speed is None or self._speed[0] is not servos:
            self._speed = servos, speed_limit(self.description, servos, share=1.0)
        limit = self._speed[1]
        return self._exceeded("would move at {value}/s, limit {limit}/s", rate, (1.0 + RATE_TOLERANCE) * limit, limit)

    def _jumps(
        self, reference: Reference, last: Reference, gap: Array, implied: Array, dt: float, validator: MotionValidator
    ) -> LimitError | None:
        """Position belongs to velocity: gap = |step - dt (v + v') / 2| <= dt² A / 4, with A the largest acceleration meanwhile.

        A is what was sent, and what the torques can make of the masses (a dash between two references), by ``JUMP`` at most.
        Over a long time velocities do not tell.
        """
        most = np.maximum(np.maximum(np.abs(reference.a), np.abs(last.a)), np.abs(implied))
        allowed = SAME * (1.0 + np.abs(reference.v)) + dt**2 / 4.0 * most
        if (np.abs(gap) <= allowed).all():
            return None
        able = 2.0 * validator.limits.peak / np.diagonal(validator.model.mass_matrix(reference.q))
        dash = np.minimum(dt * JUMP, dt**2 / 4.0 * able)
        text = f"would jump by {{value}} in {1e3 * dt:.0f} ms beside its velocities, allowed {{limit}}"
        return self._exceeded(text, gap, allowed + dash, allowed + dash)

    def _too_hard(
        self, reference: Reference, last: Reference, implied: Array, dt: float, validator: MotionValidator, excess: LimitExcess
    ) -> LimitError | None:
        """Torque with the acceleration as sent, and as the velocities imply it; the tip's speed by where it was, and by J v."""
        model, limits = validator.model, validator.limits
        q, v, a = reference.q, reference.v, reference.a
        torque = model.required_torque(q, v, a)
        allowed = limits.peak * (max(excess.torque, 1.0) * (1.0 + TORQUE_TOLERANCE))
        torques = {"": torque}
        if dt <= LONGEST_S:
            torques[" for the change of its velocity"] = model.required_torque(q, v, implied)
        for how, tau in torques.items():
            use = np.abs(tau) / allowed
            j = int(use.argmax())
            if not use[j] <= 1.0:
                need, limit = float(abs(tau[j])), float(limits.peak[j])
                text = (
                    f"would need {figure(need, limit)} {limits.units[j]}{how}, {limits.text(limits.peak_share, j, beside=need)}"
                )
                return self._said(text, j, need, limit)
        tip = model.forward_kinematics(q)
        before = self._tip if self._tip is not None else model.forward_kinematics(last.q)
        allowed_speed = validator.tip_speed * max(excess.tip, 1.0) * (1.0 + RATE_TOLERANCE)
        speed, now = math.dist(tip, before) / dt, 0.0
        if dt > LONGEST_S or speed > SLOW * allowed_speed:
            now = float(tip_speeds(model, q, v))
        if not (speed <= max(allowed_speed, self._allowed_speed) and now <= allowed_speed):
            text = f"the tip would move at {max(speed, now):.3f} m/s, allowed {validator.tip_speed:.3f} m/s"
            return LimitError(text, "tip", max(speed, now), validator.tip_speed)
        self._looked = tip, allowed_speed  # between two references the earlier limit counts too
        return None

    def _exceeded(self, text: str, values: Array, allowed: Array | float, limits: Array | float) -> LimitError | None:
        """The joint whose value (n,) is beyond what is ``allowed``, by the most of it; the ``text`` names value and limit."""
        use = np.abs(values) / allowed
        j = int(use.argmax())
        if use[j] <= 1.0:
            return None
        value, limit = float(values[j]), float(np.broadcast_to(limits, values.shape)[j])
        unit = self.description.position_units[j]
        return self._said(text.format(value=told(value, unit, limit), limit=told(limit, unit, value)), j, value, limit)

    def _said(self, text: str, j: int, value: float, limit: float | None = None) -> LimitError:
        name = self.description.joint_names[j]
        return LimitError(f"{name} {text}", name, value, limit)
