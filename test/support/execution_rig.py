"""An arm's execution in simulated time: asked as a node asks it, ticked as a node ticks it."""

from __future__ import annotations

import numpy as np
from arm_fixtures import picker, rigid_body, servos

from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.execution import Execution, Limits, Timing
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.execution.reference_generator import Motion, Phase, Reference
from picker_dynamics.execution.torque_limits import TorqueLimits

NAMES, HOME = picker().joint_names, np.array(servos().home)
DECELERATION = 4.0


def limits(payload: float = 0.0, **options) -> Limits:
    """The picker's; options as for ``Limits``."""
    return Limits(TorqueLimits.of_servos(servos()), **{"model": rigid_body(payload)} | options)


class Rig:
    """An execution whose clock is the caller's: every reference, and every event, in order.

    Args:
        lead_s: a reference for the time t is asked for at t - ``lead_s``; all times here are those of references.
        pose: where the arm is held; None: it is not active.
    """

    def __init__(self, held_to: Limits | None = None, description=None, *, lead_s: float = 0.0, pose=HOME, **timing):
        description = description or picker()
        self.execution = Execution(
            description, held_to or limits(), Timing(lead_s=lead_s, **{"monitor_every": 1} | timing), DECELERATION, lambda: 0.0
        )
        self.lead_s, self.error, self.events, self.references = lead_s, np.zeros(description.n), [], []
        self.time_s, self.requests = 0.0, {}
        if pose is not None:
            self.execution.start(pose)

    # -- time ------------------------------------------------------------------------------------------------

    def tick(self, time_s: float):
        """What the tick brings whose reference holds at ``time_s``."""
        self.time_s = time_s
        tick = self.execution.tick(time_s - self.lead_s, self.state)
        self.events += tick.events
        if tick.reference is not None:
            self.references.append(tick.reference)
        return tick

    def state(self) -> ArmState | None:
        """The arm follows perfectly, or lags by ``error`` (n,) [rad]."""
        now_s = self.time_s - self.lead_s
        held = self.execution.sent.at(now_s)
        return None if held is None else ArmState(now_s, held.q - self.error, held.v)

    def sample(self, time_s: float) -> Reference:
        return self.tick(time_s).reference

    def run(self, begin_s: float, duration_s: float, period_s: float = 0.01) -> tuple[list[Reference], list[tuple[str, bool]]]:
        """References, and the goals that ended meanwhile: (identifier, whether cancelled)."""
        known, references = len(self.events), []
        for k in range(round(duration_s / period_s) + 1):
            references.append(self.sample(begin_s + k * period_s))
        ended = [
            (event.identifier, event.kind is EventKind.CANCELLED)
            for event in self.events[known:]
            if event.kind in (EventKind.DONE, EventKind.CANCELLED)
        ]
        return references, ended

    # -- what is asked ---------------------------------------------------------------------------------------

    def submit(self, goal: Goal, time_s: float, identifier: str = "", **request) -> Motion | None:
        """What the goal became, from ``time_s`` on; None: it waits.  Raises why it was refused."""
        known = len(self.events)
        self.requests[identifier] = GoalRequest(lambda: goal, goal.track, identifier, **request)
        self.execution.submit(self.requests[identifier])
        self.tick(time_s)
        for event in self.events[known:]:
            if event.error is not None:
                raise event.error
            if event.kind is EventKind.ACCEPTED:
                return event.motion
        return None

    def cancel(self, time_s: float, identifier: str | None = None) -> bool:
        """One goal or all; whether anything moved."""
        return self.execution.cancel(time_s - self.lead_s, None if identifier is None else self.requests[identifier])

    def phase(self) -> Phase:
        return self.execution.phase

    def set_speed(self, speed: float) -> None:
        """Wanted from the next tick on."""
        self.execution.change_some(speed=speed)

    def push(self, q, arrival_s: float, sent_s: float | None = None) -> None:
        """One sample of a stream; raises why it was refused."""
        refusal = self.execution.stream(self.execution.description.joint_names, q, arrival_s, sent_s)
        if refusal is not None:
            raise refusal
