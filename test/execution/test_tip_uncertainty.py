"""The uncertainty that is stated of a modelled pose: against errors that are put into the figures, and by finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from arm_fixtures import rigid_body, servos
from execution_rig import HOME

from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.execution.tip_uncertainty import SHARE, joint_uncertainty, tip_uncertainty
from picker_dynamics.robot.servo_map import ServoMap

MAP: ServoMap = servos()
OUT = np.array([0.3, 0.9, -1.4, -0.3, 0.5])


def test_a_joint_without_load_is_uncertain_by_half_a_deadband_half_the_play_and_half_a_step():
    for angle, servo in zip(joint_uncertainty(MAP), MAP.servos):
        q = servo.home
        pulse = servo.to_pulse_us(q)
        step = abs(servo.to_angle(pulse + 0.5 * MAP.quantum_us) - q)
        band = abs(servo.to_angle(pulse + 0.5 * servo.deadband_us) - q)
        assert angle == pytest.approx(step + band + np.radians(0.25), rel=1e-9)


@pytest.mark.parametrize("q", [HOME, OUT], ids=["home", "out"])
@pytest.mark.parametrize("seed", range(5))
def test_an_arm_whose_figures_are_off_rests_within_it(q, seed):
    """Set-points on the grid of the pulses, the deadband's whole width, a load and a stiffness that together are SHARE off."""
    model, rng = rigid_body(), np.random.default_rng(seed)
    load = model.gravity(q)
    truth = replace(
        MAP, servos=tuple(replace(s, stiffness=s.stiffness / (1.0 + 0.9 * SHARE * rng.choice([-1, 1]))) for s in MAP.servos)
    )
    setpoint = MAP.model.setpoint(q, 0.0 * q, load) + rng.uniform(-0.5, 0.5, 5) * MAP.quantum_us * np.pi / 2000.0
    rests = ArmStateModel(model, truth.model, q).settle(setpoint, q)
    off = np.linalg.norm(model.forward_kinematics(rests) - model.forward_kinematics(q))
    assert off < tip_uncertainty(model, MAP, q) < 0.02
