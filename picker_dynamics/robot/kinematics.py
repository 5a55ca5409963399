"""Forward and inverse kinematics of the picker in closed form, without iteration.

With theta0 the base angle, elevations a1 = theta1, a2 = theta1 + theta2, a3 = theta1 + theta2 + theta3 (from
the horizontal, upwards positive), link lengths L1, L2, L3 and the shoulder at (x0, y0, h) of the root frame:

    rho = L1 cos a1 + L2 cos a2 + L3 cos a3               reach in the arm's vertical plane
    tip = (x0 + rho cos theta0, y0 + rho sin theta0, h + L1 sin a1 + L2 sin a2 + L3 sin a3)

The pitch of the hand is a3, an angle of the arm's plane: 0 points forwards, -pi/2 down.  An arm that leans
over its back has rho < 0, and there a hand of pitch pi points outwards.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import UnreachableError

from .description import ArmDescription
from .model import Array, as_states, as_vector, checked_number
from .picker_shape import read_shape
from .units import told

ON_AXIS_M = 1e-9
"""A tip this close to the base axis [m] leaves the base angle free; lengths shorter than this are zero."""

LIMIT_SLACK = 1e-9
"""Angles this far beyond a limit [rad] are rounding, and are put onto the limit."""


class PickerKinematics:
    """Forward and inverse kinematics of an arm of the picker's shape.

    All positions are in the root frame (base_link).

    Args:
        description: the arm; its lengths, joint names and limits are taken from it.

    Raises:
        DescriptionError: the arm has another shape (see ``picker_shape``).

    Attributes:
        lengths: (3,) L1, L2, L3 [m].
        shoulder: (3,) position of the shoulder axis [m].
    """

    def __init__(self, description: ArmDescription):
        shape = read_shape(description)
        self.joint_names, self.n = description.joint_names, description.n
        self.lengths, self.shoulder = shape.lengths, shape.shoulder
        self._columns, self._scissor = shape.columns, shape.scissor
        self._lower, self._upper = description.lower, description.upper

    def forward(self, q: ArrayLike) -> Array:
        """Tip position, (..., 3) [m], for joint angles q (..., n) [rad]."""
        theta0, elevations = self._angles(q)
        rho = np.cos(elevations) @ self.lengths
        height = np.sin(elevations) @ self.lengths
        return self.shoulder + np.stack([rho * np.cos(theta0), rho * np.sin(theta0), height], axis=-1)

    def pitch(self, q: ArrayLike) -> Array:
        """Pitch of the hand a3 = theta1 + theta2 + theta3, (...) [rad], for joint angles q (..., n) [rad]."""
        return self._angles(q)[1][..., 2]

    def jacobian(self, q: ArrayLike) -> Array:
        """Jacobian of the tip, d tip / d q, (..., 3, n) [m/rad], for joint angles q (..., n) [rad]."""
        theta0, elevations = self._angles(q)
        along, up = self.lengths * np.cos(elevations), self.lengths * np.sin(elevations)
        rho = along.sum(axis=-1)
        c0, s0 = np.cos(theta0), np.sin(theta0)
        jacobian = np.zeros((*theta0.shape, 3, self.n))
        base, *pitch_columns = self._columns
        jacobian[..., 0, base], jacobian[..., 1, base] = -rho * s0, rho * c0
        for first, column in enumerate(pitch_columns):  # joint k turns every link from k on
            d_rho, d_height = -up[..., first:].sum(axis=-1), along[..., first:].sum(axis=-1)
            jacobian[..., 0, column] = d_rho * c0
            jacobian[..., 1, column] = d_rho * s0
            jacobian[..., 2, column] = d_height
        return jacobian

    def branches(self, position_m: ArrayLike, pitch_rad: float, *, near: ArrayLike | None = None) -> tuple[Array, ...]:
        """All joint angles that put the tip at ``position_m`` with that pitch, limits aside.

        Up to four: the base facing the target or turned by pi (over the back), each with both elbows; all
        angles within (-pi, pi].

        Args:
            position_m: (3,) tip position [m].
            pitch_rad: pitch of the hand [rad].
            near: (n,) [rad] gives the scissor, and the base angle of a tip on the base axis; default zeros.

        Returns:
            A tuple of (n,) read-only arrays [rad].

        Raises:
            UnreachableError: no such angles; says by how much the wrist is too far or too close.
        """
        target, pitch, near = self._checked(position_m, pitch_rad, near)
        facings = self._facings(target, pitch, near)
        found = tuple(
            self._assemble(theta0, pitch, arm, near)
            for theta0, wrist in facings
            if abs(self._gap(wrist)) < ON_AXIS_M
            for arm in self._two_links(*wrist, near)
        )
        if not found:
            raise self._too_far(target, pitch, [wrist for _, wrist in facings])
        return found

    def inverse(
        self, position_m: ArrayLike, pitch_rad: float, *, near: ArrayLike | None = None, scissor: float | None = None
    ) -> Array:
        """Joint angles within their limits that put the tip at ``position_m`` with that pitch.

        Args:
            position_m: (3,) tip position [m].
            pitch_rad: pitch of the hand [rad].
            near: (n,) present joint angles [rad]: of several solutions the one whose farthest-moving joint
                moves least wins; also gives the base angle of a tip on the base axis.  Default zeros.
            scissor: angle of the scissor joint [rad]; default that of ``near``.

        Returns:
            (n,) [rad], read-only.

        Raises:
            UnreachableError: out of reach (value and limit: the wrist's distance from the shoulder [m]), or
                every solution breaks a joint limit (joint, value, limit of the one that breaks it least).
        """
        target, pitch, near = self._checked(position_m, pitch_rad, near)
        if scissor is not None:
            near[self._scissor] = checked_number("scissor", scissor)
        reachable, refused = [], []
        for q in self.branches(target, pitch, near=near):
            turned = np.array([self._nearest_turn(i, angle, near[i]) for i, angle in enumerate(q)])
            excess = np.maximum(self._lower - turned, turned - self._upper)
            if np.all(excess <= LIMIT_SLACK):
                reachable.append(np.clip(turned, self._lower, self._upper))
            else:
                worst = int(np.argmax(excess))
                refused.append((float(excess[worst]), worst, float(turned[worst])))
        if not reachable:
            raise self._refusal(target, pitch, near, min(refused)[1:])
        best: Array = min(reachable, key=lambda q: (np.max(np.abs(q - near)), np.sum(np.abs(q - near))))
        best.setflags(write=False)
        return best

    def reachable_pitch(
        self, position_m: ArrayLike, *, preferred: float = 0.0, near: ArrayLike | None = None, step: float = math.radians(1.0)
    ) -> float:
        """The hand pitch [rad] nearest to ``preferred`` with which the tip can be at ``position_m``.

        Searched on a grid of ``step`` [rad] over a whole turn.

        Raises:
            UnreachableError: no pitch of the grid will do; says why ``preferred`` does not.
        """
        reasons = []
        for count in range(int(math.pi / step) + 1):
            for pitch in (preferred - count * step, preferred + count * step):
                try:
                    self.inverse(position_m, pitch, near=near)
                    return pitch
                except UnreachableError as error:
                    reasons.append(error)
        reason = reasons[0]
        raise UnreachableError(f"no hand pitch reaches {_text(position_m)}: {reason}", reason.subject, reason.value, reason.limit)

    # --- pieces ---------------------------------------------------------------------------------

    def _angles(self, q: ArrayLike) -> tuple[Array, Array]:
        """theta0 (...) and the elevations a1, a2, a3 (..., 3) [rad]."""
        q = as_states("q", q, self.n)
        theta0, *pitches = (q[..., column] for column in self._columns)
        return theta0, np.cumsum(np.stack(pitches, axis=-1), axis=-1)

    def _checked(self, position_m: ArrayLike, pitch_rad: float, near: ArrayLike | None) -> tuple[Array, float, Array]:
        near = np.zeros(self.n) if near is None else as_vector("near", near, self.n)
        return as_vector("position_m", position_m, 3), checked_number("pitch_rad", pitch_rad), near

    def _facings(self, target: Array, pitch: float, near: Array) -> list[tuple[float, tuple[float, float]]]:
        """Base angle [rad] and wrist (reach, height) [m] from the shoulder: facing it, over the back."""
        x, y, height = target - self.shoulder
        rho = math.hypot(x, y)
        if rho < ON_AXIS_M:
            facings = [(near[self._columns[0]], 0.0)]
        else:
            facings = [(math.atan2(y, x), rho), (math.atan2(-y, -x), -rho)]
        back, down = self.lengths[2] * math.cos(pitch), self.lengths[2] * math.sin(pitch)
        return [(theta0, (reach - back, height - down)) for theta0, reach in facings]

    def _gap(self, wrist: tuple[float, float]) -> float:
        """How much too far from the shoulder (> 0), or too close to it (< 0), the wrist is [m]."""
        nearest, farthest = self._reach()
        distance = math.hypot(*wrist)
        return max(distance - farthest, 0.0) + min(distance - nearest, 0.0)

    def _reach(self) -> tuple[float, float]:
        return abs(self.lengths[0] - self.lengths[1]), self.lengths[0] + self.lengths[1]

    def _two_links(self, rho: float, height: float, near: Array) -> list[tuple[float, float]]:
        """(theta1, theta2) with the wrist at (rho, height) from the shoulder, both elbows: law of cosines."""
        l1, l2, _ = self.lengths
        distance = math.hypot(rho, height)
        cosine = (distance * distance - l1 * l1 - l2 * l2) / (2.0 * l1 * l2)
        bend = math.acos(min(1.0, max(-1.0, cosine)))
        # A wrist on the shoulder axis (only where L1 = L2) leaves the shoulder free: it stays.
        direction = math.atan2(height, rho)
        solutions = []
        for theta2 in (bend, -bend) if 0.0 < bend < math.pi else (bend,):
            theta1 = direction - math.atan2(l2 * math.sin(theta2), l1 + l2 * math.cos(theta2))
            solutions.append((near[self._columns[1]] if distance < ON_AXIS_M else theta1, theta2))
        return solutions

    def _assemble(self, theta0: float, pitch: float, arm: tuple[float, float], near: Array) -> Array:
        theta1, theta2 = arm
        q: Array = near.copy()
        angles = (theta0, theta1, theta2, pitch - theta1 - theta2)
        q[list(self._columns)] = [_wrapped(angle) for angle in angles]
        q.setflags(write=False)
        return q

    def _nearest_turn(self, joint: int, angle: float, near: float) -> float:
        """``angle`` plus whole turns: within the limits if it can be, and then closest to ``near``."""
        if joint == self._scissor:
            return angle
        lower, upper = self._lower[joint], self._upper[joint]
        turns = round((near - angle) / math.tau)
        candidates = [angle + math.tau * (turns + k) for k in (-1, 0, 1)] + [angle]
        return min(candidates, key=lambda a: (max(lower - a, a - upper, LIMIT_SLACK), abs(a - near)))

    def _refusal(self, target: Array, pitch: float, near: Array, least: tuple[int, float]) -> UnreachableError:
        """Why no branch is within the limits; ``least`` is joint and angle of the one that misses least.

        Where the base can face the target but the wrist is then out of reach, that is the reason: all that is
        left are contortions over the back.
        """
        base = self._columns[0]
        facing, wrist = self._facings(target, pitch, near)[0]
        if self._lower[base] <= facing <= self._upper[base] and abs(self._gap(wrist)) >= ON_AXIS_M:
            return self._too_far(target, pitch, [wrist])
        joint, value = least
        name, lower, upper = self.joint_names[joint], float(self._lower[joint]), float(self._upper[joint])
        beyond = lower if value < lower else upper
        return UnreachableError(
            f"tip target {_text(target)} with hand pitch {told(pitch, 'rad')} needs joint {name} at "
            f"{told(value, 'rad', beyond)}; its limits are {told(lower, 'rad')} to {told(upper, 'rad')}",
            name,
            value,
            beyond,
        )

    def _too_far(self, target: Array, pitch: float, wrists: list[tuple[float, float]]) -> UnreachableError:
        wrist = min(wrists, key=lambda wrist: abs(self._gap(wrist)))
        gap, distance = self._gap(wrist), math.hypot(*wrist)
        nearest, farthest = self._reach()
        from_shoulder, whole = float(np.linalg.norm(target - self.shoulder)), float(np.sum(self.lengths))
        if from_shoulder > whole:
            return UnreachableError(
                f"tip target {_text(target)} is {1e3 * from_shoulder:.1f} mm from the shoulder, the stretched arm "
                f"reaches {1e3 * whole:.1f} mm: {1e3 * (from_shoulder - whole):.1f} mm too far",
                None,
                from_shoulder,
                whole,
            )
        how = "far" if gap > 0.0 else "close"
        return UnreachableError(
            f"tip target {_text(target)} with hand pitch {told(pitch, 'rad')} puts the wrist {1e3 * distance:.1f} mm from the "
            f"shoulder, possible are {1e3 * nearest:.1f} to {1e3 * farthest:.1f} mm: {1e3 * abs(gap):.1f} mm too {how}",
            None,
            distance,
            farthest if gap > 0.0 else nearest,
        )


def _wrapped(angle: float) -> float:
    """The same direction within (-pi, pi]."""
    angle = math.remainder(angle, math.tau)
    return angle if angle > -math.pi else math.pi


def _text(position_m: ArrayLike) -> str:
    return "({:.0f}, {:.0f}, {:.0f}) mm".format(*1e3 * np.asarray(position_m, dtype=float))
