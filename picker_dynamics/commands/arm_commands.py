"""Commands to a running graph: ``picker move|home|park|jog|stop|reset|relax|disable|enable|payload``."""

from __future__ import annotations

import math
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from picker_dynamics.bringup.options import RANGES, require_namespace
from picker_dynamics.errors import InputError, JointNamesError, refuse_if
from picker_dynamics.execution.goal import HAIR, MAX_GOAL_S
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.tip_target import TIP_M
from picker_dynamics.robot.units import ANGLE, LENGTH, MASS, quantity, told
from picker_dynamics.scripting.equipment import Equipment
from picker_dynamics.scripting.target import asked_duration, require_metres

from . import options as shared
from .terminal import agreed

if TYPE_CHECKING:
    from picker_dynamics.execution.waypoints import Waypoint


def add_parser(commands) -> None:
    """Register all commands to a running graph."""

    def add(name: str, text: str, act, *, needs_arm: bool = False) -> ArgumentParser:
        command = commands.add_parser(name, help=text)
        shared.add(command, "--namespace", "--arm", "--urdf", "--servos")
        command.set_defaults(run=run, act=act, needs_arm=needs_arm)
        return command

    def moving(name: str, text: str, act) -> ArgumentParser:
        command = add(name, text, act, needs_arm=True)
        command.add_argument(
            "--duration", type=shared.number(0.0, MAX_GOAL_S), default=0.0, metavar="S", help="at least this long"
        )
        command.add_argument("--preempt", action="store_true", help="stop whoever moves the arm, a stream too, and take it")
        return command

    move = moving("move", "move the tip to a point, or joints where they shall be", _move)
    move.add_argument(
        "--tip", type=shared.METRES, nargs=3, metavar=("X", "Y", "Z"), help="in base_link [m], or with its unit: 260mm"
    )
    move.add_argument(
        "--pitch-deg",
        type=shared.number(-360.0, 360.0),
        default=None,
        help="elevation of the hand, 0 level, -90 down (default: for the picker the nearest to level, for other arms any)",
    )
    move.add_argument(
        "--direction",
        type=shared.ANY,
        nargs=3,
        metavar=("X", "Y", "Z"),
        default=None,
        help="where the tool is to point, in base_link, instead of --pitch-deg",
    )
    move.add_argument(
        "--joints",
        nargs="+",
        metavar="NAME=VALUE",
        help="turning joints in degrees, sliding ones in metres: theta1=20 d3=0.1, or with their unit: theta1=0.35rad d3=100mm",
    )
    move.add_argument("--straight", action="store_true", help="the tip goes there on a straight line, and to each --via X Y Z")
    move.add_argument(
        "--via",
        nargs="+",
        action="append",
        default=[],
        metavar="PLACE",
        help="on the way, may be repeated: X Y Z of the tip [m] or NAME=VALUE of joints; blend=M: pass within M metres, not stop",
    )
    moving("home", "move to the home pose of the servo map, or of config/arms.yaml", _home)
    moving("park", "move to the rest pose of the servo map; an arm without servos: home", _park)
    jog = moving("jog", "move one joint by some degrees, a sliding one by some metres", _jog)
    jog.add_argument("joint")
    jog.add_argument(
        "amount",
        type=shared.way,
        metavar="AMOUNT",
        help="in degrees, of a sliding joint in metres, or with its unit: -5, 0.1rad, 5mm",
    )
    add("stop", "latch the stop: decelerate and hold until reset", lambda at: at.client.stop())
    add("reset", "clear stop and faults whose cause is gone; moves nothing", lambda at: at.client.reset())
    add("relax", "cut all pulses to free a pinched hand: the arm falls", lambda at: at.client.relax())
    add("disable", "switch all outputs off: the arm falls", lambda at: at.client.disable())
    enable = add("enable", "switch outputs on, or take over those that run", _enable, needs_arm=True)
    enable.add_argument("--yes", action="store_true", help="the arm stands at its rest pose, hands are away")
    payload = add("payload", "tell the dynamics what the tool carries", _payload)
    mass = shared.number(*RANGES["payload_mass"][:2], " kg: are these grams?", MASS, "kg")
    payload.add_argument("mass", type=mass, metavar="KG", help="in kilograms, or with its unit: 25g")


