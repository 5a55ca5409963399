"""Parking: a slow motion to the rest pose, checked as every other, as the last thing that is asked of an arm."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from picker_dynamics.controller.controller import Controller
from picker_dynamics.errors import BoardFaultError, GoalRefusedError
from picker_dynamics.execution.goal import Goal, asked_duration
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import Outcome, Verdict
from picker_dynamics.execution.lease import Holder, Kind
from picker_dynamics.execution.motion import Phase
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array

TIP_SPEED = 0.15
"""Largest speed of the tool while parking [m/s]."""

AT_REST_S = 3.0
"""Within which what was commanded before comes to rest [s]."""

LOOK_S = 0.02

NAME, LONGEST_S = "park", 600.0
"""Of who has the arm meanwhile, and for how long at the most [s]."""


def straight_goal(arm: ArmDescription, start: Array, target: Array, least_s: float = 0.0) -> Goal:
    """A goal straight from one pose (n,) to another [rad or m], in ``least_s`` or as long as the tip's way takes."""
    still = [np.zeros(arm.n).tolist()]
    return Goal(arm.joint_names, [asked_duration(arm, start, target, least_s)], [target.tolist()], still, still)


def park(session: Controller, rest: Array, hurried: Callable[[], bool]) -> None:
    """Move slowly to the pose ``rest`` (n,) [rad], while another thread runs the control loop; returns when the arm is there.

    Raises:
        PickerError: the way cannot be taken, a fault or a stop on the way, or ``hurried()``; the arm holds then.
    """
    execution, answers = session.execution, list[Verdict]()
    session.cancel()
    until_s = time.monotonic() + AT_REST_S
    while execution.phase is not Phase.HOLDING and time.monotonic() < until_s and not hurried():
        time.sleep(LOOK_S)
    held = session.reference()
    if held is None:
        raise BoardFaultError(f"not parked: {session.hardware.session.problem or session.problem}")
    arm, limits = execution.description, execution.limits
    goal = straight_goal(arm, held, rest)
    with session.turn:  # nobody takes the arm from its last motion
        execution.lease.end_all()
        execution.lease.grant(Holder(Kind.DRIVER, NAME), range(arm.n), session.clock.now() + LONGEST_S)
    session.change(tip_speed=min(limits.tip_speed, TIP_SPEED), scales_time=True, speed=1.0)
    session.submit(GoalRequest(lambda: goal, identifier=NAME, driver=NAME, answer=answers.append))
    while not answers:
        if hurried():
            session.stop()
            raise BoardFaultError("not parked: told to end at once; holding")
        time.sleep(LOOK_S)
    if answers[0].outcome is not Outcome.SUCCEEDED:
        raise GoalRefusedError(f"not parked: {answers[0].text}")
