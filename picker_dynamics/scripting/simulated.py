"""A simulated arm in the script's own process: execution and machine in lock-step, without ROS."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from picker_dynamics.errors import GoalAbortedError, GoalCancelledError, GoalRefusedError, PickerError
from picker_dynamics.execution import goal as goals
from picker_dynamics.execution.events import Event, EventKind
from picker_dynamics.execution.execution import Execution, Timing
from picker_dynamics.execution.goal_tracking import ArmState, Outcome, Verdict
from picker_dynamics.execution.gripping import GripperCommand, GripperSettings, gripper_request
from picker_dynamics.execution.motion import Phase
from picker_dynamics.execution.payload_hold import require_holdable
from picker_dynamics.execution.pending_goals import GoalRequest
from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import Trajectory

from .body import Sample
from .equipment import Equipment
from .machines import PERIOD_S, Machine

STOP_S = 20.0
"""A cancelled motion stands long before this [s]."""


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
    """An arm that stands, enabled, where its machine does.

    Args:
        arm: the equipment.
        machine: what moves.
        real_time: no faster than the clock on the wall.
    """

    def __init__(self, arm: Equipment, machine: Machine, real_time: bool):
        self.arm, self.machine, self.real_time = arm, machine, real_time
        self.on_sample: Callable[[Sample], None] | None = None
        self.on_event: Callable[[Event], None] | None = None
        self.payload = 0.0
        timing = Timing(1.0 / PERIOD_S, machine.lead_s)
        self.execution = Execution(arm.description, arm.execution_limits(), timing)
        self.execution.start(machine.plant.q if arm.servos is None else arm.home)
        self._numbers = itertools.count(1)
        self._goal: SimulatedGoal | None = None
        self._due_s = time.monotonic()
        self.step()

    @property
    def now_s(self) -> float:
        return self.machine.plant.time

    @property
    def q(self) -> Array:
        return self.machine.plant.q

    @property
    def held(self) -> Array:
        sent = self.execution.sent.at(self.now_s) or self.execution.sent.newest
        assert sent is not None
        return np.array(sent.q)

    def set_payload(self, mass: float) -> None:
        model = self.arm.model(mass)
        if mass:
            require_holdable(model, self.execution.limits.torque, [self.q])
        self.execution.change_some(model=model)
        self.machine.set_payload(mass)
        self.payload = mass

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
        tick = self.execution.tick(self.now_s, self._state)
        for event in tick.events:
            if self.on_event is not None:
                self.on_event(event)
            if self._goal is not None and event.identifier == self._goal.name:
                self._goal.take(event)
        if tick.reference is not None:
            self.machine.take(tick.reference)
        self.machine.advance()
        if self.on_sample is not None:
            self.on_sample(Sample(self.now_s, self.q, self.held, np.array(self.machine.plant.torque)))
        if self.real_time:
            self._due_s = max(self._due_s + PERIOD_S, time.monotonic() - PERIOD_S)
            time.sleep(max(0.0, self._due_s - time.monotonic()))

    def _state(self) -> ArmState:
        plant = self.machine.plant
        return ArmState(plant.time, plant.q, plant.v)

    def close(self) -> None:
        """Close the body: nothing is left behind, it is all in this process."""
