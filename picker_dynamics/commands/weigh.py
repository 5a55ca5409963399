"""``picker weigh``: what the tool holds, from how far it makes the arm sag, or from the efforts that joints measure.

On a running graph it moves the arm from visit to visit, and asks, or listens where joints measure.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.bringup.bringup import require_namespace
from picker_dynamics.errors import InputError, LinkError, refuse_if
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.kinematic_tree import link_poses

from . import arm_commands
from . import options as shared

HEAVIEST_KG = 0.1, 0.05, 0.025, 0.01
"""What poses are to bear, the heaviest that finds some."""

SETTLE_S, LISTEN_S = 2.0, 1.0
"""Until the arm stands after a motion, and how long joints that measure are listened to [s]."""

MOVE_S, APPROACH_S = 0.8, 2.5
"""At least, for a motion between visits, and from the stand-off into the pose: an arm that comes slowly does not swing [s]."""

SIDE = {"below": 1.0, "above": -1.0, "": 0.0}
"""By the word for it."""

EFFORT_SD_FLOOR = 0.003
"""Of a measured effort, as a share of the joint's limit: noise does not say what a sensor is off by."""


def add_parser(commands) -> None:
    """Register ``weigh`` with an argparse sub-parser group; imports nothing heavy."""
    one = commands.add_parser(
        "weigh",
        help="what the tool holds, by inclinometer, potentiometers or efforts",
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
        type=shared.ANY,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=("X", "Y", "Z"),
        help="where the payload is, in the tool frame [m]",
    )
    one.add_argument(
        "--link",
        default="",
        help="that the inclinometer lies on (default: the last but one of those that the payload pulls down)",
    )
    one.add_argument(
        "--within", type=shared.ANY, default=3.0, metavar="G", help="plan for this half-width of the 95 %% interval (default 3 g)"
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
    one.add_argument(
        "--from",
        dest="side",
        choices=("below", "above"),
        default="",
        help="with --reading: the side from which the arm came to the pose, each time by 0.1 rad at least",
    )
    one.add_argument("--simulated", action="store_true", help="rehearse on a simulated arm with hidden numbers")
    one.add_argument("--grams", type=shared.ANY, default=25.0, metavar="G", help="what the simulated tool holds (default 25)")
    one.add_argument(
        "--plant-error", type=shared.ANY, default=0.15, metavar="SHARE", help="bound of the hidden errors (default 0.15)"
    )
    one.add_argument("--seed", type=shared.SEED, default=0, help="of the hidden errors and of the noise")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Weigh, print, and tell the dynamics node where that is wanted."""
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
        weighed, more = live(options)
    mass = weighed.mass
    if options.set:
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


def scale_of(options, known=None):
    """The arm as a scale, and its validator: as the options name it, as calibrated, or as ``known`` of the running graph."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.payload.droop import DroopScale
    from picker_dynamics.execution.validator import torque_validator

    refuse_if(
        options.arm not in ("", arms.DEFAULT),
        f"the droop of the {options.arm} tells nothing: its joints are no servos",
        "arm",
        options.arm,
    )
    if known is None or options.servo_overlay:
        arm, servos = servo_arm.load(options.urdf, options.servos, options.servo_overlay)
    else:
        arm, servos = known.description, known.servos
    return DroopScale(arm, servos, tuple(options.com)), torque_validator(RigidBody(arm, servos.armature), servos)


def sensor_on(scale, link: str):
    """The inclinometer on a link; on none that is named: the last but one of those that the payload pulls down."""
    from picker_dynamics.estimation.calibration.droop_model import SensorModel

    refuse_if(not scale.columns, f"no joint of {scale.description.name} bears a payload: its droop tells no mass", "payload")
    for column in scale.columns:
        joint = scale.description.movable[column]
        slides = joint.type == "prismatic"
        refuse_if(slides, f"joint {joint.name} slides and bears the payload: an inclinometer does not see it sag", joint.name)
    link = link or scale.description.movable[scale.columns[max(len(scale.columns) - 2, 0)]].child
    refuse_if(
        link not in scale.description.links, f"no link {link!r}; the arm has {', '.join(scale.description.links)}", link, link
    )
    return SensorModel("elevation", link, *along(scale.description, link))


def along(arm, link: str) -> tuple:
    """Directions in the link: from its joint to the next one, or to the tool, across the joint's axis; and across both.

    Nothing where the link does not turn, or ends on its axis: then the inclinometer lies along the link's x axis.
    """
    joint = next((one for one in arm.movable if one.child == link and one.type != "prismatic"), None)
    if joint is None:
        return ()
    poses = link_poses(arm, np.zeros(arm.n))
    ends = [one.child for one in arm.path_to(arm.tool)]
    after = ends[ends.index(link) + 1 :] if link in ends else []
    end = next((one.child for one in arm.movable if one.child in after), arm.tool)
    line = poses[link].rotation.T @ (poses[end].position - poses[link].position)
    line = line - (line @ joint.axis) * joint.axis
    size = float(np.linalg.norm(line))
    if not after or size < 1e-3:
        return ()
    ahead = line / size
    return tuple(ahead.tolist()), tuple(np.cross(joint.axis, ahead).tolist())


def angle(what: str, text: str) -> float:
    """An angle as typed, in degrees unless it says otherwise [rad]."""
    from picker_dynamics.estimation.calibration.readings import ANGLE, quantity

    return quantity(what, text, ANGLE, "deg")


def typed(options):
    """From readings on the command line: one pose, each reading of its own visit."""
    from picker_dynamics.estimation.payload.droop import Measurement

    at, empty, full = (
        _pairs(words, option)
        for words, option in ((options.at, "--at"), (options.empty, "--empty"), (options.reading, "--reading"))
    )
    scale, validator = scale_of(options)
    servos = scale.servos
    there = np.array(servos.home)
    for name, text in at:
        refuse_if(name not in servos.joint_names, f"no joint {name!r}; the arm has {', '.join(servos.joint_names)}", name)
        there[servos.joint_names.index(name)] = angle(name, text)
    pulses = servos.quantise_us(servos.to_pulse_us(servos.clamp(there)))
    read = []
    for loaded, pairs in ((False, empty), (True, full)):
        for link, texts in pairs:
            for text in texts.split(","):
                value, sensor = angle(link, text), sensor_on(scale, link)
                read.append(Measurement(pulses, sensor, value, len(read), loaded, SIDE[options.side]))
    return scale.weigh(read, hint(scale, validator, {one.sensor for one in read}, servos.home))


def hint(scale, validator, sensors, near) -> str:
    """A pose that tells more, in words."""
    from picker_dynamics.estimation.payload import poses as payload_poses

    best = payload_poses.poses(scale, validator, tuple(sensors), near, 1)[0]
    return f"better: {scale.pose_text(scale.servos.to_angle(best))}"


def _pairs(words: Sequence[str], option: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in words]
    for word, (name, equals, value) in zip(words, pairs):
        refuse_if(not (name and equals and value), f"{option}: {word!r} is not NAME=DEGREES", option, word)
    return [(name, value) for name, _, value in pairs]


def simulated(options):
    """A rehearsal: an arm with hidden numbers, known as well as a calibration knows it."""
    from picker_dynamics.estimation.payload import simulated as rehearsal

    refuse_if(
        not 1.0 <= options.grams <= 100.0,
        f"the simulated tool holds {options.grams:g} g, must be 1 to 100 g"
        + (": are these kilograms?" if 0.0 < options.grams < 1.0 else ""),
        "grams",
        options.grams,
        100.0,
    )
    person, validator = rehearsal.person(
        options.grams * 1e-3,
        plant_error=options.plant_error,
        seed=options.seed,
        com=tuple(options.com),
        urdf=options.urdf,
        servos=options.servos,
    )
    sensors = (sensor_on(person.scale, options.link),)
    visits, half = planned(options, person.scale, validator, sensors, person.scale.servos.home)
    weighed = person.scale.weigh(person.read(visits, sensors))
    return weighed, {"truth_kg": options.grams * 1e-3, "visits": len(visits), "planned_half_width_kg": half}


def planned(options, scale, validator, sensors, near):
    """The visits, and what they promise; the person is told."""
    from picker_dynamics.estimation.payload import poses as payload_poses

    for heaviest_kg in HEAVIEST_KG:
        try:
            visits, half = payload_poses.plan(
                scale, validator, sensors, near, options.within * 1e-3, heaviest_kg=heaviest_kg, count=options.visits
            )
            break
        except InputError:
            if heaviest_kg == HEAVIEST_KG[-1]:
                raise
    note(options, f"{len(visits) // 2} poses, each without and with the payload: the mass to ± {1e3 * half:.1f} g (95 %)")
    return visits, half


# -- on a running graph --------------------------------------------------------------------------------------


def live(options):
    """Weigh on the running graph; what it found, and more for the report."""
    require_namespace(options.namespace)
    with _client(options) as client:
        known = arm_commands.running(options, client)
        if known.torque is not None:
            return by_efforts(options, known.torque, client), {}
        # No approach at the end, and set-points that tell nothing of a side: joints rest on that from which they come, and may
        # be off their goals by what their gears hold: readings go by pulses.
        anywhere = {f"constraints__{name}__goal": 0.0 for name in known.description.joint_names}
        with (
            client.meanwhile("trajectory_controller", approach="off", **anywhere),
            client.meanwhile("dynamics", compensation="gravity"),
        ):
            return by_droop(options, client, known)


def tell(options, mass: float) -> None:
    """Set the dynamics node's payload [kg]."""
    require_namespace(options.namespace)
    with _client(options) as client:
        client.set_parameters("dynamics", payload__mass=float(mass), payload__com=[float(x) for x in options.com])


def _client(options):
    from picker_dynamics.nodes.client import ArmClient

    return ArmClient((), options.namespace)


# -- servos: how far the arm sags ----------------------------------------------------------------------------


def by_droop(options, client, known):
    """Visit poses without and with the payload; elevations are typed, measured angles listened to."""
    from picker_dynamics.estimation.payload.droop import Potentiometer
    from picker_dynamics.estimation.payload.poses import before

    scale, validator = scale_of(options, known)
    client.wait_holding()
    measured = client.hardware.get("provenance") == "measured"
    sensors = (
        tuple(Potentiometer(scale.servos.joint_names[column]) for column in scale.columns)
        if measured
        else (sensor_on(scale, options.link),)
    )
    visits, half = planned(options, scale, validator, sensors, client.reference())
    asked = f"The arm will visit {len(visits) // 2} poses, twice. Is the tool empty, and are hands away? Type yes: "
    refuse_if(not options.yes and _answer(asked).strip().lower() != "yes", "not weighed")
    read = []
    for visit in visits:
        if visit.loaded and visit.number == len(visits) // 2:
            _answer("Put the payload into the tool, gently, and take your hands away. Then press Enter: ")
        client.move_through([MOVE_S], [before(scale, visit)])
        client.move_through([APPROACH_S], [scale.servos.to_angle(visit.pulses_us)])
        client.spin(SETTLE_S)
        there = replace(visit, pulses_us=_pulses(client, scale))
        read += (
            there.measurements(sensors, _listened(client, scale, sensors))
            if measured
            else _typed(scale, there, len(visits), sensors[0])
        )
    return scale.weigh(read, hint(scale, validator, sensors, scale.servos.home)), {"planned_half_width_kg": half}


def _typed(scale, visit, count: int, sensor) -> list:
    """The person reads the inclinometer; asked again where that is no angle, or none that can be."""
    while True:
        try:
            text = _answer(f"{visit.number + 1} of {count}: elevation of the {sensor.link} [deg]: ")
            read = visit.measurements([sensor], [angle(sensor.link, text)])
            scale.require_plausible(read)
            return read
        except InputError as slip:
            if slip.subject == "input":
                raise
            print(slip, file=sys.stderr, flush=True)


def _answer(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    try:
        return input()
    except EOFError as error:
        raise InputError("nobody answers: not weighed", subject="input") from error


def _pulses(client, scale) -> np.ndarray:
    """What is on the servos' inputs now (n,) [us]: set-points of the next ``joint_commands``."""
    servos, told = scale.servos, client.next_command(scale.description.joint_names).position
    return servos.quantise_us(servos.to_pulse_us(servos.clamp(np.asarray(told))))


def _listened(client, scale, sensors) -> list[float]:
    """Mean angles of the joints [rad]."""
    q = client.listen(LISTEN_S)[0].mean(axis=0)
    return [float(q[scale.description.joint_names.index(sensor.joint)]) for sensor in sensors]


# -- joints that measure efforts ------------------------------------------------------------------------------


def by_efforts(options, arm, client):
    """Listen to the efforts that hold the arm where it stands, without and with the payload."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.payload.torque import MODEL_SHARE, better_pose, weigh_by_effort

    description = arm.description
    client.wait_holding()
    if not options.absolute:
        if not options.yes:
            _answer("Take everything out of the tool, and your hands away. Then press Enter: ")
        empty, _ = _at_rest(client, description, False)
        _answer("Now put the payload in, and take your hands away. Then press Enter: ")
    samples, sd = _at_rest(client, description, True)
    if not options.absolute:
        samples = empty.joined(samples)
    model = RigidBody(description)
    return weigh_by_effort(
        model,
        samples,
        sd,
        description.effort,
        tuple(options.com),
        better=better_pose(model, description, arm.hold_limit, options.com),
        model_share=0.0 if options.absolute else MODEL_SHARE,
    )


def _at_rest(client, description, loaded: bool):
    """Mean effort of a second where the arm stands, and its noise (n,) [N·m or N]."""
    from picker_dynamics.estimation.payload.torque import EffortSamples

    client.spin(LISTEN_S)
    q, effort = client.listen(LISTEN_S)
    if effort is None:
        raise LinkError("joint_states carry no efforts: nothing tells what the tool holds")
    sd = np.maximum(effort.std(axis=0), EFFORT_SD_FLOOR * description.effort)
    return EffortSamples.at_rest(q.mean(axis=0), effort.mean(axis=0), loaded=loaded), sd