class Bench(NamedTuple):
    """What a command acts on: its options, the running graph, and where the command needs it, the arm that runs."""

    options: object
    client: object
    known: Equipment | None = None

    @property
    def arm(self) -> ArmDescription:
        return self.known.description


def run(options) -> int:
    """Carry out one of the commands; prints one line of what came of it."""
    from picker_dynamics.session.arm_client import ArmClient

    require_namespace(options.namespace)
    with ArmClient(options.namespace, *shared.reached()) as client:
        at = Bench(options, client, running(options, client) if options.needs_arm else None)
        if getattr(options, "preempt", False):
            client.cancel()
        print(options.act(at))
    return 0


def running(options, client) -> Equipment:
    """The arm that runs; errors as ``arm_that_runs``, where the options name another one."""
    from picker_dynamics.scripting.connected import arm_that_runs

    return arm_that_runs(client, options.arm, options.urdf, options.servos)


def target_of(options, arm: ArmDescription, held: np.ndarray) -> np.ndarray:
    """Joint positions (n,) [rad or m] that ``picker move`` asks for.

    Raises:
        InputError: neither or both of ``--tip`` and ``--joints``.
        UnreachableError: no configuration reaches the tip position.
    """
    if bool(options.tip) == bool(options.joints):
        raise InputError("give either --tip X Y Z or --joints NAME=VALUE ...")
    if options.tip:
        from picker_dynamics.robot.tip_target import tip_target

        pitch = None if options.pitch_deg is None else math.radians(options.pitch_deg)
        return tip_target(arm, options.tip, near=held, pitch_rad=pitch, direction=options.direction)
    if options.direction is not None or options.pitch_deg is not None:
        raise InputError("--pitch-deg and --direction belong to --tip X Y Z", subject="tip")
    return named(arm, held, (assignment.partition("=")[::2] for assignment in options.joints))


def named(arm: ArmDescription, held: np.ndarray, joints: Iterable[tuple[str, str]]) -> np.ndarray:
    """``held`` (n,) [rad or m] but for joints by name, as a person says them."""
    target = held.copy()
    for name, value in joints:
        target[_index(arm, name)] = _amount(arm, name, value)
    return target


def waypoints_of(options, arm: ArmDescription, held: np.ndarray) -> list[Waypoint]:
    """What ``picker move --straight`` and ``--via`` ask for, from the pose ``held`` (n,) [rad or m].

    Raises:
        InputError: a place that is none, or no target.
    """
    from picker_dynamics.execution.waypoints import Waypoint

    places, q = list[Waypoint](), held
    for words in options.via:
        given = dict(word.split("=", 1) for word in words if "=" in word)
        blend, tip = _metres("blend", given.pop("blend", "0")), [_metres("--via", word) for word in words if "=" not in word]
        if len(tip) != (0 if given else 3):
            raise InputError(f"--via {' '.join(words)}: give X Y Z of the tip, or NAME=VALUE of joints", subject="via")
        if tip:
            places.append(Waypoint(tip, straight=options.straight, blend=blend))
        else:
            q = named(arm, q, given.items())
            places.append(Waypoint(q=q, blend=blend))
    if bool(options.tip) == bool(options.joints):
        raise InputError("give either --tip X Y Z or --joints NAME=VALUE ...")
    if options.joints:
        if options.straight and not any(place.straight for place in places):
            raise InputError("--straight belongs to --tip X Y Z, or to --via X Y Z", subject="straight")
        return [*places, Waypoint(q=target_of(options, arm, q))]
    pitch = None if options.pitch_deg is None else math.radians(options.pitch_deg)
    return [*places, Waypoint(options.tip, pitch=pitch, direction=options.direction, straight=options.straight)]


