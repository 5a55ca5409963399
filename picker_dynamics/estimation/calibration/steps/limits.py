"""Limits step: each joint is jogged slowly until a person says stop; a margin inside goes into the URDF's copy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from picker_dynamics.errors import InfeasibleError, InputError, LimitError, refuse_if
from picker_dynamics.robot.units import LENGTH, quantity

from .. import readings
from ..arm_estimate import LIMIT_MARGIN, LIMIT_MARGIN_M, ArmEstimate
from ..step_context import StepContext

NAME, TITLE, MINUTES = "limits", "how far each joint may go", 10

FURTHER, BACK, FARTHEST, NARROWEST = (
    {False: math.radians(turn), True: slide} for turn, slide in ((5.0, 5e-3), (2.0, 2e-3), (30.0, 0.03), (10.0, 5e-3))
)
"""Of a jog by Enter, of one back by ``less``, of one at most, and what limits leave at least; by whether the joint slides
[rad or m]."""

ENDS = {"low": -1.0, "high": 1.0}


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Find both ends of every joint that is to be looked at; a home pose outside of them is moved to them."""
    context.explain(
        "Each joint goes step by step as far as you let it. Say stop before anything touches: a cable that pulls, the table, the "
        f"arm itself. The limit is written {math.degrees(LIMIT_MARGIN):.0f} deg ({1e3 * LIMIT_MARGIN_M:.0f} mm) inside."
    )
    ends = {}
    for joint, described in enumerate(estimate.description.movable):
        if described.type == "continuous":
            continue
        name, slides = described.name, described.type == "prismatic"
        low, high = (readings.position(end, slides, ".0f") for end in (described.lower, described.upper))
        text, words = f"Joint {name}, {low} ... {high} in the URDF:", {"": "look for its ends", "keep": "these are right"}
        if context.choose(f"{name}.how", text, words, about=("joint", name)) == "":
            ends[name] = _ends(context, estimate, joint, name)
    estimate = replace(estimate, ends_us=ends)
    servos, arm = estimate.known_servos, estimate.known_description
    home = np.clip(servos.home, arm.lower, arm.upper)
    for joint in np.flatnonzero(np.abs(home - servos.home) > 1e-6):
        moved = readings.position(home[joint], servos.servos[joint].slides)
        context.tell(f"{servos.joint_names[joint]}: the home pose is outside of the limits, and moved to {moved}.", "warning")
    return estimate if np.allclose(home, servos.home) else replace(estimate, home=tuple(home.tolist()))


def _ends(context: StepContext, estimate: ArmEstimate, joint: int, name: str) -> tuple[float | None, ...]:
    """Pulses of both ends [us], None where the URDF's limit stays."""
    slides = estimate.servos.servos[joint].slides
    while True:
        found = [context.once(f"{name}.{key}", partial(_end, context, estimate, joint, key), "jogged") for key in ENDS]
        ends = tuple(None if one == "keep" else float(one) for one in found)
        low, high = estimate.limits_of(name, ends)
        if high - low >= NARROWEST[slides]:
            context.tell(f"{name}: {readings.position(low, slides)} ... {readings.position(high, slides)}", "good")
            return ends
        context.tell(f"{name}: that leaves {readings.position(high - low, slides, '.0f')}, too little. Once more.", "warning")
        for key in ENDS:
            context.forget(f"{name}.{key}")


def _end(context: StepContext, estimate: ArmEstimate, joint: int, key: str) -> float | str:
    """Further and further in one direction until the person says stop: the pulse there [us]; or ``keep``."""
    mover, validator, rest = context.arm(estimate), estimate.validator(), estimate.known_servos.rest
    servo, sign = estimate.servos.servos[joint], ENDS[key]
    steps = {"": FURTHER[servo.slides], "less": -BACK[servo.slides]}
    words = {word: f"{readings.position(by, servo.slides, '+.0f')}" for word, by in steps.items()}
    words |= {"stop": "this is the end", "keep": "leave the URDF's limit"}

    def move(typed: str) -> tuple[int, float]:
        return joint, sign * (steps[typed] if typed in steps else amount(typed, servo.slides))

    text = f"{servo.joint} towards its {key} end (or {'mm' if servo.slides else 'degrees'} to go: 10, -2)"
    mover.travel(validator, rest)
    said = jog(context, estimate, f"{servo.joint}.{key}", text, words, move, ("jog", servo.joint, sign))
    pulse = float(mover.outputs.pulses_us[joint])
    mover.travel(validator, rest)
    return "keep" if said == "keep" else pulse


def jog(
    context: StepContext,
    estimate: ArmEstimate,
    key: str,
    text: str,
    words: Mapping[str, str],
    move: Callable[[str], tuple[int, float]],
    about: tuple = (),
) -> str:
    """Jog joints as a person types, until that is ``stop``, ``keep`` or ``done``: which.

    Args:
        move: joint, and how far [rad or m], by what was typed.
    """
    mover, validator, servos = context.arm(estimate), estimate.validator(), estimate.servos.servos
    while True:
        typed = context.ask(key, text, words, about).lower()
        if typed in words and typed in ("stop", "keep", "done"):
            return typed
        try:
            joint, by = move(typed)
            mover.jog(validator, joint, by)
        except (InfeasibleError, LimitError) as error:
            context.tell(f"no further: {error}", "warning")
        except InputError as error:
            context.tell(str(error), "warning")
        else:
            at = readings.position(mover.setpoint(validator)[joint], servos[joint].slides)
            context.tell(f"{servos[joint].joint} at {at}", "hint")


def amount(text: str, slides: bool = False) -> float:
    """An angle to jog by [rad], of a sliding joint a length [m].

    Raises:
        InputError: none, or more than a person can watch at once.
    """
    value, most = quantity("jog", text, LENGTH, "mm") if slides else readings.angle("jog", text), FARTHEST[slides]
    said = readings.position(value, slides, "g"), readings.position(most, slides, ".0f")
    refuse_if(abs(value) > most, f"jog by {said[0]}, must be at most {said[1]} at once", "jog", value, most)
    return value
