"""A person drives joints by hand: so many degrees further, back, stop; each way slow, and asked of the gate."""

from __future__ import annotations

import math

import numpy as np

from picker_dynamics.errors import InfeasibleError, InputError, LimitError, refuse_if

from . import readings
from .arm_estimate import ArmEstimate
from .person import Guide, Question
from .step_context import StepContext

STEP, FARTHEST = math.radians(5.0), math.radians(30.0)
"""Of one answer [rad]."""


def amount(text: str) -> float:
    """An angle to jog by [rad].

    Raises:
        InputError: none, or more than a person can watch at once.
    """
    value = readings.angle("jog", text)
    refuse_if(
        abs(value) > FARTHEST,
        f"jog by {math.degrees(value):g} deg, must be at most {math.degrees(FARTHEST):.0f} at once",
        "jog",
        value,
        FARTHEST,
    )
    return value


def jog_until(
    context: StepContext, guide: Guide, estimate: ArmEstimate, joint: int, sign: float, key: str, text: str
) -> float | None:
    """Further and further in one direction until the person says stop: the pulse there [us]; None: leave this end as it is."""
    mover, gate, name = context.arm(estimate), estimate.gate(), estimate.servos.joint_names[joint]
    words = (
        ("", f"{math.degrees(STEP):.0f} deg further"),
        ("less", "2 deg back"),
        ("stop", "this is the end"),
        ("keep", "leave the URDF's limit"),
    )
    while True:
        typed = guide.person.ask(_question(guide, key, f"{text} (or degrees to go: 10, -2)", words, (name, sign))).strip().lower()
        if typed == "keep":
            return None
        if typed == "stop":
            return float(mover.outputs.pulses_us[joint])
        guide.perhaps_back(typed)
        try:
            by = {"": STEP, "less": math.radians(-2.0)}.get(typed)
            mover.jog(gate, joint, sign * (amount(typed) if by is None else by))
        except (InfeasibleError, LimitError) as error:
            guide.tell(f"no further: {error}", "warning")
        except InputError as error:
            guide.tell(str(error), "warning")
        else:
            guide.tell(f"{name} at {math.degrees(mover.setpoint(gate)[joint]):+.1f} deg", "hint")


def jog_freely(context: StepContext, guide: Guide, estimate: ArmEstimate, key: str, text: str) -> np.ndarray:
    """Any joint by some degrees, until the person is content: the pulses there (n,) [us]."""
    mover, gate, names = context.arm(estimate), estimate.gate(), estimate.servos.joint_names
    while True:
        typed = guide.person.ask(_question(guide, key, text, (("done", "this is it"),), ())).strip()
        if typed.lower() == "done":
            return mover.outputs.pulses_us
        guide.perhaps_back(typed)
        name, _, by = typed.partition(" ")
        try:
            refuse_if(
                name not in names,
                f"{typed!r} is not of the form JOINT DEGREES, for example {names[-1]} -5; joints: {' '.join(names)}",
                name,
            )
            mover.jog(gate, names.index(name), amount(by))
        except (InfeasibleError, LimitError, InputError) as error:
            guide.tell(str(error), "warning")
        else:
            guide.tell(", ".join(f"{one} {math.degrees(angle):+.1f}" for one, angle in zip(names, mover.setpoint(gate))), "hint")


def _question(guide: Guide, key: str, text: str, words, about) -> Question:
    return Question(guide.step, key, text, words, about)
