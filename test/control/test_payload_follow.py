"""Following the payload: the estimate against theory, and the closed loop on MuJoCo's arms."""

from __future__ import annotations

import numpy as np
from arm_fixtures import shipped_arm
from pytest import approx, mark

from picker_dynamics.control.laws.law import Reference
from picker_dynamics.control.payload_follow import PayloadFollower
from picker_dynamics.control.torque_loop import TorqueLoop
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.sim.torque_plant import TorquePlant
from picker_dynamics.trajectory.trajectory import from_points

RRP = shipped_arm("rrp")
HOME = RRP.home
MODEL = RigidBody(RRP.description)
EFFORT_SD = 0.003 * RRP.description.effort
ZERO = np.zeros(3)
TARGET = np.array([0.6, 2.0, 0.7])
SWING = np.array([1.0, 0.5, 0.4])
STEP_S, TICK_S = 0.004, 0.5


def follower(**options) -> PayloadFollower:
    return PayloadFollower(MODEL, EFFORT_SD, **{"com": ZERO, "max_kg": 1.0, "rate_kg_s": 0.3} | options)


def stand(one: PayloadFollower, mass: float, duration_s: float) -> float:
    """An arm at rest that bears ``mass``; returns the time then."""
    load = MODEL.with_payload(mass).gravity(HOME)
    for k in range(round(duration_s / STEP_S)):
        one.observe(HOME, ZERO, load, k * STEP_S)
    return duration_s


def test_it_stops_at_its_bounds_and_says_so():
    one = follower(max_kg=0.3)
    assert one.estimate is None and one.step(TICK_S) == 0.0
    now_s = stand(one, 0.9, 2.0)
    assert one.estimate == approx(0.9, abs=1e-9)
    assert [round(one.step(TICK_S), 3) for _ in range(3)] == [0.15, 0.3, 0.3], "no faster than it may"
    assert one.problem == "the efforts say that the tool carries 0.900 kg, not followed beyond payload.follow_max, 0.3 kg"
    lift = MODEL.gravity(HOME) - 2.0 * (MODEL.with_payload(1.0).gravity(HOME) - MODEL.gravity(HOME))
    for k in range(1000):
        one.observe(HOME, ZERO, lift, now_s + k * STEP_S)
    assert min(one.step(TICK_S) for _ in range(5)) == 0.0 and "0 kg: something lifts the tool" in one.problem


def test_where_the_tool_has_no_lever_nothing_is_learned_and_nothing_forgotten():
    pendulum = shipped_arm("pendulum")
    model = RigidBody(pendulum.description)
    q = np.linspace(-np.pi, np.pi, 721)[:, None]
    lever = np.abs(model.with_payload(1.0).gravity(q) - model.gravity(q))[:, 0]
    out, below = q[lever.argmax()], q[lever.argmin()]
    one = PayloadFollower(model, 0.01 * pendulum.description.effort, com=ZERO[:1].repeat(3), max_kg=0.5, rate_kg_s=1.0)
    for number, pose in enumerate((out, below)):
        load = model.with_payload(0.2 if number == 0 else 0.5).gravity(pose)
        for k in range(500):
            one.observe(pose, np.zeros(1), load, 3.0 * number + k * STEP_S)
        assert one.estimate == approx(0.2, abs=1e-3)


# -- closed loops --------------------------------------------------------------------------------------------


class Loop:
    """MuJoCo's rrp arm under a ``TorqueLoop`` that may follow its payload, moved to and fro."""

    def __init__(self, on: bool):
        self.plant, self.loop, self.on = TorquePlant(RRP.description, q=HOME), TorqueLoop(MODEL, RRP.bandwidth), on
        self.follower, self.time_s, self.next_s = follower(), 0.0, TICK_S
        self.there, self.back = (
            from_points([1.5], [end], [ZERO], [ZERO], start=(begin, ZERO, ZERO), joint_names=MODEL.joint_names)
            for begin, end in ((HOME, TARGET), (TARGET, HOME))
        )

    def run(self, duration_s: float, moving: bool) -> tuple[np.ndarray, np.ndarray]:
        """Largest error [rad or m] and the mass believed [kg], every 10 ms."""
        errors, masses = [], []
        for _ in range(round(duration_s / 0.01)):
            phase = self.time_s % 3.0
            way = self.there.sample(phase) if phase < 1.5 else self.back.sample(phase - 1.5)
            self.loop.references.push(self.time_s, Reference(*(way if moving else (HOME, ZERO, ZERO))))
            for step in range(10):
                if step % 4 == 0:
                    q, v = self.plant.q, self.plant.v
                    self.follower.observe(q, v, self.plant.torque, self.time_s)
                    tau = self.loop.effort(q, v, self.time_s)
                self.plant.step(tau)
                self.time_s += self.plant.dt
            if self.on and self.time_s >= self.next_s:
                self.next_s += TICK_S
                self.loop.set_payload(self.follower.step(TICK_S), ZERO, self.time_s)
            errors.append(np.abs(self.loop.error).max())
            masses.append(self.follower.mass)
        return np.array(errors), np.array(masses)


@mark.parametrize("moving", [True, False])
def test_a_payload_attached_in_mid_run_is_found_and_the_error_goes_away(moving):
    errors = {}
    for on in (True, False):
        one = Loop(on)
        one.run(2.0, moving)
        one.plant.attach(0.5)
        errors[on], masses = one.run(6.0, moving)
        if on:
            assert masses[-1] == approx(0.5, abs=0.02)
            assert (np.diff(masses) >= -0.01).all() and masses.max() < 0.52, "it goes up, and does not swing"
    assert errors[True][-100:].max() < 0.1 * errors[False][-100:].max() and errors[True].max() < 1.2 * errors[False].max()
