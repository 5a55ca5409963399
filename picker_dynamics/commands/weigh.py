"""``picker weigh``: what the scissor holds, from how far it makes the arm sag, or from the efforts that joints measure."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from picker_dynamics.errors import InputError

LINK = "forearm"
"""Where the inclinometer lies."""


def add_parser(commands) -> None:
    """Register ``weigh`` with an argparse sub-parser group; imports nothing heavy."""
    one = commands.add_parser(
        "weigh",
        help="what the scissor holds, by inclinometer, potentiometers or efforts",
        description=(
            "On a running graph: visits poses without and with the payload, and asks for what the inclinometer says there; "
            "joints that measure angles or efforts tell by themselves.  With --reading: from numbers, without a graph."
        ),
    )
    one.add_argument("--namespace", default="", help="ROS namespace of the running graph")
    one.add_argument("--arm", default="", metavar="NAME", help="an arm of config/arms.yaml (default: the one that runs)")
    one.add_argument("--urdf", default="", help="URDF of the arm, as calibrated (default: the picker's)")
    one.add_argument("--servos", default="", help="servo map (default: config/servos.yaml)")
    one.add_argument("--servo-overlay", default="", help="differences from the servo map: what a calibration wrote")
    one.add_argument(
        "--com",
        type=float,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=("X", "Y", "Z"),
        help="where the payload is, in the tool frame [m]",
    )
    one.add_argument("--link", default=LINK, help=f"that the inclinometer lies on (default {LINK})")
    one.add_argument(
        "--within", type=float, default=3.0, metavar="G", help="plan for this half-width of the 95 %% interval (default 3 g)"
    )
    one.add_argument(
        "--visits",
        type=int,
        default=0,
        metavar="N",
        help="poses to read, each without and with the payload (default: as many as --within takes)",
    )
    one.add_argument(
        "--absolute",
        action="store_true",
        help="joints that measure efforts: believe the model of the empty arm, measure only with the payload",
    )
    one.add_argument("--yes", action="store_true", help="the scissor is empty and hands are away: do not ask")
    one.add_argument("--set", action="store_true", help="tell the dynamics node")
    one.add_argument(
        "--reading",
        nargs="+",
        default=[],
        metavar="LINK=DEG,...",
        help="elevations read with the payload, one for each time the arm came there",
    )
    one.add_argument("--empty", nargs="+", default=[], metavar="LINK=DEG,...", help="the same without payload")
    one.add_argument("--at", nargs="+", default=[], metavar="JOINT=DEG", help="set-points of the servos there (default: home)")
    one.add_argument("--simulated", action="store_true", help="rehearse on a simulated arm with hidden numbers")
    one.add_argument("--grams", type=float, default=25.0, metavar="G", help="what the simulated scissor holds (default 25)")
    one.add_argument("--plant-error", type=float, default=0.15, metavar="SHARE", help="bound of the hidden errors (default 0.15)")
    one.add_argument("--seed", type=int, default=0, help="of the hidden errors and of the noise")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Weigh, print, and tell the dynamics node where that is wanted."""
    if options.simulated and (options.reading or options.empty or options.set):
        raise InputError("--simulated is a rehearsal: it takes no readings and sets nothing")
    if options.seed < 0:
        raise InputError(f"seed is {options.seed}, must be >= 0", subject="seed", value=options.seed, limit=0)
    if options.empty and not options.reading:
        raise InputError("--empty needs --reading: what was read with the payload in the scissor", subject="reading")
    if not 0 <= options.visits <= 200:
        raise InputError(f"visits is {options.visits}, must be 1 to 200", subject="visits", value=options.visits, limit=200)
    if options.simulated:
        weighed, more = simulated(options)
    elif options.reading:
        weighed, more = typed(options), {}
    else:
        from .weigh_live import live

        weighed, more = live(options)
    mass = weighed.mass
    if options.set:
        from .weigh_live import tell

        tell(options, max(0.0, mass.value))
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
    """For a person."""
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


def note(options, text: str) -> None:
    """Tell the person something that is no result."""
    print(text, file=sys.stderr if options.json else sys.stdout, flush=True)


