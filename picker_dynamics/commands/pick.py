"""``picker pick`` and ``picker place``: berries picked by hand, or as a camera node says (``--listen``)."""

from __future__ import annotations

import math
from typing import NamedTuple

from picker_dynamics.bringup.options import require_namespace
from picker_dynamics.errors import GoalAbortedError, InputError, PickerError
from picker_dynamics.lifeline import end_with_parent
from picker_dynamics.scripting.equipment import Equipment

from . import options as shared
from .arm_commands import running
from .teach import Shown
from .terminal import INTERRUPTED, interruptible
from .view import waited_for

GRAMS, LONGEST_MM, LISTEN_S = 5000.0, 500.0, 0.05

STRAIGHT = "move_straight"
"""The topic of straight moves, as in ``nodes.pick_topic``, which loads ROS."""


def add_parser(commands) -> None:
    """Register ``pick`` and ``place``."""
    for kind, text in (
        ("pick", "pick what is at a point: straight in, close, straight out; all of it is checked before anything moves"),
        ("place", "put down what the arm carries: straight down, open, straight up"),
    ):
        command = commands.add_parser(kind, help=text)
        command.add_argument(
            "tip",
            type=shared.METRES,
            nargs="*" if kind == "pick" else 3,
            metavar="X Y Z" if kind == "pick" else ("X", "Y", "Z"),
            help="in base_link [m]",
        )
        command.add_argument(
            "--pitch-deg",
            type=shared.number(-90.0, 90.0),
            default=None,
            help="elevation of the hand, 0 level, -90 down (default: one that serves)",
        )
        length = shared.number(0.0, LONGEST_MM)
        command.add_argument("--lift-mm", type=length, default=30.0, help="how far straight up afterwards (default 30)")
        command.add_argument("--open", type=shared.ANY, default=None, metavar="DEG", help="the gripper's joint (sliding: mm)")
        if kind == "pick":
            command.add_argument("--mass-g", type=shared.number(0.0, GRAMS), default=25.0, help="of what is picked (default 25)")
            command.add_argument("--approach-mm", type=length, default=40.0, help="straight way in (default 40)")
            command.add_argument(
                "--close", type=shared.ANY, default=None, metavar="DEG", help="the gripper's joint (sliding: mm)"
            )
            command.add_argument(
                "--listen", action="store_true", help="do what the topics pick, place and move_straight ask for, until Ctrl-C"
            )
            command.add_argument("--cameras", default="", metavar="FILE", help="hand-eye transforms, as config/cameras.yaml")
            command.add_argument(
                "--max-age", type=shared.number(0.0, 60.0), default=2.0, metavar="S", help="of a target that is heard (default 2)"
            )
            command.add_argument(
                "--wait",
                type=shared.number(0.0, 600.0),
                default=0.0,
                metavar="S",
                help="with --listen, for a graph that is coming up",
            )
        command.add_argument("--check", action="store_true", help="only look whether it may be made from here, and at what cost")
        shared.add(command, "--namespace", "--arm", "--urdf", "--servos")
        command.set_defaults(run=run, kind=kind)


def run(options) -> int:
    """Pick or place once, or as long as somebody asks; returns the exit code."""
    from picker_dynamics.scripting.arm import Arm
    from picker_dynamics.scripting.connected import ConnectedBody
    from picker_dynamics.session.arm_client import ArmClient

    listens = getattr(options, "listen", False)
    if len(options.tip) != (0 if listens else 3):
        raise InputError("give X Y Z in metres, or --listen", subject="tip")
    require_namespace(options.namespace)
    end_with_parent()
    with interruptible():
        client = waited_for(lambda: ArmClient(options.namespace, *shared.reached()), options.wait if listens else 0.0, [])
        known = running(options, client)
        with Arm(known, ConnectedBody(client)) as arm:
            if listens:
                return listen(options, arm, known)
            client.wait_holding()
            tell = Shown()
            try:
                pitch = None if options.pitch_deg is None else math.radians(options.pitch_deg)
                found = make(arm, known, options, options.kind, options.tip, pitch, check=options.check, progress=tell)
            except KeyboardInterrupt:
                return INTERRUPTED
    print(found if options.check else f"{'picked' if options.kind == 'pick' else 'placed'} in {found.duration:.1f} s")
    return 0


