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


def add_parser(commands) -> None:
    """Register ``weigh`` with an argparse sub-parser group; imports nothing heavy."""
    one = commands.add_parser(
        "weigh",
        help="what the tool holds, by inclinometer, ruler, potentiometers or efforts",
        description=(
            "On a running graph: visits poses without and with the payload, and asks for what the inclinometer says there, or, "
            "where the tool only slides down, for its height by a ruler; joints that measure tell by themselves.  "
            "With --reading: from numbers, without a graph."
        ),
    )
    shared.add(one, "--namespace", "--host")
    one.add_argument("--arm", default="", metavar="NAME", help="an arm of config/arms.yaml (default: the one that runs)")
    one.add_argument("--urdf", default="", help="URDF of the arm, as calibrated (default: the picker's)")
    one.add_argument("--servos", default="", help="servo map (default: config/servos.yaml)")
    one.add_argument("--servo-overlay", default="", help="differences from the servo map: what a calibration wrote")
    one.add_argument(
        "--com",
        type=shared.ANY,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=("X", "Y", "Z"),
        help="where the payload is, in the tool frame [m]",
    )
    one.add_argument(
        "--link", default="", help="that is read (default: the last but one of those that the payload turns down, else the tool)"
    )
    one.add_argument(
        "--within", type=shared.ANY, default=3.0, metavar="G", help="plan for this half-width of the 95 %% interval (default 3 g)"
    )
    one.add_argument(
        "--heaviest",
        type=shared.ANY,
        default=100.0,
        metavar="G",
        help="what the payload weighs at the most: poses are to bear it (default 100 g, up to 1000)",
    )
    one.add_argument(
        "--visits",
        type=shared.whole(0, 1_000_000),
        default=0,
        metavar="N",
        help="poses to read, each without and with the payload (default: as many as --within takes)",
    )
    one.add_argument(
        "--absolute",
        action="store_true",
        help="joints that measure efforts: believe the model of the empty arm, measure only with the payload",
    )
    one.add_argument("--yes", action="store_true", help="the tool is empty and hands are away: do not ask")
    one.add_argument("--set", action="store_true", help="tell the arm")
    one.add_argument(
        "--reading",
        nargs="+",
        default=[],
        metavar="LINK=DEG,...",
        help="elevations (heights in mm) read with the payload, one for each time the arm came there",
    )
    one.add_argument("--empty", nargs="+", default=[], metavar="LINK=DEG,...", help="the same without payload")
    one.add_argument(
        "--at", nargs="+", default=[], metavar="JOINT=DEG", help="set-points there, in degrees or mm (default: home)"
    )
    one.add_argument(
        "--from",
        dest="side",
        choices=("below", "above"),
        default="",
        help="with --reading: the side from which the arm came to the pose, each time by 0.1 rad at least",
    )
    one.add_argument("--simulated", action="store_true", help="rehearse on a simulated arm with hidden numbers")
    one.add_argument(
        "--grams",
        type=shared.ANY,
        default=None,
        metavar="G",
        help="what the simulated tool holds (default 25, or what poses bear)",
    )
    one.add_argument(
        "--plant-error", type=shared.ANY, default=0.15, metavar="SHARE", help="bound of the hidden errors (default 0.15)"
    )
    one.add_argument("--seed", type=shared.SEED, default=0, help="of the hidden errors and of the noise")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Weigh, print, and tell the arm where that is wanted."""
    refuse_if(
        options.simulated and (options.reading or options.empty or options.set),
        "--simulated is a rehearsal: it takes no readings and sets nothing",
    )
    refuse_if(options.seed < 0, f"seed is {options.seed}, must be >= 0", "seed", options.seed, 0)
    refuse_if(
        options.empty and not options.reading, "--empty needs --reading: what was read with the payload in the tool", "reading"
    )
    refuse_if(not 0 <= options.visits <= 200, f"visits is {options.visits}, must be 1 to 200", "visits", options.visits, 200)
    if options.simulated:
        weighed, more = simulated(options)
    elif options.reading:
        weighed, more = typed(options), {}
    else:
        weighed, more = weighing.live(options)
    mass = weighed.mass
    if options.set:
        weighing.tell(options, max(0.0, mass.value))
    report = {
        "mass_kg": mass.value,
        "sd_kg": mass.sd,
        "interval_kg": list(mass.interval),
        "readings": weighed.readings,
        "misfit": weighed.misfit,
        "set": bool(options.set),
        **more,
    }
    print(json.dumps(report) if options.json else text_of(weighed, more, options.set))
    return 0


def text_of(weighed, more: dict, is_set: bool) -> str:
    """Weighed payload in words, for a person."""
    mass = weighed.mass
    low, high = (1e3 * x for x in mass.interval)
    said = (
        f"payload {1e3 * mass.value:.1f} g, 95 % within {max(low, 0.0):.1f} to {max(high, 0.0):.1f} g "
        f"({weighed.readings} readings)"
    )
    if low <= 0.0:
        said += "; that may be nothing at all"
    if "truth_kg" in more:
        return f"{said}; in truth {1e3 * more['truth_kg']:.1f} g"
    return said + ("; set" if is_set else f"; to use it: picker payload {max(mass.value, 0.0):.4f}")


def typed(options):
    """Payload weighed from readings on the command line: one pose, each reading of its own visit."""
    from picker_dynamics.estimation.calibration.poses import stand_off
    from picker_dynamics.estimation.calibration.statics import lifts
    from picker_dynamics.estimation.payload.droop import Measurement

    at, empty, full = (
        _pairs(words, option)
        for words, option in ((options.at, "--at"), (options.empty, "--empty"), (options.reading, "--reading"))
    )
    scale, validator = weighing.scale_of(options)
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
            for text in texts.split(","):
                sensor = weighing.sensor_for(scale, link)
                value = weighing.typed(link, text, sensor.unit)
                read.append(Measurement(pulses, sensor, value, len(read), loaded, side))
    return scale.weigh(read, weighing.hint(scale, validator, {one.sensor for one in read}, servos.home))


def _pairs(words: Sequence[str], option: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in words]
    for word, (name, equals, value) in zip(words, pairs):
        refuse_if(not (name and equals and value), f"{option}: {word!r} is not NAME=VALUE", option, word)
    return [(name, value) for name, _, value in pairs]


def simulated(options):
    """A rehearsal: an arm with hidden numbers, known as well as a calibration knows it."""
    from picker_dynamics.estimation.payload import simulated as rehearsal

    grams = min(GRAMS, options.heaviest) if options.grams is None else options.grams
    refuse_if(
        not 1.0 <= grams <= options.heaviest,
        f"the simulated tool holds {grams:g} g, must be 1 to {options.heaviest:g} g (--heaviest)"
        + (": are these kilograms?" if 0.0 < grams < 1.0 else ""),
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
    sensors = (weighing.sensor_for(person.scale, options.link),)
    visits, half, borne_kg = weighing.planned(options, person.scale, validator, sensors, person.scale.servos.home)
    if options.grams is None:
        person.payload = min(person.payload, borne_kg)
    refuse_if(
        person.payload > borne_kg,
        f"the simulated tool holds {grams:g} g, and the poses bear {1e3 * borne_kg:.0f} g: rehearse with less (--grams)",
        "grams",
        grams,
        1e3 * borne_kg,
    )
    weighed = person.scale.weigh(person.read(visits, sensors))
    return weighed, {"truth_kg": person.payload, "visits": len(visits), "planned_half_width_kg": half}
