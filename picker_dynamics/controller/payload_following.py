"""Following of the payload: control goes by what measured efforts say the tool carries, in bounds and at a bounded rate.

Plans bear the heavier of what is set and what is followed, so an estimate never allows a motion that would be refused without it.
"""

from __future__ import annotations

import math

from picker_dynamics.control.payload_follow import FOLLOW_PERIOD_S, Payload, PayloadFollower
from picker_dynamics.control.torque_loop import TorqueLoop
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.robot.model import Array, DynamicsModel

from .controller import Controller, Cycle


class PayloadFollowing:
    """Payload that is set, and the one that is followed while following is on.

    Args:
        controller: carries it.
        loop: whose commands answer measured states.
        model: the arm without payload.
        effort_sd: (n,) what an effort is not known to [N·m or N].
        transition_s: duration of a change of payload [s].

    Attributes:
        payload: that is set.
        problem: why the payload is not followed further; '' where it is.
    """

    def __init__(self, controller: Controller, loop: TorqueLoop, model: DynamicsModel, effort_sd: Array, transition_s: float):
        self._controller, self._loop, self._model, self._effort_sd = controller, loop, model, effort_sd
        self._period_s, self._due_s = max(transition_s, FOLLOW_PERIOD_S), 0.0
        self._follower: PayloadFollower | None = None
        self.payload, self.problem = Payload(), ""

    def set(self, payload: Payload, on: bool, max_kg: float, rate_kg_s: float, now_s: float) -> None:
        """Set the payload, and follow from it on or not.

        Raises:
            InputError: heavier than what is followed at the most.
            PickerError: as ``Controller.set_payload``; nothing changes.
        """
        if on and payload.mass > max_kg:
            text = f"payload.mass is {payload.mass:g} kg, above payload.follow_max, {max_kg:g} kg: it could not be followed"
            raise InputError(text, subject="payload.mass", value=payload.mass, limit=max_kg)
        follower = self._follower if on else None
        followed_kg = payload.mass if follower is None else follower.mass
        self._carry(payload, followed_kg, now_s)
        if not on:
            self.problem = ""
        elif follower is None or payload.com != self.payload.com:
            bounds = {"max_kg": max_kg, "rate_kg_s": rate_kg_s, "start_kg": followed_kg}
            follower = PayloadFollower(self._model, self._effort_sd, com=payload.com, **bounds)
        else:
            follower.max_kg, follower.rate = max_kg, rate_kg_s
        self._follower, self.payload = follower, payload

    def _carry(self, payload: Payload, followed_kg: float, now_s: float) -> None:
        self._controller.set_payload(max(payload.mass, followed_kg), payload.com, now_s, followed_kg)

    def hear(self, cycle: Cycle) -> None:
        """Take what the cycle measured, and go a step towards it once a period."""
        follower, state = self._follower, cycle.state
        if follower is None:
            return
        if cycle.sent and self._loop.following and state is not None and state.v is not None and state.effort is not None:
            follower.observe(state.q, state.v, state.effort, state.time_s)
        if cycle.now_s < self._due_s:
            return
        self._due_s, before = cycle.now_s + self._period_s, follower.mass
        mass = follower.step(self._period_s)
        self.problem = follower.problem
        if math.isclose(mass, before, abs_tol=1e-9):
            return
        try:
            self._carry(self.payload, mass, cycle.now_s)
        except PickerError as error:
            follower.mass = before
            self.problem = f"the payload is heavier than {before:.3f} kg, not followed further: {error}"

    def facts(self) -> dict[str, object]:
        """Facts about the followed payload, for the diagnostics."""
        if (one := self._follower) is None:
            return {"payload_follow": False}
        return {"payload_follow": True, "payload_followed_kg": one.mass, "payload_estimate_kg": one.estimate}
