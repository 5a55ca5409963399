"""Arms of any shape in a script, from their URDF alone: the simulated arm is home, its tip where it was told to be, parked."""

import any_arms
import numpy as np
import pytest

from picker_dynamics import Arm
from picker_dynamics.errors import GoalRefusedError, UnreachableError
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.scripting.equipment import equipment

OFF_M = 0.005
"""How far the true tip may be from where it was told to be: 5 mm, the demo's tolerance, for each 0.425 m of arm."""


@pytest.mark.long
@pytest.mark.parametrize("name", any_arms.NAMES)
def test_an_arm_moves_from_its_urdf_alone(name):
    with Arm.simulated(any_arms.urdf(name), real_time=False) as arm:
        described, home = arm.description, arm.q
        chain = ChainKinematics(described)
        size = OFF_M * max(1.0, chain.length / 0.425)
        arm.home()
        pose = home + 0.1 * (np.clip(described.upper, -3.0, 3.0) - home)
        target = next(tip for share in (1.0, 0.5, 0.2, 0.1) if arm.plan(tip=(tip := chain.forward(home + share * (pose - home)))))
        arm.move(tip=target)
        arm.wait(1.0)
        assert np.linalg.norm(arm.tip - target) < size
        with pytest.raises(UnreachableError, match=r"out of reach by \d+\.\d mm; the nearest point .* mm$"):
            arm.move(tip=(9.0, 9.0, 9.0))
        beyond = float(described.upper[0]) + 0.2 if np.isfinite(described.upper[0]) else None
        if beyond is not None:
            with pytest.raises(GoalRefusedError, match=described.joint_names[0]):
                arm.move(**{described.joint_names[0]: beyond})
        arm.park()
        arm.wait(0.5)
        assert np.linalg.norm(arm.tip - arm.tip_at(equipment(any_arms.urdf(name)).rest)) < size
