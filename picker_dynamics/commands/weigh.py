"""``picker weigh``: what the tool holds, from how far it makes the arm sag, or from the efforts that joints measure."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import numpy as np

from picker_dynamics.errors import refuse_if

from . import options as shared
from . import weighing

GRAMS = 25.0
"""A berry: what a rehearsal weighs."""

SIDE = {"below": 1.0, "above": -1.0, "": 0.0}
"""By the word for it, of an arm that rises where its joints' positions grow."""

NUMBER, PAIRS = {"type": shared.ANY}, {"nargs": "+", "default": []}

ARGUMENTS = {
    "--com": NUMBER
    | {"nargs": 3, "default": (0.0, 0.0, 0.0), "metavar": ("X", "Y", "Z"), "help": "of the payload, in the tool frame [m]"},
    "--link": {"default": "", "help": "that is read (default: the last but one that the payload turns down, else the tool)"},
    "--within": NUMBER | {"default": 3.0, "metavar": "G", "help": "plan for this half-width of the 95 %% interval (default 3 g)"},
    "--heaviest": NUMBER
    | {"default": 100.0, "metavar": "G", "help": "the heaviest payload that poses are to bear (default 100 g)"},
    "--visits": {
        "type": shared.whole(0, 200),
        "default": 0,
        "metavar": "N",
        "help": "poses to read, each without and with the payload",
    },
    "--absolute": {"action": "store_true", "help": "joints that measure efforts: measure only with the payload"},
    "--yes": {"action": "store_true", "help": "the tool is empty and hands are away: do not ask"},
    "--set": {"action": "store_true", "help": "tell the arm"},
    "--reading": PAIRS | {"metavar": "LINK=DEG,...", "help": "elevations (heights in mm) read with the payload, one a visit"},
    "--empty": PAIRS | {"metavar": "LINK=DEG,...", "help": "the same without payload"},
    "--at": PAIRS | {"metavar": "JOINT=DEG", "help": "set-points there, in degrees or mm (default: home)"},
    "--from": {
        "dest": "side",
        "choices": ("below", "above"),
        "default": "",
        "help": "with --reading: whence the arm came each time",
    },
    "--simulated": {"action": "store_true", "help": "rehearse on a simulated arm with hidden numbers"},
    "--grams": NUMBER | {"metavar": "G", "help": "what the simulated tool holds (default 25, or what poses bear)"},
    "--plant-error": NUMBER | {"default": 0.15, "metavar": "SHARE", "help": "bound of the hidden errors (default 0.15)"},
}


def add_parser(commands) -> None:
    """Register ``weigh``."""
    one = commands.add_parser(
        "weigh",
        help="what the tool holds, by inclinometer, ruler or efforts",
        description="On a running arm: visits poses without and with the payload, and asks for what the inclinometer says there, "
        "or, where the tool only slides down, for its height by a ruler; joints that measure efforts tell by themselves.  "
        "With --reading: from numbers, without an arm.",
    )
    shared.add(one, *shared.RUNNING, "--servo-overlay", "--seed", "--json")
    for name, settings in ARGUMENTS.items():
        one.add_argument(name, **settings)
    one.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Weigh, print, and tell the arm where that is wanted."""
    given = options.reading or options.empty or options.set
    refuse_if(options.simulated and given, "--simulated is a rehearsal: it takes no readings and sets nothing")
    refuse_if(options.empty and not options.reading, "--empty needs --reading: what was read with the payload", "reading")
    if options.simulated:
        weighed, more = simulated(options)
    elif options.reading:
        weighed, more = typed(options), {}
    else:
        weighed, more = weighing.live(options)
    mass = weighed.mass
    if options.set:
        weighing.tell(options, max(0.0, mass.value))
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


def typed(options):
    """Payload weighed from readings on the command line: one pose, each reading of its own visit."""
    from picker_dynamics.estimation.calibration.poses import stand_off
    from picker_dynamics.estimation.calibration.statics import lifts
    from picker_dynamics.estimation.payload.droop import Measurement

    at, empty, full = (_pairs(options, name) for name in ("at", "empty", "reading"))
    scale, _ = weighing.scale_of(options)
    servos = scale.servos
    there = np.array(servos.home)
    for name, text in at:
        refuse_if(name not in servos.joint_names, f"no joint {name!r}; the arm has {', '.join(servos.joint_names)}", name)
        column = servos.joint_names.index(name)
        there[column] = weighing.typed(name, text, servos.position_units[column])
    pulses = servos.quantise_us(servos.to_pulse_us(there))
    rises = lifts(scale.description, there, there - stand_off(servos, there, 1.0, scale.columns))
    read, side = [], SIDE[options.side] * (1.0 if rises else -1.0)
    for loaded, pairs in ((False, empty), (True, full)):
        for link, texts in pairs:
            sensor = weighing.sensor_for(scale, link)
            for text in texts.split(","):
                read.append(Measurement(pulses, sensor, len(read), loaded, side, weighing.typed(link, text, sensor.unit)))
    return scale.weigh(read)


def _pairs(options, option: str) -> Sequence[tuple[str, str]]:
    pairs = [word.partition("=") for word in getattr(options, option)]
    for pair in pairs:
        refuse_if(not all(pair), f"--{option}: {''.join(pair)!r} is not NAME=VALUE", option, "".join(pair))
    return [(name, value) for name, _, value in pairs]


def simulated(options):
    """A rehearsal: an arm with hidden numbers, known as well as a calibration knows it."""
    from picker_dynamics.estimation.payload import simulated as rehearsal

    grams = min(GRAMS, options.heaviest) if options.grams is None else options.grams
    holds = f"the simulated tool holds {grams:g} g"
    refuse_if(
        not 1.0 <= grams <= options.heaviest,
        f"{holds}, must be 1 to {options.heaviest:g} g (--heaviest): are these kilograms?",
        "grams",
        grams,
        options.heaviest,
    )
    person, validator = rehearsal.person(
        grams * 1e-3,
        plant_error=options.plant_error,
        seed=options.seed,
        com=tuple(options.com),
        urdf=options.urdf,
        servos=options.servos,
        overlay=options.servo_overlay,
        heaviest_kg=1e-3 * options.heaviest,
    )
    scale = person.scale
    visits, half, borne_kg = weighing.planned(
        options, scale, validator, weighing.sensor_for(scale, options.link), scale.servos.home
    )
    if options.grams is None:
        person.payload = min(person.payload, borne_kg)
    heavy = f"{holds}, and the poses bear {1e3 * borne_kg:.0f} g: rehearse with less (--grams)"
    refuse_if(person.payload > borne_kg, heavy, "grams", grams, 1e3 * borne_kg)
    weighed = scale.weigh(person.read(visits))
    return weighed, {"truth_kg": person.payload, "visits": len(visits), "planned_half_width_kg": half}
