"""``picker weigh``: what the tool holds, from how far it makes the arm sag.

The arm moves from visit to visit; a person says what the inclinometer shows.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.units import ANGLE, quantity

from . import options as shared
from .terminal import agreed

SETTLE_S = 2.0
"""Until the arm stands after a motion [s]."""

MOVE_S, APPROACH_S = 0.8, 2.5
"""At least, for a motion between visits, and from the stand-off into the pose: an arm that comes slowly does not swing [s]."""


def add_parser(commands) -> None:
    """Register ``weigh``."""
    one = commands.add_parser(
        "weigh",
        help="weigh the payload by inclinometer",
        description="Move the running arm to poses without and with the payload, and ask for the inclinometer's reading at each.",
    )
    shared.add(one, "--namespace", "--host", "--arm", "--urdf", "--servos", "--servo-overlay", "--seed", "--json")
    visits, heaviest = shared.whole(0, 200), "the heaviest payload that poses are to bear (default 100 g)"
    one.add_argument("--heaviest", type=shared.mass(), metavar="GRAMS", default=0.1, help=heaviest)
    one.add_argument(
        "--visits", type=visits, default=0, metavar="N", help="number of poses, each read without and with the payload"
    )
    one.add_argument("--yes", action="store_true", help="confirm that the tool is empty and hands are away")
    one.add_argument("--set", action="store_true", help="set the payload of the running arm")
    one.add_argument("--simulated", action="store_true", help="rehearse on a simulated arm with hidden errors")
    shared.add(one, "--payload", default=0.025, help="simulated payload, limited to what the poses bear (default 25 g)")


def run(options: argparse.Namespace) -> int:
    """Weigh, print, and tell the arm where that is wanted."""
    refuse_if(options.simulated and options.set, "--simulated is a rehearsal: it sets nothing")
    weighed, more = (simulated if options.simulated else live)(options)
    mass = weighed.mass
    if options.json:
        about = {"mass_kg": mass.value, "sd_kg": mass.sd, "interval_kg": mass.interval, "readings": weighed.readings}
        print(json.dumps({**about, "misfit": weighed.misfit, "set": bool(options.set), **more}))
        return 0
    low, high = (max(1e3 * x, 0.0) for x in mass.interval)
    print(f"payload {1e3 * mass.value:.1f} g, 95 % within {low:.1f} to {high:.1f} g ({weighed.readings} readings)")
    if options.simulated:
        print(f"in truth {1e3 * more['truth_kg']:.1f} g")
    else:
        print("set" if options.set else f"to use it: picker payload {max(1e3 * mass.value, 0.0):.1f}g")
    return 0


def scale_of(options, arm, servos):
    """The arm as a scale, and its validator."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.payload import DroopScale
    from picker_dynamics.execution.validator import torque_validator

    scale = DroopScale(arm, servos, heaviest_kg=options.heaviest)
    refuse_if(not scale.columns, f"no joint of {arm.name} that turns bears the payload: droop gives no mass", "payload")
    return scale, torque_validator(RigidBody(arm, servos.armature), servos)


def planned(options, scale, validator, near):
    """The plan of the visits; the person is told what it promises.

    Read is an inclinometer on the last but one of the links that the payload turns down.
    """
    from picker_dynamics.estimation.calibration.instruments import inclinometer_on
    from picker_dynamics.estimation.payload import plan

    arm = scale.description
    sensor = inclinometer_on(arm, [arm.movable[column].child for column in scale.columns][-2:][0])
    made = plan(scale, validator, sensor, near, count=options.visits)
    print(
        f"{len(made.visits) // 2} poses without and with the payload, which bear up to {1e3 * made.borne_kg:.0f} g: the mass to "
        f"± {1e3 * made.half_kg:.1f} g (95 %)",
        file=sys.stderr if options.json else sys.stdout,
        flush=True,
    )
    return made


