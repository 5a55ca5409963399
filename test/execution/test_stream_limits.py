"""Whatever is streamed, what follows keeps torque, speed and position limits: by differences and Pinocchio, not by our checks."""

from itertools import takewhile

import numpy as np
from arm_fixtures import picker, rigid_body, servos, tip_speeds
from execution_rig import HOME, TIP_SPEED, Rig, limits, moved
from pytest import approx, fixture, mark, param

from picker_dynamics.estimation.closed_loop import LEAD_S, ClosedLoop
from picker_dynamics.execution.checks import SETPOINT_SHARE, TorqueLimits
from picker_dynamics.execution.collision import FloorCheck
from picker_dynamics.execution.motion import Phase
from picker_dynamics.sim.plant import Plant

ARM, SERVOS, TRUTH = picker(), servos(), rigid_body()
PERIOD_S = 0.01
HEAVY = np.array([0.3, 1.12, -1.3, -0.5, 0.6])
"""The shoulder bears 92 % of what it may hold."""

POSES = {"home": HOME, "heavy": HEAVY, "upright": np.array([-0.5, 1.5, -1.2, -0.3, 0.6])}
SPEED = np.minimum(ARM.velocity, SETPOINT_SHARE * SERVOS.setpoint_speed)
PEAK, HOLD = TorqueLimits.of_servos(SERVOS).peak, TorqueLimits.of_servos(SERVOS).hold


def ticked(held_to=None, **options) -> Rig:
    """One that has sent a reference."""
    made = Rig(held_to, lead_s=LEAD_S, **options)
    made.tick()
    return made


def require_within_limits(references) -> None:
    """Of all that was sent: position, velocity, tip and torque, as sent and as the differences say."""
    t = np.array([one.time_s for one in references])
    q, v, a = (np.array([getattr(one, name) for one in references]) for name in "qva")
    dt = np.diff(t)[:, None]
    assert (dt > 0.0).all()
    assert (q > ARM.lower - 1e-6).all() and (q < ARM.upper + 1e-6).all()
    mean, rate = np.diff(q, axis=0) / dt, np.diff(v, axis=0) / dt
    assert (np.abs(np.concatenate([v, mean])) <= SPEED).all()
    tip = np.linalg.norm(np.diff(TRUTH.forward_kinematics(q), axis=0) / dt, axis=1)
    assert tip.max() <= TIP_SPEED * 1.001
    assert tip_speeds(q, v).max() <= TIP_SPEED * 1.001
    assert (np.abs(TRUTH.required_torque(q, v, a)) <= PEAK).all()
    assert (np.abs(TRUTH.required_torque((q[1:] + q[:-1]) / 2.0, mean, rate)) <= PEAK).all()
    biggest = np.maximum(np.abs(a[1:]), np.abs(a[:-1])).max(initial=1.0)
    np.testing.assert_allclose(mean, (v[1:] + v[:-1]) / 2.0, atol=2.0 * biggest * dt.max())


# -- noise ---------------------------------------------------------------------------------------------------


class Streamed:
    """A stream as a closed loop samples it: the reference that an execution makes of it, tick by tick.

    A sample that is pushed for the reference of t is ``path(t)``: without lag the reference is where the path is.
    """

    def __init__(self, rig: Rig, path, duration_s: float):
        self.rig, self.path, self.duration, self.end = rig, path, duration_s, rig.newest.q
        self.sent: list[tuple] = []

    def sample(self, t: float):
        """The reference for ``t`` [s], newly made or of before."""
        k = round(t / PERIOD_S)
        while len(self.sent) <= k:
            self.rig.push(self.path(len(self.sent) * PERIOD_S))
            reference = self.rig.tick().reference
            self.sent.append((reference.q, reference.v, reference.a))
        return self.sent[k]


def followed(path, duration_s: float, pose=HOME):
    """Where the arm was before a stream, what came of that [Recording], and the rig: plant, servos, board, compensation."""
    rig = ticked(pose=pose)
    loop = ClosedLoop(Plant(ARM, SERVOS), TRUTH, SERVOS)
    loop.start(pose)
    before = loop.hold(2.0)
    return before, loop.run(Streamed(rig, path, duration_s)), rig


