"""A cancelled motion comes to rest within torque and position limits, at whatever moment it is cancelled.

The torques are MuJoCo's: inverse dynamics of the simulated arm, which knows no model of ours.
"""

import arm_fixtures
import numpy as np
import pytest
from arm_fixtures import shipped_arm
from execution_rig import Rig, goal

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.execution.execution import Limits
from picker_dynamics.execution.motion import Phase
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.torque_plant import TorquePlant

STAGES = np.linspace(0.02, 0.98, 4)


def picker(tip_speed: float, payload: float = 0.0):
    arm, servos = arm_fixtures.picker(), arm_fixtures.servos(simulated=False)
    model = RigidBody(arm, servos.armature).with_payload(payload)
    return arm, Limits(TorqueLimits.of_servos(servos), model, tip_speed), Plant(arm, servos, payload=payload)


def torque_arm(name: str):
    arm = shipped_arm(name)
    plant = TorquePlant(arm.description, q=arm.home)
    return arm.description, Limits(TorqueLimits.of_arm(arm), RigidBody(arm.description), arm.tip_speed), plant


ARMS = {"fast picker": lambda: picker(2.0), "rrp": lambda: torque_arm("rrp")}


def motions(arm, limits, count: int, seed: int):
    """Goals that are accepted, from a pose that can be held, with velocities (smooth) or without (at constant speed)."""
    rng, validator = np.random.default_rng(seed), MotionValidator(limits.model, limits.torque, arm, 0.25)
    lower, upper = np.maximum(arm.lower, -3.0), np.minimum(arm.upper, 3.0)
    found = 0
    while found < count:
        begin, end = rng.uniform(lower, upper, (2, arm.n))
        fields = {} if found % 2 else {"velocities": None, "accelerations": None}
        wanted = goal(end, times=[0.8], names=arm.joint_names, **fields)
        try:
            validator.require_holdable(begin)
            motion = Rig(limits, arm, pose=begin).submit(wanted)
        except PickerError:
            continue
        found += 1
        yield begin, wanted, motion.duration_s


def under_way(arm, limits, begin, wanted, stage: float) -> Rig:
    """The goal, executed up to that time; references from there on."""
    rig = Rig(limits, arm, period_s=0.004, pose=begin)
    rig.submit(wanted)
    rig.references.clear()
    rig.at(stage)
    return rig


@pytest.mark.parametrize("name", ARMS)
def test_a_cancel_at_any_moment_stays_within_torque_and_position_limits(name):
    arm, limits, plant = ARMS[name]()
    for begin, wanted, duration in motions(arm, limits, 2, seed=5):
        for stage in STAGES * duration:
            rig = under_way(arm, limits, begin, wanted, stage)
            state = rig.newest
            rig.cancel()
            assert rig.phase is Phase.STOPPING
            rig.at(stage)
            for part in "qva":
                np.testing.assert_allclose(getattr(rig.newest, part), getattr(state, part), atol=1e-9)
            rig.to_rest()
            q, v, a = rig["q"], rig["v"], rig["a"]
            assert (q >= arm.lower - 1e-6).all() and (q <= arm.upper + 1e-6).all()
            np.testing.assert_allclose(v[-1], 0.0, atol=1e-9)
            torque = np.array([plant.mass_matrix(one[0]) @ one[2] + plant.bias(one[0], one[1]) for one in zip(q, v, a)])
            torque += limits.model.friction(v)
            share = np.abs(torque) / limits.torque.peak
            assert (share <= 1.005).all(), f"{share.max():.3f} of what is allowed"