def scale_of(options):
    """The arm as a scale, and its gate: as the options name it, as calibrated."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.payload.droop import DroopScale
    from picker_dynamics.execution.feasibility import Gate
    from picker_dynamics.resources import resource
    from picker_dynamics.robot import arms, description, servo_map

    if options.arm not in ("", arms.DEFAULT):
        raise InputError(
            f"the droop of the {options.arm} tells nothing: its joints are no servos", subject="arm", value=options.arm
        )
    arm = description.load(options.urdf or resource("urdf/picker.urdf"))
    servos = servo_map.load(options.servos or resource("config/servos.yaml"), arm.joint_names, options.servo_overlay or None)
    return DroopScale(arm, servos, tuple(options.com)), Gate(RigidBody(arm, servos.armature), servos)


def sensor_on(scale, link: str):
    """The inclinometer on a link."""
    from picker_dynamics.estimation.calibration.droop_model import SensorModel

    if link not in scale.description.links:
        raise InputError(f"no link {link!r}; the arm has {', '.join(scale.description.links)}", subject=link, value=link)
    return SensorModel("elevation", link)


def angle(what: str, text: str) -> float:
    """An angle as typed, in degrees unless it says otherwise [rad]."""
    from picker_dynamics.estimation.calibration.readings import ANGLE, quantity

    return quantity(what, text, ANGLE, "deg")


def typed(options):
    """From readings on the command line: one pose, each reading of its own visit."""
    import numpy as np

    at, empty, full = (
        _pairs(words, option)
        for words, option in ((options.at, "--at"), (options.empty, "--empty"), (options.reading, "--reading"))
    )
    scale, gate = scale_of(options)
    servos = scale.servos
    there = np.array(servos.home)
    for name, text in at:
        if name not in servos.joint_names:
            raise InputError(f"no joint {name!r}; the arm has {', '.join(servos.joint_names)}", subject=name)
        there[servos.joint_names.index(name)] = angle(name, text)
    pulses = servos.quantise_us(servos.to_pulse_us(servos.clamp(there)))
    looks = []
    for loaded, pairs in ((False, empty), (True, full)):
        for link, texts in pairs:
            looks += looks_of(scale, link, texts.split(","), pulses, loaded, len(looks))
    return scale.weigh(looks, hint(scale, gate, {one.sensor for one in looks}, servos.home))


def looks_of(scale, link: str, texts: Sequence[str], pulses, loaded: bool, first: int) -> list:
    """Readings of one link, one visit each."""
    from picker_dynamics.estimation.payload.droop import Measurement

    sensor = sensor_on(scale, link)
    return [Measurement(pulses, sensor, angle(link, text), first + number, loaded) for number, text in enumerate(texts)]


def hint(scale, gate, sensors, near) -> str:
    """A pose that tells more, in words."""
    from picker_dynamics.estimation.payload import poses as payload_poses

    best = payload_poses.poses(scale, gate, tuple(sensors), near, 1)[0]
    return f"better: {scale.pose_text(scale.servos.to_angle(best))}"


def _pairs(words: Sequence[str], option: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in words]
    for word, (name, equals, value) in zip(words, pairs):
        if not (name and equals and value):
            raise InputError(f"{option}: {word!r} is not NAME=DEGREES", subject=option, value=word)
    return [(name, value) for name, _, value in pairs]


def simulated(options):
    """A rehearsal: an arm with hidden numbers, known as well as a calibration knows it."""
    from picker_dynamics.estimation.payload import simulated as rehearsal

    if not 1.0 <= options.grams <= 100.0:
        raise InputError(
            f"the simulated scissor holds {options.grams:g} g, must be 1 to 100 g"
            + (": are these kilograms?" if 0.0 < options.grams < 1.0 else ""),
            subject="grams",
            value=options.grams,
            limit=100.0,
        )
    person, gate = rehearsal.person(
        options.grams * 1e-3, plant_error=options.plant_error, seed=options.seed, com=tuple(options.com)
    )
    sensors = (sensor_on(person.scale, options.link),)
    visits, half = planned(options, person.scale, gate, sensors, person.scale.servos.home)
    weighed = person.scale.weigh(person.read(visits, sensors))
    return weighed, {"truth_kg": options.grams * 1e-3, "visits": len(visits), "planned_half_width_kg": half}


def planned(options, scale, gate, sensors, near):
    """The visits, and what they promise; the person is told."""
    from picker_dynamics.estimation.payload import poses as payload_poses

    visits, half = payload_poses.plan(scale, gate, sensors, near, options.within * 1e-3, count=options.visits)
    note(options, f"{len(visits) // 2} poses, each without and with the payload: the mass to ± {1e3 * half:.1f} g (95 %)")
    return visits, half
