"""Torque session: the drives of torque-controlled joints take efforts, watch over them, brake and hold, switch off; free of ROS.

    idle (holding) --enable--> enabling (braking) --at rest--> active --stop--> idle (holding, latched)
    any --disable, relax--> idle (off: the arm falls, dragged by its gears)

Effort commands are valid for ``FRESH_S`` from the state that they answer: an answer to where the arm was, however often it comes,
drives a light joint back and forth.  Without new ones the drives hold by themselves, and go on when commands come back
at once.  After ``REJOIN_S`` without any a new epoch begins, and commands restart at the held pose; likewise
where a joint became faster than its limit: the drives brake, and take no commands until they hold.
Times are seconds of any one clock.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.control.torque_loop import FRESH_S, HoldLaw
from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.model import DynamicsModel

from .session import Outputs, Routine, State

REJOIN_S = 0.5
"""Time without a command after which commands restart at the held pose [s]."""

OVERSPEED = 1.2
"""Share of its velocity limit at which a joint is braked, whatever is commanded."""

OFF_DRAG = 0.2
"""A switched-off joint is dragged by its gear: this share of its effort limit at its velocity limit."""


class TorqueSession(Outputs):
    """The drives of one arm, which starts idle, holding.

    Args:
        model: the arm as the drives model it, for braking and holding.
        effort, velocity: (n,) limits of the joints.
        bandwidth: w of the holding [rad/s].
    """

    def __init__(self, model: DynamicsModel, effort: ArrayLike, velocity: ArrayLike, bandwidth: float):
        super().__init__(model.joint_names, State.IDLE, "")
        self.effort = np.array(effort, dtype=float)
        self.velocity = np.array(velocity, dtype=float)
        self._drag = OFF_DRAG * self.effort / self.velocity
        self._hold = HoldLaw(model, bandwidth)
        self.powered = True
        self.taken = self.not_active = self.saturated = 0
        self._too_fast = ""
        self._command: np.ndarray | None = None
        self._command_s = -np.inf

    @property
    def commanded(self) -> bool:
        return self._command is not None

    @property
    def outputs(self) -> str:
        return "running" if self.powered else "off"

    # -- switching -----------------------------------------------------------------------------------------

    def activate(self, at_rest_pose: bool = True) -> str:
        """Brake, hold, and take commands from then on; returns what is being done.

        Raises:
            BoardFaultError: stop is latched.
        """
        self.require_not_stopped()
        if self.state is not State.IDLE:
            return f"already {self.state.value}"
        self.powered, self.state, self.problem = True, State.ENABLING, ""
        return f"enabling {', '.join(self.joint_names)}: holding where it comes to rest"

    def stop(self) -> None:
        """Latch the stop: brake and hold."""
        self.stop_latched = True
        self._leave(f"stopped: {'holding' if self.powered else 'outputs off'}; reset, then enable, to continue")

    def relax(self) -> None:
        """Switch off and latch: the arm falls."""
        self.stop_latched, self.powered = True, False
        self._leave("relaxed: outputs off; reset, then enable, to continue")

    def disable(self) -> None:
        """Switch off: the arm falls."""
        self.powered = False
        self._leave("outputs off")

    def reset(self) -> None:
        """Clear the stop; moves and resumes nothing."""
        self.stop_latched = False
        if self.state is State.IDLE:
            self.problem = "" if self.powered else Routine("outputs off")

    def _leave(self, problem: str) -> None:
        self.state, self.problem, self._command, self._too_fast = State.IDLE, problem, None, ""
        if not self.powered:
            self._hold.release()

    # -- efforts -------------------------------------------------------------------------------------------

    def command(self, tau: ArrayLike, time_s: float) -> bool:
        """Let ``tau`` (n,) [N·m or N] act, the answer to the state of ``time_s``; returns whether it is taken.

        Beyond the limits it is clipped.

        Raises:
            InputError: not finite; nothing changes.
        """
        tau = np.asarray(tau, dtype=float)
        for name, value in zip(self.joint_names, tau.tolist()):
            refuse_if(not math.isfinite(value), f"{name}: the effort is {value}, not a finite number", name, value)
        if self.state is not State.ACTIVE or self._too_fast:
            self.not_active += 1
            return False
        clipped = np.clip(tau, -self.effort, self.effort)
        self.saturated += int((clipped != tau).any())
        self.taken += 1
        self._command, self._command_s, self.problem = clipped, time_s, ""
        return True

    def torque(self, q: np.ndarray, v: np.ndarray, time_s: float) -> np.ndarray:
        """Torque that the drives give now, (n,) [N·m or N]: the command, their own hold, or only drag."""
        if not self.powered:
            return np.asarray(-self._drag * v)
        if self._command is not None:
            self.held = q.copy()  # on its way from where it was held
            self._watch_speed(v)
        if self._command is not None and time_s - self._command_s <= FRESH_S:
            self._hold.release()
            return self._command
        return np.asarray(np.clip(self._hold(q, v, time_s), -self.effort, self.effort))

    def _watch_speed(self, v: np.ndarray) -> None:
        j = int((np.abs(v) / self.velocity).argmax())
        if abs(v[j]) > OVERSPEED * self.velocity[j]:
            self._too_fast = f"{self.joint_names[j]} moved at {abs(v[j]):.2f}, limit {self.velocity[j]:.2f}: braked, holding"
            self._command = None

    def tick(self, time_s: float) -> None:
        """Begin an epoch where one is due: to enable, after a silence, or where the arm was too fast."""
        pose, silent = self._hold.pose, self._command is not None and time_s - self._command_s > REJOIN_S
        if pose is None or not (self.state is State.ENABLING or (self.state is State.ACTIVE and (silent or self._too_fast))):
            return
        remark = self._too_fast or ("" if self.state is State.ENABLING else f"no effort commands for {REJOIN_S} s: holding")
        self.begin_epoch(pose.copy(), remark)
        self.state, self._command, self._too_fast = State.ACTIVE, None, ""
