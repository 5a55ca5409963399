"""Torque-controlled joints: drives, loop and validator against theory, and the closed loop on the MuJoCo arm."""

import numpy as np
from arm_fixtures import shipped_arm
from numpy.testing import assert_allclose, assert_array_equal
from pytest import mark, raises

from picker_dynamics.board.torque_session import State, TorqueSession
from picker_dynamics.control.laws.law import Reference
from picker_dynamics.control.torque_loop import BRAKE_RATE, CATCH_UP, FRESH_S, RAMP_S, STANDSTILL, TorqueLoop
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import BoardFaultError, InputError
from picker_dynamics.robot import arms
from picker_dynamics.sim.torque_plant import TorquePlant
from picker_dynamics.trajectory.trajectory import from_points

RRP = shipped_arm("rrp")
HOME = RRP.home
TARGET = np.array([0.6, 2.0, 0.7])
ZERO = np.zeros(3)
PERIOD_S = 0.004
LINKS = shipped_arm("three_link").description.joint_names
TORQUE_ARMS = [name for name in arms.names() if shipped_arm(name).control == "torque"]


def model() -> RigidBody:
    return RigidBody(RRP.description)


def session(arm=RRP) -> TorqueSession:
    return TorqueSession(RigidBody(arm.description), arm.description.effort, arm.description.velocity, arm.bandwidth)


def motion(duration_s: float = 2.0, start=HOME, end=TARGET, joint_names=RRP.description.joint_names):
    zero = np.zeros(len(joint_names))
    return from_points([duration_s], [end], [zero], [zero], start=(start, zero, zero), joint_names=joint_names)


def plant_at(q=HOME) -> TorquePlant:
    return TorquePlant(RRP.description, q=q)


def told_to_stay(loop: TorqueLoop, *times_s: float) -> None:
    """By references for these times."""
    for time_s in times_s:
        loop.references.push(time_s, Reference(HOME, ZERO, ZERO))


class Rig:
    """Plant, drives and loop in simulated time: states every ``PERIOD_S``, answered ``delay_s`` later, in order of arrival."""

    def __init__(self, arm=RRP, *, bandwidth=None, delay_s=lambda: 0.001, connected=True, **plant):
        self.plant = TorquePlant(arm.description, q=arm.home, **plant)
        self.session, self.loop = session(arm), TorqueLoop(RigidBody(arm.description), bandwidth or arm.bandwidth)
        self.delay_s, self.connected, self.step = delay_s, connected, 0
        self.coming, self.errors, self.fastest = [], [], 0.0
        self.session.activate()

    @property
    def time_s(self) -> float:
        return self.step * self.plant.dt

    def run(self, duration_s: float) -> None:
        for _ in range(round(duration_s / self.plant.dt)):
            now_s = self.time_s
            if self.step % round(PERIOD_S / self.plant.dt) == 0 and self.connected:
                self.session.tick(now_s)
                tau = self.loop.effort(self.plant.q, self.plant.v, now_s)
                self.coming.append((now_s + self.delay_s(), now_s, tau))
                if self.loop.references.sample(now_s) is not None:
                    self.errors.append(self.loop.error)
            for answer in [one for one in self.coming if one[0] <= now_s]:
                self.coming.remove(answer)
                self.session.command(answer[2], answer[1])
            self.plant.step(self.session.torque(self.plant.q, self.plant.v, now_s))
            self.fastest = max(self.fastest, np.abs(self.plant.v).max())
            self.step += 1

    def follow(self, trajectory, more_s: float = 0.0) -> None:
        """Push references at 100 Hz as the controller does, and run."""
        start_s, step_s = self.time_s, 0.01
        for k in range(round((trajectory.duration + more_s) / step_s) + 1):
            self.loop.references.push(start_s + k * step_s, Reference(*trajectory.sample(min(k * step_s, trajectory.duration))))
            if k:
                self.run(step_s)


# -- laws ----------------------------------------------------------------------------------------------------


def test_with_an_exact_model_the_error_decays_as_the_bandwidth_says():
    """ddot(e) + 2 w ed + w² e = 0 from rest: e(t) = e0 (1 + w t) exp(-w t)."""
    w, offset = 8.0, np.array([0.02, -0.02, 0.01])
    plant, loop = plant_at(HOME + offset), TorqueLoop(model(), w)
    for time_s in np.arange(0.0, 0.5, plant.dt):
        told_to_stay(loop, time_s)
        plant.step(loop.effort(plant.q, plant.v, time_s))
        assert_allclose(loop.error, -offset * (1.0 + w * time_s) * np.exp(-w * time_s), atol=0.02 * np.abs(offset).max())


