"""Limits step: each joint is jogged slowly until a person says stop; a margin inside goes into the URDF's copy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from picker_dynamics.errors import InfeasibleError, InputError, LimitError, refuse_if
from picker_dynamics.robot.units import LENGTH, quantity

from .. import readings
from ..arm_estimate import LIMIT_MARGIN, LIMIT_MARGIN_M, ArmEstimate
from ..step_context import StepContext

FARTHEST, FARTHEST_M = math.radians(30.0), 0.03
"""Of one jog [rad], of a sliding joint [m]."""

STEPS = {False: (math.radians(5.0), math.radians(2.0)), True: (5e-3, 2e-3)}
"""Of a jog by Enter, and of one back by ``less``; by whether the joint slides [rad or m]."""

NAME, TITLE, MINUTES = "limits", "how far each joint may go", 10
NARROWEST, NARROWEST_M = math.radians(10.0), 5e-3
ENDS = (("low", -1.0, "towards smaller"), ("high", 1.0, "towards larger"))


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Find both ends of every joint that is to be looked at."""
    ends = {}
    context.explain(
        "Each joint goes step by step as far as you let it. Say stop before anything touches: a cable that pulls, the "
        f"table, the arm itself. The limit is written {math.degrees(LIMIT_MARGIN):.0f} deg inside, of a joint "
        f"that slides {1e3 * LIMIT_MARGIN_M:.0f} mm."
    )
    for joint, name in enumerate(estimate.servos.joint_names):
        described = estimate.description.joint(name)
        if described.type == "continuous":
            continue
        slides = described.type == "prismatic"
        low, high = (readings.position(end, slides, ".0f") for end in (described.lower, described.upper))
        if (
            context.choose(
                f"{name}.how",
                f"Joint {name}, {low} ... {high} in the URDF:",
                (("", "look for its ends"), ("keep", "these are right")),
                about=(name,),
            )
            == ""
        ):
            ends[name] = _ends(context, estimate, joint, name)
    estimate = replace(estimate, ends_us=ends)
    return _home_inside(context, estimate)


def _ends(context: StepContext, estimate: ArmEstimate, joint: int, name: str) -> tuple[float | None, float | None]:
    slides = estimate.description.joint(name).type == "prismatic"
    while True:
        found = [_end(context, estimate, joint, name, *end) for end in ENDS]
        low, high = estimate.limits_of(name, found)
        if high - low >= (NARROWEST_M if slides else NARROWEST):
            context.tell(f"{name}: {readings.position(low, slides)} ... {readings.position(high, slides)}", "good")
            return tuple(found)
        context.tell(
            f"{name}: that leaves {readings.position(high - low, slides, '.0f')}, too little to work with. Once more.", "warning"
        )
        for key, *_ in ENDS:
            context.forget(f"{name}.{key}")


def _end(context: StepContext, estimate: ArmEstimate, joint: int, name: str, key: str, sign: float, words: str) -> float | None:
    known = context.known(f"{name}.{key}")
    if known is None:
        mover, validator = context.arm(estimate), estimate.validator()
        mover.travel(validator, estimate.known_servos.rest)
        what = "places" if estimate.servos.servos[joint].slides else "angles"
        pulse = jog_until(context, estimate, joint, sign, f"{name}.{key}", f"{name} {words} {what}:")
        known = "keep" if pulse is None else pulse
        context.note(f"{name}.{key}", known, "keep" if pulse is None else "stop")
        mover.travel(validator, estimate.known_servos.rest)
    return None if known == "keep" else float(known)


def _home_inside(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Tells where rest or home is outside the limits now; home is moved to them."""
    arm, servos = estimate.known_description, estimate.known_servos
    for what in ("rest", "home"):
        for name, angle, low, high in zip(servos.joint_names, getattr(servos, what), arm.lower, arm.upper):
            if not low - 1e-6 <= angle <= high + 1e-6:
                slides, unit = arm.joint(name).type == "prismatic", "m" if arm.joint(name).type == "prismatic" else "rad"
                then = "the next step lets you choose another" if what == "rest" else "it is moved to the limit"
                context.tell(
                    f"{name}: {what}_{unit} is {readings.position(angle, slides)}, outside {readings.position(low, slides)} ... "
                    f"{readings.position(high, slides)}: {then}.",
                    "warning",
                )
    home = np.clip(servos.home, arm.lower, arm.upper)
    return estimate if np.allclose(home, servos.home) else replace(estimate, home=tuple(home.tolist()))


def amount(text: str, slides: bool = False) -> float:
    """An angle to jog by [rad], of a sliding joint a length [m].

    Raises:
        InputError: none, or more than a person can watch at once.
    """
    value = quantity("jog", text, LENGTH, "mm") if slides else readings.angle("jog", text)
    most = FARTHEST_M if slides else FARTHEST
    refuse_if(
        abs(value) > most,
        f"jog by {readings.position(value, slides, 'g')}, must be at most {readings.position(most, slides, '.0f')} at once",
        "jog",
        value,
        most,
    )
    return value


def jog_until(context: StepContext, estimate: ArmEstimate, joint: int, sign: float, key: str, text: str) -> float | None:
    """Further and further in one direction until the person says stop: the pulse there [us]; None: leave this end as it is."""
    mover, validator, name = context.arm(estimate), estimate.validator(), estimate.servos.joint_names[joint]
    slides = estimate.servos.servos[joint].slides
    further, back = STEPS[slides]
    words = (
        ("", f"{readings.position(further, slides, '.0f')} further"),
        ("less", f"{readings.position(back, slides, '.0f')} back"),
        ("stop", "this is the end"),
        ("keep", "leave the URDF's limit"),
    )
    while True:
        typed = context.ask(key, f"{text} (or {'mm' if slides else 'degrees'} to go: 10, -2)", words, (name, sign)).lower()
        if typed == "keep":
            return None
        if typed == "stop":
            return float(mover.outputs.pulses_us[joint])
        context.perhaps_back(typed)
        try:
            by = {"": further, "less": -back}.get(typed)
            mover.jog(validator, joint, sign * (amount(typed, slides) if by is None else by))
        except (InfeasibleError, LimitError) as error:
            context.tell(f"no further: {error}", "warning")
        except InputError as error:
            context.tell(str(error), "warning")
        else:
            context.tell(f"{name} at {readings.position(mover.setpoint(validator)[joint], slides)}", "hint")
