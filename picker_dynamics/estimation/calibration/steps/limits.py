"""How far each joint may go: jogged slowly until a person says stop; a margin inside goes into the URDF's copy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..arm_estimate import LIMIT_MARGIN, ArmEstimate, limits_from
from ..jogging import jog_until
from ..step_context import StepContext

NAME, TITLE, MINUTES = "limits", "how far each joint may go", 10
NARROWEST = math.radians(10.0)
ENDS = (("low", -1.0, "towards smaller angles"), ("high", 1.0, "towards larger angles"))


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Both ends of every joint that is to be looked at."""
    guide, ends = context.guide(NAME), {}
    guide.explain(
        "Each joint goes step by step as far as you let it. Say stop before anything touches: a cable that pulls, the "
        f"table, the arm itself. The limit is written {math.degrees(LIMIT_MARGIN):.0f} deg inside."
    )
    for joint, name in enumerate(estimate.servos.joint_names):
        described = estimate.description.joint(name)
        low, high = math.degrees(described.lower), math.degrees(described.upper)
        if (
            guide.choose(
                f"{name}.how",
                f"Joint {name}, {low:.0f} ... {high:.0f} deg in the URDF:",
                (("", "look for its ends"), ("keep", "these are right")),
                about=(name,),
            )
            == ""
        ):
            ends[name] = _ends(context, estimate, joint, name)
    estimate = replace(estimate, ends_us=ends)
    return _home_inside(context, guide, estimate)


def _ends(context: StepContext, estimate: ArmEstimate, joint: int, name: str) -> tuple[float | None, float | None]:
    guide, described = context.guide(NAME), estimate.description.joint(name)
    while True:
        found = [_end(context, estimate, joint, name, *end) for end in ENDS]
        low, high = limits_from(found, estimate.known_servos.servos[joint], described.lower, described.upper)
        if high - low >= NARROWEST:
            guide.tell(f"{name}: {math.degrees(low):+.1f} ... {math.degrees(high):+.1f} deg", "good")
            return tuple(found)
        guide.tell(f"{name}: that leaves {math.degrees(high - low):.0f} deg, too little to work with. Once more.", "warning")
        for key, *_ in ENDS:
            context.session.forget(NAME, f"{name}.{key}")


def _end(context: StepContext, estimate: ArmEstimate, joint: int, name: str, key: str, sign: float, words: str) -> float | None:
    guide = context.guide(NAME)
    known = guide.known(f"{name}.{key}")
    if known is None:
        mover, gate = context.arm(estimate), estimate.gate()
        mover.travel(gate, estimate.known_servos.rest)
        pulse = jog_until(context, guide, estimate, joint, sign, f"{name}.{key}", f"{name} {words}:")
        known = "keep" if pulse is None else pulse
        guide.note(f"{name}.{key}", known, "keep" if pulse is None else "stop")
        mover.travel(gate, estimate.known_servos.rest)
    return None if known == "keep" else float(known)


def _home_inside(context: StepContext, guide, estimate: ArmEstimate) -> ArmEstimate:
    """Tells where rest or home is outside the limits now; home is moved to them."""
    arm, servos = estimate.known_description, estimate.known_servos
    for what in ("rest", "home"):
        for name, angle, low, high in zip(servos.joint_names, getattr(servos, what), arm.lower, arm.upper):
            if not low - 1e-6 <= angle <= high + 1e-6:
                then = "the next step lets you choose another" if what == "rest" else "it is moved to the limit"
                guide.tell(
                    f"{name}: {what}_rad is {math.degrees(angle):+.1f} deg, outside {math.degrees(low):+.1f} ... "
                    f"{math.degrees(high):+.1f}: {then}.",
                    "warning",
                )
    home = np.clip(servos.home, arm.lower, arm.upper)
    return estimate if np.allclose(home, servos.home) else replace(estimate, home=tuple(home.tolist()))