def test_an_unknown_load_leaves_the_error_that_theory_says():
    rig, load = Rig(), 0.4
    rig.plant.attach(load)
    rig.follow(motion(1.0, HOME, HOME), more_s=1.5)
    believed, true = model(), model().with_payload(load)
    q = rig.plant.q
    eta = np.linalg.solve(believed.mass_matrix(q), true.gravity(q) - believed.gravity(q))
    assert_allclose(HOME - q, eta / RRP.bandwidth**2, rtol=0.05, atol=1e-6)


def gradual() -> TorqueLoop:
    """Takes payloads over within half a second."""
    return TorqueLoop(model(), 20.0, transition_s=0.5)


@mark.parametrize("followed", [True, False], ids=["reference", "holding"])
def test_payloads_one_upon_the_other_do_not_step_the_efforts(followed):
    loop, dt = gradual(), 0.002
    heavy, efforts = model().with_payload(1.0).gravity(HOME) - model().gravity(HOME), []
    for k, time_s in enumerate(np.arange(0.0, 3.0, dt)):
        if followed:
            told_to_stay(loop, time_s)
        if k in (200, 300, 400, 450):
            loop.set_payload(1.0 if k in (200, 400) else 0.0, ZERO, time_s)
        efforts.append(loop.effort(HOME, ZERO, time_s))
    assert (np.abs(np.diff(efforts, axis=0)) <= 1.5 * dt / 0.5 * np.abs(heavy) + 1e-9).all()
    assert_allclose(efforts[-1], efforts[0], atol=1e-9)


def test_a_start_takes_over_from_drives_that_know_of_no_payload():
    loop = gradual()
    loop.set_payload(1.0, ZERO, 0.0)
    loop.effort(HOME, ZERO, 5.0)
    loop.start()
    told_to_stay(loop, 6.0, 7.0)
    for time_s, kg in ((6.0, 0.0), (6.25, 0.5), (6.5, 1.0)):
        assert_allclose(loop.effort(HOME, ZERO, time_s), model().with_payload(kg).gravity(HOME), atol=1e-9)


def test_after_a_stall_references_go_on_where_the_drives_brought_the_arm_and_come_up_to_their_pace():
    """Position, velocity and acceleration belong together all the while; what was lost is made up at the end."""
    path, loop, dt, stall_s = motion(1.0), TorqueLoop(model(), 25.0), 1e-3, 0.2
    for time_s in np.arange(0.0, 2.0, 0.01):
        loop.references.push(time_s, Reference(*path.sample(time_s)))
    times = np.append(np.arange(0.0, 0.3, dt), np.arange(0.3 + stall_s - dt, 1.0, dt))
    q, v, a = (np.array(rows) for rows in zip(*map(loop.references.sample, times)))
    within = np.diff(times) < 2.0 * dt
    assert_allclose((np.diff(q, axis=0) / dt)[within], ((v[1:] + v[:-1]) / 2.0)[within], atol=1e-3)
    assert_allclose((np.diff(v, axis=0) / dt)[within], a[1:][within], atol=0.03)  # 1 ms of jerk, 24 rad/s³, and rate, 2/s
    rate, resumed = np.exp(-BRAKE_RATE * (stall_s - FRESH_S)), int(np.flatnonzero(~within)[0]) + 1
    coasted_s = FRESH_S + (1.0 - rate) / BRAKE_RATE
    there = path.sample(times[resumed - 1] + coasted_s)
    assert_allclose(q[resumed], there[0], atol=1e-6)
    assert_allclose(v[resumed], rate * there[1], atol=1e-6)
    ramp_s = RAMP_S * (1.0 - rate)
    assert_allclose(loop.references.delay_s(times[-1]), stall_s - coasted_s + ramp_s * (1.0 - rate) / 2.0, atol=2e-3)
    while times[-1] < 1.5:
        times = times + dt
        loop.references.sample(times[-1])
    assert loop.references.delay_s(times[-1]) == 0.0


def test_a_large_error_is_made_good_without_a_leap():
    rig = Rig()
    rig.run(0.1)
    target = HOME + np.array([0.4, -0.3, 0.2])
    for _ in range(300):
        rig.loop.references.push(rig.time_s, Reference(target, ZERO, ZERO))
        rig.run(0.01)
    assert CATCH_UP * 0.9 < rig.fastest < CATCH_UP * 1.1
    assert_allclose(rig.plant.q, target, atol=1e-4)


# -- the closed loop -----------------------------------------------------------------------------------------


