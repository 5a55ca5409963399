"""Driving by hand: who drives, and jogging by velocities.

Door for drivers: who drives an arm says so again and again, has the lease as long as that goes on, and names its goals by it.

A driver is a program in which a person steers by hand.  It is heard every few hundredths of a second; one that is silent for
``SILENCE_S`` has lost the arm, which decelerates (``Execution.tick``).  A goal is a driver's where its name is the driver's, or
that, a slash, and anything: another's goals are refused meanwhile.

Jogging by velocities, as teleoperation packages send them: integrated into the positions of a stream, as long as they come.
Or by a pose, of a leader arm or a policy: the positions go there, as fast as limits allow, however far away it is.

A velocity of the tip becomes velocities of the joints by the damped inverse of its Jacobian, with pitch rate as a fourth row
where that is asked for or can be held at zero,

    q' = Jᵀ (J Jᵀ + λ² 1)⁻¹ v,     λ² = max(DAMPING² σ₁² - σₙ², 0)     with σ₁, σₙ the largest and smallest singular value

and all joints are slowed alike where one, or the tip, would be too fast.  What comes of it goes through the door of streams:
filtered, bounded, with the lease.  A sender that is silent for ``SILENCE_S``, or sends zeros, lets the arm come to rest.

Reference: Y. Nakamura, H. Hanafusa, Inverse kinematic solutions with singularity robustness for robot manipulator control, 1986.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError, PickerError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.model import Array, as_vector, checked_number, tip_speeds

from .checks import speed_limit
from .events import EventKind
from .execution import Execution
from .lease import LEAP, Holder, Kind
from .streaming import FIRST_TOLERANCE, SILENCE_S, Complaints

MARK = "/"
"""Between a driver's name and what it calls its goal."""

FORGOTTEN_S = 1.0
"""Who drove, and has been silent for so long, is a stranger [s]."""


class Drivers:
    """Drivers, who want to drive the arm of an ``Execution``; times are seconds on its clock."""

    def __init__(self, execution: Execution):
        self._execution = execution
        self._newest, self._heard_s = "", -math.inf  # who drove last, and when it was heard
        self._complaints = Complaints()

    def hear(self, driver: str, now_s: float, *, leaves: bool = False) -> PickerError | None:
        """A driver says that it is there, or that it does not need the arm any more; returns why it does not get it, as is also
        told by its name."""
        execution, holder = self._execution, Holder(Kind.DRIVER, driver)
        lease, joints = execution.lease, range(execution.description.n)
        had = lease.has(holder, now_s)
        if leaves:
            self._newest = "" if driver == self._newest else self._newest
            if had:
                lease.leave(holder)
                execution.tell(EventKind.REMARK, f"{holder} has left", identifier=driver)
            return None
        try:
            refuse_if(not driver or MARK in driver, f"a driver's name is needed, without {MARK!r}", "driver", driver)
            lease.require(holder, joints, now_s)
        except PickerError as error:
            if self._complaints.are_news(driver, now_s):
                execution.tell(EventKind.REFUSED, f"refused: {error}", identifier=driver, error=error)
            return error
        lease.grant(holder, joints, now_s + SILENCE_S)
        self._newest, self._heard_s = driver, now_s
        if not had:
            self._complaints.forget(driver)
            execution.tell(EventKind.ACCEPTED, f"{holder} has control", identifier=driver)
        return None

    def of_goal(self, identifier: str, now_s: float) -> str:
        """The driver whose goal this is; empty: it is anybody's.  A goal says that its driver is there, too.

        So one that lost the arm for a moment, as the machine stood still, is not refused as a stranger.
        """
        driver, mark, _ = identifier.partition(MARK)
        if mark and driver == self._newest and now_s - self._heard_s < FORGOTTEN_S:
            self.hear(driver, now_s)
        return driver if self._execution.lease.has(Holder(Kind.DRIVER, driver), now_s) else ""


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

HAND_S = 1.0
"""So long after a hand was on the arm the servos still swing [s]."""


