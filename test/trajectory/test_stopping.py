"""A cancelled motion comes to rest within torque and position limits, at whatever moment it is cancelled.

The torques are MuJoCo's: inverse dynamics of the simulated arm, which knows no model of ours.
"""

from __future__ import annotations

import numpy as np
import pytest

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.effort_gate import EffortGate
from picker_dynamics.execution.feasibility import Gate
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_check import GoalCheck
from picker_dynamics.execution.reference_generator import Phase, ReferenceGenerator
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, description, servo_map
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.torque_plant import TorquePlant
from picker_dynamics.trajectory.trajectory import stop_trajectory

DECELERATION = 4.0
STAGES = np.linspace(0.02, 0.98, 9)


def picker(tip_speed: float, payload: float = 0.0):
    arm = description.load(resource("urdf/picker.urdf"))
    servos = servo_map.load(resource("config/servos.yaml"), arm.joint_names)
    model = RigidBody(arm, armature=servos.armature)
    model = model.with_payload(payload, (0.0, 0.0, 0.0)) if payload else model
    plant = Plant(arm, servos, payload=payload)
    return arm, GoalCheck(arm, Gate(model, servos), model, tip_speed_limit=tip_speed), plant


def torque_arm(name: str):
    arm = arms.load(name)
    model = RigidBody(arm.description)
    plant = TorquePlant(arm.description, q=arm.home)
    return arm.description, GoalCheck(arm.description, EffortGate(model, arm), model, tip_speed_limit=arm.tip_speed), plant


ARMS = {
    "picker": lambda: picker(0.25),
    "picker with a berry": lambda: picker(0.25, 0.03),
    "fast picker": lambda: picker(2.0),
    "rrp": lambda: torque_arm("rrp"),
    "three_link": lambda: torque_arm("three_link"),
}


def motions(arm, check, count: int, seed: int):
    """Goals that are accepted, from a pose that can be held, with velocities (smooth) or without (at constant speed)."""
    rng = np.random.default_rng(seed)
    lower, upper = np.maximum(arm.lower, -3.0), np.minimum(arm.upper, 3.0)
    found = 0
    while found < count:
        begin, end = rng.uniform(lower, upper, (2, arm.n))
        generator = ReferenceGenerator(arm.joint_names, check, DECELERATION, arm.lower, arm.upper)
        generator.start(begin)
        smooth = {"velocities": [np.zeros(arm.n)], "accelerations": [np.zeros(arm.n)]} if found % 2 else {}
        try:
            check.gate.check_point(begin, np.zeros(arm.n), np.zeros(arm.n))
            motion = generator.submit(Goal(arm.joint_names, [0.8], [end], **smooth), 0.0)
        except PickerError:
            continue
        found += 1
        yield begin, motion


@pytest.mark.parametrize("name", ARMS)
def test_a_cancel_at_any_moment_stays_within_torque_and_position_limits(name):
    arm, check, plant = ARMS[name]()
    limit = check.gate.peak_limit
    for begin, motion in motions(arm, check, 8, seed=5):
        for stage in STAGES * motion.trajectory.duration:
            generator = ReferenceGenerator(arm.joint_names, check, DECELERATION, arm.lower, arm.upper)
            generator.start(begin)
            generator._begin(motion)
            state = generator.state_at(stage)
            generator.cancel(stage)
            assert generator.phase() is Phase.STOPPING
            stop = generator._path.trajectory
            for mine, its in zip(state, stop.sample(0.0)):
                np.testing.assert_allclose(its, mine, atol=1e-9)
            q, v, a = stop.sample(np.linspace(0.0, stop.duration, 24))
            assert (q >= arm.lower - 1e-6).all() and (q <= arm.upper + 1e-6).all()
            np.testing.assert_allclose(v[-1], 0.0, atol=1e-9)
            torque = np.array([plant.mass_matrix(one[0]) @ one[2] + plant.bias(one[0], one[1]) for one in zip(q, v, a)])
            torque += check.model.friction(v)
            assert (np.abs(torque) <= 1.005 * limit).all(), f"{(np.abs(torque) / limit).max():.3f} of what is allowed"


def test_without_a_check_it_stops_as_fast_as_it_may():
    arm, check, _ = picker(0.25)
    begin, motion = next(motions(arm, check, 1, seed=1))
    generator = ReferenceGenerator(arm.joint_names, None, DECELERATION, arm.lower, arm.upper)
    generator.start(begin)
    generator._begin(motion)
    middle = 0.5 * motion.trajectory.duration
    straight = stop_trajectory(*generator.state_at(middle), DECELERATION, joint_names=arm.joint_names)
    generator.cancel(middle)
    assert generator._path.trajectory.duration == pytest.approx(straight.duration)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_that_still_accelerates_towards_its_limit_stops_before_it(side):
    q, v, a = np.array([-1.86 * side]), np.array([3.17 * side]), np.array([4.65 * side])
    bounds = sorted((0.45 * side, -2.53 * side))
    stop = stop_trajectory(q, v, a, DECELERATION, joint_names=["elbow"], lower=[bounds[0]], upper=[bounds[1]])
    reached = stop.sample(np.linspace(0.0, stop.duration, 200))[0]
    assert bounds[0] - 1e-9 <= reached.min() and reached.max() <= bounds[1] + 1e-9
    assert stop.end[0] == pytest.approx(0.45 * side)
