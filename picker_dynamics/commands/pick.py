"""``picker pick`` and ``picker place``: berries picked by hand, or as a camera node says (``--listen``)."""

from __future__ import annotations

import math
from types import SimpleNamespace

from picker_dynamics.errors import GoalAbortedError, InputError, PickerError
from picker_dynamics.lifeline import end_with_parent

from . import options as shared
from .teach import Shown

LISTEN_S = 0.05

STRAIGHT = "move_straight"
"""The topic of straight moves, as in ``nodes.pick_topic``, which loads ROS."""


def add_parser(commands) -> None:
    """Register ``pick`` and ``place``."""
    pick = commands.add_parser(
        "pick", help="pick at a point: straight in, close, straight out; checked as a whole before it begins"
    )
    place = commands.add_parser("place", help="put the payload down: straight down, open, straight up")
    length, posture = shared.number(0.0, 500.0), {"type": shared.ANY, "default": None, "metavar": "DEG"}
    angle = shared.number(-90.0, 90.0)
    for command in (pick, place):
        command.add_argument("tip", type=shared.METRES, nargs="*", metavar="X Y Z", help="position of the tip in base_link [m]")
        command.add_argument("--pitch-deg", type=angle, help="elevation of the hand: 0 level, -90 down (default: a suitable one)")
        command.add_argument("--lift-mm", type=length, default=30.0, help="distance straight up afterwards (default 30)")
        command.add_argument("--open", **posture, help="position of the open gripper (sliding: mm)")
        shared.add(command, "--check", "--namespace", "--host")
        command.set_defaults(listen=False, wait=0.0)
    pick.add_argument("--close", **posture, help="position of the closed gripper (sliding: mm)")
    shared.add(pick, "--payload", default=0.025, help="mass of what is picked, in grams or with its unit (default 25)")
    pick.add_argument("--approach-mm", type=length, default=40.0, help="length of the straight approach (default 40)")
    asked = "serve the topics pick, place and move_straight until Ctrl-C"
    pick.add_argument("--listen", action="store_true", help=asked)
    pick.add_argument("--cameras", default="", metavar="FILE", help="hand-eye transforms (like config/cameras.yaml)")
    shared.add(pick, "--wait", help="with --listen: wait up to S seconds for the arm to start")


def run(options) -> int:
    """Pick or place once, or as long as somebody asks; returns the exit code."""
    if len(options.tip) != (0 if options.listen else 3):
        raise InputError(f"give X Y Z in metres{', or --listen' if options.command == 'pick' else ''}", "tip")
    end_with_parent()
    client = shared.waited_for(lambda: shared.client(options), options.wait)
    with shared.scripted(client) as arm:
        if options.listen:
            return listen(options, arm)
        client.wait_holding()
        pitch = None if options.pitch_deg is None else math.radians(options.pitch_deg)
        found = make(arm, options, options.command, options.tip, pitch, Shown())
    print(found if options.check else f"{'picked' if options.command == 'pick' else 'placed'} in {found.duration:.1f} s")
    return 0


def make(arm, options, kind: str, tip, pitch: float | None, progress):
    """Pick, place or move there, with the command's options; returns what was made or, with ``--check``, planned."""
    if kind == STRAIGHT:
        move = arm.move(tip=tip, pitch=pitch, straight=True, wait=False)
        progress(SimpleNamespace(name="straight line", number=1), 0.0)
        move.wait()
        return move
    joint = arm.known.gripper
    slides = joint is not None and arm.known.description.position_units[joint] == "m"

    def jaws(value: float | None) -> float | None:
        return None if value is None else 1e-3 * value if slides else math.radians(value)

    how = {"pitch": pitch, "lift": 1e-3 * options.lift_mm, "opened": jaws(options.open)}
    how |= {"check": options.check, "progress": progress}
    if kind == "place":
        return arm.place(tip, **how)
    return arm.pick(tip, mass=options.payload, approach=1e-3 * options.approach_mm, closed=jaws(options.close), **how)


def listen(options, arm) -> int:
    """Pick and place what is asked for, one after the other."""
    from picker_dynamics.nodes.pick_topic import PickTopics, client_node
    from picker_dynamics.robot.sighting import read_cameras

    cameras = read_cameras(options.cameras, arm.description) if options.cameras else {}
    arm.known.require_gripper()
    with client_node(options.namespace) as node:
        topics = PickTopics(node, arm.description, cameras)
        print("ready: PoseStamped on pick, place and move_straight, results on pick/status; Ctrl-C ends", flush=True)
        try:
            while True:
                with arm.session.asking():  # a target was asked for after the last look, at the earliest
                    arm.wait(LISTEN_S)
                    if target := topics.take():
                        serve(options, topics, arm, target)
        except KeyboardInterrupt:  # which ends it; of a pick that is under way it is told what became
            return 0


def serve(options, topics, arm, target) -> None:
    """Serve one target, from what was heard to what became of it."""
    from picker_dynamics.nodes.pick_topic import ABORTED, DONE, REFUSED, UNDER_WAY

    begun: list = []

    def tell(leg, share: float) -> None:
        if not begun or begun[-1] is not leg:
            begun.append(leg)
            topics.say(target, UNDER_WAY, f"{target.kind}: {leg.name}", leg=leg.number)

    try:
        tip, pitch = topics.in_base(target)
        found = make(arm, options, target.kind, tip, pitch, tell)
    except PickerError as error:
        outcome = ABORTED if begun or isinstance(error, GoalAbortedError) else REFUSED
        said, about = f"{target.kind} {outcome}: {error}", {"error": error}
    except (KeyboardInterrupt, RuntimeError):  # rclpy makes one of the other where a message is being converted
        outcome = ABORTED if begun else REFUSED
        topics.say(target, outcome, f"{target.kind} {outcome}: picker pick --listen was interrupted, the arm holds")
        raise
    else:
        place = ", ".join(f"{1e3 * x:.0f}" for x in tip)
        outcome, said, about = DONE, f"{target.kind} at ({place}) mm: done", {"duration_s": found.duration}
    topics.say(target, outcome, said, **about)
    print(said, flush=True)
