"""Links step: mass, centre of mass and inertia of each link that weighs on a joint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from picker_dynamics.errors import InputError
from picker_dynamics.robot import description as descriptions

from ..arm_estimate import ArmEstimate
from ..instruments import lay
from ..mass_properties import LinkProperties, LinkReadings, properties, reach, weighings
from ..procedure import measured_links
from ..questions import Context
from ..readings import NORMAL_95
from ..write_back import rewritten

NAME, TITLE, MINUTES = "links", "weigh, balance and swing the links", 20
INTRODUCTION = (
    "Take the arm apart at its joints; a link is weighed with the servo and the screws that move with it. Keep the URDF's "
    "numbers of what cannot be taken apart."
)
APART = 0.1
"""Repeated readings that differ by more than this share are doubted."""

ON_AXIS = 3e-3
"""A link that balances nearer to its axis does not swing [m]."""

LEAST_KG, SWUNG_S = 1e-3, (2.0, 100.0)
"""A kitchen scale tells no less [kg]; what 20 swings may take [s]."""


def run_step(context: Context, estimate: ArmEstimate) -> ArmEstimate:
    """Readings of every link, and the arm with the masses that they tell."""
    arm, read = estimate.description, {}
    for name in measured_links(arm, estimate.loaded):
        text, words = (
            f"Link {name} ({1e3 * arm.links[name].mass:.0f} g in the URDF):",
            {"": "measure it", "keep": "the URDF is right"},
        )
        if context.choose(f"{name}.how", text, words) == "":
            read[name] = _link(context, arm, name)
    links = properties(arm, read)
    for name, one in links.items():
        context.tell(f"{name}: {told(one)}", "good")
    return replace(estimate, description=rewritten(arm, links, context.when), links=links) if links else estimate


def told(one: LinkProperties) -> str:
    """A link's properties with their 95 % intervals."""
    text = (
        f"{1e3 * one.mass.value:.1f} ± {1e3 * NORMAL_95 * one.mass.sd:.1f} g, "
        f"balances at {1e3 * one.distance.value:.1f} ± {1e3 * NORMAL_95 * one.distance.sd:.1f} mm"
    )
    return text if one.inertia is None else f"{text}, inertia {one.inertia.value:.2e} ± {NORMAL_95 * one.inertia.sd:.1e} kg·m²"


def _link(context: Context, arm: descriptions.ArmDescription, name: str) -> LinkReadings:
    """Readings of one link, read again where no such link is possible."""
    while True:
        one = _readings(context, arm, name)
        try:
            properties(arm, {name: one})
            return one
        except InputError as error:
            context.tell(f"{error}  {name} again.", "warning")
            for key in ("mass", "balance", "swings"):
                context.forget(f"{name}.{key}")


def _readings(context: Context, arm: descriptions.ArmDescription, name: str) -> LinkReadings:
    expected, along = arm.links[name].mass, lay(arm, name)

    def several(key: str, text: str, unit: str, low: float, high: float, count: int = context.repeats) -> tuple[float, ...]:
        values: list[float] = []
        for number in range(count):
            asked, what = f"{text} ({number + 1} of {count})", f"{name}: {key}"
            near: dict[str, Any] = {"expected": values[0], "within": max(APART * values[0], 2e-3)} if values else {}
            about = ("link", name, key)
            values.append(float(context.read(f"{name}.{key}.{number}", asked, what, unit, low, high, about=about, **near)))
        return tuple(values)

    most = max(context.repeats, weighings(expected))
    masses = several("mass", f"Weigh {name}, put on anew each time", "g", *likely(expected), most)
    text = f"Balance {name} on an edge: how far is that from {along.start}, {along.way}, 0 where it balances there"
    balances = several("balance", text, "mm", 0.0, reach(arm, name))
    if sum(balances) / len(balances) < ON_AXIS or not along.swings:
        return LinkReadings(masses, balances if all(balances) else ())
    text = f"Hang {name} on a nail at its joint's axis, let it swing by a hand's breadth (9 deg): time of 20 swings"
    return LinkReadings(masses, balances, several("swings", text, "s", *SWUNG_S))


def likely(mass: float) -> tuple[float, float]:
    """What a link can weigh that the URDF gives so much [kg]."""
    return max(0.25 * mass, LEAST_KG), 4.0 * max(mass, LEAST_KG)