class Jogging:
    """Feeds an ``Execution`` with a stream made of velocities; times are seconds on its clock.

    Args:
        execution: of the arm.
    """

    def __init__(self, execution: Execution):
        self._execution, self._arm, self._chain = execution, execution.description, _chain_of(execution.description)
        self._twist: Array | None = None  # of the tip (3,) [m/s] and its pitch [rad/s]
        self._joints = self._held = np.zeros(self._arm.n)  # velocities, and the reference of the tick before
        self._pose: Array | None = None  # towards which all joints go, at that share of their speeds
        self._share = 1.0
        self._heard_s = self._ticked_s = self._hand_s = -np.inf
        self._number: int | None = None
        self._name = NAME
        self._target: Array | None = None  # None: nothing is jogged
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
        arm, link = self._arm, frame.rpartition("/")[2] or self._arm.root
        try:
            v, w = as_vector("twist.linear", linear, 3), as_vector("twist.angular", angular, 3)
            if self._chain is None:
                raise InputError("no joint moves this arm's tip: jog its joints", subject="twist")
            if link not in arm.links:
                raise InputError(f"frame {frame!r} is not a link of {arm.name}; the base is {arm.root}", subject="frame_id")
            q = self._execution.pose(now_s) if self._target is None else self._target
            rotation, d = link_poses(arm, q)[link].rotation, self._chain.direction(q)
            v, w = rotation @ v, rotation @ w
            rate = (w[0] * d[1] - w[1] * d[0]) / max(float(np.hypot(d[0], d[1])), STEEP)
            self._take(np.append(v, rate), np.zeros(arm.n), now_s, number, driver)
        except PickerError as error:
            self.refuse(error, now_s)

    def joints(
        self, names: Sequence[str], velocities: ArrayLike, now_s: float, number: int | None = None, driver: str = ""
    ) -> None:
        """Jog joints: they move at ``velocities`` [rad/s or m/s]; the rest as for ``twist``."""
        try:
            arm = self._arm.joint_names
            known = [name for name in arm if name in names]
            given, speeds = ordered(names, velocities, known if set(names) <= set(arm) else arm, "velocities"), np.zeros(len(arm))
            speeds[[arm.index(name) for name in known]] = given
            self._take(None, speeds, now_s, number, driver)
        except PickerError as error:
            self.refuse(error, now_s)

    def pose(self, q: ArrayLike, share: float, now_s: float, driver: str = "", by_hand: bool = False) -> None:
        """Jog all joints towards the pose ``q`` (n,) [rad or m], at most at ``share`` of the speed that jogs may have.

        Args:
            by_hand: a hand is on the arm.
        """
        try:
            q, share = as_vector("pose", q, self._arm.n), checked_number("speed", share, above=0.0, most=1.0)
            self._take(None, np.zeros(self._arm.n), now_s, None, driver)
            self._pose, self._share = np.clip(q, self._arm.lower, self._arm.upper), share
            self._hand_s = now_s if by_hand else -np.inf
        except PickerError as error:
            self.refuse(error, now_s)

    def by_hand(self, now_s: float) -> bool:
        """Whether a hand moves the arm, or did a moment ago."""
        return now_s - self._hand_s < HAND_S

    def tick(self, now_s: float) -> None:
        """Push the next sample of the stream, if somebody jogs: the execution has this done at the beginning of each tick."""
        passed_s, self._ticked_s = now_s - self._ticked_s, now_s
        since_s = min(passed_s, LONGEST_S)
        silent_s, execution, arm = now_s - self._heard_s, self._execution, self._arm
        moves = self._pose is not None or self._joints.any() or (self._twist is not None and self._twist.any())
        wanted = silent_s < SILENCE_S and bool(moves)
        self._refused = wanted and (self._refused or not execution.active)
        if self._refused or silent_s >= 2.0 * SILENCE_S or (self._target is None and not wanted):
            self._target = None
            return
        held, begins = execution.pose(now_s), self._target is None
        if self._target is None:
            self._held, self._target, since_s = held, np.clip(held, arm.lower, arm.upper), 0.0
        moving, self._held = np.abs(held - self._held) / max(passed_s, 1e-3), held
        velocity = self._velocity(self._target, since_s) if silent_s < SILENCE_S else np.zeros(arm.n)
        target = np.clip(self._target + since_s * velocity, arm.lower, arm.upper)
        room = np.maximum(AHEAD + LATE_S * moving, np.abs(self._target - held))
        if self._pose is not None:
            target = np.clip(target, held - room, held + room)
        if (np.abs(target - held) <= room).all():
            self._target = target
        if (why := execution.stream(arm.joint_names, self._target, now_s, sender=self._name, begins=begins)) is not None:
            self._target, self._refused = None, True
            kind, driver = (EventKind.PROBLEM, "") if self._name == NAME else (EventKind.REFUSED, self._name)
            execution.tell(kind, f"{why}: release the key, then jog again", identifier=driver)

    def refuse(self, error: PickerError, now_s: float) -> None:
        """Say once in a while what is wrong with messages."""
        if self._complaints.are_news(error.subject, now_s):
            self._execution.tell(EventKind.PROBLEM, f"jog refused: {error}", error=error)

    # -- how -----------------------------------------------------------------------------------------------

    def _take(self, twist: Array | None, joints: Array, now_s: float, number: int | None, driver: str) -> None:
        """Take velocities; raise an InputError where the message is another sender's than those before."""
        fresh, name = now_s - self._heard_s < SILENCE_S, driver or NAME
        counts_on = number is None or self._number is None or self._number < number <= self._number + LEAP
        if fresh and not (counts_on and name == self._name):
            raise InputError("another client jogs the arm: refused until it ends", subject="sender")
        self._heard_s, self._number, self._name, self._twist, self._joints = now_s, number, name, twist, joints
        self._pose, self._share = None, 1.0

    def _velocity(self, q: Array, since_s: float) -> Array:
        """Of the joints, (n,) [rad/s, m/s], for the next ``since_s``."""
        limits, chain = self._execution.limits, self._chain
        model, v = limits.model, self._joints
        if self._pose is not None:
            v = (self._pose - q) / max(since_s, 1e-3)
        if self._twist is not None and chain is not None:
            rows = model.jacobian(q)
            if self._twist[3] or len(chain.columns) > 3:
                columns, pitch = list(chain.columns), np.zeros(self._arm.n)  # d pitch / d q, by differences
                pitch[columns] = (chain.pitch(q + PROBE * np.eye(self._arm.n)[columns]) - chain.pitch(q)) / PROBE
                rows = np.vstack([rows, chain.length * pitch])
            wanted = (self._twist * [1.0, 1.0, 1.0, chain.length])[: len(rows)]
            square = rows @ rows.T
            values = np.linalg.eigvalsh(square)
            damping = max(DAMPING**2 * float(values[-1]) - float(values[0]), LEAST)
            v = rows.T @ np.linalg.solve(square + damping * np.eye(len(rows)), wanted)
        most = float((np.abs(v) / speed_limit(self._arm, limits.torque.servo_map)).max())
        most = max(most, float(tip_speeds(model, q, v)) / limits.tip_speed)
        slowed: Array = v / max(1.0, most / SPEED_SHARE / self._share)
        return slowed


def _chain_of(description: ArmDescription) -> ChainKinematics | None:
    try:
        return ChainKinematics(description)
    except InputError:
        return None
