"""Goals whose first leg is short, cancelled at any time: arms pass their points, and the true arm stays with its reference."""

import any_arms
import numpy as np
import pytest
from generated import LONG

from picker_dynamics import Arm
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.session.local import SimulatedSession
from picker_dynamics.session.running_arm import RunningArm

TIMES_S = 0.1, 0.4, 0.9
CANCELS_S = np.arange(0.02, 0.52, 0.02) if LONG else (0.06, 0.14, 0.3)

AWAY_M = 6e-3
"""The true tip against where the reference is [m]: pulses and deadband are 3 mm, the rest is lag of the servos."""

MET_M = 5e-3
"""Likewise against a point that is passed."""


def points(arm: RunningArm) -> np.ndarray:
    """Start, and two points of a way that turns back at the first one, (3, n)."""
    home, size = np.array(arm.servos.home), np.where(np.array(arm.description.position_units) == "m", 0.01, 0.04)
    return np.clip([home, home + size, home - size], arm.description.lower, arm.description.upper)


def tips(session: SimulatedSession, times_s, ends, seconds: float, cancel_s: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Ask for a motion; the true tip and the reference's from then on, (k, 3) each [m]."""
    arm, begun_s, seen = session.arm, session.now_s, []
    goal = Goal(arm.description.joint_names, list(times_s), np.array(ends).tolist())
    arm.session.submit(GoalRequest(lambda: goal, tracker=arm.tracker))
    while session.now_s < begun_s + seconds:
        if session.now_s > begun_s + cancel_s - 1e-6:
            arm.session.cancel()
        session.step()
        seen.append([session.plant.tip_at(q) for q in (session.plant.q, arm.session.reference())])
    true, told = np.moveaxis(np.array(seen), 1, 0)
    return true, told


@pytest.mark.parametrize("name", ["", "four_joint", "gantry"])
def test_the_true_arm_stays_with_its_reference_and_passes_the_points(name):
    with Arm.simulated(name and any_arms.urdf(name), real_time=False) as arm:
        session = arm.session
        start, *ends = points(session.arm)
        for cancel_s in (*CANCELS_S, np.inf):
            tips(session, (0.8,), [start], 1.2)
            true, told = tips(session, TIMES_S, [*ends, ends[-1]], min(cancel_s + 0.5, 1.5), cancel_s)
            assert np.linalg.norm(true - told, axis=1).max() < AWAY_M, cancel_s
        assert np.linalg.norm(true - session.plant.tip_at(ends[0]), axis=1).min() < MET_M
