"""Enabling: switches outputs on at the rest pose, one joint after the other: all at once are more than a supply bears."""

from __future__ import annotations

from collections.abc import Generator

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.servo_map import ServoMap

from .link import Link
from .protocol import Enable, Reason, Telemetry, pulse_units

PATIENCE_S = 2.0
"""How long a joint's enabling is asked for again where no answer comes."""

Enabling = Generator[None, tuple[Telemetry, float], None]


def enabling(link: Link, servos: ServoMap, period_s: float, at_rest_pose: bool) -> Enabling:
    """Switch on, at the rest pose, those joints whose outputs are off: one at a time, without ever waiting for the board.

    Takes the newest telemetry and the time [s] again and again, and returns when all outputs run.

    Args:
        link, servos: the board and what hangs on it.
        period_s: between two joints [s].
        at_rest_pose: the arm stands there; else outputs that went off meanwhile stay off.

    Raises:
        PickerError: a joint could not be switched on; its ``subject`` says which.
    """
    rest = [pulse_units(pulse) for pulse in servos.to_pulse_us(servos.rest)]
    telemetry, now_s = yield
    for joint, name in enumerate(servos.joint_names):
        while telemetry.state.moves:
            telemetry, now_s = yield
        if telemetry.live >> joint & 1:
            continue
        if not at_rest_pose:
            raise PickerError(f"{name} is off, and nobody says that the arm stands at its rest pose", subject=name)
        pulses = tuple(pulse if k == joint else 0 for k, pulse in enumerate(rest))
        answer = link.request_async(Enable(1 << joint, pulses), PATIENCE_S)
        while not answer.done():
            telemetry, now_s = yield
        error = answer.exception()
        if error is not None and getattr(error, "reason", None) is not Reason.ALREADY_LIVE:  # done, but the answer got lost
            raise PickerError(f"{name} could not be enabled: {error}", subject=name) from error
        due_s = now_s + period_s
        while now_s < due_s:
            telemetry, now_s = yield
    until_s = now_s + PATIENCE_S  # telemetry may be older than the last answer
    while off := [name for joint, name in enumerate(servos.joint_names) if not telemetry.live >> joint & 1]:
        if now_s > until_s:
            raise PickerError(f"{off[0]} was switched on and its output does not run", subject=off[0])
        telemetry, now_s = yield
