"""What ``picker move`` and ``jog`` begin with: the pose that is held."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from arm_fixtures import picker
from execution_rig import HOME

from picker_dynamics.commands import arm_commands


@pytest.mark.parametrize("held", [0.0, 4.5e-5, -4.5e-5])
def test_a_pose_held_a_hair_beyond_a_limit_is_no_obstacle(held):
    """As a modelled one may be after a start anew."""
    q = np.array(HOME)
    q[4] = 1.2 + held
    at = SimpleNamespace(arm=picker(), client=SimpleNamespace(wait_holding=lambda: None, reference=lambda: q))
    assert arm_commands._held(at)[4] == min(q[4], 1.2)  # noqa: SLF001
