"""The pose in which the arm is switched on and off: folded, leaning on nothing, needing little torque."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.feasibility import Gate

from ..arm_estimate import ArmEstimate
from ..jogging import jog_freely
from ..step_context import StepContext

NAME, TITLE, MINUTES = "rest", "rest pose", 3


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """The rest pose by jogging; it can be held and is within the limits."""
    guide = context.guide(NAME)
    guide.explain("At the rest pose the arm is folded and needs little torque: there it is parked, switched off, switched on.")
    while True:
        known = guide.known("pulses")
        if known is None:
            mover, gate = context.arm(estimate), estimate.gate()
            mover.travel(gate, estimate.known_servos.rest)
            known = jog_freely(
                context,
                guide,
                estimate,
                "pulses",
                f"Is this a good rest pose? Else jog a joint: JOINT DEGREES, for example {estimate.servos.joint_names[0]} -5",
            ).tolist()
        found = replace(estimate, rest_us=tuple(float(pulse) for pulse in known))
        try:
            require_rest(found)
        except PickerError as error:
            guide.tell(f"{error}. Jog to another pose.", "warning")
            context.session.forget(NAME)
            if context.person is None:
                raise
            continue
        if guide.known("pulses") is None:
            guide.note("pulses", known, "done")
        guide.tell("the rest pose can be held, and is within the limits", "good")
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
    still = np.zeros(servos.n)
    Gate(RigidBody(estimate.description, servos.armature), servos).check_point(servos.rest, still, still)
