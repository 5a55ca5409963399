"""``picker weigh``: what the tool holds, from how far it makes the arm sag."""

from __future__ import annotations

import argparse
import json

from picker_dynamics.errors import refuse_if

from . import options as shared
from . import weighing

GRAMS = 25.0
"""A berry: what a rehearsal weighs."""

NUMBER = {"type": shared.ANY}

ARGUMENTS = {
    "--com": NUMBER
    | {"nargs": 3, "default": (0.0, 0.0, 0.0), "metavar": ("X", "Y", "Z"), "help": "of the payload, in the tool frame [m]"},
    "--link": {"default": "", "help": "that is read (default: the last but one that the payload turns down)"},
    "--within": NUMBER | {"default": 3.0, "metavar": "G", "help": "plan for this half-width of the 95 %% interval (default 3 g)"},
    "--heaviest": NUMBER
    | {"default": 100.0, "metavar": "G", "help": "the heaviest payload that poses are to bear (default 100 g)"},
    "--visits": {
        "type": shared.whole(0, 200),
        "default": 0,
        "metavar": "N",
        "help": "poses to read, each without and with the payload",
    },
    "--yes": {"action": "store_true", "help": "the tool is empty and hands are away: do not ask"},
    "--set": {"action": "store_true", "help": "tell the arm"},
    "--simulated": {"action": "store_true", "help": "rehearse on a simulated arm with hidden numbers"},
    "--grams": NUMBER | {"metavar": "G", "help": "what the simulated tool holds (default 25, or what poses bear)"},
}


def add_parser(commands) -> None:
    """Register ``weigh``."""
    one = commands.add_parser(
        "weigh",
        help="what the tool holds, by inclinometer",
        description="On a running arm: visits poses without and with the payload, and asks for what the inclinometer says there.",
    )
    shared.add(one, *shared.RUNNING, "--servo-overlay", "--seed", "--json")
    for name, settings in ARGUMENTS.items():
        one.add_argument(name, **settings)
    one.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Weigh, print, and tell the arm where that is wanted."""
    refuse_if(options.simulated and options.set, "--simulated is a rehearsal: it sets nothing")
    weighed, more = simulated(options) if options.simulated else weighing.live(options)
    mass = weighed.mass
    if options.json:
        about = {"mass_kg": mass.value, "sd_kg": mass.sd, "interval_kg": mass.interval, "readings": weighed.readings}
        print(json.dumps({**about, "misfit": weighed.misfit, "set": bool(options.set), **more}))
        return 0
    low, high = (max(1e3 * x, 0.0) for x in mass.interval)
    said = f"payload {1e3 * mass.value:.1f} g, 95 % within {low:.1f} to {high:.1f} g ({weighed.readings} readings)"
    said += "; that may be nothing at all" if low <= 0.0 else ""
    if options.simulated:
        print(f"{said}; in truth {1e3 * more['truth_kg']:.1f} g")
    else:
        print(said + ("; set" if options.set else f"; to use it: picker payload {max(mass.value, 0.0):.4f}"))
    return 0


def simulated(options):
    """A rehearsal: an arm with hidden numbers, known as well as a calibration knows it."""
    from picker_dynamics.estimation.payload.simulated import WeighingBench
    from picker_dynamics.robot import servo_arm

    grams = min(GRAMS, options.heaviest) if options.grams is None else options.grams
    holds = f"the simulated tool holds {grams:g} g"
    wrong = f"{holds}, must be 1 to {options.heaviest:g} g (--heaviest): are these kilograms?"
    refuse_if(not 1.0 <= grams <= options.heaviest, wrong, "grams", grams, options.heaviest)
    overlay = options.servo_overlay or servo_arm.overlay_of(servo_arm.read_arm(options.urdf), options.servos, "ideal")
    scale, validator = weighing.scale_of(options, overlay)
    visits, half, borne_kg = weighing.planned(options, scale, validator, scale.servos.home)
    payload = 1e-3 * grams if options.grams is not None else min(1e-3 * grams, borne_kg)
    heavy = f"{holds}, and the poses bear {1e3 * borne_kg:.0f} g: rehearse with less (--grams)"
    refuse_if(payload > borne_kg, heavy, "grams", grams, 1e3 * borne_kg)
    weighed = scale.weigh(WeighingBench(scale, payload, options.seed).read(visits))
    return weighed, {"truth_kg": payload, "visits": len(visits), "planned_half_width_kg": half}
