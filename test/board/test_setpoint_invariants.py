"""Whatever a hardware session meets, its outputs never jump, never leave their range, and what is held is said: generated.

A controller that behaves, others that do not, people with switches and cables, a board that resets.  What is required is read off
the board's outputs, frame by frame; nothing of the session's own guard.  ``pytest --hypothesis-profile long`` runs thousands.
"""

import math

import numpy as np
import pytest
from generated import numbers, share
from hypothesis import given
from hypothesis import strategies as st
from session_rig import HOME, LEAD_S, PERIOD_S, SERVOS, Rig
from stepped_board import angles

from picker_dynamics.board.hardware_session import State
from picker_dynamics.board.protocol import Fault
from picker_dynamics.errors import PickerError

STEP_RAD, QUANTUM_RAD = 0.08, 1e-3
"""What an output may step from one servo frame to the next [rad]: 0.04 per 10 ms; and rounding."""
SPEED_RAD_S, BRIDGE_S, GAP_S = 4.0, 0.1, 0.25
"""How fast what is sent may move on [rad/s], over so long at the most, and after which gap it begins anew [s]."""
COMES_TO_REST_S = 1.5
"""Within which outputs stand, once nobody is followed [s]."""


class Arm(Rig):
    """A session in somebody's hands.

    Attributes:
        asked, passed: how many commands there were; those that were sent: (epoch, time, set-point).
        quiet_s: since when nobody is followed; None: somebody is.
    """

    def __init__(self, found=HOME):
        super().__init__(found)
        self.steps, self.asked, self.passed, self.quiet_s = 0, 0, [], None

    def run(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / PERIOD_S))):
            self.bench.run(PERIOD_S)
            self.steps += 1
            if self.steps % 2:
                continue
            self.session.tick(self.now)
            session, engaged = self.session, self.session.engaged
            self.quiet_s = None if engaged else self.now if self.quiet_s is None else self.quiet_s
            if self.quiet_s is not None and self.now - self.quiet_s > COMES_TO_REST_S:
                assert not self.firmware.state.moves, f"outputs move, {session.state} for {self.now - self.quiet_s:.2f} s"
            if session.state is State.ACTIVE and self.now - self.bench.frames[-1].time_s > 0.5:
                assert session.held is not None
                outputs = angles(SERVOS, self.bench.frames[-1:])[0]
                np.testing.assert_allclose(session.setpoint, outputs, atol=QUANTUM_RAD, err_msg="what the outputs hold")

    def command(self, q, shift_s: float = 0.0) -> None:
        self.asked += 1
        time_s = self.now + LEAD_S + shift_s
        try:
            if self.session.command(time_s, np.asarray(q, dtype=float), self.now):
                self.passed.append((self.session.epoch, time_s, np.array(q)))
        except PickerError:
            pass

    # -- what it meets -------------------------------------------------------------------------------------

    def follow(self, seconds: float, *targets) -> None:
        """Controllers by turns, each to home and so much more [rad], anew at each epoch."""
        begun: list[tuple | None] = [None] * len(targets)
        for _ in range(round(seconds / PERIOD_S)):
            for k, by in enumerate(targets):
                session, one = self.session, begun[k]
                if one is None or one[0] != session.epoch:
                    if session.state is not State.ACTIVE:
                        continue
                    one = begun[k] = session.epoch, self.now, session.setpoint.copy()
                way = HOME + np.array(by) - one[2]
                x = min((self.now - one[1]) / max(np.abs(way).max() / 1.3, (1.5 * np.abs(way).max()) ** 0.5, 0.05), 1.0)
                self.command(one[2] + x * x * (3.0 - 2.0 * x) * way)
            self.run(PERIOD_S)

    def throw(self, by, count: int, shift_s: float) -> None:
        """The same set-point again and again, whatever it is, stamped so much after the usual."""
        for _ in range(count):
            self.command(HOME + np.array(by), shift_s)
            self.run(PERIOD_S)

    def stall(self, seconds: float) -> None:
        """The host stands still; the board goes on."""
        self.bench.stall(seconds)

    def press(self, what: str) -> None:
        try:
            if what in ("enable", "confirm"):
                self.session.activate(at_rest_pose=what == "confirm")
            else:
                getattr(self.session, what)()
        except PickerError:
            pass
        self.run(PERIOD_S)

    def accident(self, what: str, seconds: float) -> None:
        if what == "unplug":
            self.bench.unplug()
        else:
            self.bench.reset() if what == "reset" else self.bench.touch(Fault[what])
        self.run(max(seconds, PERIOD_S))
        self.bench.plug_in()
        self.run(PERIOD_S)

    def recover(self) -> None:
        """As a person would: connect, reset, put the arm at its rest pose if outputs are off, enable."""
        for _ in range(5):
            self.run(0.5)
            try:
                if self.session.state is State.OFFLINE:
                    self.connected()
                self.session.reset()
                self.run(1.0)
                if self.session.state is State.IDLE:
                    self.session.activate(at_rest_pose=True)
            except PickerError:
                continue
            while self.session.state is State.ENABLING:
                self.run(0.1)
            if self.session.state is State.ACTIVE:
                return
        raise AssertionError(f"it cannot be recovered: {self.session.state}, {self.session.problem}")


