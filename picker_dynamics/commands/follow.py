"""``picker follow``: the running arm follows a leader, an arm of bus servos that a hand moves.

What keeps it going is that this program says so again and again: where it ends, hangs or hears nothing of the leader, the arm
comes to rest.  From wherever the two are, the arm first comes slowly to where the leader is, and then goes as fast as it may.
"""

from __future__ import annotations

import os
from collections import deque

import numpy as np

from picker_dynamics.errors import ConfigurationError, InputError, JointNamesError, LinkError, PickerError
from picker_dynamics.execution.streaming import POLE
from picker_dynamics.robot.model import as_vector
from picker_dynamics.robot.units import told

from . import drive
from . import options as shared

FOLLOW = "f"
"""Key with which the arm follows."""

APPROACH, NEAR = 0.2, 0.05
"""Share of its speed with which the arm comes to the leader, until each joint is so near [rad or m]."""

SILENT_S = 0.1
"""A leader that has said nothing for so long is not followed [s]."""

LEAD_S = 3**0.5 / POLE
"""So far ahead the leader's motion is taken to go on [s]: what makes up for most of the delay of the follower's three poles.

|1 + i w L|² / (1 + w² / p²)³ is flat at low frequencies for L = sqrt(3) / p: it does not overshoot.
"""

SAMPLES = 6
"""Of so many samples the leader's velocity is made."""


def add_parser(commands) -> None:
    """Register ``follow``."""
    parser = commands.add_parser("follow", help="have the running arm follow a leader arm of bus servos, which a hand moves")
    parser.add_argument(
        "--leader", required=True, metavar="PORT", help="serial port of the leader's bus; its torque is switched off"
    )
    shared.add(parser, "--arm", help="the leader, an arm of config/arms.yaml (default: as the arm that runs)")
    shared.add(parser, "--urdf", help="the leader's URDF")
    shared.add(parser, "--servos", help="its servo map (default: that of its arm)")
    shared.add(parser, "--servo-overlay", help="differences from that, for example LeRobot's calibration of the leader")
    shared.add(parser, "--namespace", "--host")


def run(options) -> int:
    """Have the arm follow, as often as a person wants, until q, Ctrl-C or Ctrl-D; returns the exit code."""
    from picker_dynamics.scripting.arm import Arm

    with shared.client(options) as client:
        known = shared.equipment(client).description
        port = client.call("get", part="hardware", names=["port"])[0]
    if port and os.path.realpath(port) == os.path.realpath(options.leader):
        raise InputError(f"{options.leader} is the port of the arm that runs: the leader has one of its own", "leader", port)
    try:
        leader = Arm.leader(
            options.leader, options.urdf or options.arm or known.name, options.servos, servo_overlay=options.servo_overlay
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"leader: {error}", error.subject, error.value) from error
    with leader:
        require_same(leader.description, known)
        return drive.run(options, lambda client, arm: FollowSeat(client, arm, leader.session))


def require_same(leader, follower) -> None:
    """Raise a JointNamesError where two descriptions have not the same joints."""
    if leader.joint_names != follower.joint_names:
        each = ", ".join(leader.joint_names), ", ".join(follower.joint_names)
        raise JointNamesError(f"the leader is another arm, {leader.name} with {each[0]}: {follower.name} has {each[1]}", "leader")


class FollowSeat(drive.Seat):
    """A driver's seat from which the arm follows ``leader``, a session in this process; the rest as for ``Seat``.

    Attributes:
        follows: the arm goes where the leader is; is_near: it has been there since.
    """

    help = f"{drive.Seat.help}\n    {FOLLOW}             follow the leader; any other key lets go"

    def __init__(self, client, arm, leader):
        super().__init__(client, arm)
        self.leader, self.follows, self.is_near = leader, False, False
        self._samples: deque[tuple[float, np.ndarray]] = deque(maxlen=SAMPLES)
        self.say(f"{FOLLOW} follows the leader, any other key lets go")

    def act(self, action) -> None:
        """Let go at any other key than that to follow; the rest as ``Seat`` does."""
        if self.follows and (action is None or action.what != FOLLOW):
            self.let_go("let go: the arm holds")
        super().act(action)

    def keep(self, key: str) -> None:
        """Follow from now on.  Raises a PickerError where that cannot be."""
        if key != FOLLOW:
            super().keep(key)
        elif not self.follows:
            if why := self.hindrance():
                raise PickerError(f"not followed: {why}")
            self.ahead()
            self.follows, self.is_near = True, False
            self.say("the arm comes to the leader")

    def hindrance(self) -> str:
        """Why no step can begin now."""
        return "the arm follows the leader" if self.follows else super().hindrance()

    def let_go(self, why: str) -> None:
        """Let the arm come to rest."""
        self.follows = False
        super().let_go(why)

    def turn(self) -> None:
        """Send the arm to where the leader is; let go where that cannot be any more."""
        super().turn()
        try:
            q = self.ahead()
            if not self.follows:
                return
            if why := self.lost():
                raise LinkError(why)
        except PickerError as error:
            if self.follows:
                self.let_go(f"let go, the arm holds: {error}")
            return
        if not self.is_near and self.away(q).max() < NEAR:
            self.is_near = True
            self.say("the arm follows")
        self.client.jog({"pose": q.tolist(), "speed": 1.0 if self.is_near else APPROACH})

    def away(self, q: np.ndarray) -> np.ndarray:
        """How far each joint is from the leader's pose ``q``, as far as it may go there, (n,) [rad or m]."""
        arm = self.description
        return np.abs(np.clip(q, arm.lower, arm.upper) - self.client.desired)

    def ahead(self) -> np.ndarray:
        """Where the leader will be in ``LEAD_S`` from now, (n,) [rad or m].

        Raises:
            LinkError: it is silent; InputError: it is nowhere.
        """
        leader, samples = self.leader, self._samples
        if leader.state is None or leader.now_s - leader.seen_s > SILENT_S:
            raise LinkError(f"the leader is silent: {leader.hardware.get('message', 'not heard')}")
        q = as_vector("leader", leader.state, self.description.n)
        if samples and leader.seen_s - samples[-1][0] > SILENT_S:
            samples.clear()
        if not samples or leader.seen_s > samples[-1][0]:
            samples.append((leader.seen_s, q))
        if len(samples) < SAMPLES:
            return q
        t = np.array([time_s for time_s, _ in samples])
        t -= t.mean()
        v = t @ np.array([q for _, q in samples]) / (t @ t)
        return q + (leader.now_s - leader.seen_s + LEAD_S) * v

    def status(self) -> list[str]:
        """Status in lines, of the leader too."""
        try:
            away = self.away(self.ahead()) if self.client.desired is not None else np.zeros(self.description.n)
        except PickerError as error:
            return [*super().status(), str(error)]
        j = int(away.argmax())
        said = "followed" if self.follows and self.is_near else "approached" if self.follows else "not followed"
        farthest = f"{told(away[j], self.description.position_units[j])} at {self.description.joint_names[j]}"
        return [*super().status(), f"leader: {said}, {farthest} away"]
