"""Rest step: the pose in which the arm is switched on and off, folded, leaning on nothing, needing little torque."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, InputError, LimitError, PickerError, refuse_if
from picker_dynamics.execution.validator import torque_validator

from ..arm_estimate import ArmEstimate
from ..step_context import StepContext
from .limits import amount

NAME, TITLE, MINUTES = "rest", "rest pose", 3


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """The rest pose by jogging; it can be held and is within the limits."""
    context.explain("At the rest pose the arm is folded and needs little torque: there it is parked, switched off, switched on.")
    while True:
        known = context.known("pulses")
        if known is None:
            mover, validator = context.arm(estimate), estimate.validator()
            mover.travel(validator, estimate.known_servos.rest)
            known = jog_freely(
                context,
                estimate,
                "pulses",
                f"Is this a good rest pose? Else jog a joint: JOINT DEGREES, for example {estimate.servos.joint_names[0]} -5",
            ).tolist()
        found = replace(estimate, rest_us=tuple(float(pulse) for pulse in known))
        try:
            require_rest(found)
        except PickerError as error:
            context.tell(f"{error}. Jog to another pose.", "warning")
            context.forget()
            if context.person is None:
                raise
            continue
        if context.known("pulses") is None:
            context.note("pulses", known, "done")
        context.tell("the rest pose can be held, and is within the limits", "good")
        return found


def require_rest(estimate: ArmEstimate) -> None:
    """The rest pose is one.

    Raises:
        InputError: outside the limits.
        PickerError: it cannot be held.
    """
    arm, servos = estimate.known_description, estimate.known_servos
    outside = np.maximum(arm.lower - servos.rest, servos.rest - arm.upper)
    worst = int(outside.argmax())
    if outside[worst] > 0.01:
        name = servos.joint_names[worst]
        raise InputError(
            f"{name} rests {np.degrees(outside[worst]):.1f} deg outside its limits", subject=name, value=float(servos.rest[worst])
        )
    torque_validator(RigidBody(estimate.description, servos.armature), servos).require_holdable(servos.rest)


def jog_freely(context: StepContext, estimate: ArmEstimate, key: str, text: str) -> np.ndarray:
    """Any joint by some degrees, until the person is content: the pulses there (n,) [us]."""
    mover, validator, names = context.arm(estimate), estimate.validator(), estimate.servos.joint_names
    while True:
        typed = context.ask(key, text, (("done", "this is it"),))
        if typed.lower() == "done":
            return mover.outputs.pulses_us
        context.perhaps_back(typed)
        name, _, by = typed.partition(" ")
        try:
            refuse_if(
                name not in names,
                f"{typed!r} is not of the form JOINT DEGREES, for example {names[-1]} -5; joints: {' '.join(names)}",
                name,
            )
            mover.jog(validator, names.index(name), amount(by))
        except (InfeasibleError, LimitError, InputError) as error:
            context.tell(str(error), "warning")
        else:
            context.tell(
                ", ".join(f"{one} {math.degrees(angle):+.1f}" for one, angle in zip(names, mover.setpoint(validator))), "hint"
            )