@mark.parametrize("name", TORQUE_ARMS)
def test_every_arm_follows_a_motion(name):
    arm = shipped_arm(name)
    rig = Rig(arm)
    rig.run(0.1)
    rig.follow(motion(1.0, arm.home, arm.home + 0.05, arm.description.joint_names), more_s=0.2)
    assert np.abs(rig.errors).max() < 1e-3
    assert_allclose(rig.plant.q, arm.home + 0.05, atol=1e-4)


@mark.parametrize("how", ["stop", "relax"])
def test_a_stop_in_mid_motion_latches_and_holds_and_a_relaxed_arm_falls_until_it_is_enabled(how):
    rig = Rig()
    rig.run(0.1)
    rig.follow(motion(1.0), more_s=-0.5)
    made, q = rig.session, rig.plant.q
    taken = made.taken
    getattr(made, how)()
    with raises(BoardFaultError, match="reset"):
        made.activate()
    rig.run(0.6)
    assert made.stop_latched and made.state is State.IDLE and made.taken == taken, "whatever is commanded"
    fell = np.abs(rig.plant.q - q).max()
    if how == "stop":
        assert fell < 0.15 and np.abs(rig.plant.v).max() < STANDSTILL and "holding" in made.problem
    else:
        assert fell > 0.2 and made.outputs == "off" and "off" in made.problem
    made.reset()
    rig.run(0.1)
    assert made.state is State.IDLE and made.taken == taken and made.outputs == ("running" if how == "stop" else "off")
    made.activate()
    while made.state is not State.ACTIVE:
        assert rig.time_s < 5.0
        rig.run(PERIOD_S)
    rig.loop.start()
    rig.run(1.0)
    assert made.epoch == 2 and made.taken > taken and np.abs(rig.plant.v).max() < STANDSTILL
    assert_allclose(rig.plant.q, made.held, atol=0.01)


# -- drives --------------------------------------------------------------------------------------------------


def active() -> TorqueSession:
    made = session()
    made.activate()
    made.torque(HOME, ZERO, 0.0)
    made.tick(0.0)
    return made


def test_drives_become_active_only_at_rest_and_say_where():
    made = session()
    made.activate()
    for time_s, v, state in ((0.0, np.full(3, 0.5), State.ENABLING), (0.1, ZERO, State.ACTIVE)):
        made.torque(HOME, v, time_s)
        made.tick(time_s)
        assert made.state is state
    assert made.epoch == 1
    assert_array_equal(made.held, HOME)


@mark.parametrize("least_s, most_s", [(0.0, 0.01), (0.015, 0.035), (0.04, 0.04)])
def test_answers_that_come_too_late_swing_nothing_up(least_s, most_s):
    """A light joint on a busy machine: what answers an old state is not followed, and the drives brake and hold meanwhile."""
    arm, rng = shipped_arm("three_link"), np.random.default_rng(1)
    rig, path = Rig(arm, delay_s=lambda: rng.uniform(least_s, most_s)), motion(2.0, arm.home, arm.home + [-0.5, 0.4, 0.3], LINKS)
    rig.follow(path, more_s=0.5)
    assert rig.fastest < arm.description.velocity.min(), rig.session.problem
    assert most_s > 0.02 or np.abs(rig.plant.q - path.end).max() < 1e-3
    assert_allclose(rig.plant.v, np.zeros(3), atol=0.05)


def test_efforts_beyond_the_limits_are_clipped_and_counted_and_those_that_are_no_numbers_refused():
    made = active()
    made.command([1e4, -1e4, 0.0], 0.0)
    assert_array_equal(made.torque(HOME, ZERO, 0.0), [150.0, -350.0, 0.0])
    assert made.saturated == 1
    with raises(InputError, match="theta2.*nan"):
        made.command([0.0, np.nan, 0.0], 0.0)


def test_whatever_is_commanded_no_joint_runs_away_and_all_start_anew_where_it_is_braked():
    plant, made = plant_at(), active()
    limit, fastest, time_s = RRP.description.velocity, 0.0, 0.0
    while made.epoch == 1:
        assert time_s < 10.0, "it is never braked"
        made.command(model().gravity(plant.q) + 0.3 * np.eye(3)[0] * RRP.description.effort, time_s)
        plant.step(made.torque(plant.q, plant.v, time_s))
        made.tick(time_s)
        fastest, time_s = max(fastest, abs(plant.v[0]) / limit[0]), time_s + plant.dt
    assert 1.2 < fastest < 1.25 and abs(plant.v[0]) < 0.05 * limit[0]
    assert made.state is State.ACTIVE and made.problem.startswith("theta1 moved at ")
    assert_allclose(made.held, plant.q, atol=0.01)
    assert made.command(model().gravity(plant.q), time_s), "it is not refused for ever"
