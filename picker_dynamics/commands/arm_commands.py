"""Commands to a running arm: ``picker move|home|park|jog|stop|reset|relax|disable|enable|payload``."""

from __future__ import annotations

import math

from picker_dynamics.errors import InputError, JointNamesError, refuse_if
from picker_dynamics.robot.units import ANGLE, LENGTH, quantity, told

from . import options as shared
from .terminal import agreed


def add_parser(commands) -> None:
    """Register all commands to a running arm."""
    acts = {
        "move": (_move, "move the tip to a point, or joints to positions"),
        "home": (_to_pose, "move to the home pose of the servo map, or of config/arms.yaml"),
        "park": (_to_pose, "move to the rest pose of the servo map (arms without servos: home)"),
        "jog": (_jog, "move one joint by an amount in degrees (sliding joints: metres)"),
        "stop": (lambda client, _: client.stop(), "latch the stop: decelerate and hold until reset"),
        "reset": (lambda client, _: client.reset(), "clear stop and faults whose cause is gone; moves nothing"),
        "relax": (lambda client, _: client.relax(), "cut all pulses to free a pinched hand: the arm falls"),
        "disable": (lambda client, _: client.disable(), "switch all outputs off: the arm falls"),
        "enable": (_enable, "switch outputs on, or take over running outputs"),
        "payload": (_payload, "set the payload at the tool"),
    }
    made = {}
    for name, (act, text) in acts.items():
        made[name] = commands.add_parser(name, help=text)
        shared.add(made[name], "--namespace", "--host")
        made[name].set_defaults(act=act)
        if act in (_move, _to_pose, _jog):
            seconds = shared.number(0.0, 600.0)
            made[name].add_argument("--duration", type=seconds, default=0.0, metavar="S", help="minimum duration")
            made[name].add_argument("--preempt", action="store_true", help="take control from any other client")
    move, jog = made["move"].add_argument, made["jog"].add_argument
    tip = "position of the tip in base_link [m], or with units: 260mm 80mm 0.17"
    move("place", type=shared.METRES, nargs="*", metavar="X Y Z", help=tip)
    move("--tip", type=shared.METRES, nargs=3, metavar=("X", "Y", "Z"), help="the same as X Y Z alone")
    move(
        "--pitch-deg",
        type=shared.number(-360.0, 360.0),
        help="elevation of the hand: 0 level, -90 down (default: picker nearest to level, other arms any)",
    )
    joints = "positions in degrees (sliding joints: metres), or with units: theta1=20 d3=100mm"
    move("--joints", nargs="+", default=[], metavar="NAME=VALUE", help=joints)
    move("--straight", action="store_true", help="move the tip on straight lines, to each --via too")
    via = "place on the way: X Y Z of the tip [m]; with blend=M pass within M metres without a stop; repeatable"
    move("--via", nargs="+", action="append", default=[], metavar="PLACE", help=via)
    jog("joint")
    jog("amount", metavar="AMOUNT", help="in degrees (sliding joints: metres), or with its unit: -5, 0.1rad, 5mm")
    made["enable"].add_argument(
        "--yes", action="store_true", help="confirm that the arm stands at its rest pose and hands are away"
    )
    accept = "use the connected board although it was flashed for other limits"
    made["enable"].add_argument("--accept-board", action="store_true", help=accept)
    made["payload"].add_argument("mass", type=shared.mass(), metavar="GRAMS", help="in grams, or with its unit: 25, 0.025kg")


def run(options) -> int:
    """Carry out one of the commands; prints one line with its result."""
    if options.command == "move":
        _check_move(options)
    elif options.command == "jog":
        quantity(options.joint, options.amount, ANGLE | LENGTH, "deg")
    with shared.client(options) as client, client.asking():
        if getattr(options, "preempt", False):
            client.cancel()
        print(options.act(client, options))
    return 0


