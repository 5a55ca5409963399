"""Rest step: the pose in which the arm is switched on and off, folded, leaning on nothing, needing little torque."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, InputError, LimitError, PickerError, refuse_if
from picker_dynamics.execution.validator import torque_validator

from .. import readings
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
            known = jog_freely(context, estimate, "pulses", "Is this a good rest pose? Else jog a joint").tolist()
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
    """Require that the rest pose is within the limits and can be held.

    Raises:
        InputError: outside the limits.
        PickerError: it cannot be held.
    """
    arm, servos = estimate.known_description, estimate.known_servos
    outside = np.maximum(arm.lower - servos.rest, servos.rest - arm.upper)
    worst = int(outside.argmax())
    if outside[worst] > 0.01:
        name, slides = servos.joint_names[worst], servos.servos[worst].slides
        raise InputError(
            f"{name} rests {readings.position(outside[worst], slides, '.1f')} outside its limits",
            subject=name,
            value=float(servos.rest[worst]),
        )
    torque_validator(RigidBody(estimate.description, servos.armature), servos).require_holdable(servos.rest)


def jog_freely(context: StepContext, estimate: ArmEstimate, key: str, text: str) -> np.ndarray:
    """Jog any joint by some degrees, until the person is content: the pulses there (n,) [us]."""
    mover, validator, names = context.arm(estimate), estimate.validator(), estimate.servos.joint_names
    slides = [servo.slides for servo in estimate.servos.servos]
    forms = [
        f"JOINT {unit}, for example {names[slides.index(way)]} -5"
        for way, unit in ((False, "DEGREES"), (True, "MM"))
        if way in slides
    ]
    while True:
        typed = context.ask(key, f"{text}: {'; '.join(forms)}", (("done", "this is it"),))
        if typed.lower() == "done":
            return mover.outputs.pulses_us
        context.perhaps_back(typed)
        name, _, by = typed.partition(" ")
        try:
            refuse_if(name not in names, f"{typed!r} is not of the form {'; '.join(forms)}; joints: {' '.join(names)}", name)
            joint = names.index(name)
            mover.jog(validator, joint, amount(by, slides[joint]))
        except (InfeasibleError, LimitError, InputError) as error:
            context.tell(str(error), "warning")
        else:
            context.tell(
                ", ".join(
                    f"{one} {readings.position(*at)}" for one, *at in zip(names, mover.setpoint(validator).tolist(), slides)
                ),
                "hint",
            )
