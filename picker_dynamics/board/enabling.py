"""Enabling: switches outputs on at the rest pose, one joint after the other: all at once are more than a supply bears."""

from __future__ import annotations

from concurrent.futures import Future

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.servo_map import ServoMap

from .link import Link
from .protocol import Ack, Enable, Info, Reason, Telemetry, pulse_units

PATIENCE_S = 2.0
"""How long a joint's enabling is asked for again where no answer comes."""


class Enabling:
    """Switches on, at the rest pose, those joints whose outputs are off: one at a time, without ever waiting for the board.

    Args:
        link, servos: the board and what hangs on it.
        period_s: between two joints [s].
        at_rest_pose: the arm stands there; else outputs that went off meanwhile stay off.
    """

    def __init__(self, link: Link, servos: ServoMap, period_s: float, at_rest_pose: bool):
        self._link, self._servos, self._period_s, self._at_rest_pose = link, servos, period_s, at_rest_pose
        self._rest = [pulse_units(pulse) for pulse in servos.to_pulse_us(servos.rest)]
        self._due_s, self._joint = 0.0, 0
        self._answer: Future[Ack | Info] | None = None

    def advance(self, telemetry: Telemetry, now_s: float) -> bool:
        """Do what is due to switch on the outputs; whether all of them run.

        Raises:
            PickerError: a joint could not be switched on; its ``subject`` says which.
        """
        if self._answer is not None:
            self._take_answer(self._answer, now_s)
        if self._answer is not None or now_s < self._due_s or telemetry.state.moves:
            return False
        while self._joint < self._servos.n and telemetry.live >> self._joint & 1:
            self._joint += 1
        if self._joint == self._servos.n:
            return self._all_run(telemetry, now_s)
        if not self._at_rest_pose:
            name = self._servos.joint_names[self._joint]
            raise PickerError(f"{name} is off, and nobody says that the arm stands at its rest pose", subject=name)
        pulses = [pulse if joint == self._joint else 0 for joint, pulse in enumerate(self._rest)]
        self._answer = self._link.request_async(Enable(1 << self._joint, tuple(pulses)), PATIENCE_S)
        return False

    def _all_run(self, telemetry: Telemetry, now_s: float) -> bool:
        """Whether telemetry says so too, and at which pulses: it may be older than the last answer."""
        off = [name for joint, name in enumerate(self._servos.joint_names) if not telemetry.live >> joint & 1]
        if off and now_s > self._due_s + PATIENCE_S:
            raise PickerError(f"{off[0]} was switched on and its output does not run", subject=off[0])
        return not off

    def _take_answer(self, answer: Future[Ack | Info], now_s: float) -> None:
        if not answer.done():
            return
        error, self._answer = answer.exception(), None
        if error is not None and getattr(error, "reason", None) is not Reason.ALREADY_LIVE:  # done, but the answer got lost
            name = self._servos.joint_names[self._joint]
            raise PickerError(f"{name} could not be enabled: {error}", subject=name) from error
        self._due_s, self._joint = now_s + self._period_s, self._joint + 1
