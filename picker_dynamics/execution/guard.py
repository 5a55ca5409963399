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
from picker_dynamics.robot.units import told

from .checks import SAMPLE_TOLERANCE, speed_limit
from .motion import Reference
from .slowing import NO_EXCESS, LimitExcess
from .validator import MotionValidator

SHORTEST_S = 1e-3
"""Time between two references [s] below which differences are taken over this: a clock of 1970 counts in 0.2 µs."""

SAME = 1e-6
"""Positions and velocities [rad, rad/s] closer than this are one: float32 messages and the rounding of times."""

SAME_TIME_S = 1e-6
"""Times closer than this are one [s]: rounding of sums of periods, and of a clock of 1970."""

STANDS = 1e-9
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
        self.last: Reference | None = None
        self._tip: Array | None = None
        self._looked: tuple[Reference, Array | None, float] | None = None
        self._allowed_speed = 0.0
        self.begin(np.zeros(description.n))

    def begin(self, pose: ArrayLike) -> None:
        """Begin a new epoch: the first reference is ``pose`` (n,) [rad], at rest."""
        self._held = self._rest = np.array(pose, dtype=float)
        self.last = self._tip = self._looked = None
        self._allowed_speed = 0.0

    def answers(self, time_s: float) -> bool:
        """Whether a reference was sent for this time [s] already: it stands, and nothing is said twice about one instant."""
        return self.last is not None and abs(time_s - self.last.time_s) < SAME_TIME_S

    def sent(self, reference: Reference) -> None:
        """Remember a reference that was let pass, and sent."""
        looked, self._looked = self._looked, None
        own = looked if looked is not None and looked[0] is reference else (reference, None, 0.0)
        _, self._tip, self._allowed_speed = own  # between two references the earlier limit counts too
        self.last = reference
        if not reference.v.any():
            self._rest = reference.q

    def breach(
        self, reference: Reference, validator: MotionValidator | None, excess: LimitExcess = NO_EXCESS
    ) -> LimitError | None:
        """The invariant that would be broken if this were sent, with joint, value and limit; None: send it.

        Args:
            validator: model, torques and tip speed of the present; None: not known, nothing may start.
            excess: of the way to rest that is under way.
        """
        for name, values in (("position", reference.q), ("velocity", reference.v), ("acceleration", reference.a)):
            if not math.isfinite(sum(values.tolist())) and not np.isfinite(values).all():
                j = int(np.isfinite(values).argmin())
                return self._said(f"{name} is {values[j]}", j, float(values[j]))
        if not np.isfinite(reference.time_s):
            return LimitError(f"its time is {reference.time_s}", "time", reference.time_s)
        last = self.last
        if last is None:
            return self._first(reference)
        dt = reference.time_s - last.time_s
        if dt <= 0.0:
            return LimitError(f"its time is {-dt:.6f} s before the last one", "time", dt, 0.0)
        step, change = reference.q - last.q, reference.v - last.v
        if all(abs(x) < STANDS for values in (step, reference.v, last.v, reference.a) for x in values.tolist()):
            self._looked = reference, self._tip, 0.0
            return None  # it stands: nothing that is sent could be gentler
        gap = np.abs(step - dt * (reference.v + last.v) / 2.0)
        dt = max(dt, SHORTEST_S)
        return (
            self._beyond(reference, excess)
            or self._too_fast(reference, step / dt, validator)
            or self._jumps(reference, last, step, gap, change, dt, validator)
            or (None if validator is None else self._too_hard(reference, last, change / dt, dt, validator, excess))
        )

    # -- the invariants --------------------------------------------------------------------------------------

    def _first(self, reference: Reference) -> LimitError | None:
        away = np.abs(reference.q - self._held)
        if away.max() > SAME:
            return self._error("begins {value} from the pose that is held", int(away.argmax()), away, 0.0)
        if np.abs(reference.v).max() > SAME:
            return self._error("begins at {value}/s", int(np.abs(reference.v).argmax()), reference.v, 0.0)
        return None

    def _beyond(self, reference: Reference, excess: LimitExcess) -> LimitError | None:
        """Position limits; an arm that stood beyond one may leave from there, not go further."""
        lower, upper = np.minimum(self.description.lower, self._rest), np.maximum(self.description.upper, self._rest)
        beyond = np.maximum(lower - reference.q, reference.q - upper)
        j = int(beyond.argmax())
        if beyond[j] <= SAMPLE_TOLERANCE + excess.beyond:
            return None
        limit = float(np.clip(reference.q[j], lower[j], upper[j]))
        return self._error("would be at {value}, limit {limit}", j, reference.q, limit)

    def _too_fast(self, reference: Reference, mean: Array, validator: MotionValidator | None) -> LimitError | None:
        """The URDF's speed, and that of set-points: motions keep a share of that, which a way to rest out of one may use."""
        limit = speed_limit(self.description, None if validator is None else validator.limits.servo_map, share=1.0)
        for what, rate in (("would move at", reference.v), ("would be moved at", mean)):
            use = np.abs(rate) / limit
            j = int(use.argmax())
            if use[j] > 1.0 + RATE_TOLERANCE:
                return self._error(f"{what} {{value}}/s, limit {{limit}}/s", j, rate, float(limit[j]))
        return None

    def _jumps(
        self,
        reference: Reference,
        last: Reference,
        step: Array,
        gap: Array,
        change: Array,
        dt: float,
        validator: MotionValidator | None,
    ) -> LimitError | None:
        """Position belongs to velocity: gap = |step - dt (v + v') / 2| <= dt² A / 4, with A the largest acceleration meanwhile.

        A is what was sent, or, where that does not do (a dash between two references), what the torques can make of the masses,
        by ``JUMP`` at most.  Over a long time velocities do not tell.
        """
        most = np.maximum(np.maximum(np.abs(reference.a), np.abs(last.a)), np.abs(change) / dt)
        allowed = SAME * (1.0 + np.abs(reference.v)) + dt**2 / 4.0 * most
        if dt > LONGEST_S or (gap <= allowed).all():
            return None
        dash = np.full_like(gap, dt * JUMP)
        if validator is not None:
            able = 2.0 * validator.limits.peak / np.diagonal(validator.model.mass_matrix(reference.q))
            dash = np.minimum(dash, dt**2 / 4.0 * able)
        allowed = allowed + dash
        j = int((gap - allowed).argmax())
        if gap[j] <= allowed[j]:
            return None
        limit, unit, way = float(allowed[j]), self.description.position_units[j], dt * float(reference.v[j] + last.v[j]) / 2.0
        more = f" in {1e3 * dt:.0f} ms, where its velocities make {told(way, unit, float(step[j]))}"
        return self._error(f"would jump by {{value}}{more} (allowed {told(limit, unit, 0.0)} beside them)", j, step, limit)

    def _too_hard(
        self, reference: Reference, last: Reference, implied: Array, dt: float, validator: MotionValidator, excess: LimitExcess
    ) -> LimitError | None:
        """Torque with the acceleration as sent, and as the velocities imply it; the tip's speed by where it was, and by J v."""
        model, limits = validator.model, validator.limits
        q, v, a = reference.q, reference.v, reference.a
        torque = model.required_torque(q, v, a)
        allowed = limits.peak * max(excess.torque, 1.0) * (1.0 + TORQUE_TOLERANCE)
        torques = {"": torque}
        if dt <= LONGEST_S:
            torques[" for the change of its velocity"] = torque + model.mass_matrix(q) @ (implied - a)
        for how, tau in torques.items():
            use = np.abs(tau) / allowed
            j = int(use.argmax())
            if not use[j] <= 1.0:
                need = float(abs(tau[j]))
                text = f"would need {need:.2f} {limits.units[j]}{how}, {limits.text(limits.peak_share, j)}"
                return self._said(text, j, need, float(limits.peak[j]))
        tip = model.forward_kinematics(q)
        before = self._tip if self._tip is not None else model.forward_kinematics(last.q)
        allowed_speed = validator.tip_speed * max(excess.tip, 1.0) * (1.0 + RATE_TOLERANCE)
        speed, now = math.dist(tip, before) / dt, 0.0
        if dt > LONGEST_S or speed > SLOW * allowed_speed:
            now = float(tip_speeds(model, q, v))
        if not (speed <= max(allowed_speed, self._allowed_speed) and now <= allowed_speed):
            speed = max(speed, now)
            text = f"the tip would move at {speed:.3f} m/s, allowed {validator.tip_speed:.3f} m/s"
            return LimitError(text, "tip", speed, validator.tip_speed)
        self._looked = reference, tip, allowed_speed
        return None

    def _error(self, text: str, j: int, values: Array, limit: float) -> LimitError:
        """Of a position or a speed, and its limit, which the ``text`` names."""
        unit, value = self.description.position_units[j], float(values[j])
        return self._said(text.format(value=told(value, unit, limit), limit=told(limit, unit, value)), j, value, limit)

    def _said(self, text: str, j: int, value: float, limit: float | None = None) -> LimitError:
        name = self.description.joint_names[j]
        return LimitError(f"{name} {text}", name, value, limit)
