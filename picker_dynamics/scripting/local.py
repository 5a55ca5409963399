"""An arm whose controller runs in the script's own process: simulated on virtual time, or real on a serial port; without ROS."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from picker_dynamics.board.session import State
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.controller.robot import Robot
from picker_dynamics.controller.simulated import SimulatedArm, simulated_efforts, simulated_servos
from picker_dynamics.errors import GoalAbortedError, GoalCancelledError, GoalRefusedError, LinkError, PickerError
from picker_dynamics.execution import goal as goals
from picker_dynamics.execution.events import Event, EventKind
from picker_dynamics.execution.goal_tracking import Outcome, Verdict
from picker_dynamics.execution.gripping import GripperCommand, GripperSettings, gripper_request
from picker_dynamics.execution.motion import Phase
from picker_dynamics.execution.pending_goals import GoalRequest
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.session.local import LocalSession
from picker_dynamics.session.loop_thread import LoopThread
from picker_dynamics.trajectory.trajectory import Trajectory

from .body import Sample
from .equipment import Equipment

STOP_S = 20.0
"""A cancelled motion has come to rest long before this [s]."""


def simulation(arm: Equipment, compensation: str = "full", servos: ServoMap | None = None, **plant: Any) -> SimulatedArm:
    """Simulated arm under its controller, at home.

    Args:
        servos: those below the plan, of board and plant; default the arm's.
        plant: as for ``Plant`` or ``TorquePlant``.
    """
    limits, servos = arm.execution_limits(), servos or arm.servos
    if servos is not None:
        return simulated_servos(arm.description, servos, limits, arm.model, arm.home, compensation=compensation, **plant)
    assert arm.torque is not None and arm.torque.bandwidth is not None
    return simulated_efforts(arm.description, arm.torque.bandwidth, limits, arm.model, arm.home, **plant)


class LocalGoal:
    """A goal that the execution took."""

    def __init__(self, body: LocalBody, name: str):
        self.body, self.name = body, name
        self.duration_s, self._begin_s = 0.0, body.now_s
        self.verdict: Verdict | None = None
        self.heard = False
        self.refusal: PickerError | None = None

    def take(self, event: Event) -> None:
        """Take what the execution says of the goal."""
        self.heard = True
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


class LocalBody(ABC):
    """An arm behind a session of this process.

    Args:
        arm: the equipment.
        session: with its controller.
    """

    def __init__(self, arm: Equipment, session: LocalSession):
        self.arm, self.session, self.execution = arm, session, session.controller.execution
        self.on_sample: Callable[[Sample], None] | None = None
        self.on_event: Callable[[Event], None] | None = None
        self._numbers = itertools.count(1)
        self._goal: LocalGoal | None = None
        session.subscribe(self._hear)

    def _hear(self, cycle: Cycle) -> None:
        for event in cycle.tick.events:
            if self.on_event is not None:
                self.on_event(event)
            if self._goal is not None and event.identifier == self._goal.name:
                self._goal.take(event)

    @property
    @abstractmethod
    def now_s(self) -> float:
        """Time of the session's clock [s]."""

    @property
    @abstractmethod
    def q(self) -> Array:
        """Joint positions, (n,) [rad or m]."""

    @abstractmethod
    def step(self) -> None:
        """Let a little time pass."""

    @property
    def held(self) -> Array:
        reference = self.session.reference()
        if reference is None:
            raise PickerError(f"the arm is not active: {self.session.status().problem or 'enable it first'}")
        return reference

    @property
    def payload(self) -> float:
        return self.session.status().payload_kg

    def set_payload(self, mass: float) -> None:
        self.session.set_payload(mass)

    def begin(self, target: Array, duration_s: float) -> LocalGoal:
        still = [0.0] * len(target)
        goal = goals.Goal(self.arm.description.joint_names, [duration_s], [target.tolist()], [still], [still])
        return self._begun(partial(GoalRequest, lambda: goal))

    def follow(self, trajectory: Trajectory) -> LocalGoal:
        return self._begun(partial(GoalRequest, lambda: goals.along(trajectory)))

    def grip(self, joint: int, at: float) -> LocalGoal:
        settings, command = GripperSettings.of(self.arm.description, joint), GripperCommand((), (at,))
        return self._begun(lambda **how: gripper_request(command, settings, self.execution, lambda: self.now_s, **how))

    def tip_speed(self) -> None:
        return None

    def surrounded(self, known: Equipment) -> Equipment:
        return known

    def _begun(self, request: Callable[..., GoalRequest]) -> LocalGoal:
        goal = self._goal = LocalGoal(self, str(next(self._numbers)))

        def answer(verdict: Verdict) -> None:
            goal.verdict = verdict

        self.session.submit(request(identifier=goal.name, answer=answer))
        while not goal.heard:
            self.step()
        if goal.refusal is not None:
            why = goal.refusal
            raise GoalRefusedError(f"refused: {why}", subject=why.subject, value=why.value, limit=why.limit) from why
        return goal

    def stop(self) -> None:
        """Decelerate to a hold."""
        self.session.cancel()
        ends_s = self.now_s + STOP_S
        while self.execution.phase not in (Phase.HOLDING, Phase.INACTIVE) and self.now_s < ends_s:
            self.step()

    def enable(self, at_rest_pose: bool) -> str:
        """Adopt outputs that run, or switch them on at the rest pose; returns what is being done."""
        return self.session.enable(at_rest_pose)

    @abstractmethod
    def close(self) -> None:
        """Leave the arm as it is."""


