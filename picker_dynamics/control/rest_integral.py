"""Integral action at rest, of joints that measure: the set-point goes slowly to where the joint is at its reference.

    c' = (q_d - q) / T, +-RATE at the most,   where |q_d - q| > step, and step + play where c would turn back,
                                              and low <= c, c + q_d - q <= high

c is the compensator's ``correction``, ``low`` and ``high`` what wrong figures explain (``Compensator.room``); c + q_d - q is
what the spring gives more than the model says: of an arm that is blocked or leant on it is beyond them, and c stays.  It stays
too while anything moves or fades, and where samples are missing.  A joint whose friction is at the end of its band keeps that
as long as it is to go on that way; one that has arrived gives half of it back, once, so that it does not stand where the least
load moves it.  After ``TURNS`` turns of a joint its c stays until the next motion.

When a motion begins friction's side is where the measured springs say that it is.  What that does not explain of c is the
model's error there, and fades along the way.
"""

from __future__ import annotations

import math

import numpy as np

from picker_dynamics.robot.model import Array

from .compensation import NONE, Compensator

T, RATE = 0.2, 0.03
"""Of the integral [s], and the largest speed of a set-point [rad/s or m/s]: joints swing on their springs by RATE / 10 rad/s."""

STANDS_S, LONGEST_S = 0.1, 0.05
"""How long the arm stands before; a gap between two samples counts as so much at the most [s]."""

FAST = 0.15
"""Speed at which a joint does not stand [rad/s or m/s]: two steps of the coarsest measurement."""

GIVEN_BACK = 0.5
"""Share of the friction's band, as it is believed: it may be half as wide."""

TURNS = 2
"""Turns of a joint in one rest."""

FADE_RAD = 0.1
"""Way of the fastest joint on which a correction fades to 1/e."""


class RestIntegral:
    """Integral action of one arm.

    Args:
        compensator: its ``correction`` is moved.
        step, play: (n,) of the measurement and of the gears [rad or m].
        joints: (n,) whether it acts on the joint.

    Attributes:
        on: whether it acts; c stays where it does not.
    """

    def __init__(self, compensator: Compensator, step: Array, play: Array, joints: np.ndarray):
        self._compensator, self._step, self._play, self._joints = compensator, step, play, joints
        self.on = True
        self.start()

    def start(self) -> None:
        """Start anew: where the arm is held from now on."""
        self._q: Array | None = None
        self._sample_s = -math.inf
        self._rest()

    def _rest(self) -> None:
        n = len(self._step)
        self._stood_s, self._way, self._turns, self._given_back = 0.0, np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool)
        self._acts: np.ndarray = np.zeros(n, dtype=bool)

    def advance(self, q_d: Array, moves: bool, time_s: float, q: Array, v: Array) -> None:
        """Advance to the reference ``q_d`` (n,) [rad or m], which ``moves`` or stands; measured at ``time_s``: q, v (n,)."""
        way, self._q = 0.0 if self._q is None else float(np.abs(q_d - self._q).max()), q_d
        since_s, self._sample_s = min(time_s - self._sample_s, LONGEST_S), time_s
        if way or moves:
            self._move(way, q)
        elif since_s > 0.0:
            self._stood_s = 0.0 if (np.abs(v) > FAST).any() else self._stood_s + since_s
            if self.on and self._stood_s > STANDS_S and self._compensator.settled and self._compensator.mode != NONE:
                self._act(q_d - q, since_s)

    def _move(self, way: float, q: Array) -> None:
        """Begin a motion, or go on with it."""
        one = self._compensator
        if self._stood_s:
            one.take_side(self._way != 0.0, one.side_at(q))
            one.side.kept = False
            self._rest()
        one.correction = one.correction * math.exp(-way / FADE_RAD)

    def _act(self, error: Array, since_s: float) -> None:
        one = self._compensator
        way = np.minimum(np.abs(error) / T, RATE) * since_s
        sign, before, (low, high) = np.sign(error), one.correction, one.room()
        turns = sign * self._way < 0.0
        off = self._joints & (np.abs(error) > self._step + self._play * turns) & (self._turns < np.where(turns, TURNS, np.inf))
        up = np.minimum(before + way, np.maximum(before, high - error))
        down = np.maximum(before - way, np.minimum(before, low - error))
        after = np.where(off, np.where(error > 0.0, up, down), before)
        acts: np.ndarray = after != before
        arrived = self._acts & (np.abs(error) <= self._step)
        self._turns += acts & turns
        self._way, self._acts = np.where(acts, sign, self._way), acts | (self._acts & ~arrived)
        one.correction, one.side.kept = after, acts & (sign * one.side.middle > 0.0)
        if (gives := arrived & ~self._given_back).any():
            self._given_back |= gives
            one.take_side(gives, GIVEN_BACK * self._way)
