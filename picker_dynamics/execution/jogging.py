"""Jogging by velocities, as teleoperation packages send them: integrated into the positions of a stream, as long as they come.

A velocity of the tip becomes velocities of the joints by the damped inverse of its Jacobian, with pitch rate as a fourth row
where that is asked for or can be held at zero,

    q' = Jᵀ (J Jᵀ + λ² 1)⁻¹ v,     λ² = max(DAMPING² σ₁² - σₙ², 0)     with σ₁, σₙ the largest and smallest singular value

and all joints are slowed alike where one, or the tip, would be too fast.  What comes of it goes through the door of streams:
filtered, bounded, with the lease.  A sender that is silent for ``SILENCE_S``, or sends zeros, lets the arm come to rest.

Reference: Y. Nakamura, H. Hanafusa, Inverse kinematic solutions with singularity robustness for robot manipulator control, 1986.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.model import Array, as_vector, tip_speeds

from .checks import speed_limit
from .events import EventKind
from .execution import Execution
from .lease import LEAP
from .streaming import FIRST_TOLERANCE, SILENCE_S, Complaints

NAME = "jog"
"""Of the stream, for the lease, where it is not a driver's."""

DAMPING = 0.05
"""Share of the Jacobian's largest singular value below which a direction counts as singular."""

LEAST = 1e-9
"""Least λ² [m²]."""

SPEED_SHARE = 0.9
"""Of the speed limits of joints and tip that is asked for at the most."""

AHEAD = 0.5 * FIRST_TOLERANCE
"""How far the target may be from the reference beyond what the stream's filter is late [rad, m]."""

LATE_S = 0.1
"""By so much the filter is late, and ticks may be [s]."""

LONGEST_S = 0.05
"""Time that is integrated in one tick, at most."""

PROBE = 1e-6
"""Step of the joints of which the pitch's derivatives are made [rad, m]."""

STEEP = 1e-3
"""A hand that points nearer to straight up or down has no pitch axis: of its direction this much is taken to be level."""


