"""Whatever set-points come, and whenever, what the sender puts on the wire keeps range, order and speed: thousands of sequences.

A sender alone with the bytes of a board, whose time passes its end.  In some sequences the set-points themselves are hostile; in
the others only when they come, and what the line does with them, and then the outputs move no faster than what is asked for.
"""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from generated import LIFE, lives
from session_rig import HOME, LIMITS, SERVOS

from picker_dynamics.board.protocol import Adopt, SetPoint, encode
from picker_dynamics.board.setpoint_guard import AHEAD_S, BRIDGE_S, NEAR, PAST_S, Refusal
from picker_dynamics.board.setpoint_sender import LATEST_S, SetpointSender
from picker_dynamics.errors import PickerError
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.simulated_board import firmware_config

CONFIG = replace(firmware_config(SERVOS), start_time_us=2**32 - 200_000)
FRAME_S, PERIOD_S, LEAD_S = 0.02, 0.01, 0.06
PACE_RAD_S = 0.8
"""Of what is asked for, where only times are hostile."""
SPEED = np.array([one.speed for one in LIMITS])
LOWEST, HIGHEST = (np.array([getattr(one, end) for one in LIMITS]) for end in ("lowest", "highest"))
SLOPE = np.abs(np.diff([SERVOS.to_pulse_us(HOME), SERVOS.to_pulse_us(HOME + 0.01)], axis=0)[0]) * 800.0
"""Pulse of an angle [1/8 us per rad]."""
ROUNDED = 2.0
"""Of two pulses [1/8 us]."""


class Life:
    """A sender and its board, which holds a pose; it is the link between them."""

    def __init__(self, pose, honest: bool):
        self.firmware = VirtualFirmware(CONFIG, found_us=SERVOS.to_pulse_us(pose).tolist())
        self.info, self.now, self.played_s, self.sequence = SimpleNamespace(queue_capacity=24), 0.0, 0.0, 0
        self.telemetry = SimpleNamespace(behind_ms=0)
        self.rng, self.bad_until_s, self.lost, self.held = np.random.default_rng(len(pose)), 0.0, 0.0, []
        self.wire, self.passed, self.q, self.due_s = [], [], pose, LEAD_S
        self.outputs, self.most = pose, SLOPE * PACE_RAD_S * FRAME_S + ROUNDED if honest else SPEED
        self.say(Adopt(0b11111))
        self.sender = SetpointSender(self, SERVOS)
        self.sender.restart(pose)

    def board_time_us(self, host_s: float) -> int:
        return self.firmware.board_time_us(round(host_s * 1e6))

    def send_setpoint(self, time_us: int, pulses) -> None:
        self.wire.append((time_us, np.array(pulses)))
        if self.now >= self.bad_until_s:
            self.say(SetPoint(time_us, pulses))
        elif self.rng.random() >= self.lost:
            self.held.append(SetPoint(time_us, pulses))

    def say(self, message) -> None:
        self.firmware.receive(encode(message, self.sequence), round(self.now * 1e6))
        self.sequence = self.sequence + 1 & 0xFFFF

    # -- what is done ----------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """The board plays what it has, and no output jumps."""
        self.now += seconds
        held, self.held = (self.held, []) if self.now >= self.bad_until_s else ([], self.held)
        for message in held:
            self.say(message)
        while self.played_s + FRAME_S <= self.now:
            self.played_s += FRAME_S
            before = np.array(self.firmware.pulses)
            self.firmware.advance(round(self.played_s * 1e6))
            after = np.array(self.firmware.pulses)
            assert (np.abs(after - before) <= self.most).all(), f"outputs jump by {after - before}, allowed {self.most}"
            assert ((after >= LOWEST) & (after <= HIGHEST)).all(), "out of range"

    def follow(self, goal, count: int) -> None:
        """A controller goes on to a pose, at its pace."""
        for _ in range(count):
            self.q = self.q + np.clip(np.array(goal) - self.q, -PACE_RAD_S * PERIOD_S, PACE_RAD_S * PERIOD_S)
            self.due_s = max(self.due_s, self.now - LATEST_S)
            self.command(self.due_s, self.q)
            self.due_s += PERIOD_S
            self.wait(PERIOD_S)

    def stall(self, seconds: float) -> None:
        """Nobody commands; what was due then comes late."""
        self.wait(seconds)

    def line(self, seconds: float, lost: float) -> None:
        """From now on the line holds what comes, and loses this share of it."""
        self.bad_until_s, self.lost = self.now + seconds, lost

    def astray(self, ahead_s: float) -> None:
        self.command(self.now + ahead_s, self.q)

    def again(self) -> None:
        self.command(self.due_s - PERIOD_S, self.q)

    def throw(self, q, ahead_s: float) -> None:
        self.command(self.now + ahead_s, np.array(q))

    def command(self, time_s: float, q) -> None:
        """One set-point; what becomes of it is what it deserves."""
        count, last_s, begins = len(self.wire), self.sender.last_s, self.sender.last_s is None
        sound = math.isfinite(time_s) and np.isfinite(q).all()
        within = sound and ((q >= SERVOS.setpoint_lower - 1e-9) & (q <= SERVOS.setpoint_upper + 1e-9)).all()
        try:
            refusal = self.sender.send(time_s, q, self.now)
        except PickerError:
            assert not within and len(self.wire) == count, "a sound set-point raises, or a wrong one went out"
            return
        assert sound and (within or refusal is not None)
        if time_s > self.now + AHEAD_S or time_s < self.now - PAST_S or (not begins and time_s < last_s):
            assert refusal in (Refusal.AHEAD, Refusal.STALE)
        assert refusal is None or len(self.wire) == count, "refused, and sent"
        near = NEAR * FRAME_S * SERVOS.setpoint_speed + 1e-9
        assert refusal is not None or not begins or (np.abs(q - self.outputs) <= near).all(), "it begins elsewhere"
        self.passed += [(time_s, q)] if refusal is None else []

    def require_wire(self) -> None:
        for (before_us, before), (now_us, now) in zip(self.wire, self.wire[1:]):
            later_us = (now_us - before_us) % 2**32
            assert 0 < later_us < 2**31, "stamped earlier than the one before"
            assert (np.abs(now - before) <= SPEED * later_us / 2e4 + ROUNDED).all(), f"a jump within {later_us} us"
        for (first_s, first), (before_s, before), (now_s, now) in zip(self.passed, self.passed[1:], self.passed[2:]):
            dt, turned = now_s - before_s, now - before - (before - first) * (now_s - before_s) / (before_s - first_s)
            assert dt > BRIDGE_S or (np.abs(turned) <= 0.04 + 20.0 * dt**2 + 1e-6).all(), "it does not go on as it went"
        for _, pulses in self.wire:
            assert ((pulses >= LOWEST) & (pulses <= HIGHEST)).all(), "out of range"
        self.wire, self.passed = self.wire[-1:], self.passed[-2:]