class SimulatedBody(LocalBody):
    """A simulated arm that is enabled; joint positions are the truth.

    Args:
        arm: the equipment.
        simulation: controller and plant.
        real_time: no faster than the clock on the wall.
    """

    def __init__(self, arm: Equipment, simulation: SimulatedArm, real_time: bool):
        super().__init__(arm, LocalSession(simulation.controller, simulation.clock))
        self.simulation, self.real_time = simulation, real_time
        self._due_s = time.monotonic()
        self.step()

    @property
    def now_s(self) -> float:
        return self.simulation.now_s

    @property
    def q(self) -> Array:
        return np.array(self.simulation.plant.q)

    def set_payload(self, mass: float) -> None:
        super().set_payload(mass)
        self.simulation.plant.attach(mass)

    def step(self) -> None:
        self.session.cycle()
        self.simulation.run()
        if self.on_sample is not None:
            self.on_sample(Sample(self.now_s, self.q, self.held, np.array(self.simulation.plant.torque)))
        if self.real_time:
            period_s = self.simulation.period_s
            self._due_s = max(self._due_s + period_s, time.monotonic() - period_s)
            time.sleep(max(0.0, self._due_s - time.monotonic()))

    def close(self) -> None:
        """Nothing is left behind: it is all in this process."""


class OpenedBody(LocalBody):
    """A real arm on a serial port; a thread of this process runs its control loop."""

    def __init__(self, arm: Equipment, robot: Robot):
        super().__init__(arm, LocalSession(robot.controller, robot.clock))
        self.robot = robot
        self._cycle: Cycle | None = None
        self.session.subscribe(self._keep)
        self.loop = LoopThread(self.session.cycle, 1.0 / self.execution.timing.rate_hz, robot.clock)
        self.step()

    def _keep(self, cycle: Cycle) -> None:
        self._cycle = cycle

    @property
    def now_s(self) -> float:
        return self.robot.clock.now()

    @property
    def q(self) -> Array:
        if self._cycle is None or self._cycle.state is None:
            raise PickerError(f"nobody knows where the arm is: {self.session.status().problem or 'enable it first'}")
        return np.array(self._cycle.state.q)

    def step(self) -> None:
        self.robot.clock.sleep(1.0 / self.execution.timing.rate_hz)
        if self.loop.failure is not None:
            raise PickerError(f"the control loop ended: {self.loop.failure}") from self.loop.failure
        cycle = self._cycle
        if self.on_sample is not None and cycle is not None and cycle.state is not None and cycle.tick.reference is not None:
            effort = np.full(self.arm.description.n, np.nan) if cycle.command is None else cycle.command.effort
            self.on_sample(Sample(cycle.now_s, np.array(cycle.state.q), self.held, np.array(effort)))

    def enable(self, at_rest_pose: bool) -> str:
        """Connect again where the board was lost, then enable; returns when the arm is active."""
        if self.robot.session.state is State.OFFLINE:
            self.robot.connect()
        said = super().enable(at_rest_pose)
        while self.robot.session.state is State.ENABLING:
            self.step()
        if self.robot.session.state is not State.ACTIVE:
            raise LinkError(f"not enabled: {self.session.status().problem}")
        while self.session.reference() is None:
            self.step()
        return said

    def close(self) -> None:
        """End the control loop and close the port; the board holds what it has."""
        self.loop.close()
        self.robot.close()
