"""The pose in which the arm is switched on and off: folded, leaning on nothing, needing little torque."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.feasibility import Gate

from ..belief import Belief
from ..jogging import jog_freely
from ..workplace import Workplace

NAME, TITLE, MINUTES = "rest", "rest pose", 3


def walk(work: Workplace, belief: Belief) -> Belief:
    """The rest pose by jogging; it can be held and is within the limits."""
    guide = work.guide(NAME)
    guide.explain("At the rest pose the arm is folded and needs little torque: there it is parked, switched off, switched on.")
    while True:
        known = guide.known("pulses")
        if known is None:
            mover, gate = work.arm(belief), belief.gate()
            mover.travel(gate, belief.known_servos.rest)
            known = jog_freely(
                work,
                guide,
                belief,
                "pulses",
                f"Is this a good rest pose? Else jog a joint: JOINT DEGREES, for example {belief.servos.joint_names[0]} -5",
            ).tolist()
        found = replace(belief, rest_us=tuple(float(pulse) for pulse in known))
        try:
            require_rest(found)
        except PickerError as error:
            guide.tell(f"{error}. Jog to another pose.", "warning")
            work.session.forget(NAME)
            if work.person is None:
                raise
            continue
        if guide.known("pulses") is None:
            guide.note("pulses", known, "done")
        guide.tell("the rest pose can be held, and is within the limits", "good")
        return found


def require_rest(belief: Belief) -> None:
    """The rest pose is one.

    Raises:
        InputError: outside the limits.
        PickerError: it cannot be held.
    """
    arm, servos = belief.known_description, belief.known_servos
    outside = np.maximum(arm.lower - servos.rest, servos.rest - arm.upper)
    worst = int(outside.argmax())
    if outside[worst] > 0.01:
        name = servos.joint_names[worst]
        raise InputError(
            f"{name} rests {np.degrees(outside[worst]):.1f} deg outside its limits", subject=name, value=float(servos.rest[worst])
        )
    still = np.zeros(servos.n)
    Gate(RigidBody(belief.description, servos.armature), servos).check_point(servos.rest, still, still)
