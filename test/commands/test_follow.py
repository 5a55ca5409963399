"""An arm that follows a leader: from keys and a leader's poses to references, on virtual time."""

import math

import numpy as np
import pytest
from arm_fixtures import picker
from execution_rig import NAMES, TIP_SPEED, ZERO, Rig, moved
from generated import lives
from pytest import approx

from picker_dynamics import Arm
from picker_dynamics.commands import follow
from picker_dynamics.commands.follow import APPROACH, NEAR, SILENT_S, FollowSeat
from picker_dynamics.commands.keyboard import Action
from picker_dynamics.errors import JointNamesError, PickerError
from picker_dynamics.execution.driving import Drivers, Jogging
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.motion import Phase
from picker_dynamics.resources import resource
from picker_dynamics.robot.servo_arm import read_arm
from picker_dynamics.scripting.equipment import equipment

ARM, OUT = picker(), moved(scissor=-0.6)
SMOOTH = 60.0
"""Largest acceleration of a reference that jogs [rad/s²], as in ``test_jogging.py``."""


class Leader:
    """A leader's session: where a hand has it, and when that was heard last; the rest is asked of it by nobody."""

    def __init__(self, now_s, q):
        self._now_s, self.state, self.seen_s, self.hardware = now_s, list(q), now_s(), {"message": "no answer for 5 cycles"}

    @property
    def now_s(self):
        return self._now_s()

    def hold(self, q):
        self.state, self.seen_s = list(q), self._now_s()


class Client:
    """The session with the follower, as ``FollowSeat`` uses it, without a process: calls act at once."""

    driver, under_way, payload_kg = "hand", False, 0.0

    def __init__(self, rig):
        self.rig, self._jogging, self._drivers, self.refusal = rig, Jogging(rig.execution), Drivers(rig.execution), ""
        self.heard_s, self._heard = 0.0, 0

    @property
    def hardware(self):
        active = self.rig.execution.active
        return {"state": "active" if active else "idle", "message": "active" if active else "stopped"}

    @property
    def controller(self):
        return {"phase": self.rig.phase.value, "message": ""}

    @property
    def desired(self):
        return self.rig.newest.q if self.rig.execution.active else None

    state = desired
    drives = True

    def jog(self, how):
        if how:
            self._jogging.pose(how["pose"], how["speed"], self.rig.now_s, self.driver)
        else:
            self.refusal = ""
            self._jogging.twist(ZERO[:3], ZERO[:3], self.rig.now_s, driver=self.driver)

    def step(self):
        """A cycle, with what is heard of it."""
        self._drivers.hear(self.driver, self.rig.now_s)
        self.rig.tick()
        for event in self.rig.events[self._heard :]:
            if event.identifier == self.driver and event.kind is EventKind.REFUSED:
                self.refusal = event.text
        self._heard = len(self.rig.events)


class Hand:
    """A person with a leader in one hand and the keys under the other."""

    def __init__(self, at=OUT):
        self.rig = Rig(pose=OUT)
        self.client, self.leader = Client(self.rig), Leader(lambda: self.rig.now_s, at)
        self.client.step()
        self.seat = FollowSeat(self.client, equipment(), self.leader)

    def press(self, key):
        try:
            self.seat.act(Action(key))
        except PickerError as error:
            self.seat.say(str(error))

    def go(self, seconds, where=None):
        """Time passes; the leader is at ``where(time since now [s])``, or heard no more."""
        for k in range(round(seconds / self.rig.period_s)):
            if where is not None:
                self.leader.hold(where(k * self.rig.period_s))
            self.seat.turn()
            self.client.step()

    def require_within_limits(self, since=0):
        """No reference is a step: all limits hold, and the acceleration is that of a jog."""
        q, v = self.rig["q"][since:], self.rig["v"][since:]
        assert (np.abs(v) <= ARM.velocity + 1e-9).all() and self.rig.fastest_tip(len(q)) <= TIP_SPEED + 1e-6
        assert (np.abs(np.diff(q, axis=0)) <= ARM.velocity * self.rig.period_s + 1e-9).all()
        assert (q >= ARM.lower - 1e-9).all() and (q <= ARM.upper + 1e-9).all()
        assert np.abs(np.diff(v, axis=0)).max(initial=0.0) <= SMOOTH * self.rig.period_s


AWAY = OUT + [0.4, 0.1, 0.0, 0.2, 0.2]


def test_the_arm_comes_slowly_to_where_the_leader_is_and_then_follows_it_as_fast_as_it_may():
    hand = Hand(AWAY)
    hand.go(0.3, lambda _t: AWAY)
    assert hand.rig["q"][-1] == approx(OUT) and hand.rig.phase is Phase.HOLDING, "before the key nothing moves"
    hand.press("f")
    hand.go(1.0, lambda _t: AWAY)
    assert not hand.seat.is_near and hand.rig.fastest_tip() < APPROACH * TIP_SPEED + 0.001
    hand.go(6.0, lambda _t: AWAY)
    assert hand.seat.is_near and np.abs(hand.rig.newest.q - AWAY).max() < NEAR
    hand.go(1.0, lambda t: AWAY - [min(t, 0.5), 0, 0, 0, 0])
    assert hand.rig.fastest_tip(60) > 2.0 * APPROACH * TIP_SPEED
    hand.require_within_limits()
    hand.press("m")
    assert hand.seat.said[-1] == "let go: the arm holds"
    hand.go(1.0, lambda _t: OUT)
    assert hand.rig.phase is Phase.HOLDING