HELD = [("heavy", 0.002, 2.0), param("heavy", 0.002, 60.0, marks=mark.long)]


@mark.parametrize(("pose", "sigma", "duration_s"), HELD)
def test_a_held_pose_that_is_streamed_with_noise_moves_the_tip_by_less_than_2_5_mm(pose, sigma, duration_s):
    """A pulse alone is up to 3 mm: what is left of the noise seldom moves a set-point to the next one."""
    rng = np.random.default_rng(1)
    before, recording, rig = followed(lambda _: POSES[pose] + sigma * rng.normal(size=5), duration_s, POSES[pose])
    assert rig.refused == 0 and rig.phase is Phase.STREAMING
    assert np.linalg.norm(recording.tip - before.tip[-1], axis=1).max() < 2.5e-3
    assert (np.abs(recording.tau_ref) <= PEAK).all()
    require_within_limits(rig.references)


RADIUS = float(np.hypot(*TRUTH.forward_kinematics(HOME)[:2]))
RATE = 0.98 * TIP_SPEED / RADIUS
"""Of the base, with which the tip is just slow enough [rad/s]."""


@mark.parametrize(
    "path",
    [lambda t: moved(base=RATE * min(t, 1.0)), lambda t: HOME + np.array([0.35, -0.43, -0.87, -0.43, 0.0]) * min(t, 0.6)],
    ids=["there", "with all joints"],
)
def test_a_stream_at_the_tip_s_speed_is_followed_60_ms_late_at_most(path):
    rig, times = ticked(), np.arange(0.0, 1.5, PERIOD_S)
    assert rig.stream([path(t) for t in times]) == []
    tip, ideal = (TRUTH.forward_kinematics(q) for q in (rig["q"][-len(times) :], np.array([path(t) for t in times])))
    assert np.linalg.norm(tip - ideal, axis=1).max() < 0.06 * TIP_SPEED
    require_within_limits(rig.references)


# -- what is bounded, and what is refused ----------------------------------------------------------------------


@fixture
def rig() -> Rig:
    return ticked()


def test_a_faster_stream_is_followed_as_fast_as_the_tip_may_be_and_then_refused_with_the_reason(rig):
    errors = rig.stream([moved(base=1.5 * RATE * PERIOD_S * k) for k in range(60)])
    assert "deg ahead of the arm" in str(errors[0]) and errors[0].subject == "base"
    assert rig.fastest_tip() == approx(TIP_SPEED, rel=0.02)
    require_within_limits(rig.references)
    assert len(rig.problems) == 1


def test_samples_out_of_order_and_played_back_are_ignored():
    rigs = honest, mixed = Rig(lead_s=LEAD_S), Rig(lead_s=LEAD_S)
    samples = [(moved(base=0.3 * PERIOD_S * k), k * PERIOD_S) for k in range(100)]
    for k, (q, sent_s) in enumerate(samples):
        for rig in rigs:
            rig.push(q, sent_s=sent_s)
        for old in samples[max(k - 20, 0) : k] if k % 10 == 9 else samples[max(k - 1, 0) : k]:
            mixed.push(old[0], sent_s=old[1])
        for rig in rigs:
            rig.tick()
    np.testing.assert_array_equal(mixed["q"], honest["q"])
    assert mixed.refused == 0


@mark.parametrize("rate", [0.3, 0.8])
def test_a_stream_towards_the_floor_is_cut_off_above_it(rate):
    """Refused where a sample is below; and a gap that is bridged ends above it too."""
    heights, low = FloorCheck(ARM).heights, np.array([0.0, 1.0, -2.2, -0.4, 0.6])
    path = [low + rate * PERIOD_S * k * np.array([0.0, -1.0, 0.0, 0.0, 0.0]) for k in range(200)]
    for samples in (path, list(takewhile(lambda q: heights(q[None]).min() > -1e-3, path))):
        rig = ticked(limits(further=(FloorCheck(ARM),)), pose=low)
        errors = rig.stream(samples)
        assert bool(errors) == (samples is path) and (not errors or "below the floor" in str(errors[0]))
        assert 0.02 > heights(rig.to_rest().q[None]).min() > -1.5e-3
        assert heights(rig["q"]).min() > -1.5e-3
        require_within_limits(rig.references)