def _metres(name: str, text: str) -> float:
    value = quantity(name, text, LENGTH, "m")
    meant = ": are these millimetres?" if abs(value) > TIP_M and not shared.has_unit(text) else ""
    refuse_if(not abs(value) <= TIP_M, f"{name}: {text!r} is {value:g} m, at most {TIP_M:g}{meant}", name, text, TIP_M)
    return value


def _index(arm: ArmDescription, name: str) -> int:
    if name not in arm.joint_names:
        raise JointNamesError(f"no joint {name!r}; the arm has {', '.join(arm.joint_names)}", subject=name)
    return arm.joint_names.index(name)


def _amount(arm: ArmDescription, name: str, text: str) -> float:
    """What a person says in degrees, of a sliding joint in metres, unless with another unit [rad or m]."""
    j = _index(arm, name)
    if arm.position_units[j] == "m":
        value = quantity(name, text, LENGTH, "m")
        if not (shared.has_unit(text) and math.isfinite(value)):
            require_metres(name, value, float(arm.lower[j]), float(arm.upper[j]))
        return value
    value = quantity(name, text, ANGLE, "deg")
    refuse_if(not math.isfinite(value), f"{name}: {text.strip()!r} is no angle", name, text)
    return value


def _pose(arm: ArmDescription, q) -> str:
    return ", ".join(f"{name} {told(value, unit)}" for name, value, unit in zip(arm.joint_names, q, arm.position_units))


def _move_to(at: Bench, target, held=None) -> str:
    duration = asked_duration(at.arm, held_pose(at) if held is None else held, target, at.options.duration)
    took = at.client.move_through([duration], [target])
    return f"there after {took:.2f} s: " + _pose(at.arm, target)


def held_pose(at: Bench) -> np.ndarray:
    """The pose that is held, to begin a target with: what is a hair beyond a limit, a modelled pose for one, is at it."""
    at.client.require_free()
    at.client.wait_holding()
    q = at.client.reference()
    within = np.clip(q, at.arm.lower, at.arm.upper)
    return np.where(np.abs(q - within) < HAIR, within, q)


def _move(at: Bench) -> str:
    held, options = held_pose(at), at.options
    if not (options.straight or options.via):
        return _move_to(at, target_of(options, at.arm, held), held)
    from picker_dynamics.execution.waypoints import motion_through

    waypoints = waypoints_of(options, at.arm, held)
    checks = at.known.validator(at.client.payload(), at.client.tip_speed())
    motion = motion_through(held, waypoints, checks, at.arm)
    if motion.duration < options.duration:
        motion = motion.stretched(options.duration / motion.duration)
    took = at.client.send(at.client.message_along(motion))
    return f"there after {took:.2f} s: " + _pose(at.arm, motion.end)


def _home(at: Bench) -> str:
    return _move_to(at, at.known.home)


def _park(at: Bench) -> str:
    return _move_to(at, at.known.rest)


def _jog(at: Bench) -> str:
    held, joint = held_pose(at), at.options.joint
    target = held.copy()
    target[_index(at.arm, joint)] += _amount(at.arm, joint, at.options.amount)
    return _move_to(at, target, held)


def _enable(at: Bench) -> str:
    if at.client.hardware.get("outputs") == "running":  # nothing is switched on, so nothing jumps, and nobody is asked
        return at.client.enable(False)
    if not at.options.yes and at.known.servos is not None:
        print(f"Outputs that are off will be switched on one at a time, at the rest pose: {_pose(at.arm, at.known.rest)}")
        if not agreed("Does the arm stand there, and are hands away? Type yes: "):
            raise InputError("not enabled")
    return at.client.enable(True)


def _payload(at: Bench) -> str:
    mass = at.options.mass + 0.0  # no zero has a sign
    at.client.set("dynamics", {"payload.mass": mass})
    return f"payload {1e3 * mass:g} g"