class Line(NamedTuple):
    """The one leg of a straight move."""

    name: str = "straight line"
    number: int = 1


def move_straight(arm, tip, pitch: float | None, check: bool, progress):
    """Move the tip there on a straight line; returns the motion, or the plan where it is only checked."""
    if check:
        return arm.plan(tip=tip, pitch=pitch, straight=True)
    move = arm.move(tip=tip, pitch=pitch, straight=True, wait=False)
    progress(Line(), 0.0)
    move.wait()
    return move


def make(arm, known: Equipment, options, kind: str, tip, pitch: float | None, **how):
    """Pick, place or move there, with the command's options."""
    if kind == STRAIGHT:
        return move_straight(arm, tip, pitch, **how)
    opened, lift = jaws(known, options.open), 1e-3 * options.lift_mm
    if kind == "place":
        return arm.place(tip, pitch=pitch, lift=lift, opened=opened, **how)
    mass, approach = 1e-3 * options.mass_g, 1e-3 * options.approach_mm
    closed = jaws(known, options.close)
    return arm.pick(tip, pitch=pitch, mass=mass, approach=approach, lift=lift, opened=opened, closed=closed, **how)


def jaws(known: Equipment, value: float | None) -> float | None:
    """A position of the gripper's joint as a person says it [rad or m]."""
    if value is None or known.gripper is None:
        return None
    return math.radians(value) if known.description.position_units[known.gripper] == "rad" else 1e-3 * value


def listen(options, arm, known: Equipment) -> int:
    """Pick and place what is asked for, one after the other."""
    from picker_dynamics.nodes.pick_topic import PickTopics
    from picker_dynamics.robot.sighting import read_cameras

    cameras = read_cameras(options.cameras, known.description) if options.cameras else {}
    known.require_gripper()
    with PickTopics(options.namespace, known.description, cameras, options.max_age) as topics:
        print(
            "ready: geometry_msgs/PoseStamped on pick, place and move_straight, what became of it on pick/status; Ctrl-C ends",
            flush=True,
        )
        try:
            while True:
                arm.wait(LISTEN_S)
                if target := topics.take():
                    serve(options, topics, arm, known, target)
        except KeyboardInterrupt:  # which ends it; of a pick that is under way it is told what became
            return 0


def serve(options, topics, arm, known: Equipment, target) -> None:
    """Serve one target, from what was heard to what became of it."""
    from picker_dynamics.nodes.pick_topic import Outcome

    begun: list = []

    def tell(leg, share: float) -> None:
        if not begun or begun[-1] is not leg:
            begun.append(leg)
            topics.say(target, Outcome.UNDER_WAY, f"{target.kind}: {leg.name}", leg=leg.number)

    def ended(outcome: Outcome, text: str, error: PickerError) -> None:
        topics.say(target, outcome, text, error)
        print(text, flush=True)

    try:
        tip, pitch = topics.in_base(target)
    except PickerError as error:
        return ended(Outcome.REFUSED, f"{target.kind} refused: {error}", error)
    if options.pitch_deg is not None and target.kind != STRAIGHT:
        pitch = math.radians(options.pitch_deg)
    try:
        found = make(arm, known, options, target.kind, tip, pitch, progress=tell, check=options.check)
    except PickerError as error:
        aborted = begun or isinstance(error, GoalAbortedError)
        return ended(Outcome.ABORTED if aborted else Outcome.REFUSED, str(error), error)
    except (KeyboardInterrupt, RuntimeError):  # rclpy makes one of the other where a message is being converted
        outcome = Outcome.ABORTED if begun else Outcome.REFUSED
        topics.say(target, outcome, f"{target.kind} {outcome.value}: picker pick --listen was interrupted, the arm holds")
        raise
    place = ", ".join(f"{1e3 * x:.0f}" for x in tip)
    topics.say(target, Outcome.DONE, f"{target.kind} at ({place}) mm: done", duration_s=found.duration)
    print(f"{target.kind} at ({place}) mm: done in {found.duration:.1f} s", flush=True)
