"""Rest step: the pose in which the arm is switched on and off, folded, leaning on nothing, needing little torque."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError, PickerError, refuse_if
from picker_dynamics.execution.validator import torque_validator

from .. import readings
from ..arm_estimate import ArmEstimate
from ..step_context import StepContext
from .limits import amount, jog

NAME, TITLE, MINUTES = "rest", "rest pose", 3


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Jog to the rest pose, until it is one that can be held and is within the limits."""
    context.explain("At the rest pose the arm is folded and needs little torque: there it is parked, switched off, switched on.")
    while True:
        pulses = context.once("pulses", lambda: _jogged(context, estimate), "done")
        found = replace(estimate, rest_us=tuple(map(float, pulses)))
        try:
            require_rest(found)
        except PickerError as error:
            context.tell(f"{error}. Jog to another pose.", "warning")
            context.forget()
            continue
        context.tell("the rest pose can be held, and is within the limits", "good")
        return found


def _jogged(context: StepContext, estimate: ArmEstimate) -> list[float]:
    """Jog any joint until the person is content: the pulses there (n,) [us]."""
    mover, servos = context.arm(estimate), estimate.servos.servos
    names = [servo.joint for servo in servos]

    def move(typed: str) -> tuple[int, float]:
        name, _, by = typed.partition(" ")
        refuse_if(name not in names, f"{typed!r} is not of the form JOINT DEGREES (or MM); joints: {' '.join(names)}", name)
        return names.index(name), amount(by, servos[names.index(name)].slides)

    mover.travel(estimate.validator(), estimate.known_servos.rest)
    text = f"Is this a good rest pose? Else jog: JOINT DEGREES, of one that slides JOINT MM, for example {names[0]} -5"
    jog(context, estimate, "pulses", text, {"done": "this is it"}, move)
    return mover.outputs.pulses_us.tolist()


def require_rest(estimate: ArmEstimate) -> None:
    """Require that the rest pose is within the limits and can be held.

    Raises:
        InputError: outside the limits.
        PickerError: it cannot be held.
    """
    arm, servos = estimate.known_description, estimate.known_servos
    outside = np.maximum(arm.lower - servos.rest, servos.rest - arm.upper)
    worst = int(outside.argmax())
    servo = servos.servos[worst]
    if outside[worst] > 0.01:
        why = f"{servo.joint} rests {readings.position(outside[worst], servo.slides, '.1f')} outside its limits"
        raise InputError(why, subject=servo.joint, value=servo.rest)
    torque_validator(RigidBody(estimate.description, servos.armature), servos).require_holdable(servos.rest)
