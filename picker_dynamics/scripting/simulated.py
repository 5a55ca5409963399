"""A simulated arm in the script's own process: the control loop on virtual time, without ROS."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from picker_dynamics.controller.simulated import SimulatedArm, simulated_efforts, simulated_servos
from picker_dynamics.errors import GoalAbortedError, GoalCancelledError, GoalRefusedError, PickerError
from picker_dynamics.execution import goal as goals
from picker_dynamics.execution.events import Event, EventKind
from picker_dynamics.execution.goal_tracking import Outcome, Verdict
from picker_dynamics.execution.gripping import GripperCommand, GripperSettings, gripper_request
from picker_dynamics.execution.motion import Phase
from picker_dynamics.execution.pending_goals import GoalRequest
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import Trajectory

from .body import Sample
from .equipment import Equipment

STOP_S = 20.0
"""A cancelled motion stands long before this [s]."""


def simulation(arm: Equipment, compensation: str = "full", **plant: Any) -> SimulatedArm:
    """Simulated arm under its controller, at home; ``plant`` as for ``Plant`` or ``TorquePlant``."""
    limits = arm.execution_limits()
    if arm.servos is not None:
        return simulated_servos(arm.description, arm.servos, limits, arm.model, arm.home, compensation=compensation, **plant)
    assert arm.torque is not None and arm.torque.bandwidth is not None
    return simulated_efforts(arm.description, arm.torque.bandwidth, limits, arm.model, arm.home, **plant)


class SimulatedGoal:
    """A goal that the execution took."""

    def __init__(self, body: SimulatedBody, name: str):
        self.body, self.name = body, name
        self.duration_s, self._begin_s = 0.0, body.now_s
        self.verdict: Verdict | None = None
        self.refusal: PickerError | None = None

    def take(self, event: Event) -> None:
        """Take what the execution says of the goal."""
        if event.kind is EventKind.ACCEPTED and event.motion is not None:
            self.duration_s, self._begin_s = event.motion.duration_s, event.motion.start_s
        elif event.error is not None:
            self.refusal = event.error

    def ended(self) -> bool:
        if self.verdict is None:
            return False
        if self.verdict.outcome is not Outcome.SUCCEEDED:
            raise (GoalCancelledError if self.verdict.outcome is Outcome.CANCELED else GoalAbortedError)(self.verdict.text)
        return True

    def progress(self) -> float:
        if self.verdict is not None:
            return 1.0
        return float(np.clip((self.body.now_s - self._begin_s) / max(self.duration_s, 1e-9), 0.0, 1.0))

    def cancel(self) -> None:
        self.body.stop()


class SimulatedBody:
    """A simulated arm that is enabled.

    Args:
        arm: the equipment.
        simulation: controller and plant.
        real_time: no faster than the clock on the wall.
    """

    def __init__(self, arm: Equipment, simulation: SimulatedArm, real_time: bool):
        self.arm, self.simulation, self.real_time = arm, simulation, real_time
        self.on_sample: Callable[[Sample], None] | None = None
        self.on_event: Callable[[Event], None] | None = None
        self.execution = simulation.execution
        self._numbers = itertools.count(1)
        self._goal: SimulatedGoal | None = None
        self._due_s = time.monotonic()
        self.step()

    @property
    def now_s(self) -> float:
        return self.simulation.now_s

    @property
    def q(self) -> Array:
        return np.array(self.simulation.plant.q)

    @property
    def held(self) -> Array:
        sent = self.execution.sent.at(self.now_s) or self.execution.sent.newest
        assert sent is not None
        return np.array(sent.q)

    @property
    def payload(self) -> float:
        return self.simulation.controller.payload[0]

    def set_payload(self, mass: float) -> None:
        self.simulation.set_payload(mass)

    def begin(self, target: Array, duration_s: float) -> SimulatedGoal:
        still = [0.0] * len(target)
        goal = goals.Goal(self.arm.description.joint_names, [duration_s], [target.tolist()], [still], [still])
        return self._begun(partial(GoalRequest, lambda: goal))

    def follow(self, trajectory: Trajectory) -> SimulatedGoal:
        return self._begun(partial(GoalRequest, lambda: goals.along(trajectory)))

    def grip(self, joint: int, at: float) -> SimulatedGoal:
        settings, command = GripperSettings.of(self.arm.description, joint), GripperCommand((), (at,))
        return self._begun(lambda **how: gripper_request(command, settings, self.execution, lambda: self.now_s, **how))

    def tip_speed(self) -> None:
        return None

    def surrounded(self, known: Equipment) -> Equipment:
        return known

    def _begun(self, request: Callable[..., GoalRequest]) -> SimulatedGoal:
        goal = self._goal = SimulatedGoal(self, str(next(self._numbers)))

        def answer(verdict: Verdict) -> None:
            goal.verdict = verdict

        self.execution.submit(request(identifier=goal.name, answer=answer))
        while not goal.duration_s and goal.verdict is None:
            self.step()
        if goal.refusal is not None:
            why = goal.refusal
            raise GoalRefusedError(f"refused: {why}", subject=why.subject, value=why.value, limit=why.limit) from why
        return goal

    def stop(self) -> None:
        """Decelerate to a hold."""
        self.execution.cancel(self.now_s)
        ends_s = self.now_s + STOP_S
        while self.execution.phase is not Phase.HOLDING and self.now_s < ends_s:
            self.step()

    def step(self) -> None:
        for event in self.simulation.step().tick.events:
            if self.on_event is not None:
                self.on_event(event)
            if self._goal is not None and event.identifier == self._goal.name:
                self._goal.take(event)
        if self.on_sample is not None:
            self.on_sample(Sample(self.now_s, self.q, self.held, np.array(self.simulation.plant.torque)))
        if self.real_time:
            period_s = self.simulation.period_s
            self._due_s = max(self._due_s + period_s, time.monotonic() - period_s)
            time.sleep(max(0.0, self._due_s - time.monotonic()))

    def close(self) -> None:
        """Close the body: nothing is left behind, it is all in this process."""