def test_the_leader_is_followed_within_40_ms():
    """At 0.5 Hz, a third of what the tip may do; of that the follower's filter alone is 53 ms late."""
    hand, where = Hand(), lambda t: OUT + 0.08 * math.sin(math.pi * t) * np.array([1.0, 0, 0, 1.0, 1.0])
    hand.press("f")
    hand.go(1.0, lambda _t: OUT)
    hand.go(6.0, where)
    times = np.arange(600) * hand.rig.period_s
    q = hand.rig["q"][-600:, 0] - OUT[0]
    error = [np.abs(q[200:] - 0.08 * np.sin(math.pi * (times[200:] - late_s))).max() for late_s in np.arange(0.0, 0.1, 0.002)]
    assert int(np.argmin(error)) * 0.002 <= 0.04 and min(error) < 0.003


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (lambda hand: hand.go(0.3), "the leader is silent: no answer for 5 cycles"),
        (lambda hand: hand.go(0.1, lambda _t: [math.nan, *OUT[1:]]), r"leader[0] is nan"),
        (lambda hand: hand.rig.execution.deactivate("stopped"), "hardware: stopped"),
    ],
)
def test_where_the_leader_cannot_be_followed_the_arm_holds_and_says_why_once(happens, said):
    hand = Hand()
    hand.press("f")
    hand.go(0.5, lambda t: OUT + [0.3 * t, 0, 0, 0, 0])
    happens(hand)
    hand.go(0.5, lambda _t: OUT)
    assert not hand.seat.follows and sum(said in line for line in hand.seat.said) == 1
    hand.require_within_limits()
    assert hand.rig.phase in (Phase.HOLDING, Phase.INACTIVE)
    if hand.rig.execution.active:
        begin = hand.rig.newest.q
        hand.go(1.0, lambda _t: AWAY)
        assert hand.rig.newest.q == approx(begin), "it does not go on by itself"


@pytest.mark.parametrize("late", ["host", "loop", "both"])
@pytest.mark.parametrize("pause_s", [0.15, 0.6])
def test_a_host_that_paused_goes_on_from_where_the_arm_has_come_to_rest(pause_s, late):
    """Jogs were late, or the control loop was: nobody let go, and nothing is refused."""
    hand, where = Hand(), lambda t: OUT + [0.3 * t, 0, 0, 0, 0]
    hand.press("f")
    hand.go(0.5, where)
    if late == "host":
        for _ in range(round(pause_s / hand.rig.period_s)):
            hand.client.step()
    else:
        hand.rig.time_s += pause_s
        if late == "both":
            hand.client.step()
    hand.go(1.0, lambda t: where(t + 0.5 + pause_s))
    assert hand.seat.follows and hand.rig.newest.v[0] == approx(0.3, abs=0.05)
    hand.require_within_limits()


def test_a_silent_leader_is_not_followed_at_all():
    hand = Hand()
    hand.go(SILENT_S + 0.05)
    hand.press("f")
    assert not hand.seat.follows and "the leader is silent" in hand.seat.said[-1]


@lives(50)
def test_generated_clutch_events_and_leaders_never_make_a_step(seed):
    """Keys, leaders that leap, creep, tremble, fall silent or are nowhere, and stops: 25 a life, at any moment."""
    rng, hand = np.random.default_rng(seed), Hand()
    kinds = ["f", "f", "f", "m", "leap", "creep", "tremble", "silence", "nan", "cancel", "off"]
    for event in rng.choice(kinds, 25):
        seconds, at = rng.uniform(0.02, 0.4), rng.uniform(ARM.lower - 0.2, ARM.upper + 0.2)
        begin, speed = np.array(hand.leader.state), rng.uniform(-2.0, 2.0, len(NAMES))
        begin = OUT if np.isnan(begin).any() else begin
        where = {
            "leap": lambda _t, at=at: at,
            "creep": lambda t, begin=begin, speed=speed: begin + t * speed,
            "tremble": lambda _t, begin=begin: begin + rng.normal(0.0, 0.003, len(NAMES)),
            "silence": None,
            "nan": lambda _t: np.full(len(NAMES), math.nan),
        }.get(event, lambda _t, begin=begin: begin)
        if event in ("f", "m"):
            hand.press(event)
        elif event == "cancel":
            hand.rig.execution.cancel(hand.rig.now_s)
        elif event == "off":
            held = hand.rig.newest.q
            hand.rig.execution.deactivate("stopped")
            hand.require_within_limits()
            hand.rig.references.clear()
            hand.rig.execution.start(held)
            hand.client.step()
        hand.go(seconds, where)
    hand.require_within_limits()


# -- the command -----------------------------------------------------------------------------------------------------


def test_a_leader_with_other_joints_is_refused():
    with pytest.raises(JointNamesError, match="the leader is another arm, so101 with shoulder_pan, .*: picker has base, "):
        follow.require_same(read_arm(resource("urdf/so101.urdf")), ARM)


def test_a_simulated_so101_follows_with_its_gripper():
    """Down to the bytes on the bus, and the true arm."""
    with Arm.simulated("so101", real_time=False) as arm:
        client, home = arm.session, arm.held
        leader = Leader(lambda: client.now_s, home)
        client.take_arm()
        seat = FollowSeat(client, arm.known, leader)
        seat.keep("f")
        end = home + [0.2, 0.0, -0.1, 0.1, 0.3, -0.5]
        for k in range(250):
            leader.hold(home + min(k / 150, 1.0) * (end - home))
            seat.turn()
            client.step()
        assert seat.follows and seat.is_near
        assert np.abs(arm.q - end).max() < 0.02
        client.leave()
