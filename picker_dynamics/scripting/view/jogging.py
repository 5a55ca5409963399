"""Hold-to-move jogging for a page: a velocity holds as long as the page says it again; then the arm decelerates at once.

Velocities of the tip go to the controller as they are.  Those of joints are made positions of a stream here, since the message
for them is not part of a plain ROS installation.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array

from .asked import Jog

HOLDS_S = 0.2
"""How long a velocity holds that is not said again [s]."""

SPEED_SHARE = 0.5
"""Of a joint's velocity limit, at the most."""

AHEAD = 0.04
"""How far the stream may be ahead of the reference [rad, m]: less than what a stream may begin with."""

LONGEST_S = 0.05


class JogKeeper:
    """Keeps the velocity that a page holds; ``client`` is a ``ViewClient`` that drives.

    Args:
        arm: the arm.
    """

    def __init__(self, arm: ArmDescription):
        self._arm, self._lock = arm, threading.Lock()
        self._asked: Jog | None = None
        self._until_s = self._last_s = 0.0
        self._target: Array | None = None

    def take(self, asked: Jog, client: Any, now_s: float) -> None:
        """Take a jog: the arm moves like that from now on, for a moment."""
        with self._lock:
            if self._asked is None:
                self._last_s, self._target = now_s, None
            self._asked, self._until_s = asked, now_s + HOLDS_S
        self.carry_on(client, now_s)

    def let_go(self) -> None:
        """Let go of the jog: the page has."""
        with self._lock:
            self._until_s = 0.0

    def carry_on(self, client: Any, now_s: float) -> None:
        """Say the jog again, as often as the controller wants to hear it; zero, where the page does not any more."""
        with self._lock:
            asked, since_s = self._asked, min(now_s - self._last_s, LONGEST_S)
            if asked is None:
                return
            self._last_s = now_s
            if now_s >= self._until_s:
                self._asked = None
                if not asked.joints:
                    client.jog_tip((0.0,) * 3, (0.0,) * 3, "")
                return
            if not asked.joints:
                client.jog_tip(asked.linear, asked.angular, self._arm.tool if asked.tool else self._arm.root)
            elif client.desired is not None:
                client.jog_to(self._next(asked, np.array(client.desired), since_s))

    def _next(self, asked: Jog, reference: Array, since_s: float) -> Array:
        """The stream's next sample, not far ahead of the reference."""
        arm, velocity = self._arm, np.zeros(self._arm.n)
        for name, value in asked.joints.items():
            if name in arm.joint_names:
                j = arm.joint_names.index(name)
                velocity[j] = np.clip(value, -SPEED_SHARE * arm.velocity[j], SPEED_SHARE * arm.velocity[j])
        target = np.array(reference) if self._target is None else self._target
        target = np.clip(target + since_s * velocity, reference - AHEAD, reference + AHEAD)
        self._target = np.clip(target, arm.lower, arm.upper)
        return self._target