def amounts(joints: dict, words) -> dict[str, float]:
    """Positions, or ways, of joints as a person says them, NAME=VALUE each: in degrees or metres, or with a unit [rad or m].

    Args:
        joints: of the arm, as ``Session.joints`` has them.
    """
    found, units = {}, dict(zip(joints["names"], joints["units"]))
    for name, _, text in (word.partition("=") for word in words):
        if name not in units:
            raise JointNamesError(f"no joint {name!r}; the arm has {', '.join(units)}", name)
        found[name] = quantity(name, text, *((LENGTH, "m") if units[name] == "m" else (ANGLE, "deg")))
        refuse_if(not math.isfinite(found[name]), f"{name}: {text.strip()!r} is too large", name, text)
    return found


def _check_move(options) -> None:
    """Check all that can be checked of a motion without the arm."""
    given = [bool(one) for one in (options.place, options.tip, options.joints)]
    refuse_if(sum(given) != 1, "give X Y Z of the tip in metres, or --joints NAME=VALUE ... (see picker move --help)", "tip")
    refuse_if(given[0] and len(options.place) != 3, f"give X Y Z of the tip: three values, not {len(options.place)}", "tip")
    options.tip, options.via = options.tip or options.place, places(options)
    turned = options.pitch_deg is not None or options.straight or options.via
    refuse_if(options.joints and turned, "--pitch-deg, --straight and --via belong to X Y Z of the tip", "tip")
    for name, equals, text in (word.partition("=") for word in options.joints):
        refuse_if(not equals, f"--joints {' '.join(options.joints)}: give NAME=VALUE, for example {name}=30", name)
        quantity(name, text, ANGLE | LENGTH, "deg")


def _move(client, options) -> str:
    if options.joints:
        return _there(client, client.move(amounts(client.joints(), options.joints), False, options.duration))
    client.require_free()
    client.wait_holding()
    pitch = None if options.pitch_deg is None else math.radians(options.pitch_deg)
    how = {"pitch": pitch, "duration": options.duration or None, "straight": options.straight, "via": options.via}
    with shared.scripted(client) as arm:
        return _there(client, arm.move(tip=options.tip, wait=False, **how).wait())


def places(options) -> list:
    """Waypoints of ``--via``; raises an InputError for a place with other than three values."""
    from picker_dynamics.execution.waypoints import Waypoint

    via = []
    for words in options.via:
        *tip, last = words if words[-1].startswith("blend=") else (*words, "blend=0")
        if len(tip) != 3:
            raise InputError(f"--via {' '.join(words)}: give X Y Z of the tip, and perhaps blend=M", "via")
        place = [quantity("--via", word, LENGTH, "m") for word in tip]
        blend = quantity("blend", last.removeprefix("blend="), LENGTH, "m")
        via.append(Waypoint(place, straight=options.straight, blend=blend))
    return via


def _there(client, took_s: float) -> str:
    return f"there after {took_s:.2f} s: {_pose(client.joints(), client.call('reference'))}"


def _pose(joints: dict, q) -> str:
    return ", ".join(f"{name} {told(value, unit)}" for name, value, unit in zip(joints["names"], q, joints["units"]))


def _to_pose(client, options) -> str:
    joints = client.joints()
    pose = dict(zip(joints["names"], joints["home" if options.command == "home" else "rest"]))
    return _there(client, client.move(pose, False, options.duration))


def _jog(client, options) -> str:
    way = amounts(client.joints(), [f"{options.joint}={options.amount}"])
    return _there(client, client.move(way, True, options.duration))


def _enable(client, options) -> str:
    if options.accept_board:
        print(client.accept_board())
    if client.hardware.get("outputs") == "running":  # nothing is switched on, so nothing jumps, and nobody is asked
        return client.enable(False)
    if not options.yes and client.hardware.get("provenance") != "measured":
        joints = client.joints()
        print(f"Outputs that are off will be switched on one at a time, at the rest pose: {_pose(joints, joints['rest'])}")
        if not agreed("Does the arm stand there, and are hands away? Type yes: "):
            raise InputError("not enabled: nobody confirmed (--yes confirms in advance)")
    return client.enable(True)


def _payload(client, options) -> str:
    mass = options.mass + 0.0  # no zero has a sign
    client.set("dynamics", {"payload.mass": mass})
    return f"payload {1e3 * mass:g} g"
