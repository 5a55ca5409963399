"""Links step: mass, centre of mass and inertia of each link that weighs on a joint, by itself or with what hangs on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot.kinematic_tree import subtree
from picker_dynamics.robot.model import GRAVITY

from .. import readings
from ..arm_estimate import ArmEstimate
from ..instruments import LEAST_KG, lay
from ..mass_properties import LENGTH_MAX, LinkProperties, LinkReadings, properties, reach, weighings
from ..measured import NORMAL_95
from ..procedure import measured_links
from ..step_context import StepContext
from ..write_back import geometry_findings, rewritten

NAME, TITLE, MINUTES = "links", "weigh, balance and swing the links", 20
APART = {"mass": 0.02, "balance": 0.1, "swings": 0.05}
"""Repeated readings that differ by more than this share are doubted."""

SLOWEST, UNLIKE = 4.0, 1.5
"""A link swings no slower than so many times as a point at its balance point, or, one that balances near its axis, as it is
drawn: beyond, another number of swings was counted."""

ON_AXIS = 3e-3
"""A link that balances nearer to its axis does not swing [m]."""


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Readings of every link, and the arm with the masses that they tell."""
    arm = estimate.description
    if not estimate.loaded:
        context.tell("No droop tells what the joints bear: nothing has to be weighed; the URDF's masses stay.", "hint")
        return estimate
    context.explain(
        "Take the arm apart at its joints; a link is weighed with the servo and the screws that move with it. What "
        "cannot "
        "be taken apart is measured together, straight (all joints at 0)."
    )
    read: dict[str, LinkReadings] = {}
    for name in measured_links(arm, estimate.loaded):
        if any(name in one.holds for one in read.values()):
            continue
        one = _link(context, arm, name, read)
        if one is not None:
            read[name] = one
    links = properties(arm, read) if read else {}
    for name, one in links.items():
        context.tell(f"{name}: {told(one)}", "good")
    for finding in geometry_findings(arm, links):
        context.tell(str(finding), "warning")
    if not links:
        return estimate
    weighed = rewritten(arm, links, context.when, readings=read)
    return replace(estimate, description=weighed, links=links)


def told(one: LinkProperties) -> str:
    """A link's properties with their 95 % intervals."""
    parts = [
        f"{1e3 * one.mass.value:.1f} ± {1e3 * NORMAL_95 * one.mass.sd:.1f} g",
        f"balances at {1e3 * one.distance.value:.1f} ± {1e3 * NORMAL_95 * one.distance.sd:.1f} mm",
    ]
    if one.inertia is not None:
        parts.append(f"inertia {one.inertia.value:.2e} ± {NORMAL_95 * one.inertia.sd:.1e} kg·m²")
    return ", ".join(parts)


def drawn_period(arm: descriptions.ArmDescription, name: str) -> float:
    """Time of one small swing of a link about its joint's axis by the URDF's numbers [s]."""
    along, link = lay(arm, name), arm.links[name]
    away = max(ON_AXIS, math.hypot(along.distance(link.com), along.aside(link.com)))
    return 2.0 * math.pi * math.sqrt((along.inertia(link.inertia) / link.mass + away**2) / (GRAVITY * away))


def _link(context: StepContext, arm: descriptions.ArmDescription, name: str, read: dict) -> LinkReadings | None:
    """Readings of one link; None: the URDF's numbers are right for it."""
    hanging = subtree(arm, name)[1:]
    hanging = [one for one in hanging if arm.links[one].mass >= LEAST_KG]
    words = [("", "measure it by itself"), ("keep", "the URDF is right for it")]
    if hanging:
        words.append(("with", f"measure it with {', '.join(hanging)}"))
    how = context.choose(f"{name}.how", f"Link {name} ({1e3 * arm.links[name].mass:.0f} g in the URDF):", words, about=(name,))
    if how == "keep":
        return None
    holds = tuple(hanging) if how == "with" else ()
    while True:
        one = _read(context, arm, name, holds)
        try:
            properties(arm, {**read, name: one})
            return one
        except InputError as error:
            context.tell(f"{error}  {name} again.", "warning")
            for key in ("mass", "balance", "swings"):
                context.forget(f"{name}.{key}")


def _read(context: StepContext, arm: descriptions.ArmDescription, name: str, holds: Sequence[str]) -> LinkReadings:
    inside = (name, *holds)
    longest = reach(arm, name, holds) or LENGTH_MAX
    expected = sum(arm.links[one].mass for one in inside)
    what, along = name if not holds else f"{name} with {', '.join(holds)}", lay(arm, name)
    aside = 0.0 if holds else along.aside(arm.links[name].com)

    def several(key: str, text: str, parse, size=lambda value: value, count=context.repeats):
        values = []
        for number in range(count):

            def doubt(value):
                if values and abs(size(value) - size(values[0])) > max(APART[key] * abs(size(values[0])), 2e-3):
                    off = 100.0 * abs(size(value) / size(values[0]) - 1.0)
                    return f"{what}: this differs from the first reading by {off:.0f} %."
                return ""

            values.append(
                context.read(
                    f"{name}.{key}.{number}", f"{text} ({number + 1} of {count})", parse, doubt=doubt, about=(name, holds, key)
                )
            )
        return values

    masses = several(
        "mass",
        f"Weigh {what} [g], put on anew each time",
        lambda text: readings.mass(f"{name}: mass", text, expected),
        count=max(context.repeats, weighings(expected)),
    )
    balances = several(
        "balance",
        f"Balance {what} on an edge: how far is that from {along.start}, {along.way} [mm]? 0 where it balances there",
        lambda text: readings.length(f"{name}: balance point", text, longest),
    )
    if sum(balances) / len(balances) < ON_AXIS or not along.swings:
        return LinkReadings(tuple(masses), tuple(balances) if all(balances) else (), holds=tuple(holds))
    shortest = 2.0 * math.pi * math.sqrt(math.hypot(min(balances), aside) / GRAVITY)
    longest_s = max(SLOWEST * shortest, 0.0 if holds else UNLIKE * drawn_period(arm, name))

    def timed(text: str) -> list[float]:
        count, seconds = readings.swings(f"{name}: swings", text)
        refuse_if(
            not 0.99 * count * shortest < seconds < count * longest_s,
            f"{name}: {count} swings in {seconds:g} s; a point at the balance point takes "
            f"{count * shortest:.1f} s, a link somewhat longer: was another number counted, to and fro being "
            "one?",
            name,
            seconds,
            count * shortest,
        )
        return [count, seconds]

    swung = several(
        "swings",
        f"Hang {what} on a nail at its joint's axis, let it swing by a hand's breadth (9 deg): time of 20 swings [s]",
        timed,
        lambda value: value[1] / value[0],
    )
    times = tuple(20.0 * seconds / count for count, seconds in swung)
    return LinkReadings(tuple(masses), tuple(balances), times, 20, holds=tuple(holds))