class Jogging:
    """Feeds an ``Execution`` with a stream made of velocities; times are seconds on its clock.

    Args:
        execution: of the arm.
    """

    def __init__(self, execution: Execution):
        self._execution, self._chain = execution, _chain_of(execution)
        self._names, self._n = execution.description.joint_names, execution.description.n
        self._twist: Array | None = None  # of the tip (3,) [m/s] and its pitch [rad/s]
        self._joints = np.zeros(self._n)
        self._heard_s = self._ticked_s = -np.inf
        self._number: int | None = None
        self._name = NAME
        self._target: Array | None = None  # None: nothing is jogged
        self._held: Array | None = None  # the reference of the tick before
        self._refused = False  # until the sender lets go
        self._complaints = Complaints()
        execution.feed_by(self.tick)

    def twist(
        self, linear: ArrayLike, angular: ArrayLike, now_s: float, frame: str = "", number: int | None = None, driver: str = ""
    ) -> None:
        """Jog the tip: it moves at ``linear`` (3,) [m/s], and its pitch change as if the hand turned at ``angular`` (3,) [rad/s].

        Args:
            frame: link in whose axes both are given; empty: the base.
            number: of the message, as its sender counts; of two senders the second is refused.
            driver: whose it is, who has the arm; empty: anybody's.
        """
        try:
            v, w = as_vector("twist.linear", linear, 3), as_vector("twist.angular", angular, 3)
            if self._chain is None:
                raise InputError("no joint moves this arm's tip: jog its joints", subject="twist")
            arm, link = self._execution.description, frame.rpartition("/")[2] or self._execution.description.root
            if link not in arm.links:
                raise InputError(
                    f"frame {frame!r} is no link of {arm.name}; the base is {arm.root}", subject="frame_id", value=frame
                )
            q = self._reference(now_s) if self._target is None else self._target
            if link != arm.root:
                rotation = link_poses(arm, q)[link].rotation
                v, w = rotation @ v, rotation @ w
            d = self._chain.direction(q)
            rate = (w[0] * d[1] - w[1] * d[0]) / max(float(np.hypot(d[0], d[1])), STEEP)
            self._take(now_s, number, driver)
        except PickerError as error:
            return self.refuse(error, now_s)
        self._twist, self._joints = np.append(v, rate), np.zeros(self._n)
        return None

    def joints(
        self, names: Sequence[str], velocities: ArrayLike, now_s: float, number: int | None = None, driver: str = ""
    ) -> None:
        """Jog joints: they move at ``velocities`` [rad/s or m/s]; the rest as for ``twist``."""
        try:
            known = [name for name in self._names if name in names]
            speeds = ordered(names, velocities, known if set(names) <= set(self._names) else self._names, "velocities")
            self._take(now_s, number, driver)
        except PickerError as error:
            return self.refuse(error, now_s)
        self._twist, self._joints = None, np.zeros(self._n)
        self._joints[[self._names.index(name) for name in known]] = speeds
        return None

    def tick(self, now_s: float) -> None:
        """Push the next sample of the stream, if somebody jogs: the execution has this done at the beginning of each tick."""
        since_s, self._ticked_s = min(now_s - self._ticked_s, LONGEST_S), now_s
        silent_s, execution = now_s - self._heard_s, self._execution
        wanted = self._twist is not None and self._twist.any() or self._joints.any()
        if silent_s >= SILENCE_S or not wanted:
            self._refused = False
        elif not execution.active:
            self._refused = True
        if silent_s >= 2.0 * SILENCE_S or self._refused:
            self._target = None
            return
        held = self._reference(now_s)
        if self._target is None:
            if silent_s >= SILENCE_S or not wanted:
                return
            self._held = None
            self._target, since_s = np.clip(held, execution.description.lower, execution.description.upper), 0.0
        moving = np.abs(held - self._held) / max(since_s, 1e-3) if self._held is not None else np.zeros(self._n)
        self._held = held
        velocity = self._velocity(self._target) if silent_s < SILENCE_S else np.zeros(self._n)
        target = np.clip(self._target + since_s * velocity, execution.description.lower, execution.description.upper)
        if (np.abs(target - held) <= np.maximum(AHEAD + LATE_S * moving, np.abs(self._target - held))).all():
            self._target = target
        if execution.stream(self._names, self._target, now_s, sender=self._name) is not None:
            self._target, self._refused = None, True

    def refuse(self, error: PickerError, now_s: float) -> None:
        """Say once in a while what is wrong with messages."""
        if self._complaints.are_news(error.subject, now_s):
            self._execution.tell(EventKind.PROBLEM, f"jog refused: {error}", error=error)

    # -- how -----------------------------------------------------------------------------------------------

    def _reference(self, now_s: float) -> Array:
        return np.array([self._execution.position(joint, now_s) for joint in range(self._n)])

    def _take(self, now_s: float, number: int | None, driver: str) -> None:
        """Raise an InputError where a message is another sender's than those before."""
        fresh, name = now_s - self._heard_s < SILENCE_S, driver or NAME
        counts_on = number is None or self._number is None or self._number < number <= self._number + LEAP
        if fresh and not (counts_on and name == self._name):
            raise InputError("another sender jogs the arm: this one is refused until that ends", subject="sender")
        self._heard_s, self._number, self._name = now_s, number, name

    def _velocity(self, q: Array) -> Array:
        """Of the joints, (n,) [rad/s, m/s]."""
        model, chain = self._execution.limits.model, self._chain
        v: Array = self._joints
        if self._twist is not None and model is not None and chain is not None:
            rows = model.jacobian(q)
            if self._twist[3] or len(chain.columns) > 3:
                rows = np.vstack([rows, chain.length * self._pitch_row(q, chain)])
            wanted = (self._twist * [1.0, 1.0, 1.0, chain.length])[: len(rows)]
            square = rows @ rows.T
            values = np.linalg.eigvalsh(square)
            damping = max(DAMPING**2 * float(values[-1]) - float(values[0]), LEAST)
            v = rows.T @ np.linalg.solve(square + damping * np.eye(len(rows)), wanted)
        limits = self._execution.limits
        most = float((np.abs(v) / speed_limit(self._execution.description, limits.torque.servo_map)).max())
        if model is not None:
            most = max(most, float(tip_speeds(model, q, v)) / limits.tip_speed)
        slowed: Array = v / max(1.0, most / SPEED_SHARE)
        return slowed

    def _pitch_row(self, q: Array, chain: ChainKinematics) -> Array:
        """d pitch / d q, (n,), by differences."""
        row = np.zeros(self._n)
        columns = list(chain.columns)
        row[columns] = (chain.pitch(q + PROBE * np.eye(self._n)[columns]) - chain.pitch(q)) / PROBE
        return row


def _chain_of(execution: Execution) -> ChainKinematics | None:
    try:
        return ChainKinematics(execution.description)
    except InputError:
        return None