def simulated(options):
    """A rehearsal: an arm with hidden numbers, known as well as a calibration knows it."""
    from picker_dynamics.estimation.rehearsal import WeighingBench

    name, payload = options.arm, options.payload
    refuse_if(name not in ("", arms.DEFAULT), f"the droop of the {name} cannot weigh: its joints are not servos", "arm", name)
    wrong = f"the simulated tool holds {1e3 * payload:g} g, must be 1 to {1e3 * options.heaviest:g} g (--heaviest)"
    refuse_if(not 1e-3 <= payload <= options.heaviest, wrong, "payload", payload, options.heaviest)
    overlay = options.servo_overlay or servo_arm.overlay_of(servo_arm.read_arm(options.urdf), options.servos, "ideal")
    scale, validator = scale_of(options, *servo_arm.load(options.urdf, options.servos, overlay))
    visits, half, borne_kg = planned(options, scale, validator, scale.servos.home)
    payload = min(payload, borne_kg)
    weighed = scale.weigh(WeighingBench(scale, payload, options.seed).read(visits))
    return weighed, {"truth_kg": payload, "visits": len(visits), "planned_half_width_kg": half}


def live(options):
    """Weigh on the running arm, and tell it where that is wanted; what was found, and more for the report."""
    with shared.client(options) as client, client.asking():
        known = shared.equipment(client)
        efforts = f"{known.description.name} does not sag, and weighing reads droop: set the payload by picker payload"
        refuse_if(known.torque is not None, efforts, "arm")
        arm = known.description
        # No approach at the end, and set-points that tell nothing of a side: joints rest on that from which they come, and may
        # be off their goals by what their gears hold: readings go by pulses.
        anywhere = {f"constraints.{name}.goal": 0.0 for name in arm.joint_names}
        with (
            client.meanwhile("trajectory_controller", {"approach": "off", **anywhere}),
            client.meanwhile("dynamics", {"compensation": "gravity"}),
        ):
            weighed, more = by_droop(options, client, *scale_of(options, arm, known.servos))
        if options.set:
            client.set("dynamics", {"payload.mass": max(0.0, weighed.mass.value)})
    return weighed, more


def by_droop(options, client, scale, validator):
    """Visit poses without and with the payload; a person types what the instrument shows."""
    from picker_dynamics.estimation.calibration.poses import stand_off

    servos, read = scale.servos, []
    client.wait_holding()
    visits, half, borne_kg = planned(options, scale, validator, client.reference())
    asked = f"The arm will visit {len(visits) // 2} poses, twice. Is the tool empty, and are hands away? Type yes: "
    refuse_if(not options.yes and not agreed(asked, _answer), "not weighed")
    for number, visit in enumerate(visits):
        if visit.loaded and visit.pose == 0:
            asked = f"Put the payload, {1e3 * borne_kg:.0f} g at the most, into the tool, gently, and take your hands away. "
            while not agreed(asked + "Type yes, and the arm moves on: ", _answer):
                pass
        there = servos.to_angle(visit.pulses_us)
        client.move_to(MOVE_S, stand_off(servos, there, visit.side, scale.columns))
        client.move_to(APPROACH_S, there)
        client.spin(SETTLE_S)
        pulses = servos.quantise_us(servos.to_pulse_us(servos.clamp(client.setpoint())))
        read.append(_typed(scale, replace(visit, pulses_us=pulses), f"{number + 1} of {len(visits)}"))
    return scale.weigh(read), {"planned_half_width_kg": half}


def _typed(scale, visit, which: str):
    """The person reads the inclinometer [deg]; asked again where that is none, or none that can be."""
    from picker_dynamics.estimation.calibration.instruments import lay

    link = visit.sensor.link
    what = f"{which}: inclinometer on {link}, {lay(scale.description, link).laid} [deg]: "
    while True:
        answer = _answer(what)
        try:
            read = replace(visit, value=quantity(link, answer, ANGLE, "deg"))
            scale.require_plausible([read])
            return read
        except InputError as slip:
            print(slip, file=sys.stderr, flush=True)


def _answer(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    try:
        return input()
    except EOFError as error:
        raise InputError("not weighed: no answer", "input") from error
