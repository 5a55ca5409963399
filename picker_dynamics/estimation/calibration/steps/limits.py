"""How far each joint may go: jogged slowly until a person says stop; a margin inside goes into the URDF's copy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..belief import LIMIT_MARGIN, Belief, limits_from
from ..jogging import jog_until
from ..workplace import Workplace

NAME, TITLE, MINUTES = "limits", "how far each joint may go", 10
NARROWEST = math.radians(10.0)
ENDS = (("low", -1.0, "towards smaller angles"), ("high", 1.0, "towards larger angles"))


def walk(work: Workplace, belief: Belief) -> Belief:
    """Both ends of every joint that is to be looked at."""
    guide, ends = work.guide(NAME), {}
    guide.explain(
        "Each joint goes step by step as far as you let it. Say stop before anything touches: a cable that pulls, the "
        f"table, the arm itself. The limit is written {math.degrees(LIMIT_MARGIN):.0f} deg inside."
    )
    for joint, name in enumerate(belief.servos.joint_names):
        described = belief.description.joint(name)
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
            ends[name] = _ends(work, belief, joint, name)
    belief = replace(belief, ends_us=ends)
    return _home_inside(work, guide, belief)


def _ends(work: Workplace, belief: Belief, joint: int, name: str) -> tuple[float | None, float | None]:
    guide, described = work.guide(NAME), belief.description.joint(name)
    while True:
        found = [_end(work, belief, joint, name, *end) for end in ENDS]
        low, high = limits_from(found, belief.known_servos.servos[joint], described.lower, described.upper)
        if high - low >= NARROWEST:
            guide.tell(f"{name}: {math.degrees(low):+.1f} ... {math.degrees(high):+.1f} deg", "good")
            return tuple(found)
        guide.tell(f"{name}: that leaves {math.degrees(high - low):.0f} deg, too little to work with. Once more.", "warning")
        for key, *_ in ENDS:
            work.session.forget(NAME, f"{name}.{key}")


def _end(work: Workplace, belief: Belief, joint: int, name: str, key: str, sign: float, words: str) -> float | None:
    guide = work.guide(NAME)
    known = guide.known(f"{name}.{key}")
    if known is None:
        mover, gate = work.arm(belief), belief.gate()
        mover.travel(gate, belief.known_servos.rest)
        pulse = jog_until(work, guide, belief, joint, sign, f"{name}.{key}", f"{name} {words}:")
        known = "keep" if pulse is None else pulse
        guide.note(f"{name}.{key}", known, "keep" if pulse is None else "stop")
        mover.travel(gate, belief.known_servos.rest)
    return None if known == "keep" else float(known)


def _home_inside(work: Workplace, guide, belief: Belief) -> Belief:
    """Tells where rest or home is outside the limits now; home is moved to them."""
    arm, servos = belief.known_description, belief.known_servos
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
    return belief if np.allclose(home, servos.home) else replace(belief, home=tuple(home.tolist()))