def poses(rng, beyond: float) -> np.ndarray:
    """Near home, one joint so far beyond an end of its range [rad]."""
    q, j = HOME + rng.choice([0.02, 0.2, 0.6]) * rng.uniform(-1.0, 1.0, 5), rng.integers(5)
    q = np.clip(q, SERVOS.setpoint_lower + 1e-3, SERVOS.setpoint_upper - 1e-3)
    q[j] = SERVOS.setpoint_upper[j] + beyond if HOME[j] > 0.0 else SERVOS.setpoint_lower[j] - beyond
    return q.round(4)


def hostile(rng, life: Life) -> tuple:
    q = (life.q + rng.choice([0.0, 0.01, 0.1, 1.0]) * rng.uniform(-1.0, 1.0, 5)).round(4)
    if rng.random() < 0.3:
        q[rng.integers(5)] = rng.choice([math.nan, math.inf, 9.0, -9.0])
    return "throw", q.tolist(), float(rng.choice([0.06, 0.06, 0.0, -0.05, 0.3, 5.0, -5.0, math.nan]))


def drawn(rng, life: Life, honest: bool) -> tuple:
    if honest and rng.random() < 0.25:
        return "line", float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.4])), float(rng.choice([0.0, 0.3, 1.0]))
    kind = rng.integers(6 if honest else 8)
    if kind < 3:
        return "follow", poses(rng, -1e-3 if honest else 0.1).tolist(), int(rng.integers(2, 8))
    if kind == 3:
        return "stall", float(rng.choice([0.03, 0.07, 0.15, 0.24]))
    if kind == 4:
        return "astray", float(rng.choice([1.1, 9.0, -0.11, -0.5, -60.0]))
    return ("again",) if kind == 5 else hostile(rng, life)


@lives(9600)
def test_whatever_comes_the_wire_keeps_range_order_and_speed(seed):
    rng, sent = np.random.default_rng(seed), 0
    for number in range(LIFE):
        honest = bool(number % 2)
        life = Life(poses(rng, -0.02), honest)
        acts = [drawn(rng, life, honest) for _ in range(rng.integers(5, 11))]
        try:
            for name, *arguments in acts:
                getattr(life, name)(*arguments)
                life.require_wire()
        except Exception as error:
            raise AssertionError(f"seed {seed}, sequence {number}: {acts}") from error
        sent += life.sender.counts.sent
    assert sent > 4 * LIFE