def execute(steps, found=HOME) -> None:
    """All steps from an active session, then a controller that behaves; everything is required of it."""
    arm = Arm(found)
    arm.connected().activate(at_rest_pose=found is None)
    arm.run(0.1)
    for what, *arguments in steps:
        getattr(arm, what)(*arguments)
    arm.recover()
    target = (0.1, -0.05, 0.05, 0.0, 0.0)
    arm.follow(3.0, target)
    frames = arm.bench.frames
    q = angles(SERVOS, frames)
    np.testing.assert_allclose(q[-1], HOME + target, atol=5e-3, err_msg=f"it is not followed: {arm.session.problem}")
    assert sum(vars(arm.session.counts).values()) == arm.asked
    low, high = SERVOS.setpoint_lower - QUANTUM_RAD, SERVOS.setpoint_upper + QUANTUM_RAD
    assert (np.isnan(q) | ((q >= low) & (q <= high))).all(), "an output is out of range"
    assert not (np.abs(np.diff(q, axis=0)) > STEP_RAD + QUANTUM_RAD).any(), "an output jumps"
    for (epoch, before_s, before), (same, time_s, now) in zip(arm.passed, arm.passed[1:]):
        assert np.isfinite(now).all()
        if same == epoch and time_s - before_s <= GAP_S:
            assert time_s > before_s
            assert np.abs(now - before).max() <= SPEED_RAD_S * min(time_s - before_s, BRIDGE_S) + QUANTUM_RAD


offsets = st.sampled_from((0.0, 0.02, 0.1, 0.4)).flatmap(
    lambda size: st.tuples(*[numbers(-1.0, 1.0, 0.25)] * 5).map(lambda by: tuple(round(size * x, 4) for x in by))
)
strange = st.one_of(
    offsets, st.sampled_from(((math.nan,) * 5, (0.0, math.nan, 0.0, 0.0, 0.0), (9.0,) * 5, (0.0, 0.0, 0.0, 0.0, -3.0)))
)
seconds = st.sampled_from((0.05, 0.15, 0.3, 1.0))
steps = st.one_of(
    st.tuples(st.just("follow"), numbers(0.1, 2.0, 0.1), offsets),
    st.tuples(st.just("follow"), numbers(0.1, 1.5, 0.1), offsets, offsets),
    st.tuples(
        st.just("throw"), strange, st.sampled_from((1, 3, 30)), st.sampled_from((0.0, -0.05, -0.2, -5.0, 0.1, 0.5, 5.0, math.nan))
    ),
    st.tuples(st.sampled_from(("run", "stall")), seconds),
    st.tuples(st.just("press"), st.sampled_from(("stop", "reset", "enable", "confirm", "release", "rejoin", "disable"))),
    st.tuples(st.just("accident"), st.sampled_from(("reset", "STOPPED", "unplug")), st.sampled_from((0.1, 1.0))),
    st.just(("recover",)),
)
EXAMPLES = share(4, 0.3)
pytestmark = pytest.mark.timeout(120 + 10 * EXAMPLES.max_examples)


@EXAMPLES
@given(st.lists(steps, min_size=2, max_size=8))
def test_generated_sequences(steps):
    execute(steps)


BASE, OTHER = (0.4, 0.0, 0.0, 0.0, 0.0), (0.3, 0.0, 0.0, 0.0, 0.0)
SEEN = {
    "a second controller at an old pose": [("follow", 2.0, BASE), ("follow", 2.0, BASE, OTHER)],
    "a jump": [("follow", 0.5, BASE), ("throw", (0.9, 0.2, 0.0, 0.0, 0.0), 60, 0.0)],
    "enable after a pulled cable": [
        ("follow", 0.4, BASE),
        ("accident", "unplug", 1.0),
        ("press", "enable"),
        ("follow", 1.0, BASE),
    ],
    "the host stands still": [("follow", 0.4, BASE), ("stall", 1.0), ("follow", 1.0, BASE)],
}


@pytest.mark.parametrize("name", SEEN)
def test_what_was_seen(name):
    execute(SEEN[name])


def test_outputs_that_are_off_are_switched_on_at_the_rest_pose():
    execute([("follow", 1.0, BASE)], found=None)
